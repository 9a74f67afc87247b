"""Images, captions and splits of one dataset as one parquet table."""

from pathlib import Path

from pydantic import TypeAdapter

from fivesentences.config.datasets import Dataset
from fivesentences.console import log_to
from fivesentences.corpus import load

with log_to(snakemake.log[0]):
    data = TypeAdapter(Dataset).validate_python(snakemake.params.data)
    needs = snakemake.params.get("needs", ())
    load(snakemake.wildcards.dataset, data, Path(snakemake.input.captions[0]), needs).write(snakemake.output.corpus)
