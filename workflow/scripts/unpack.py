"""A folder of the data, from the archives that it is published in."""

from pathlib import Path

from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import read
from fivesentences.console import log_to
from fivesentences.corpus.unpacking import unpack

with log_to(snakemake.log[0]):
    entry = read(Catalogue, snakemake.params.catalogue).datasets[snakemake.params.dataset]
    archives = [Path(archive) for archive in snakemake.input.archives]
    unpack(archives, Path(snakemake.output.folder), entry.folders[snakemake.wildcards.folder])
