"""One table of a paper, as JSON, CSV, Markdown, LaTeX and HTML."""

from pathlib import Path

from fivesentences.config import Scale, check, read
from fivesentences.console import log_to
from fivesentences.paper.making import make_table
from fivesentences.plan.studies import Study

with log_to(snakemake.log[0]):
    scale, study = check(Scale, snakemake.params.scale, "the scale"), read(Study, snakemake.input.study)
    study_name, name = snakemake.wildcards.thing.split("/")
    published = Path(snakemake.input.study).parents[1] / "published"
    stem = Path(snakemake.output.html).with_suffix("")
    make_table(study_name, name, study, scale, snakemake.input.numbers, published, stem)
