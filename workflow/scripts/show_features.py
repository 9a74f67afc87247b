"""Some test images of a dataset with their best regions, or beside those that are nearest by their features."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, Photographs
from fivesentences.reproduction.paper.site.sheets import write_features_sheet

with log_to(snakemake.log[0]):
    write_features_sheet(
        Corpus.read(snakemake.input.corpus).split("test"),
        Photographs(*snakemake.input.photographs),
        Path(snakemake.input.features),
        Path(snakemake.output.texts),
    )
