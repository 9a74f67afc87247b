"""Some training runs one after the other, resumed where a killed job stopped."""

from pathlib import Path

from fivesentences.config import check
from fivesentences.console import log_to
from fivesentences.plan.runs import RunSpec
from fivesentences.training import Run, train_runs

with log_to(snakemake.log[0]):
    given = zip(snakemake.params.specs, snakemake.output.weights, snakemake.params.phi_files, strict=True)
    train_runs(
        [
            Run(check(RunSpec, spec, "a run"), Path(weights).parent, {name: Path(file) for name, file in files.items()})
            for spec, weights, files in given
        ],
        Path(snakemake.input.corpus),
        Path(snakemake.input.features),
        device="auto" if snakemake.resources.get("gpu", 0) else "cpu",
        tensorboard=snakemake.params.tensorboard,
    )
