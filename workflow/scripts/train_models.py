"""Some training runs one after the other, resumed where a killed job stopped."""

from pathlib import Path

from fivesentences.config import RunSpec, check
from fivesentences.console import log_to
from fivesentences.training import train_runs

with log_to(snakemake.log[0]):
    specs = [check(RunSpec, spec, "a run") for spec in snakemake.params.specs]
    folders = [Path(path).parent for path in snakemake.output.weights]
    train_runs(
        zip(specs, folders, strict=True),
        Path(snakemake.input.corpus),
        Path(snakemake.input.features),
        device="auto" if snakemake.resources.get("gpu", 0) else "cpu",
    )
