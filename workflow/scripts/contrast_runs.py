"""Differences of runs that are paired by seed, with intervals over seeds and images."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.evaluation.seed_contrasts import write_contrasts

with log_to(snakemake.log[0]):
    write_contrasts(
        snakemake.params.pairs,
        [Path(path) for path in snakemake.input.per_image],
        Path(snakemake.output.contrasts),
        phi=snakemake.params.phi,
    )
