"""What the numbers of a scale were made of: checksums, versions, machine, seeds, seconds per rule."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.config.scales import Scale
from fivesentences.console import log_to
from fivesentences.paper.digests import CHECKSUMS
from fivesentences.paper.manifest import write_manifest
from fivesentences.plan.plan import plan_of

with log_to(snakemake.log[0]):
    plan = plan_of(check(Scale, snakemake.params.scale, "the scale"), Path(snakemake.params.config))
    scale, benchmarks = snakemake.wildcards.scale, snakemake.params.benchmarks
    write_manifest(plan, scale, benchmarks, Path(snakemake.output.manifest), cache=CHECKSUMS)
