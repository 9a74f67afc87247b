"""phi[caption, image] of one split, or of some training captions, written as a memory-mapped array."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, training_part
from fivesentences.corpus.judgements import read_truth
from fivesentences.semantics import read_tuples, write_phi
from fivesentences.semantics.judged import read_judged
from fivesentences.semantics.sentence_encoders import read_vectors

with log_to(snakemake.log[0]):
    corpus, part = Corpus.read(snakemake.input.corpus), snakemake.params.get("part")
    split = corpus.split(snakemake.wildcards.split) if part is None else training_part(corpus.split("train"), *part)
    tuples = next((read_tuples(path, split.captions, split.caption_ids) for path in snakemake.input.tuples), None)
    vectors = next((read_vectors(Path(path), split.table) for path in snakemake.input.vectors), None)
    truth = next((read_truth(path, corpus, split) for path in snakemake.input.truth), None)
    for path in snakemake.input.scores:  # of a phi that somebody gave, of the whole corpus
        whole = read_judged(path, list(corpus.table["caption_id"]), list(corpus.images["image_id"]))
        truth = read_truth(whole, corpus, split)
    out = Path(snakemake.output.phi)
    made_of = {"tuples": tuples, "vectors": vectors, "truth": truth}
    write_phi(snakemake.wildcards.phi, split.captions, split.image_of_caption, out, **made_of)
