"""One training run, resumed where a killed one stopped."""

from pathlib import Path

from fivesentences.config import RunSpec, check
from fivesentences.console import log_to
from fivesentences.training import train_run

with log_to(snakemake.log[0]):
    train_run(
        check(RunSpec, snakemake.params.spec, snakemake.wildcards.run),
        Path(snakemake.input.corpus),
        Path(snakemake.input.features),
        Path(snakemake.output.weights).parent,
        device="auto" if snakemake.resources.get("gpu", 0) else "cpu",
    )
