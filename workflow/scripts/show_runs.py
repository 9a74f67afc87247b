"""Every run of a scale: settings, numbers, curves and time."""

from pathlib import Path

from fivesentences.config import Scale, check
from fivesentences.console import log_to
from fivesentences.paper.manifest import read_manifest
from fivesentences.paper.site.runs_page import write_runs_page
from fivesentences.paper.site.shell import Site
from fivesentences.paper.site.shown_runs import kinds_of, read_recorded_runs
from fivesentences.plan.plan import plan_of

with log_to(snakemake.log[0]):
    read = snakemake.input
    plan = plan_of(check(Scale, snakemake.params.scale, "the scale"), Path(snakemake.params.config))
    recorded = read_recorded_runs(
        *([Path(path) for path in files] for files in (read.tidy, read.histories, read.subspaces)),
        [Path(path) for path in read.subspace_histories],
        read_manifest(Path(read.manifest)),
    )
    kinds = kinds_of(plan, snakemake.wildcards.scale, recorded)
    site, folder = Site.of(snakemake.params.site), Path(snakemake.output.page).parents[1]
    write_runs_page(site, kinds, recorded, plan.scale.evaluation_phi, folder)
