"""One table of every epoch of every training."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.corpus.parquet import write_frame
from fivesentences.reproduction.evaluation.tidy import collect_histories

with log_to(snakemake.log[0]):
    folders = {run: Path(folder) for run, folder in snakemake.params.folders.items()}
    write_frame(collect_histories(folders), Path(snakemake.output.histories))
