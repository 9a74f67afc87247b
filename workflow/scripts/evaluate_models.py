"""All the numbers of some runs or ensembles of one dataset, one JSON file each."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.evaluation import Evaluated, evaluate_runs
from fivesentences.plan.ensembles import read_run_or_ensemble

with log_to(snakemake.log[0]):
    given = (snakemake.params.specs, snakemake.input.similarity, snakemake.params.inferences, snakemake.output.metrics)
    for spec, similarity, inferences, metrics in zip(*given, strict=True):
        evaluate_runs(
            [Evaluated(read_run_or_ensemble(spec, metrics), Path(similarity), inferences)],
            corpus=Path(snakemake.input.corpus),
            phis=snakemake.params.phis,
            matrices={Path(path).stem: Path(path) for path in snakemake.input.phi},
            labels=next(map(Path, snakemake.input.labels), None),
            out=Path(metrics),
        )
