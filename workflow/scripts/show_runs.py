"""The page of every run of a scale with its numbers."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.reproduction.paper.site.runs import write_runs_page
from fivesentences.reproduction.paper.site.shell import Site

with log_to(snakemake.log[0]):
    tidy, subspaces = ([Path(path) for path in snakemake.input.get(name, [])] for name in ("tidy", "subspaces"))
    write_runs_page(Site.of(snakemake.params.site), tidy, subspaces, Path(snakemake.output.page).parents[1])
