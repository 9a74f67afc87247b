"""One figure of a paper, as PNG and PDF, with its numbers and its texts."""

from pathlib import Path

from fivesentences.config import Scale, check, read
from fivesentences.console import log_to
from fivesentences.corpus import Photographs
from fivesentences.paper.making import make_figure
from fivesentences.plan.studies import Study

with log_to(snakemake.log[0]):
    scale, study = check(Scale, snakemake.params.scale, "the scale"), read(Study, snakemake.input.study)
    study_name, name = snakemake.wildcards.thing.split("/")
    archives = [Path(path) for path in snakemake.input.photographs]
    photographs = {snakemake.params.pictured: Photographs(*archives)} if archives else {}
    stem = Path(snakemake.output.png).with_suffix("")
    make_figure(study_name, name, study, scale, snakemake.input.numbers, stem, photographs)
