"""CIDEr of training captions, prepared for the losses that read it batch by batch."""

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, training_part
from fivesentences.semantics import BatchCider
from fivesentences.semantics.registry import parse_name

with log_to(snakemake.log[0]):
    part = training_part(Corpus.read(snakemake.input.corpus).split("train"), *snakemake.params.part)
    tokenisation = parse_name(snakemake.wildcards.phi).tokenisation
    BatchCider(part.captions, part.image_of_caption, tokenisation).write(snakemake.output.prepared)
