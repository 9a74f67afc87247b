"""All the numbers of some runs or ensembles of one dataset, one JSON file each."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.evaluation import evaluate_run
from fivesentences.plan.ensembles import read_run_or_ensemble

with log_to(snakemake.log[0]):
    given = (snakemake.params.specs, snakemake.input.similarity, snakemake.params.inferences, snakemake.output.metrics)
    for spec, similarity, inferences, metrics in zip(*given, strict=True):
        evaluate_run(
            read_run_or_ensemble(spec, metrics),
            corpus=Path(snakemake.input.corpus),
            similarity=Path(similarity),
            phis=snakemake.params.phis,
            matrices={Path(path).stem: Path(path) for path in snakemake.input.phi},
            labels=next(map(Path, snakemake.input.labels), None),
            inferences=inferences,
            out=Path(metrics),
        )
