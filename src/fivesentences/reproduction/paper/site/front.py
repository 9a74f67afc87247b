"""The front page of all results that are kept: every finding, the papers' tables and the claims, one click away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences.documents import read_formatted, read_json
from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.paper.site.findings import card_of
from fivesentences.reproduction.paper.site.shell import Site, SitePage
from fivesentences.reproduction.paper.text.names import grouped
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.storage import write_json

FORMAT = "fivesentences.kept 1"
KEPT, FRONT, CLAIMS = "kept.json", "index.html", "claims/index.html"  # beside the folders of the scales
QUERIES = "queries.json"  # and queries.jpg, which docs/tools/example writes
TITLE = "Kept results"


def write_front(plans: Sequence[Plan], verdicts: Mapping[str, int], folder: Path) -> None:
    """Write ``folder/index.html`` and ``folder/kept.json``, which names the scales whose pages link to it.

    Args:
        plans: The plan of each scale that is kept.
        verdicts: How many claims have each verdict.
        folder: The folder with a folder of results for each scale.

    Raises:
        InputError: If a table that a finding reads is missing, or an interval does not carry a headline.
    """
    plans = sorted(plans, key=lambda plan: -len(plan.report.shown_at(plan.scale.scale)))  # most questions first
    titles = {plan.scale.scale: plan.scale.title for plan in plans}
    write_json(folder / KEPT, {"format": FORMAT, "scales": titles}, sealed=False)
    cards, papers = list[dict[str, Any]](), list[tuple[str, str, str]]()
    for plan in plans:
        scale = plan.scale.scale
        here, below = folder / scale, f"{scale}/"
        found: list[tuple[Finding | None, str]] = [(plan.scale.finding, FRONT)]
        found += [(study.finding_at(plan.scale), f"{name}/{FRONT}") for name, study in plan.studies.items()]
        cards += [card_of(finding, here, page, below) for finding, page in found if finding is not None]
        for name in plan.report.shown_at(scale):
            if plan.report.is_claimed(name):
                paper = plan.studies[name]
                papers.append((f"{below}{name}/{FRONT}", paper.short or paper.paper, plan.scale.title))
    pages = [SitePage("", "All findings", FRONT), SitePage("", "Claims of the papers", CLAIMS)]
    for plan in plans:
        of_scale = plan.report.site(plan.scale.scale)["pages"]
        pages += [SitePage(plan.scale.title, one["label"], f"{plan.scale.scale}/{one['path']}") for one in of_scale]
    site = Site(TITLE, tuple(pages))
    values = {"cards": cards, "papers": papers, "verdicts": verdicts, "claims": CLAIMS}
    site.write(folder, "front.html", FRONT, **values, queries=_queries_in(folder / QUERIES))


def _queries_in(path: Path) -> dict[str, Any] | None:
    """Read queries with what a model retrieves, and group them by their kind; None if there are none."""
    if not path.is_file():
        return None
    content: dict[str, Any] = read_json(path, "restore it (git checkout)")
    numbered = [query | {"row": row} for row, query in enumerate(content["queries"])]  # of the sheet of pictures
    return content | {"kinds": list(grouped(numbered, lambda query: query["kind"]).items())}


def beside(site: Site, scale: str, folder: Path) -> Site:
    """Return the site of a scale with links to the front page and to other scales, if the scale is among the kept ones.

    Args:
        site: Its site.
        scale: Its name.
        folder: The folder with a folder of results for each scale.

    Raises:
        InputError: If the list of kept scales is damaged.
    """
    path = folder / KEPT
    titles = read_formatted(path, FORMAT, "restore it (git checkout)")["scales"] if path.is_file() else {}
    if scale not in titles:
        return site
    others = [SitePage("All results", "All findings", f"../{FRONT}")]
    others += [SitePage("All results", "Claims of the papers", f"../{CLAIMS}")]
    others += [SitePage("All results", title, f"../{name}/{FRONT}") for name, title in titles.items() if name != scale]
    return Site(site.title, (*site.pages, *others), site.notes, is_kept=True)
