"""One file of the catalogue, from its host or a mirror, checked."""

from pathlib import Path

from fivesentences.config.datasets import Catalogue
from fivesentences.config.pointers import record_pointer
from fivesentences.config.reading import read
from fivesentences.console import log_to
from fivesentences.corpus.download import fetch, find_mirror

with log_to(snakemake.log[0]):
    dataset, file = snakemake.params.dataset, snakemake.params.name
    catalogue = read(Catalogue, snakemake.params.catalogue)
    data = Path(snakemake.output.file[: -len(snakemake.wildcards.file)])
    entry = catalogue.datasets[dataset]
    fetch(entry, dataset, file, data, find_mirror(snakemake.params.mirror))
    record_pointer(entry, entry.files[file], data)
