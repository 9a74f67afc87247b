"""The images of one dataset, each captioned by its id: what features are made of does not change with captions."""

from pathlib import Path

from pydantic import TypeAdapter

from fivesentences.config.datasets import Dataset
from fivesentences.console import log_to
from fivesentences.corpus import load

with log_to(snakemake.log[0]):
    data = TypeAdapter(Dataset).validate_python(snakemake.params.data)
    corpus = load(snakemake.wildcards.dataset, data, Path(snakemake.input.captions[0]))
    corpus.without_captions().write(snakemake.output.images)
