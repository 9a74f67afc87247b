"""A matrix of others, checked and kept as the similarity of a run."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.evaluation.given import take_similarity

with log_to(snakemake.log[0]):
    take_similarity(
        Path(snakemake.input.similarity),
        Path(snakemake.input.corpus),
        Path(snakemake.output.similarity),
        transposed=snakemake.params.transposed,
        captions=next(map(Path, snakemake.input.captions), None),
    )
