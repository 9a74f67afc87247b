"""What two runs retrieve for queries that recall calls equal and phi does not."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.reproduction.evaluation.disagreements import write_retrievals

with log_to(snakemake.log[0]):
    write_retrievals(
        Corpus.read(snakemake.input.corpus).split("test"),
        {run: Path(path) for run, path in snakemake.params.similarities.items()},
        Path(snakemake.input.phi[0]),
        Path(snakemake.output.retrievals),
        **snakemake.params.options,
    )
