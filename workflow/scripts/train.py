"""Train some runs, one after the other or some at once; finished ones are skipped, and a killed one goes on."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.features.scratch import staged
from fivesentences.machine import cuda
from fivesentences.storage import RECORD
from fivesentences.training import Run, train_runs
from fivesentences.training.spec import RunSpec

with log_to(snakemake.log[0]):
    features, gpu = Path(snakemake.input.features), snakemake.params.gpu
    # What came from another machine needs neither a GPU nor a copy.
    finished = all((Path(run["folder"]) / RECORD).is_file() for run in snakemake.params.runs)
    if gpu and not finished:
        cuda()
    with staged(features, None if finished else snakemake.params.scratch) as local:
        runs = [
            Run(
                check(RunSpec, run["spec"], run["folder"]),
                Path(run["folder"]),
                Path(snakemake.input.corpus),
                features,
                {name: Path(file) for name, file in run["phi_files"].items()},
                local,
            )
            for run in snakemake.params.runs
        ]
        train_runs(
            runs,
            device="auto" if gpu else "cpu",
            tensorboard=snakemake.params.tensorboard,
            record=Path(snakemake.output.record),
            at_once=snakemake.params.runs_at_once,
        )
