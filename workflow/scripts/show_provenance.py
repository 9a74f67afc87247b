"""What the numbers of a scale were made of, and in what that differs from the papers."""

from pathlib import Path

from fivesentences.config import Scale, check, extended
from fivesentences.console import log_to
from fivesentences.documents import read_yaml
from fivesentences.paper.manifest import read_manifest
from fivesentences.paper.site.provenance import write_provenance
from fivesentences.paper.site.shell import Site
from fivesentences.plan.plan import plan_of

with log_to(snakemake.log[0]):
    plan = plan_of(check(Scale, snakemake.params.scale, "the scale"), Path(snakemake.params.config))
    file = Path(snakemake.input.printed)
    printed = check(Scale, extended(read_yaml(file), file), str(file))
    site, page = Site.of(snakemake.params.site), Path(snakemake.output.page)
    manifest = read_manifest(Path(snakemake.input.manifest))
    write_provenance(site, plan, snakemake.wildcards.scale, manifest, printed, page.parent)
