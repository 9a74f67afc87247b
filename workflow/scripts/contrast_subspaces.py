"""Differences of methods of category retrieval that are paired by seed, with intervals over seeds and queries."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.evaluation.seed_contrasts import write_subspace_contrasts

with log_to(snakemake.log[0]):
    write_subspace_contrasts(
        snakemake.params.pairs,
        queries=[Path(path) for path in snakemake.input.queries],
        out=Path(snakemake.output.contrasts),
    )
