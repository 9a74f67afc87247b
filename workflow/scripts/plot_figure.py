"""One figure of a paper, as PNG and PDF, with its numbers and its texts."""

from pathlib import Path

from fivesentences.config import Scale, check, read
from fivesentences.console import log_to
from fivesentences.corpus import Photographs
from fivesentences.paper.figures.canvas import write_drawing
from fivesentences.paper.kinds import Context
from fivesentences.paper.studies import PaperStudy

with log_to(snakemake.log[0]):
    study, name = snakemake.wildcards.figure.split("/")
    scale = check(Scale, snakemake.params.scale, "the scale")
    context = Context(study, read(PaperStudy, snakemake.input.study), scale)
    archives = [Path(path) for path in snakemake.input.photographs]
    photographs = {snakemake.params.pictured: Photographs(*archives)} if archives else {}
    figure = context.study.exhibit(name)
    drawing = figure.drawing(context, [Path(path) for path in snakemake.input.numbers], photographs)
    write_drawing(Path(snakemake.output.png).with_suffix(""), figure.title, figure.caption, drawing)
