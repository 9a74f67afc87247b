"""What the numbers of a scale were made of: checksums, versions, machine, seeds, seconds per rule."""

from pathlib import Path

from snakemake.io import glob_wildcards, strip_wildcard_constraints

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.manifest import write_manifest
from fivesentences.reproduction.plan.plan import plan_of


def left_by_jobs(pattern, scale):
    """Files in which jobs of the scale left their seconds, by the names of the jobs."""
    found = glob_wildcards(pattern)
    jobs = [dict(zip(found._fields, values, strict=True)) for values in zip(*found, strict=True)]
    path = strip_wildcard_constraints(pattern)
    of_scale = [job for job in jobs if job.get("scale", job.get("pool", scale)).partition("/")[0] == scale]
    return {"/".join(job.values()): Path(path.format(**job)) for job in of_scale}


with log_to(snakemake.log[0]):
    plan = plan_of(check(Scale, snakemake.params.scale, "the scale"), Path(snakemake.params.config))
    scale, benchmarks = snakemake.wildcards.scale, snakemake.params.benchmarks
    left = {rule: left_by_jobs(pattern, scale) for rule, pattern in benchmarks.items()}
    write_manifest(plan, scale, left, Path(snakemake.output.manifest))
