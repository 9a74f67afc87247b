"""All the numbers of one run, as one JSON file."""

from pathlib import Path

from fivesentences.config import RunSpec, check
from fivesentences.console import log_to
from fivesentences.evaluation import evaluate_run

with log_to(snakemake.log[0]):
    evaluate_run(
        check(RunSpec, snakemake.params.spec, snakemake.wildcards.run),
        corpus=Path(snakemake.input.corpus),
        similarity=Path(snakemake.input.similarity),
        phis=snakemake.params.phis,
        matrices={Path(path).stem: Path(path) for path in snakemake.input.phi},
        labels=next(map(Path, snakemake.input.labels), None),
        inferences=snakemake.params.inferences,
        out=Path(snakemake.output.metrics),
    )
