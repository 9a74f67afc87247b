"""Scene-graph tuples of a split, or of some training captions; what another file of the corpus has is taken over."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, training_part
from fivesentences.semantics.java import parse_captions

with log_to(snakemake.log[0]):
    corpus, part = Corpus.read(snakemake.input.corpus), snakemake.params.get("part")
    captions = corpus.split(snakemake.wildcards.split) if part is None else training_part(corpus.split("train"), *part)
    out = Path(snakemake.output.tuples)
    parse_captions(
        captions.captions,
        out,
        threads=snakemake.threads,
        mirror=Path(snakemake.params.mirror) if snakemake.params.mirror else None,
        parsed_before=sorted(out.parents[1].rglob("tuples*.jsonl.gz")),
    )
