"""Scene-graph tuples of every caption of a corpus, from SPICE's own parser."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.semantics.java import parse_captions

with log_to(snakemake.log[0]):
    parse_captions(
        Corpus.read(snakemake.input.corpus).captions,
        Path(snakemake.output.tuples),
        threads=snakemake.threads,
        mirror=Path(snakemake.params.mirror) if snakemake.params.mirror else None,
    )
