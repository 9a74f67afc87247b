# `snakemake` finds this file first. The workflow itself is workflow/Snakefile, where the workflow catalogue and snakedeploy
# look for it.
include: "workflow/Snakefile"


workflow.default_target = "all"  # a rule of an included file is no default target by itself
