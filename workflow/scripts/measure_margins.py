"""What adaptive margins of a dataset's training captions are made of, and which hinges change without the negative."""

from pathlib import Path

from fivesentences.config import Hyperparameters, check
from fivesentences.console import log_to
from fivesentences.evaluation.margins import CaptionSet, MeasuredRun, measure_margins
from fivesentences.losses import LossSpec

with log_to(snakemake.log[0]):
    files = {name: Path(path) for name, path in snakemake.params.matrices.items()}
    measure_margins(
        Path(snakemake.input.corpus),
        [CaptionSet(fraction, check(LossSpec, loss, "the loss")) for fraction, loss in snakemake.params.sets],
        [
            MeasuredRun(
                Path(run["folder"]),
                Path(run["features"]),
                {name: Path(path) for name, path in run["phi_files"].items()},
            )
            for run in snakemake.params.runs
        ],
        Path(snakemake.output.margins),
        settings=check(Hyperparameters, snakemake.params.settings, "training"),
        matrices=files,
    )
