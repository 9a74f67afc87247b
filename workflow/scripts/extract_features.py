"""Features of one dataset's photographs, or of a part of them, one row per image."""

from pathlib import Path

from fivesentences.config.features import FeatureSpec
from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.corpus import Corpus, Photographs
from fivesentences.features.extract import extract_as_configured, part_of
from fivesentences.machine import cuda, stay_offline

with log_to(snakemake.log[0]):
    stay_offline()  # a rule that is local to the submitting machine has fetched what is needed
    if snakemake.params.gpu:
        cuda()
    spec = check(FeatureSpec, snakemake.params.spec, snakemake.wildcards.extracted)
    images = Corpus.read(snakemake.input.corpus).images
    photographs = Photographs(*snakemake.input.photographs)
    extract_as_configured(
        spec,
        photographs,
        part_of(images, snakemake.params.get("part", 1), spec.parts, photographs),
        Path(snakemake.output.features),
        workers=snakemake.threads,
        weights=next(map(Path, snakemake.input.weights), None),
    )
