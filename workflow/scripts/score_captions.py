"""phi[caption, image] of one split, written as a memory-mapped array."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.semantics import read_tuples, write_phi

with log_to(snakemake.log[0]):
    split = Corpus.read(snakemake.input.corpus).split(snakemake.wildcards.split)
    tuples = next((read_tuples(path, split.captions, split.caption_ids) for path in snakemake.input.tuples), None)
    out = Path(snakemake.output.phi)
    write_phi(snakemake.wildcards.phi, split.captions, split.image_of_caption, out, tuples=tuples)
