"""How many of a judge's right pairs are among the first n pairs by each phi, and by labels."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus, load_judgements
from fivesentences.corpus.labels import read_labels
from fivesentences.reproduction.evaluation.positives_by_rank import write_found_positives

with log_to(snakemake.log[0]):
    corpus = Corpus.read(snakemake.input.corpus)
    corpus, judgements = load_judgements(snakemake.wildcards.judge, Path(snakemake.input.judgements[0]), corpus)
    split = corpus.split("test")
    labels = [read_labels(path, split.images["image_id"].tolist()) for path in snakemake.input.labels]
    phis = {Path(path).stem: Path(path) for path in snakemake.input.phi}
    write_found_positives(
        split, judgements.within(corpus, "test"), phis, labels[0] if labels else None, Path(snakemake.output.found)
    )
