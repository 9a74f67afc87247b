"""One figure of a paper, as PNG and PDF, with its numbers and texts."""

from pathlib import Path

from fivesentences.config import Scale, Study, check, read
from fivesentences.console import log_to
from fivesentences.evaluation import collect
from fivesentences.paper.figures import build_figure, write_figure

with log_to(snakemake.log[0]):
    scale, study = check(Scale, snakemake.params.scale, "the scale"), read(Study, snakemake.input.study)
    numbers = collect(snakemake.input.metrics, scale.scale)
    figure = build_figure(snakemake.wildcards.study, snakemake.wildcards.figure, study, scale, numbers)
    write_figure(figure, Path(snakemake.output.png).with_suffix(""))
