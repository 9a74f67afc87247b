"""Queries on which recall and semantics, models, or a loss and its control disagree, and some drawn at random."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.reproduction.evaluation.disagreements import write_disagreements

with log_to(snakemake.log[0]):
    write_disagreements(
        Corpus.read(snakemake.input.corpus).split("test"),
        {run: Path(path) for run, path in snakemake.params.similarities.items()},
        {phi: Path(path) for phi, path in snakemake.params.phis.items()},
        Path(snakemake.output.disagreements),
        **snakemake.params.options,
    )
