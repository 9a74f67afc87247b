"""The overview of a scale: what was found, with one figure, what it was measured on, and the other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences.corpus import Corpus
from fivesentences.documents import read_formatted, read_json
from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.claims.verdicts import DECIDED
from fivesentences.reproduction.paper.claims.writing import VERDICTS, Stored, counts_of, line_of
from fivesentences.reproduction.paper.site.findings import card_of, filled
from fivesentences.reproduction.paper.site.pictures import Picture, addresses_in
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.paper.site.study import count_of, shared_notes, site_rows
from fivesentences.reproduction.paper.tables.table import Table
from fivesentences.reproduction.paper.tables.writing import read_texts
from fivesentences.reproduction.paper.text.names import capitalised, listed, phi_in_words, signed
from fivesentences.reproduction.study.exhibits import FigureSpec, TableSpec
from fivesentences.reproduction.study.study import Study
from fivesentences.storage import write_json

FORMAT = "fivesentences.about 1"
WORDS = {"train": "training", "dev": "validation"}
OPENING = ("runs", "paired")  # kinds of tables that open the page of a scale without a finding
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
    about: Sequence[str] = (),
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
        about: A sentence per corpus that runs are trained on, see ``about_corpora``.
        trained: Numbers of runs: ``{"matching": ..., "categories": ...}``.
        claims: Claims that runs of the scale test, see ``claims.writing.read_claims``.
        pictures: Pictures of the data.

    Raises:
        InputError: If a picture is missing.
    """
    here = {f"{name}/{one.name}" for name, study in studies.items() for one in study.made_at(scale)}
    finding = None if scale.finding is None or not scale.finding.shown <= here else scale.finding
    main = sorted((one for one in claims if one.get("main")), key=lambda one: VERDICTS.index(one["verdict"]))
    return site.write(
        folder,
        "overview.html",
        "index.html",
        scale=scale.scale,
        finding=None if finding is None else _main(finding, studies, folder),
        numbers=None if finding is not None else _numbers(scale, studies, folder),
        rows=site_rows,
        cards=[
            card_of(found, folder, f"{name}/index.html")
            for name, study in studies.items()
            if (found := study.finding_at(scale)) is not None
        ],
        about=[*about, *_about_runs(scale, trained or {})],
        absent=[one.sentence() for one in scale.absent_data],
        counts=counts_of(claims) if claims else {},
        main=[line_of(claim) for claim in main],
        chart=effects_of(claims) if finding is None else None,
        shared=shared_notes({name: _notes_of(study, scale, folder / name) for name, study in studies.items()}),
        papers=[
            (f"{name}/index.html", study.short or study.paper, count_of(made))
            for name, study in studies.items()
            if (made := study.made_at(scale))
        ],
        pages=[(page, WHAT_PAGES_SAY[page.path]) for page in site.pages if page.path in WHAT_PAGES_SAY],
        pictures=pictures,
        address=addresses_in(folder),
    )


def _main(finding: Finding, studies: Mapping[str, Study], folder: Path) -> dict[str, Any]:
    """Fill the finding of the scale, with its figure."""
    picture = None if finding.figure is None else _picture(studies, folder, finding.figure)
    return filled(finding, folder) | {"picture": picture}


def _numbers(scale: Scale, studies: Mapping[str, Study], folder: Path) -> dict[str, Any]:
    """Collect what opens a scale without a finding: what models of its first study reach, retrieve and differ by."""
    name, study = next(((name, study) for name, study in studies.items() if study.made_at(scale)), ("", None))
    found: dict[str, Any] = {"page": f"{name}/index.html", "tables": {}, "figure": None}
    for one in () if study is None else study.made_at(scale):
        if isinstance(one, TableSpec) and one.kind in OPENING and one.kind not in found["tables"]:
            table = Table.read(folder / name / f"{one.name}.json")
            if table.groups:
                found["tables"][one.kind] = table
        elif isinstance(one, FigureSpec) and one.kind == "retrievals" and found["figure"] is None:
            found["figure"] = _picture(studies, folder, f"{name}/{one.name}")
    return found


def _picture(studies: Mapping[str, Study], folder: Path, figure: str) -> Picture:
    study, _, name = figure.partition("/")
    photographs = next(one.shows_photographs for one in studies[study].figures if one.name == name)
    links = [("Tables, notes and other formats", f"{study}/index.html#{name}")]
    texts = read_texts(folder / f"{figure}.json")
    return Picture(folder / f"{figure}.svg", texts.heading, texts.below, [], links, f"{study}-{name}", photographs)


def about_corpora(corpora: Sequence[Corpus]) -> list[str]:
    """Describe each corpus in a sentence: images, captions and splits."""
    said = []
    for corpus in corpora:
        parts = listed([f"{corpus.split(split).n_images:,} for {WORDS.get(split, split)}" for split in corpus.splits])
        said.append(
            f"{capitalised(corpus.name)}: {corpus.n_images:,} images with {corpus.n_captions:,} captions ({parts})."
        )
    return said


def write_about(sentences: Sequence[str], path: Path) -> None:
    """Write the sentences of ``about_corpora``: without the corpora, which may not be passed on, pages are remade."""
    write_json(path, {"format": FORMAT, "corpora": list(sentences)})


def read_about(path: Path) -> list[str]:
    """Read what ``write_about`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    stored = read_formatted(path, FORMAT, "this describes no corpora; make the page again.")
    return [str(one) for one in stored["corpora"]]


def _about_runs(scale: Scale, trained: Mapping[str, int]) -> list[str]:
    """Count the trained runs of a scale in a sentence; none if nothing is trained."""
    matching, categories = trained.get("matching", 0), trained.get("categories", 0)
    counts = [f"{matching:,} trained run{'s' if matching != 1 else ''} of image-text matching"] if matching else []
    if categories:
        counts.append(f"{categories:,}{'' if matching else ' trained runs'} of category retrieval")
    phi = f", evaluated with {phi_in_words(scale.evaluation_phi)} as the measure of meaning (φ)" if matching else ""
    return [f"{listed(counts)}{phi}."] if counts else []


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
