"""The overview of a scale: what was measured, what was found with one figure, and where to read on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.config import Scale
from fivesentences.corpus import Corpus
from fivesentences.documents import read_json
from fivesentences.paper.claims.writing import VERDICTS, counted, line_of, words_for
from fivesentences.paper.site.notes import SharedNote, shared_notes
from fivesentences.paper.site.pictures import Picture, as_data_uri
from fivesentences.paper.site.shell import Site
from fivesentences.paper.site.study import count_of
from fivesentences.paper.text.names import capitalised, listed, phi_in_words
from fivesentences.paper.text.numbers import signed
from fivesentences.plan.studies import Study

WORDS = {"train": "training", "dev": "validation"}
FEWEST_CELLS, MOST_CELLS = 2, 24  # of a claim in the figure
WHAT_PAGES_SAY = {
    "claims/claims.html": "what the papers state, with a verdict, the effect and its interval",
    "gallery/index.html": "queries with what several models retrieve for them",
    "runs/index.html": "every run with its numbers",
}


@dataclass(frozen=True)
class Effect:
    """One line of the figure.

    Attributes:
        label: The setting.
        text: The effect with its interval.
        outcome: Of this setting alone.
        at, start, end: Places of the value and the ends of its interval on the axis, from 0 to 100; ends are None
            where there is no interval.
    """

    label: str
    text: str
    outcome: str
    at: float
    start: float | None
    end: float | None


@dataclass(frozen=True)
class Effects:
    """The figure of the overview: a claim's effects in every setting of the scale.

    Attributes:
        claim: The claim in words.
        anchor: Its anchor on the page of claims.
        unit: What the axis measures.
        zero: Place of zero on the axis, from 0 to 100.
        ends: Texts at both ends of the axis.
        lines: One per setting.
        over: What the intervals cover.
    """

    claim: str
    anchor: str
    unit: str
    zero: float
    ends: tuple[str, str]
    lines: tuple[Effect, ...]
    over: str


def write_overview(
    site: Site,
    scale: Scale,
    studies: Mapping[str, Study],
    folder: Path,
    *,
    corpora: Sequence[Corpus] = (),
    trained: Mapping[str, int] | None = None,
    claims: Mapping[str, Any] | None = None,
    pictures: Sequence[Picture] = (),
) -> Path:
    """Write ``folder/index.html``.

    Args:
        site: The site of the scale.
        scale: The scale.
        studies: Its studies, by the names of their files.
        folder: Of the site.
        corpora: Those that runs are trained on.
        trained: How many runs there are: ``{"matching": ..., "categories": ...}``.
        claims: What the papers state, as stored; see ``claims.writing.read_claims``.
        pictures: What the data look like.

    Raises:
        InputError: If a picture is missing.
    """
    every = list(claims["claims"]) if claims else []
    main = [claim for claim in every if claim.get("main")]
    tested = [claim for claim in main if claim["cells"]]
    return site.write(
        folder,
        "overview.html",
        "index.html",
        about=about(scale, corpora, trained or {}),
        counts=[
            (verdict, number, words_for(verdict, number))
            for verdict in VERDICTS
            if claims and (number := claims["counts"].get(verdict))
        ],
        in_short=f"{len(every)} claims of the papers: {counted(every)}" if every else "",
        main=[line_of(claim) for claim in sorted(tested, key=lambda claim: VERDICTS.index(claim["verdict"]))],
        untested=[line_of(claim) for claim in main if not claim["cells"]],
        chart=effects_of(every),
        shared=shared_by_studies(scale, studies, folder),
        papers=[
            (f"{name}/index.html", study.short or study.paper, study.paper, count_of(made))
            for name, study in studies.items()
            if (made := study.made_at(scale))
        ],
        pages=[(page, WHAT_PAGES_SAY[page.path]) for page in site.pages if page.path in WHAT_PAGES_SAY],
        pictures=pictures,
        data_uri=as_data_uri,
    )


def about(scale: Scale, corpora: Sequence[Corpus], trained: Mapping[str, int]) -> list[str]:
    """What the scale consists of, in a sentence per subject."""
    said = []
    for corpus in corpora:
        parts = listed([f"{corpus.split(split).n_images:,} for {WORDS.get(split, split)}" for split in corpus.splits])
        said.append(
            f"{capitalised(corpus.name)}: {corpus.n_images:,} images with {corpus.n_captions:,} captions ({parts})."
        )
    counts = []
    if matching := trained.get("matching"):
        counts.append(f"{matching:,} trained run{'s' if matching != 1 else ''} of image-text matching")
    if categories := trained.get("categories"):
        counts.append(f"{categories:,} of category retrieval")
    if counts:
        said.append(
            f"{listed(counts)}, evaluated with {phi_in_words(scale.evaluation_phi)} as the measure of meaning (φ)."
        )
    return said or ["Nothing is trained at this scale."]


def shared_by_studies(scale: Scale, studies: Mapping[str, Study], folder: Path) -> list[SharedNote]:
    """Notes that the tables and figures of at least two studies have word for word.

    Raises:
        InputError: If a table or figure has not been made.
    """
    notes_of = {
        name: [
            note
            for one in study.made_at(scale)
            for note in read_json(folder / name / f"{one.name}.json", "make it again").get("notes", [])
        ]
        for name, study in studies.items()
    }
    return shared_notes(notes_of)


def effects_of(claims: Sequence[Mapping[str, Any]]) -> Effects | None:
    """The main claim that was tested in most settings, as a figure; without one any other; None if there is none."""
    chosen = [
        claim
        for claim in claims
        if claim["unit"] == "points"
        and claim["test"]["kind"] == "runs"
        and FEWEST_CELLS <= len(claim["cells"]) <= MOST_CELLS
    ]
    if not chosen:
        return None
    claim = max(chosen, key=lambda one: (bool(one.get("main")), one["verdict"] != "not testable", len(one["cells"])))
    effects = [cell["effect"] for cell in claim["cells"]]
    known = [effect[name] for effect in effects for name in ("low", "value", "high") if effect[name] is not None]
    low, high = min(0.0, *known), max(0.0, *known)
    width = (high - low) or 1.0

    def at(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - low) / width, 2)

    lines = []
    for cell in claim["cells"]:
        effect = cell["effect"]
        interval = f" [{signed(effect['low'], 1)}, {signed(effect['high'], 1)}]" if effect["low"] is not None else ""
        place = at(effect["value"])
        text = f"{signed(effect['value'], 1)}{interval}"
        lines.append(Effect(cell["label"], text, cell["outcome"], place or 0.0, at(effect["low"]), at(effect["high"])))
    over = listed(list(dict.fromkeys(effect["over"] for effect in effects)))
    measured = claim["test"].get("measure", {}).get("metric", "")
    return Effects(
        claim["claim"],
        f"{claim['paper']}-{claim['name']}",
        f"difference of {measured}" if measured else "difference",
        at(0.0) or 0.0,
        (signed(low, 0), signed(high, 0)),
        tuple(lines),
        over,
    )
