"""The features of all photographs of a dataset from those of their parts."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.features.formats import convert

with log_to(snakemake.log[0]):
    convert([Path(part) for part in snakemake.input.parts], Path(snakemake.output.features))
