"""What adaptive margins of a dataset's training captions are made of, and which hinges change without the negative."""

from pathlib import Path

from fivesentences.config import check
from fivesentences.console import log_to
from fivesentences.evaluation.margins import CaptionSet, MeasuredRun, measure_margins
from fivesentences.losses import LossSpec


def paths(files):
    return {name: Path(file) for name, file in files.items()}


with log_to(snakemake.log[0]):
    params = snakemake.params
    measure_margins(
        Path(snakemake.input.corpus),
        [
            CaptionSet(one["fraction"], check(LossSpec, one["loss"], "the loss"), paths(one["phi_files"]))
            for one in params.sets
        ],
        [
            MeasuredRun(one["name"], Path(one["folder"]), Path(one["features"]), paths(one["phi_files"]))
            for one in params.runs
        ],
        Path(snakemake.output.margins),
        **params.options,
    )
