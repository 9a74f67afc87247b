"""The claims of a scale with their verdicts as JSON, CSV and a page of HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from fivesentences.documents import read_formatted
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.claims.verdicts import (
    DECIDED,
    FEWEST_SEEDS,
    Effect,
    Verdict,
    chance_of,
    chance_of_failing,
    chance_of_verdict,
    still_decided,
    verdict_of,
)
from fivesentences.reproduction.paper.site.runs import anchor_of
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.paper.text.names import grouped, number, signed, unique
from fivesentences.storage import replacing, write_json

FORMAT = "fivesentences.claims 2"
LEDGER = Path("claims", "index.html")  # beside the folders of the scales; see ``ledger``
COLUMNS = [
    *("paper", "name", "claim", "where", "expect", "printed", "verdict", "unit", "smallest", "cell", "outcome", "link"),
    *(one.name for one in fields(Effect)),
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
UNDECIDED = "undecided"  # after a correction for many verdicts
AS_THEY_ARE = ("level", "ranks", "own_below", "among")  # kinds of tests whose values are no differences
HOW = (
    "A statement holds if it does in every setting that the scale trains, partly if in some. It fails if it fails in "
    "more than half of them and holds in none.",
    "Effects are differences paired by seed and test image, with 95% intervals over both by a two-way random-effects "
    "model (t, degrees of freedom by Satterthwaite and Hillis) unless “over” says otherwise. Over seeds alone: a "
    "paired t interval, the test images as they are. Over queries alone: one seed, which settles nothing.",
    f"Fewer than {FEWEST_SEEDS} seeds settle nothing. A statement fails where the whole interval stays below the "
    "smallest effect that counts, half a percent of the metric's range (3 of 600 points of Rsum).",
    "Each verdict is tested by itself. “Holm: undecided” marks one that does not stand after Holm's correction for all "
    "verdicts of the page.",
    "Verdicts are about this scale: other data, features, sizes and lengths of training than in print.",
)
# A claim as it is stored, see ``judge_claims``.
Stored = Mapping[str, Any]


def write_claims(claims: Sequence[Stored], scale: Scale, site: Site, stem: Path) -> None:
    """Write ``stem`` with the suffixes .json, .csv and .html. They hold the claims that runs of the scale test.

    Args:
        claims: Claims as ``judge_claims`` returns them.
        scale: Scale at which they were tested.
        site: Site of the scale.
        stem: Path without a suffix, ``claims/claims`` in the folder of the site.
    """
    counts, tested = counts_of(claims), [claim for claim in claims if claim["cells"]]
    about = {"format": FORMAT, "scale": scale.scale, "title": scale.title, "counts": counts, "claims": tested}
    write_json(stem.with_suffix(".json"), about, indent=None)
    with replacing(stem.with_suffix(".csv")) as temporary:
        temporary.write_text(_csv(tested), encoding="utf-8")
    write_claims_page(about, site, stem.parents[1])


def write_claims_page(stored: Mapping[str, Any], site: Site, folder: Path) -> Path:
    """Write ``folder/claims/claims.html``.

    Args:
        stored: What ``read_claims`` returns.
        site: Site of the scale.
        folder: Folder of the site.
    """
    ledger = (folder.parent / LEDGER).is_file()
    papers, counts = by_paper(stored["claims"]), {verdict: stored["counts"][verdict] for verdict in VERDICTS}
    return site.write(folder, "claims.html", "claims/claims.html", counts=counts, how=HOW, papers=papers, ledger=ledger)


def read_claims(path: Path) -> dict[str, Any]:
    """Read what ``write_claims`` wrote as JSON.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "these are not claims of this version; make them again.")


def counts_of(claims: Iterable[Stored]) -> dict[Verdict, int]:
    """Count the claims of each verdict."""
    counts = Counter(claim["verdict"] for claim in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _csv(claims: Iterable[Stored]) -> str:
    """Write one line per cell."""
    lines = [
        {key: claim[key] for key in ("paper", "name", "claim", "where")}
        | {"expect": claim["test"].get("expect", "more")}
        | {"printed": "; ".join(f"{size['of']}: {size['size']:g}" for size in claim.get("printed", []))}
        | {key: claim[key] for key in ("verdict", "unit", "smallest")}
        | {"cell": cell["label"], "outcome": cell["outcome"], "link": cell["link"], **cell["effect"]}
        for claim in claims
        for cell in claim["cells"]
    ]
    frame = pd.DataFrame(lines, columns=COLUMNS)
    whole = {column: frame[column].astype("Int64") for column in ("seeds", "queries")}  # not 3.0 where some are missing
    return frame.assign(**whole).to_csv(index=False, lineterminator="\n")


def chance_of_claim(claim: Stored) -> float:
    """Return the one-sided p value of a claim's verdict, see ``chance_of_verdict``."""
    test, cells = claim["test"], claim["cells"]
    given = test.get("expect", "more"), claim["smallest"], test.get("level", 0.0)
    of = {"fails": chance_of_failing}
    chances = [of.get(cell["outcome"], chance_of)(Effect(**cell["effect"]), *given) for cell in cells]
    return chance_of_verdict(claim["verdict"], [cell["outcome"] for cell in cells], chances)


def verdict_again(claim: Stored) -> Verdict:
    """Return the verdict of some stored ``cells``, by the rules of ``verdict_of``."""
    test, effects = claim["test"], [Effect(**cell["effect"]) for cell in claim["cells"]]
    given = test.get("expect", "more"), claim["smallest"], test.get("level", 0.0)
    chances = [chance_of(effect, *given) for effect in effects]
    outcomes = [cell["outcome"] for cell in claim["cells"]]
    return verdict_of(outcomes, chances, any(effect.is_repeated for effect in effects))


def adjusted_verdicts(claims: Sequence[Stored]) -> list[str]:
    """Return the verdict of each claim after Holm's correction for all of them: its own, or undecided."""
    stand = still_decided([chance_of_claim(claim) for claim in claims])
    return [
        claim["verdict"] if stands or claim["verdict"] not in DECIDED else UNDECIDED
        for claim, stands in zip(claims, stand, strict=True)
    ]


def by_paper(claims: Sequence[Stored]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Group the worded claims by paper: name, title and lines."""
    lines = [
        line_of(claim) | {"adjusted": "" if verdict == claim["verdict"] else verdict}
        for claim, verdict in zip(claims, adjusted_verdicts(claims), strict=True)
    ]
    papers = grouped(zip(claims, lines, strict=True), lambda pair: (pair[0]["paper"], pair[0]["title"]))
    return [(name, title, [line for _, line in some]) for (name, title), some in papers.items()]


def line_of(claim: Stored) -> dict[str, Any]:
    """Word a stored claim for a page: its verdict, what is in print, what was found here."""
    sizes = claim.get("printed", [])
    return {
        "name": f"{claim['paper']}-{claim['name']}",
        "claim": claim["claim"],
        "where": claim["where"],
        "note": claim.get("note", ""),
        "verdict": claim["verdict"],
        "decided": claim["verdict"] in DECIDED,
        "printed": _range([_size(size) for size in sorted(sizes, key=lambda size: size["size"])]),
        "sizes": [f"{size['of']}: {_size(size)}" for size in sizes],
        "here": _here(claim),
        "power": _power(claim),
        "cells": [_cell(cell, claim) for cell in claim["cells"]],
    }


def _range(ordered: Sequence[str]) -> str:
    """Join the first and the last of some sizes, once if they are equal; empty if there are none."""
    return " to ".join(unique([*ordered[:1], *ordered[-1:]]))


def _size(size: Mapping[str, Any]) -> str:
    decimals = 3 if abs(size["size"]) < 1 and size.get("metric") in ("mAP", "pearson_r") else 1
    return signed(size["size"], decimals) if "b" in size else number(size["size"], decimals)


def _here(claim: Stored) -> str:
    """Word what was found: one cell as it is, several as the range of their effects and how many hold."""
    cells = [_cell(cell, claim) for cell in sorted(claim["cells"], key=lambda cell: cell["effect"]["value"])]
    if len(cells) < 2:
        return "".join(f"{cell['value']} {cell['interval']}".strip() for cell in cells)
    counts = Counter(cell["outcome"] for cell in cells)
    words = {"holds": ("holds", "hold"), "fails": ("fails", "fail"), "open": ("open", "open")}
    said = [f"{counts[outcome]} {word[counts[outcome] != 1]}" for outcome, word in words.items() if counts[outcome]]
    return f"{cells[0]['value']} to {cells[-1]['value']} in {len(cells)} settings: {', '.join(said)}"


def _decimals(claim: Stored) -> int:
    return 0 if claim["test"]["kind"] == "among" else 3 if claim["unit"] == "fraction" else 1


def number_here(value: float, claim: Stored) -> str:
    """Write a number with as many decimals as the effects of a claim."""
    return number(value, _decimals(claim))


def _power(claim: Stored) -> str:
    """Name the effect that would have been detected, where none was found."""
    known = [cell["effect"]["detectable"] for cell in claim["cells"] if cell["outcome"] != "holds"]
    sizes = _range([number(size, _decimals(claim)) for size in sorted(size for size in known if size is not None)])
    by_setting = ", by setting," if " to " in sizes else ""
    return f"An effect of {sizes}{by_setting} would have been seen with a power of 80%." if sizes else ""


def _cell(cell: Mapping[str, Any], claim: Stored) -> dict[str, Any]:
    effect, decimals = cell["effect"], _decimals(claim)
    show = number if claim["test"]["kind"] in AS_THEY_ARE else signed
    interval = "" if effect["low"] is None else f"[{show(effect['low'], decimals)}, {show(effect['high'], decimals)}]"
    kind = {"judged images": "images", "settings": "settings"}.get(effect["over"], "queries")
    counts = [f"{effect['seeds']} seed{'s' * (effect['seeds'] != 1)}"] if effect["seeds"] else []
    counts += [f"{effect['queries']:,} {kind}"] if effect["queries"] else []
    return {
        "label": re.sub(r"\bN@(?=\d)", "NCS@", cell["label"]),  # results are named N@k
        "link": cell["link"],
        "runs": [f"../runs/index.html#{anchor_of(kind)}" for kind in cell["kinds"]],
        **{name: number(effect[name], decimals) for name in ("a", "b", "detectable")},
        "value": show(effect["value"], decimals),
        "interval": interval,
        "over": f"{effect['over']} ({', '.join(counts)})" if counts else effect["over"],
        "outcome": cell["outcome"],
    }
