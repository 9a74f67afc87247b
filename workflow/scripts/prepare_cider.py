"""CIDEr of training captions, prepared for the losses that read it batch by batch."""

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, training_part
from fivesentences.semantics import BatchCider
from fivesentences.semantics.registry import parse_name

with log_to(snakemake.log[0]):
    train = Corpus.read(snakemake.input.corpus).split("train")
    for (phi, *part_of), out in zip(snakemake.params.parts, snakemake.output.prepared, strict=True):
        part = training_part(train, *part_of)
        BatchCider(part.captions, part.image_of_caption, parse_name(phi)[1] or "whitespace").write(out)
