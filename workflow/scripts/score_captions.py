"""phi[caption, image] of one split, written as a memory-mapped array."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.semantics import write_phi

with log_to(snakemake.log[0]):
    split = Corpus.read(snakemake.input.corpus).split(snakemake.wildcards.split)
    write_phi(snakemake.wildcards.metric, split.captions, split.image_of_caption, Path(snakemake.output.phi))
