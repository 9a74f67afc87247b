"""What adaptive margins of a dataset's training captions are made of, and which hinges change without the negative."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.losses import LossSpec
from fivesentences.reproduction.evaluation.margins import CaptionSet, MeasuredRun, measure_margins


def paths(files):
    """Paths of phi, by name."""
    return {name: Path(path) for name, path in files.items()}


with log_to(snakemake.log[0]):
    measure_margins(
        Path(snakemake.input.corpus),
        [
            CaptionSet(one["fraction"], check(LossSpec, one["loss"], "the loss"), paths(one["phi_files"]))
            for one in snakemake.params.sets
        ],
        [
            MeasuredRun(Path(run["folder"]), Path(run["features"]), paths(run["phi_files"]))
            for run in snakemake.params.runs
        ],
        Path(snakemake.output.margins),
        batch_size=snakemake.params.batch_size,
    )
