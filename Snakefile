# The workflow lives in workflow/; this file lets a bare `snakemake` find it at the root.
include: "workflow/Snakefile"


# Without this line a bare `snakemake` would see an included `all` as no target, do nothing and exit 0.
workflow.default_target = "all"
