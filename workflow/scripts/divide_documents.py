"""Which documents are for training, validation and test."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.categories.config import DivisionSpec
from fivesentences.reproduction.categories.corpus.divisions import divide, write_division
from fivesentences.reproduction.categories.corpus.documents import read_documents

with log_to(snakemake.log[0]):
    documents = read_documents(Path(snakemake.input.documents))
    division = divide(documents, DivisionSpec(**snakemake.params.spec), int(snakemake.wildcards.seed))
    write_division(Path(snakemake.output.division), documents, division)
