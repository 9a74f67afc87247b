"""The overview of a scale: what was measured, what was found with one figure, and where to read on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences.config.scales import Scale
from fivesentences.corpus import Corpus
from fivesentences.documents import read_json
from fivesentences.paper.claims.verdicts import DECIDED
from fivesentences.paper.claims.writing import VERDICTS, Stored, counts_of, line_of
from fivesentences.paper.site.pictures import Picture, addresses_in, drawn_as
from fivesentences.paper.site.shell import Site
from fivesentences.paper.site.study import count_of, shared_notes
from fivesentences.paper.tables.writing import read_texts
from fivesentences.paper.text.names import capitalised, listed, phi_in_words, signed
from fivesentences.study.study import Study

WORDS = {"train": "training", "dev": "validation"}
FEWEST_CELLS, MOST_CELLS = 2, 24  # of a claim in the figure
WHAT_PAGES_SAY = {
    "claims/claims.html": "what the papers state, with a verdict, the effect and its interval",
    "gallery/index.html": "queries with what several models retrieve for them",
    "runs/index.html": "every run with its numbers",
}


def write_overview(
    site: Site,
    scale: Scale,
    studies: Mapping[str, Study],
    folder: Path,
    *,
    corpora: Sequence[Corpus] = (),
    trained: Mapping[str, int] | None = None,
    claims: Sequence[Stored] = (),
    pictures: Sequence[Picture] = (),
) -> Path:
    """Write ``folder/index.html``.

    Args:
        site: The site of the scale.
        scale: The scale.
        studies: Its studies, by the names of their files.
        folder: Folder of the site.
        corpora: Corpora that runs are trained on.
        trained: Numbers of runs: ``{"matching": ..., "categories": ...}``.
        claims: Claims that runs of the scale test, see ``claims.writing.read_claims``.
        pictures: Pictures of the data.

    Raises:
        InputError: If a picture is missing.
    """
    main = [claim for claim in claims if claim.get("main")]
    figures = {f"{name}/{one.name}" for name, study in studies.items() for one in study.made_at(scale)}
    return site.write(
        folder,
        "overview.html",
        "index.html",
        about=about(scale, corpora, trained or {}),
        absent=[one.sentence() for one in scale.absent_data],
        opening=[_opening(folder, figure) for figure in scale.opens_with if figure in figures],
        counts=counts_of(claims) if claims else {},
        main=[line_of(claim) for claim in sorted(main, key=lambda claim: VERDICTS.index(claim["verdict"]))],
        chart=effects_of(claims),
        shared=shared_notes({name: _notes_of(study, scale, folder / name) for name, study in studies.items()}),
        papers=[
            (f"{name}/index.html", study.short or study.paper, study.paper, count_of(made))
            for name, study in studies.items()
            if (made := study.made_at(scale))
        ],
        pages=[(page, WHAT_PAGES_SAY[page.path]) for page in site.pages if page.path in WHAT_PAGES_SAY],
        pictures=pictures,
        address=addresses_in(folder),
    )


def _opening(folder: Path, figure: str) -> Picture:
    study, _, name = figure.partition("/")
    more = [("Its tables, and other forms of it", f"{study}/index.html#{name}")]
    return Picture(drawn_as(folder / figure), *read_texts(folder / f"{figure}.json"), more, f"{study}-{name}")


def about(scale: Scale, corpora: Sequence[Corpus], trained: Mapping[str, int]) -> list[str]:
    """Say what the scale consists of, in a sentence per subject."""
    said = []
    for corpus in corpora:
        parts = listed([f"{corpus.split(split).n_images:,} for {WORDS.get(split, split)}" for split in corpus.splits])
        said.append(
            f"{capitalised(corpus.name)}: {corpus.n_images:,} images with {corpus.n_captions:,} captions ({parts})."
        )
    matching, categories = trained.get("matching", 0), trained.get("categories", 0)
    counts = [f"{matching:,} trained run{'s' if matching != 1 else ''} of image-text matching"] if matching else []
    if categories:
        counts.append(f"{categories:,}{'' if matching else ' trained runs'} of category retrieval")
    if counts:
        phi = f", evaluated with {phi_in_words(scale.evaluation_phi)} as the measure of meaning (φ)" if matching else ""
        said.append(f"{listed(counts)}{phi}.")
    return said or ["Nothing is trained at this scale."]


def _notes_of(study: Study, scale: Scale, folder: Path) -> list[str]:
    """Read the notes of all tables and figures of a study.

    Raises:
        InputError: If one has not been made.
    """
    texts = [read_json(folder / f"{one.name}.json", "make it again") for one in study.made_at(scale)]
    return [note for one in texts for note in one.get("notes", [])]


def effects_of(claims: Sequence[Stored]) -> dict[str, Any] | None:
    """Lay out the figure of the overview: the main claim that was tested in most settings, or else any other.

    Returns:
        The claim, its anchor, what the axis measures, and one line per setting; places on the axis are from 0 to 100.
        None if no claim was tested in several settings.
    """
    of_runs = [claim for claim in claims if claim["unit"] == "points" and claim["test"]["kind"] == "runs"]
    chosen = [claim for claim in of_runs if FEWEST_CELLS <= len(claim["cells"]) <= MOST_CELLS]
    if not chosen:
        return None
    claim = max(chosen, key=lambda one: (bool(one.get("main")), one["verdict"] in DECIDED, len(one["cells"])))
    effects = [cell["effect"] for cell in claim["cells"]]
    known = [effect[name] for effect in effects for name in ("low", "value", "high") if effect[name] is not None]
    low, high = min(0.0, *known), max(0.0, *known)

    def at(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - low) / ((high - low) or 1.0), 2)

    shown = [cell["value"] + f" {cell['interval']}" * bool(cell["interval"]) for cell in line_of(claim)["cells"]]
    return {
        "claim": claim["claim"],
        "anchor": f"{claim['paper']}-{claim['name']}",
        "unit": f"difference of {claim['test']['measure']['metric']}",
        "zero": at(0.0),
        "ends": (signed(low, 0), signed(high, 0)),
        "lines": [
            {"label": cell["label"], "text": text, "outcome": cell["outcome"]}
            | {"at": at(effect["value"]), "start": at(effect["low"]), "end": at(effect["high"])}
            for cell, effect, text in zip(claim["cells"], effects, shown, strict=True)
        ],
        "over": listed(list(dict.fromkeys(effect["over"] for effect in effects))),
    }
