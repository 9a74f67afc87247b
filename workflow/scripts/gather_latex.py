"""One LaTeX document of all tables and figures of a scale."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.tables.writing import write_document
from fivesentences.reproduction.study.study import read_study

with log_to(snakemake.log[0]):
    studies = {Path(path).stem: read_study(Path(path)) for path in snakemake.input.studies}
    scale = check(Scale, snakemake.params.scale, "the scale")
    write_document(scale, studies, Path(snakemake.output.document))
