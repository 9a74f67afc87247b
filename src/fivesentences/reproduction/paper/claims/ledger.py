"""The ledger: every claim of the papers, with a column for each scale whose results are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fivesentences.reproduction.paper.claims.verdicts import Verdict
from fivesentences.reproduction.paper.claims.writing import LEDGER, line_of, read_claims
from fivesentences.reproduction.paper.site.shell import Site, SitePage
from fivesentences.reproduction.study.study import PaperClaims
from fivesentences.storage import replacing

NOBODY: Verdict = "nobody has run it"
SHORT: dict[Verdict, str] = {"holds partly": "partly", "too few seeds": "few seeds", NOBODY: ""}


def write_ledger(files: Iterable[Path], papers: Sequence[PaperClaims], folder: Path) -> None:
    """Write ``folder/index.html`` and ``claims.csv``.

    Args:
        files: The ``claims.json`` of each scale.
        papers: Claims of the papers, one row each.
        folder: A folder beside those of the scales.

    Raises:
        InputError: If a file is missing or does not hold claims.
    """
    scales = [read_claims(path) for path in files]
    names = [scale["scale"] for scale in scales]
    tested = {
        (scale["scale"], claim["paper"], claim["name"]): line_of(claim) for scale in scales for claim in scale["claims"]
    }
    nothing = {"verdict": NOBODY, "here": ""}
    rows: list[dict[str, Any]] = [
        {"paper": paper.name, "name": one.name, "claim": one.claim}
        | {scale: tested.get((scale, paper.name, one.name), nothing) for scale in names}
        for paper in papers
        for one in paper.claims.claims
    ]
    undecided = [
        {"claim": one.claim, "name": f"{paper.name}-{one.name}", "needs": one.needs, "found": found}
        for paper in papers
        for one in paper.claims.claims
        if (found := _tests_that_decide_nothing(tested, names, paper.name, one.name)) is not None
    ]
    pages = [SitePage("", "Claims", LEDGER.name)]
    pages += [SitePage("Scales", scale["title"], f"../{scale['scale']}/index.html") for scale in scales]
    page = Site("Kept results", tuple(pages)).render(
        "ledger.html",
        LEDGER.name,
        scales=scales,
        titles={paper.name: paper.study.paper for paper in papers},
        rows=rows,
        undecided=undecided,
        short=SHORT,
    )
    frame = pd.DataFrame([row | {scale: row[scale]["verdict"] for scale in names} for row in rows])
    with replacing(folder / LEDGER.name) as temporary:
        temporary.write_text(page, encoding="utf-8")
    with replacing(folder / "claims.csv") as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def _tests_that_decide_nothing(
    tested: Mapping[tuple[str, str, str], Mapping[str, Any]], scales: Iterable[str], paper: str, name: str
) -> list[str] | None:
    """Word what each scale found of a claim; None if one of them decides it."""
    lines = [(scale, tested[scale, paper, name]) for scale in scales if (scale, paper, name) in tested]
    if any(line["decided"] for _, line in lines):
        return None
    return [f"{scale}: {line['here']}. {line['power']}".strip() for scale, line in lines if line["here"]]
