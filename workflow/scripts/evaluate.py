"""All the numbers of some runs or ensembles of one dataset, in one file."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.evaluation.run import Evaluated, evaluate_runs
from fivesentences.training.spec import read_scored

with log_to(snakemake.log[0]):
    runs = [
        Evaluated(read_scored(run["spec"], run["similarity"]), Path(run["similarity"]), run["inferences"])
        for run in snakemake.params.runs
    ]
    evaluate_runs(
        runs,
        corpus=Path(snakemake.input.corpus),
        phis=snakemake.params.phis,
        further_phis=snakemake.params.further_phis,
        matrices={Path(path).stem: Path(path) for path in snakemake.input.phi},
        labels=next(map(Path, snakemake.input.labels), None),
        banks=next(map(Path, snakemake.input.banks), None),
        out=Path(snakemake.output.metrics),
        per_image=Path(snakemake.output.per_image),
    )
