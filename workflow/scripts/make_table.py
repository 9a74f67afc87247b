"""One table of a paper, as JSON, CSV, Markdown, LaTeX and HTML."""

from pathlib import Path

from fivesentences.config import Scale, Study, check, read
from fivesentences.console import log_to
from fivesentences.evaluation import collect
from fivesentences.paper.tables import build_table
from fivesentences.paper.writing import write_table

with log_to(snakemake.log[0]):
    scale, study = check(Scale, snakemake.params.scale, "the scale"), read(Study, snakemake.input.study)
    wildcards, published = snakemake.wildcards, Path(snakemake.input.study).parents[1] / "published"
    numbers = collect(snakemake.input.metrics, scale.scale)
    table = build_table(wildcards.study, wildcards.table, study, scale, numbers, published)
    write_table(table, Path(snakemake.output.html).with_suffix(""))
