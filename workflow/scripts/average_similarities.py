"""The similarity of an ensemble: the mean of those of its members."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.evaluation.run import write_mean_similarity

with log_to(snakemake.log[0]):
    write_mean_similarity([Path(path) for path in snakemake.params.similarities], Path(snakemake.output.similarity))
