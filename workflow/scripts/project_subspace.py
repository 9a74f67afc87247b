"""The subspace of one run on a plane."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.categories.evaluation import write_projection
from fivesentences.reproduction.categories.runs import PlacedRun

with log_to(snakemake.log[0]):
    write_projection(
        PlacedRun.of(snakemake.params.run),
        documents=Path(snakemake.input.documents),
        selection=snakemake.params.selection,
        out=Path(snakemake.output.projection),
    )
