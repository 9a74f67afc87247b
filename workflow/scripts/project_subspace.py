"""The subspace of one run on a plane."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.evaluation.categories import write_projection
from fivesentences.study.subspace_runs import PlacedRun

with log_to(snakemake.log[0]):
    write_projection(
        PlacedRun.of(snakemake.params.run),
        documents=Path(snakemake.input.documents),
        selection=snakemake.params.selection,
        out=Path(snakemake.output.projection),
    )
