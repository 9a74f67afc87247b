"""Training queries of some runs, scored with the test split by their weights, for inference methods that read them."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.evaluation.banks import BankedRun, score_banks

with log_to(snakemake.log[0]):
    score_banks(
        [BankedRun(run["name"], Path(run["folder"]), run["dual"]) for run in snakemake.params.runs],
        Path(snakemake.input.corpus),
        Path(snakemake.input.features),
        Path(snakemake.output.banks),
    )
