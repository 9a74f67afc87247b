"""Regions of a few photographs beside the released ones: an error unless they are the same."""

from pathlib import Path

from fivesentences.config.features import FeatureSpec
from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.corpus import Photographs
from fivesentences.features.released_sample import check_sample
from fivesentences.machine import cuda, stay_offline

with log_to(snakemake.log[0]):
    stay_offline()
    if snakemake.params.gpu:
        cuda()
    check_sample(
        check(FeatureSpec, snakemake.params.spec, snakemake.wildcards.extracted),
        Photographs(snakemake.params.folder),
        Path(snakemake.input.regions[0]),
        Path(snakemake.output.checked),
        weights=next(map(Path, snakemake.input.weights), None),
    )
