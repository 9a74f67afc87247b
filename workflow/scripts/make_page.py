"""The page of a scale: every table and figure, beside the published values."""

from pathlib import Path

from fivesentences.config import Scale, check, read
from fivesentences.console import log_to
from fivesentences.paper.claims.writing import in_short, read_claims
from fivesentences.paper.site.examples import read_examples
from fivesentences.paper.site.features import read_features_sheet
from fivesentences.paper.site.page import write_page
from fivesentences.paper.site.shell import Site
from fivesentences.paper.studies import PaperStudy

with log_to(snakemake.log[0]):
    scale = check(Scale, snakemake.params.scale, "the scale")
    studies = {Path(path).stem: read(PaperStudy, path) for path in snakemake.input.studies}
    examples = [read_examples(Path(path)) for path in snakemake.input.examples]
    examples += [read_features_sheet(Path(path)) for path in snakemake.input.features]
    claims = in_short(read_claims(Path(snakemake.input.claims)))
    site = Site.of(snakemake.params.site)
    write_page(site, scale, studies, Path(snakemake.output.page).parent, examples, claims)
