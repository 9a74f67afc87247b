"""How well each phi agrees with one judge: the judged pairs with every phi, and the correlations."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, load_judgements
from fivesentences.reproduction.evaluation.agreement import agreement, write_agreement
from fivesentences.semantics import read_tuples
from fivesentences.semantics.sentence_encoders import read_vectors

with log_to(snakemake.log[0]):
    corpus = Corpus.read(snakemake.input.corpus)
    corpus, judgements = load_judgements(snakemake.wildcards.judge, Path(snakemake.input.judgements[0]), corpus)
    test = corpus.split("test")  # the only captions that are parsed for judges
    tuples = [read_tuples(path, test.captions, test.caption_ids) for path in snakemake.input.tuples]
    vectors = {Path(path).stem: read_vectors(Path(path), corpus.table) for path in snakemake.input.vectors}
    phis = [tuple(row) for row in snakemake.params.phis]
    found = agreement(judgements, corpus, phis, *tuples, parsed="test", vectors=vectors)
    write_agreement(*found, Path(snakemake.output.pairs), Path(snakemake.output.numbers))
