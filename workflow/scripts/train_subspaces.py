"""Fit some subspaces one after the other; those that are finished are skipped."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.categories.runs import PlacedRun
from fivesentences.reproduction.categories.training.run import train_subspaces

with log_to(snakemake.log[0]):
    train_subspaces(
        [PlacedRun.of(run) for run in snakemake.params.runs],
        documents=Path(snakemake.input.documents),
        image=Path(snakemake.input.image),
        text=next(map(Path, snakemake.input.text), None),
        record=Path(snakemake.output.record),
    )
