"""Features with fewer regions or dimensions, fitted on training images."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.features.reduce import reduce_features

with log_to(snakemake.log[0]):
    reduce_features(
        Path(snakemake.input.features),
        Corpus.read(snakemake.input.corpus),
        Path(snakemake.output.features),
        **snakemake.params.sizes,
    )
