"""One tidy table of every run's numbers."""

from fivesentences.console import log_to
from fivesentences.reproduction.evaluation.tidy import collect, write_tidy

with log_to(snakemake.log[0]):
    write_tidy(collect(snakemake.input.metrics, snakemake.wildcards.pool.partition("/")[0]), snakemake.output.table)
