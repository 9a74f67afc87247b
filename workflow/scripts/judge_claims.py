"""What the papers state, with verdicts from the runs of a scale."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.claims.judging import judge_claims, read_numbers
from fivesentences.reproduction.paper.claims.writing import write_claims
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.plan.plan import plan_of

with log_to(snakemake.log[0]):
    plan = plan_of(check(Scale, snakemake.params.scale, "the scale"), Path(snakemake.params.config))
    scale = snakemake.wildcards.scale
    kinds = plan.report.numbers_of_claims(scale)
    files = {kind: [Path(path) for path in snakemake.input.get(kind, [])] for kind in kinds}
    found = judge_claims(plan, scale, read_numbers(plan, scale, **files))
    site = Site.of(snakemake.params.site)
    write_claims(found, plan.scales[scale], site, Path(snakemake.output.data).with_suffix(""))
