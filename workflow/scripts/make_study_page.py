"""The page of a study: its tables and figures, beside the published values."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.claims.writing import read_claims
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.paper.site.study import write_study_page
from fivesentences.reproduction.study.study import read_study

with log_to(snakemake.log[0]):
    scale = check(Scale, snakemake.params.scale, "the scale")
    study, page = read_study(Path(snakemake.input.study)), Path(snakemake.output.page)
    claims = [one for path in snakemake.input.claims for one in read_claims(Path(path))["claims"]]
    write_study_page(Site.of(snakemake.params.site), scale, snakemake.wildcards.study, study, page.parents[1], claims)
