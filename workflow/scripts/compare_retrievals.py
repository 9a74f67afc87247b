"""What two runs retrieve for queries that recall calls equal and phi does not."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.evaluation.retrievals import write_retrievals

with log_to(snakemake.log[0]):
    write_retrievals(
        Corpus.read(snakemake.input.corpus).split("test"),
        dict(zip(snakemake.params.models, map(Path, snakemake.input.similarities), strict=True)),
        Path(snakemake.input.phi),
        Path(snakemake.output.retrievals),
        **snakemake.params.options,
    )
