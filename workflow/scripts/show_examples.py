"""Some photographs of a dataset with their captions on one sheet."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, Photographs
from fivesentences.reproduction.paper.site.sheets import write_examples

with log_to(snakemake.log[0]):
    corpus = Corpus.read(snakemake.input.corpus).split("test")
    write_examples(corpus, Photographs(*snakemake.input.photographs), Path(snakemake.output.captions))
