"""One figure of a paper, as SVG and PDF, with its numbers and its texts."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.corpus import Photographs
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.rendering import write_exhibit
from fivesentences.reproduction.study.study import read_study

with log_to(snakemake.log[0]):
    study, name = snakemake.wildcards.figure.split("/")
    scale = check(Scale, snakemake.params.scale, "the scale")
    archives = [Path(path) for path in snakemake.input.photographs]
    photographs = {snakemake.params.pictured: Photographs(*archives)} if archives else {}
    folder = Path(snakemake.params.folder)
    context = Context(study, read_study(Path(snakemake.input.study)), scale, folder, photographs)
    numbers = [Path(path) for path in snakemake.input.numbers]
    write_exhibit(context.study.exhibit(name), context, numbers, Path(snakemake.output.svg).with_suffix(""))
    for path in map(Path, snakemake.output):  # of a figure without data no picture is drawn
        path.touch()
