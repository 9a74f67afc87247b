"""Vectors of all captions of a corpus, each distinct one encoded once."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.semantics.sentence_encoders import encode_captions, write_vectors

with log_to(snakemake.log[0]):
    corpus = Corpus.read(snakemake.input.corpus)
    write_vectors(
        encode_captions(captions=corpus.captions, **snakemake.params.model),
        corpus.table,
        Path(snakemake.output.vectors),
    )
