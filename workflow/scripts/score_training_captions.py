"""phi[caption, image] of the training captions of some runs, against the captions of their own images."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, training_part
from fivesentences.semantics import read_tuples, write_phi

with log_to(snakemake.log[0]):
    part = training_part(Corpus.read(snakemake.input.corpus).split("train"), *snakemake.params.part)
    tuples = next((read_tuples(path, part.captions, part.caption_ids) for path in snakemake.input.tuples), None)
    out = Path(snakemake.output.phi)
    write_phi(snakemake.wildcards.phi, part.captions, part.image_of_caption, out, tuples=tuples)
