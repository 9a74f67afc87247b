"""The pages of a scale, written again from its tables, figures and claims, without Snakemake and without corpora."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fivesentences.reproduction.paper.claims.writing import read_claims, write_claims_page
from fivesentences.reproduction.paper.manifest import read_manifest
from fivesentences.reproduction.paper.site.front import beside
from fivesentences.reproduction.paper.site.overview import read_about, write_overview
from fivesentences.reproduction.paper.site.pictures import read_examples, read_features_sheet
from fivesentences.reproduction.paper.site.runs import write_runs_page
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.paper.site.study import write_study_page
from fivesentences.reproduction.plan.plan import Plan


def remake_pages(plan: Plan) -> Iterator[Path]:
    """Write the pages of a scale again, and yield each.

    A page of runs is made if the numbers of all runs are here. The gallery stays, since it shows photographs.

    Args:
        plan: Plan of the scale.

    Raises:
        InputError: If a table, a figure, the claims or the description of the corpora are missing.
    """
    scale, places, manifest = plan.scale, plan.places, plan.places.manifest(plan.scale.scale)
    inputs = read_manifest(manifest).get("inputs", {}) if manifest.is_file() else None
    folder = places.page(scale.scale, "index.html").parent
    site = beside(Site.of(plan.report.site(scale.scale), inputs), scale.scale, folder.parent)
    stored = read_claims(folder / "claims" / "claims.json")
    yield write_claims_page(stored, site, folder)
    for name in plan.report.shown_at(scale.scale):
        yield write_study_page(site, scale, name, plan.studies[name], folder, stored["claims"])
    runs = plan.report.numbers_of_runs(scale.scale)
    if plan.report.shows_runs(scale.scale) and all(path.exists() for paths in runs.values() for path in paths):
        yield write_runs_page(site, **runs, folder=folder)
    examples = [folder / "examples" / f"{name}.json" for name in plan.features.pictured_datasets]
    features = [folder / "features" / one[0] / f"{one[1]}.json" for one in plan.features.pictured_features]
    yield write_overview(
        site,
        scale,
        plan.studies,
        folder,
        about=read_about(folder / "about.json"),
        trained=plan.report.trained(scale.scale),
        claims=stored["claims"],
        pictures=[*map(read_examples, examples), *map(read_features_sheet, features)],
    )
