"""Images, captions and splits of one dataset as one parquet table."""

from pathlib import Path

from fivesentences.config import Scale, check
from fivesentences.console import log_to
from fivesentences.corpus import load

with log_to(snakemake.log[0]):
    name = snakemake.wildcards.dataset
    data = check(Scale, dict(snakemake.config), "the scale").datasets[name]
    load(name, data, Path(snakemake.input.captions[0])).write(snakemake.output.corpus)
