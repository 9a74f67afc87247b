"""The claims with their verdicts as JSON, CSV, Markdown and a page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from fivesentences.config import Scale
from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.paper.claims.ledger import Cell, Judged
from fivesentences.paper.claims.verdicts import FEWEST_SEEDS, Effect, Verdict
from fivesentences.paper.site.runs import anchor_of
from fivesentences.paper.site.shell import Site
from fivesentences.paper.text.markdown import escape_markdown, piped
from fivesentences.paper.text.numbers import number, signed
from fivesentences.plan.claims import Claim, Printed
from fivesentences.storage import replacing, write_json

FORMAT = "fivesentences.claims 1"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
IN_WORDS: dict[Verdict, str] = {
    "holds": "holds",
    "partly": "holds partly",
    "does not": "does not hold",
    "not testable": "not testable at this scale",
}
OF_ONE: dict[Verdict, str] = IN_WORDS | {"not testable": "cannot be tested at this scale"}
OF_SEVERAL: dict[Verdict, str] = {
    "holds": "hold",
    "partly": "hold partly",
    "does not": "do not hold",
    "not testable": "cannot be tested at this scale",
}
HOW = (
    "A statement holds if it does in every setting that the scale trains, partly if in some, and does not hold if it "
    "fails in more than half of them and holds in none.",
    "Effects are differences paired by seed and test image, with 95% intervals over both by a two-way random-effects "
    "model (t, degrees of freedom by Satterthwaite and Hillis) unless “over” says otherwise. Over seeds alone: a "
    "paired t interval, the test images as they are. Over queries alone: one seed, which settles nothing.",
    f"Fewer than {FEWEST_SEEDS} seeds settle nothing. A statement fails where the whole interval stays below the "
    "smallest effect that counts, half a percent of the metric's range (3 of 600 points of Rsum).",
    "Verdicts are about this scale: other data, features, sizes and lengths of training than in print.",
)


def write_claims(found: Sequence[Judged], scale: Scale, site: Site, stem: Path) -> None:
    """Write ``stem`` with the suffixes .json, .csv, .md and .html.

    Args:
        found: In the order of the files.
        scale: At which they were tested.
        site: Of the scale.
        stem: Path without a suffix.
    """
    content = {
        "format": FORMAT,
        "scale": scale.scale,
        "counts": counts_of(found),
        "how": list(HOW),
        "claims": [_plain(one) for one in found],
    }
    write_json(stem.with_suffix(".json"), content)
    page = site.render(
        "claims.html",
        "claims/claims.html",
        scripts=["alpine"],
        counts=[(words_for(verdict, count), verdict, count) for verdict, count in counts_of(found).items() if count],
        how=HOW,
        papers=_by_paper(found),
    )
    for suffix, text in (("csv", _csv(found)), ("md", _markdown(found, scale)), ("html", page)):
        with replacing(stem.with_suffix(f".{suffix}")) as temporary:
            temporary.write_text(text, encoding="utf-8")


def read_claims(path: Path) -> dict[str, Any]:
    """What ``write_claims`` wrote as JSON.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "these are not claims of this version; make them again.")


def in_short(content: Mapping[str, Any]) -> str:
    """How many claims have each verdict, in a sentence; see ``read_claims``."""
    said = _counted(content["counts"])
    return f"{len(content['claims'])} claims of the papers: {said}" if said else ""


def line_of(claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim as it is stored, in the words of a page: its verdict, what is in print, what was found here.

    Raises:
        InputError: If it is of another version.
    """
    try:
        cells = (Cell(**{**cell, "effect": Effect(**cell["effect"])}) for cell in claim["cells"])
        of_file = Claim.model_validate({name: claim[name] for name in Claim.model_fields if name in claim})
        about = {name: claim[name] for name in ("paper", "title", "verdict", "why", "unit", "smallest")}
        return _line(Judged(claim=of_file, cells=tuple(cells), **about))
    except (KeyError, TypeError, ValueError):
        raise InputError("a claim is stored in another version; make the claims again.") from None


def counted(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many of some claims, as they are stored, have each verdict: ``3 hold, 1 does not hold``."""
    return _counted(Counter(claim["verdict"] for claim in claims))


def _counted(counts: Mapping[Verdict, int]) -> str:
    return ", ".join(
        f"{counts[verdict]} {words_for(verdict, counts[verdict])}" for verdict in VERDICTS if counts[verdict]
    )


def words_for(verdict: Verdict, count: int) -> str:
    """A verdict of so many claims: ``holds`` of one, ``hold`` of several."""
    return OF_ONE[verdict] if count == 1 else OF_SEVERAL[verdict]


def counts_of(found: Sequence[Judged]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    counts = Counter(one.verdict for one in found)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _plain(one: Judged) -> dict[str, Any]:
    return {
        "paper": one.paper,
        "title": one.title,
        **one.claim.model_dump(mode="json", exclude_defaults=True),
        "verdict": one.verdict,
        "why": one.why,
        "unit": one.unit,
        "smallest": one.smallest,
        "cells": [asdict(cell) for cell in one.cells],
    }


def _csv(found: Sequence[Judged]) -> str:
    """One line per cell; a claim without cells has one line."""
    lines = []
    for one in found:
        of_claim = {
            "paper": one.paper,
            "name": one.claim.name,
            "claim": one.claim.claim,
            "where": one.claim.where,
            "expect": one.claim.test.expect,
            "printed": "; ".join(f"{size.of}: {size.size:g}" for size in one.claim.printed),
            "verdict": one.verdict,
            "why": one.why,
            "unit": one.unit,
            "smallest": one.smallest,
        }
        for cell in one.cells or (None,):
            effect = asdict(cell.effect) if cell else dict.fromkeys(Effect.__dataclass_fields__)
            about = {"cell": cell.label, "outcome": cell.outcome, "link": cell.link} if cell else {}
            lines.append({**of_claim, "cell": "", "outcome": "", "link": "", **about, **effect})
    frame = pd.DataFrame(lines)
    whole = {column: frame[column].astype("Int64") for column in ("seeds", "queries")}  # not 3.0 where some are missing
    return frame.assign(**whole).to_csv(index=False, lineterminator="\n")


def _markdown(found: Sequence[Judged], scale: Scale) -> str:
    """A line per claim that the scale has runs for, then the others, then how to read it."""
    lines = [
        f"### {escape_markdown(scale.title)}: claims of the papers",
        "",
        f"{len(found)} statements: {_counted(counts_of(found))}.",
        "",
    ]
    lines += [piped(["claim", "in print", "here", "verdict"]), piped(["---", "---", "---", "---"])]
    for _, title, of_paper in _by_paper([one for one in found if one.cells]):
        lines.append(piped([f"**{escape_markdown(title)}**", "", "", ""]))
        for line in of_paper:
            cells = (line["claim"], line["printed"], line["here"], line["words"])
            lines.append(piped(map(escape_markdown, cells)))
    reasons = dict.fromkeys(one.why for one in found if not one.cells)
    for why in reasons:
        lines += ["", f"Without a test here, because {escape_markdown(why)}:", ""]
        lines += [f"- {escape_markdown(one.claim.claim)}" for one in found if not one.cells and one.why == why]
    lines += ["", "How to read it:", "", *(f"- {escape_markdown(sentence)}" for sentence in HOW)]
    return "\n".join(lines) + "\n"


def _by_paper(found: Sequence[Judged]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Name, title and lines of each paper, as texts."""
    papers: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in found:
        papers.setdefault((one.paper, one.title), []).append(_line(one))
    return [(name, title, lines) for (name, title), lines in papers.items()]


def _line(one: Judged) -> dict[str, Any]:
    why = f" ({one.why})" if one.why else ""
    return {
        "name": f"{one.paper}-{one.claim.name}",
        "claim": one.claim.claim,
        "where": one.claim.where,
        "note": one.claim.note,
        "verdict": one.verdict,
        "words": IN_WORDS[one.verdict] + why,
        "printed": _printed(one.claim.printed),
        "sizes": [f"{size.of}: {_size(size)}" for size in one.claim.printed],
        "here": _here(one),
        "power": _power(one),
        "cells": [_cell(cell, one) for cell in one.cells],
    }


def _printed(sizes: Sequence[Printed]) -> str:
    """The range of sizes in print."""
    ordered = sorted(sizes, key=lambda size: size.size)
    if not ordered:
        return ""
    first, last = _size(ordered[0]), _size(ordered[-1])
    return first if first == last else f"{first} to {last}"


def _size(size: Printed) -> str:
    decimals = 3 if abs(size.size) < 1 and size.metric in ("mAP", "pearson_r") else 1
    return signed(size.size, decimals) if size.b is not None else number(size.size, decimals)


def _here(one: Judged) -> str:
    """One cell as it is; several as the range of their effects and how many hold."""
    if not one.cells:
        return ""
    if len(one.cells) == 1:
        (cell,) = one.cells
        return f"{_value(cell.effect, one)} {_interval(cell.effect, one)}".strip()
    values = sorted(one.cells, key=lambda cell: cell.effect.value)
    holding, failing = (sum(cell.outcome == outcome for cell in one.cells) for outcome in ("holds", "fails"))
    said = [f"{count} {word}{'s' * (count == 1)}" for count, word in ((holding, "hold"), (failing, "fail")) if count]
    left = len(one.cells) - holding - failing
    said += [f"{left} open"] if left else []
    ends = f"{_value(values[0].effect, one)} to {_value(values[-1].effect, one)}"
    return f"{ends} in {len(one.cells)} settings: {', '.join(said)}"


def _decimals(one: Judged) -> int:
    return 3 if one.unit == "fraction" else 1


def _is_level(one: Judged) -> bool:
    return one.claim.test.kind in ("level", "ranks")


def _value(effect: Effect, one: Judged) -> str:
    show = number if _is_level(one) else signed
    return show(effect.value, _decimals(one))


def _interval(effect: Effect, one: Judged) -> str:
    if effect.low is None or effect.high is None:
        return ""
    show = number if _is_level(one) else signed
    return f"[{show(effect.low, _decimals(one))}, {show(effect.high, _decimals(one))}]"


def _power(one: Judged) -> str:
    """What would have been seen, where nothing was found."""
    known = [cell.effect.detectable for cell in one.cells if cell.outcome != "holds"]
    sizes = sorted(size for size in known if size is not None)
    if not sizes:
        return ""
    ends = [number(size, _decimals(one)) for size in (sizes[0], sizes[-1])]
    size = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}, by setting,"
    return f"An effect of {size} would have been seen with a power of 80%."


def _cell(cell: Cell, one: Judged) -> dict[str, Any]:
    effect, decimals = cell.effect, _decimals(one)
    seeds = f"{effect.seeds} seed{'s' if effect.seeds != 1 else ''}" if effect.seeds else ""
    kind = {"judged images": "images", "settings": "settings"}.get(effect.over, "queries")
    counted = ", ".join(part for part in (seeds, f"{effect.queries:,} {kind}" if effect.queries else "") if part)
    return {
        "label": cell.label,
        "link": cell.link,
        "runs": [f"../runs/index.html#{anchor_of(kind)}" for kind in cell.kinds],
        "a": number(effect.a, decimals),
        "b": number(effect.b, decimals),
        "value": _value(effect, one),
        "interval": _interval(effect, one),
        "over": f"{effect.over} ({counted})" if counted else effect.over,
        "detectable": number(effect.detectable, decimals),
        "outcome": cell.outcome,
    }
