"""Features of one dataset's photographs, one row per image."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, Photographs
from fivesentences.features import extract_features

with log_to(snakemake.log[0]):
    extract_features(
        Photographs(*snakemake.input.photographs),
        Corpus.read(snakemake.input.corpus).images,
        snakemake.wildcards.extractor,
        snakemake.wildcards.layout,
        Path(snakemake.output.features),
        workers=snakemake.threads,
        weights=next(map(Path, snakemake.input.weights), None),
    )
