"""What each phi says of own captions and of captions of other images of a dataset's test split."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.reproduction.evaluation.phi_statistics import write_statistics
from fivesentences.semantics import read_tuples
from fivesentences.semantics.sentence_encoders import read_vectors

with log_to(snakemake.log[0]):
    split = Corpus.read(snakemake.input.corpus).split("test")
    phis = {Path(path).stem: Path(path) for path in snakemake.input.phi}
    tuples = [read_tuples(path, split.captions, split.caption_ids) for path in snakemake.input.tuples]
    vectors = {Path(path).stem: read_vectors(Path(path), split.table) for path in snakemake.input.vectors}
    write_statistics(split, phis, Path(snakemake.output.statistics), *tuples, vectors=vectors)
