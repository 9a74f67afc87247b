"""Which files of a precomp folder hold the features of which images; none of them is copied."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.features import describe_precomp

with log_to(snakemake.log[0]):
    corpus = Corpus.read(snakemake.input.corpus)
    describe_precomp(snakemake.input.folder, corpus, Path(snakemake.output.description), **snakemake.params.data)
