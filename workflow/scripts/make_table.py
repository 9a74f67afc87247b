"""One table of a paper, as JSON, CSV, Markdown, LaTeX and HTML."""

from pathlib import Path

from fivesentences.config import Scale, check, read
from fivesentences.console import log_to
from fivesentences.paper.kinds import Context
from fivesentences.paper.studies import PaperStudy
from fivesentences.paper.tables.writing import write_table

with log_to(snakemake.log[0]):
    study, name = snakemake.wildcards.table.split("/")
    scale = check(Scale, snakemake.params.scale, "the scale")
    context = Context(study, read(PaperStudy, snakemake.input.study), scale)
    table = context.study.exhibit(name).build(
        context, [Path(path) for path in snakemake.input.numbers], Path(snakemake.params.folder)
    )
    write_table(table, Path(snakemake.output.html).with_suffix(""))
