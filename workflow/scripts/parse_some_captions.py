"""Scene-graph tuples of a split, or of some training captions; what another file of the corpus has is taken over."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, training_part
from fivesentences.semantics.java import parse_captions

with log_to(snakemake.log[0]):
    split = Corpus.read(snakemake.input.corpus).split(snakemake.params.split)
    some = split if snakemake.params.part is None else training_part(split, *snakemake.params.part)
    out = Path(snakemake.output.tuples)
    parse_captions(
        some.captions,
        out,
        threads=snakemake.threads,
        mirror=Path(snakemake.params.mirror) if snakemake.params.mirror else None,
        parsed_before=sorted(out.parents[1].rglob("tuples*.jsonl.gz")),
    )
