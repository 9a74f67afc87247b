"""One table of a paper, as JSON, CSV, Markdown, LaTeX and HTML."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.rendering import write_exhibit
from fivesentences.reproduction.study.study import read_study

with log_to(snakemake.log[0]):
    study, name = snakemake.wildcards.table.split("/")
    scale = check(Scale, snakemake.params.scale, "the scale")
    context = Context(study, read_study(Path(snakemake.input.study)), scale, Path(snakemake.params.folder))
    numbers = [Path(path) for path in snakemake.input.numbers]
    write_exhibit(context.study.exhibit(name), context, numbers, Path(snakemake.output.html).with_suffix(""))
