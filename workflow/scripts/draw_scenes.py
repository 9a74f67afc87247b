"""The embedded corpus: drawn scenes, their captions, and what is true of them."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.scenes import generate

with log_to(snakemake.log[0]):
    corpus = generate(Path(snakemake.output.photographs).parent, **snakemake.params.scenes)
    corpus.write(snakemake.output.corpus)
