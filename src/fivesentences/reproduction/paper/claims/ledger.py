"""The ledger: every claim of the papers with one verdict over the scales whose results are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fivesentences.reproduction.paper.claims.verdicts import DECIDED, Effect, Verdict
from fivesentences.reproduction.paper.claims.writing import (
    LEDGER,
    adjusted_verdicts,
    line_of,
    number_here,
    read_claims,
    verdict_again,
)
from fivesentences.reproduction.paper.site.shell import Site, SitePage
from fivesentences.reproduction.paper.text.names import unique
from fivesentences.reproduction.study.study import PaperClaims
from fivesentences.storage import replacing

NOBODY: Verdict = "nobody has run it"
MIXED = "mixed"  # one experiment holds, another fails
RULE = (
    "The verdict of a claim is that of its most precise experiment, whatever that experiment found: the one whose 95% "
    "interval is the narrowest (median over its settings; a setting with fewer than three seeds counts as infinitely "
    "wide; of equal widths the most seeds, then the most test images).",
    "If one experiment says that the claim holds, in full or partly, and another that it fails, the claim is mixed.",
    "Experiments share data and sometimes runs, so several that agree are not independent confirmations. They differ "
    "in features, models and lengths of training from the papers and from each other.",
)


def write_ledger(files: Iterable[Path], papers: Sequence[PaperClaims], folder: Path) -> dict[str, int]:
    """Write ``folder/index.html``, ``claims.md`` and ``claims.csv``.

    Args:
        files: The ``claims.json`` of each scale, and of models that no scale trains (``orders``).
        papers: Claims of the papers, one row each.
        folder: A folder beside those of the scales.

    Returns:
        How many claims have each verdict.

    Raises:
        InputError: If a file is missing or does not hold claims.
    """
    scales = [read_claims(path) for path in files]
    titles = {scale["scale"]: scale["title"] for scale in scales}
    of_scales = {scale["scale"]: (scale["title"], scale.get("page")) for scale in scales}
    every = [one for scale in scales for claim in scale["claims"] for one in experiments_of(scale["scale"], claim)]
    titles |= {name: f"{titles[claim['scale']]}: {claim['study']}" for name, claim in every if claim["study"]}
    adjusted = adjusted_verdicts([claim for _, claim in every])
    tested: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for (name, claim), verdict in zip(every, adjusted, strict=True):
        tested.setdefault((claim["paper"], claim["name"]), {})[name] = claim | {"adjusted": verdict}
    rows = [
        {"paper": paper.name, "name": one.name, "claim": one.claim, "needs": one.needs}
        | over_scales(tested.get((paper.name, one.name), {}), titles)
        for paper in papers
        for one in paper.claims.claims
    ]
    changed = sum(bool(row["adjusted"]) for row in rows)
    on_many = (
        f"Each verdict is tested by itself, at 95%. With Holm's correction for all {len(every)} verdicts of all "
        f"experiments, {changed} claims have another: “Holm:” names it beside theirs."
    )
    for row in rows:
        for one in row["experiments"]:
            one["address"] = of_scales[one["scale"]][1] or f"../{one['scale']}/claims/claims.html#{one['name']}"
    values: dict[str, Any] = {
        "titles": {paper.name: paper.study.paper for paper in papers},
        "rows": rows,
        "rule": (*RULE, on_many),
    }
    pages = [SitePage("", "All findings", "../index.html"), SitePage("", "Claims", LEDGER.name)]
    pages += [
        SitePage("Experiments", title, page or f"../{scale}/index.html") for scale, (title, page) in of_scales.items()
    ]
    site = Site("Kept results", tuple(pages))
    for template, name in (("ledger.html", LEDGER.name), ("ledger.md", "claims.md")):
        with replacing(folder / name) as temporary:
            temporary.write_text(site.render(template, name, **values), encoding="utf-8")
    frame = pd.DataFrame(
        {name: row[name] for name in ("paper", "name", "claim", "verdict", "adjusted", "best")}
        | {"experiments": len(row["experiments"])}
        | {word: sum(one["verdict"] == word for one in row["experiments"]) for word in DECIDED}
        for row in rows
    )
    with replacing(folder / "claims.csv") as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    return dict(Counter(row["verdict"] for row in rows))


def experiments_of(scale: str, claim: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a stored claim once for the runs of its scale, and once for each study with settings of its own.

    With the name of each experiment; its ``verdict`` is that of its ``cells`` alone.
    """
    for study in unique(cell.get("study", "") for cell in claim["cells"]):
        cells = [cell for cell in claim["cells"] if cell.get("study", "") == study]
        alone = {**claim, "cells": cells, "scale": scale, "study": study}
        yield f"{scale}: {study}" if study else scale, alone | {"verdict": verdict_again(alone)}


def over_scales(claims: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the one verdict of a claim, and what its experiments found, the most precise first.

    Args:
        claims: The claim as each scale stores it, with its ``adjusted`` verdict, by the scale's name.
        titles: Title of each scale.
    """
    if not claims:
        return {"verdict": NOBODY, "adjusted": "", "best": "", "experiments": [], "why": ""}
    order = sorted(claims, key=lambda scale: _imprecision(claims[scale]))
    verdict = one_verdict([claims[scale]["verdict"] for scale in order])
    lines = [
        line_of(claims[name]) | {"scale": claims[name].get("scale", name), "title": titles[name]} for name in order
    ]
    best, adjusted = claims[order[0]], one_verdict([claims[scale]["adjusted"] for scale in order])
    about = {"verdict": verdict, "adjusted": "" if adjusted == verdict else adjusted, "best": order[0]}
    return about | {"experiments": lines, "why": _why(best, len(order))}


def one_verdict(verdicts: Sequence[str]) -> str:
    """Return the verdict over experiments, whose own are given from the most precise on: see ``RULE``."""
    decided = {verdict == "fails" for verdict in verdicts if verdict in DECIDED}
    return MIXED if len(decided) > 1 else verdicts[0]


def _imprecision(claim: Mapping[str, Any]) -> tuple[float, int, int]:
    """Return what orders experiments: the median width of intervals, then minus the seeds and minus the queries."""
    effects = [Effect(**cell["effect"]) for cell in claim["cells"]]
    return _width(effects), -min(effect.seeds for effect in effects), -min(effect.queries for effect in effects)


def _width(effects: Iterable[Effect]) -> float:
    known = (
        effect.high - effect.low
        if effect.is_repeated and effect.low is not None and effect.high is not None
        else np.inf
        for effect in effects
    )
    return float(np.median(list(known)))


def _why(claim: Mapping[str, Any], experiments: int) -> str:
    """Say why an experiment is the best evidence."""
    width = _width(Effect(**cell["effect"]) for cell in claim["cells"])
    seeds = min(cell["effect"]["seeds"] for cell in claim["cells"])
    repeated = f", {seeds} seed{'s' * (seeds != 1)}" if seeds else ""
    if experiments == 1:
        return f"the only experiment{repeated}"
    if np.isinf(width):
        return f"none of {experiments} experiments repeats most of its settings three times{repeated}"
    unit = {"points": " points"}.get(claim["unit"], "")
    return f"the narrowest interval of {experiments} experiments, {number_here(width, claim)}{unit} wide{repeated}"
