"""The numbers of some subspaces, and what their training recorded."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.categories.evaluation import evaluate_subspace_runs
from fivesentences.reproduction.categories.runs import PlacedRun

with log_to(snakemake.log[0]):
    evaluate_subspace_runs(
        [PlacedRun.of(run) for run in snakemake.params.runs],
        documents=Path(snakemake.input.documents),
        metrics=Path(snakemake.output.metrics),
        queries=Path(snakemake.output.queries),
        histories=Path(snakemake.output.histories),
        category_margins=Path(snakemake.output.category_margins),
    )
