"""The page of a report: one folder that opens in a browser from disk, without a server and without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.console import working
from fivesentences.errors import InputError
from fivesentences.metrics.ranking import TIE_RULE
from fivesentences.pages.curves import CONFIDENCE
from fivesentences.pages.pictures import Thumbnails, names_of_broken, thumbnails_of
from fivesentences.pages.report import HEADLINES, HUBS, Report
from fivesentences.retrieval.arguments import Direction, checked_count
from fivesentences.storage import remove, replacing, together

PAGE, DATA, THUMBNAILS = "index.html", "data.js", "thumbnails"
MARK = "// fivesentences look 1"  # the first line of DATA, by which a folder is known as a page of this kind
CHECKED = 8  # images that are shown beside captions, to see whether both are in one order
_OURS = re.compile(r"\d{5,}\.webp")
_LEFTOVER = re.compile(r"\..*\.partial.*")
_TEMPLATES = files("fivesentences.pages") / "templates"


def check_folder(folder: Path) -> None:
    """Check that a page may be written to a folder, before anything costly is done.

    Raises:
        InputError: If it is a file, or holds anything that is not a page of this kind.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError("this is a file, and a page is a folder", where=folder, cure="name another with --out")
    strange = [path for path in _below(folder) if not _is_ours(path, folder)]
    data = folder / DATA
    if not strange and data.exists():
        with data.open("rb") as file:
            strange = [] if file.readline().strip() == MARK.encode() else [data]
    elif not strange and (folder / PAGE).exists():
        strange = [folder / PAGE]
    if strange:
        what = f"the folder holds something else already ({strange[0].relative_to(folder).as_posix()})"
        raise InputError(what, where=folder, cure="name a new folder, or an earlier page, which is replaced")


def _below(folder: Path) -> Iterable[Path]:
    for path in sorted(folder.iterdir()):
        if path.name == THUMBNAILS and path.is_dir() and not path.is_symlink():
            yield from sorted(path.iterdir())
        else:
            yield path


def _is_ours(path: Path, folder: Path) -> bool:
    if _LEFTOVER.fullmatch(path.name):
        return True
    name = path.relative_to(folder).as_posix()
    return path.is_file() and (name in (PAGE, DATA) or (path.parent != folder and bool(_OURS.fullmatch(path.name))))


def write_page(
    report: Report, folder: Path, queries: int = 1000, seed: int = 0, advance: Callable[[], object] | None = None
) -> list[str]:
    """Write ``index.html``, ``data.js`` and ``thumbnails/``, in the place of an earlier page of this kind.

    A run that is killed leaves the earlier page whole, or no ``index.html``.

    Args:
        report: What is shown.
        folder: The folder.
        queries: The most queries of a direction.
        seed: Seed by which queries are drawn where there are more.
        advance: Called after each thumbnail.

    Returns:
        Sentences on what was written and left out.

    Raises:
        InputError: If the folder holds something else or cannot be written.
    """
    queries = checked_count("queries", queries)
    check_folder(folder)
    if not report.models:
        raise InputError("the report has no model; add one.")
    chosen = {side: report.chosen(side, queries, seed) for side in report.directions}
    images = _images_of(report, chosen)
    thumbnails, said = Thumbnails(0), []
    if report.pictures is not None:
        with working("make thumbnails", len(images)) as shown:
            thumbnails = thumbnails_of(report.pictures, images, advance or shown)
        said.append(sentence_on(thumbnails))
        said += list(filter(None, [names_of_broken(report.pictures, thumbnails.broken)]))
    content = _content(report, chosen, images, thumbnails, said)
    write_files(
        folder, page_of("look", f"{', '.join(report.models)} · {report.shape[0]:,} images"), content, thumbnails
    )
    if report.pictures is not None and not report.pictures.named_by:
        said.append("Nothing names the photographs, so they are taken in their own order: see the end of the page.")
    return said


def write_files(folder: Path, page: str, content: Mapping[str, Any], thumbnails: Thumbnails) -> None:
    """Write the files of a page, in the place of those of an earlier one; ``index.html`` comes last.

    Args:
        folder: The folder.
        page: ``index.html``.
        content: What ``data.js`` holds; a text in it may hold anything.
        thumbnails: Pictures by the index of their image.

    Raises:
        InputError: If the folder cannot be written.
    """
    # A script that starts with the page, since pages on disk may not fetch files; < could end it where it is inlined.
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    with together():
        names = {f"{image:05d}.webp": one[0] for image, one in thumbnails.made.items()}
        for path in sorted((folder / THUMBNAILS).glob("*.webp")) if (folder / THUMBNAILS).is_dir() else ():
            if path.name not in names:
                remove(path)
        for name, picture in names.items():
            with replacing(folder / THUMBNAILS / name) as temporary:
                temporary.write_bytes(picture)
        with replacing(folder / DATA) as temporary:
            temporary.write_text(f"{MARK}\nwindow.LOOK={data};\n", encoding="utf-8")
        with replacing(folder / PAGE) as temporary:
            temporary.write_text(page, encoding="utf-8")


def page_of(kind: str, title: str) -> str:
    """Return ``index.html`` of a kind of page, ``look`` or ``captions``, with its styles and scripts in it."""

    def read(*names: str) -> str:
        return "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)

    nav, _, main = read(f"{kind}.html").partition("<!-- main -->\n")
    values = {
        "NAV": nav, "MAIN": main, "TITLE": escape(title),
        "STYLE": read("style.css", "shell.css", "gallery.css", "look.css"),
        "THEME": read("theme.js"), "SCRIPT": read("shared.js", f"{kind}.js"),
    }  # fmt: skip
    return re.sub(r"@(NAV|MAIN|TITLE|STYLE|THEME|SCRIPT)@", lambda match: values[match[1]], read("frame.html"))


def sentence_on(thumbnails: Thumbnails) -> str:
    """Say how many thumbnails there are, and how large."""
    return (
        f"{len(thumbnails.made):,} thumbnails of {thumbnails.longest} pixels, {thumbnails.size / 1e6:.1f} MB: the "
        "largest size of which all stay within 20 MB."
    )


def _images_of(report: Report, chosen: dict[Direction, list[int]]) -> list[int]:
    """Return every image that the page shows: of queries, of their answers, of hubs, and those for the order."""
    shown: dict[int, None] = dict.fromkeys(_checked(report))
    for side, queries in chosen.items():
        shown |= dict.fromkeys(queries if side == "i2t" else report.image_of_caption[queries].tolist())
        for answers in (report.answers[model][side] for model in report.models):
            items = np.unique(answers.items[queries])
            shown |= dict.fromkeys((items if side == "t2i" else report.image_of_caption[items]).tolist())
    if "t2i" in report.directions:
        for model in report.models:
            shown |= dict.fromkeys(_hubs_of(report, model, "t2i")[:, 0].tolist())
    return sorted(shown)


def _checked(report: Report) -> list[int]:
    n = report.shape[0]
    return sorted({round(one) for one in np.linspace(0, n - 1, min(n, CHECKED))})


def _hubs_of(report: Report, model: str, side: Direction) -> NDArray[np.int64]:
    """Return ``[items, 2]`` items that are returned most often, and how often; ties by index."""
    counts = report.counts[model][side]
    items = np.argsort(-counts, kind="stable")[:HUBS]
    return np.stack([items, counts[items]], axis=1)


def _content(
    report: Report, chosen: dict[Direction, list[int]], images: Sequence[int], thumbnails: Thumbnails, said: list[str]
) -> dict[str, Any]:
    captions = set(np.flatnonzero(np.isin(report.image_of_caption, images)).tolist())
    for side, queries in chosen.items():
        if side == "t2i":
            captions |= set(queries)
        else:
            for model in report.models:
                captions |= set(np.unique(report.answers[model][side].items[queries]).tolist())
    if "i2t" in report.directions:
        for model in report.models:
            captions |= set(_hubs_of(report, model, "i2t")[:, 0].tolist())
    pictures = report.pictures
    about_images: dict[str, Any] | None = None
    if pictures is not None:
        about_images = {"source": pictures.name, "named_by": pictures.named_by, "said": said}
    shown = sorted({*images, *(int(report.image_of_caption[one]) for one in captions)})
    return {
        "about": report.about, "k": report.k, "ks": report.ks, "headlines": [k for k in HEADLINES if k in report.ks],
        "models": report.models, "phis": report.phis, "shape": report.shape, "tie": TIE_RULE,
        "confidence": round(100 * CONFIDENCE), "summary": report.summary(), "notes": report.all_notes,
        "images": about_images, "checked": _checked(report), "reach": report.reach,
        "numbers": _rounded(report.numbers()),
        "lines": {model: [_rounded(vars(line)) for line in report.lines(model)] for model in report.models},
        "tests": _tests(report), "agreement": _agreement(report),
        "hubs": {
            side: [
                {
                    "model": model, "never": int(np.count_nonzero(report.counts[model][side] == 0)),
                    "gallery": len(report.counts[model][side]),
                    "expected": round(float(report.counts[model][side].mean()), 2),
                    "items": _hubs_of(report, model, side).tolist(),
                }
                for model in report.models
            ]
            for side in report.directions
        },
        "captions": [[one, int(report.image_of_caption[one]), report.captions[one]] for one in sorted(captions)],
        "pictures": [
            [one, report.ids[one], *thumbnails.made.get(one, (b"", 0, 0))[1:], int(one in thumbnails.broken)]
            for one in shown
        ],
        "sides": {side: _side(report, side, queries) for side, queries in chosen.items()},
    }  # fmt: skip


def _side(report: Report, side: Direction, queries: list[int]) -> dict[str, Any]:
    of_models = []
    for model in report.models:
        one = report.answers[model][side]
        of_models.append(
            {
                "ncs": _rounded(one.ncs[queries].tolist(), 1), "rank": one.rank[queries].tolist(),
                "items": one.items[queries].tolist(), "phi": _rounded(one.phi[queries].tolist(), 2),
            }
        )  # fmt: skip
    best = _rounded(report.best_other(side, queries).tolist(), 3)
    total = report.shape[side == "t2i"]
    return {"total": total, "queries": queries, "best": best, "answers": of_models}


def _tests(report: Report) -> list[dict[str, Any]]:
    if report.tests is None:
        return []
    keys = ["metric", "direction", "model", "against", "a", "b", "difference", "low", "high", "p", "p_holm"]
    return [
        {key: None if isinstance(row[key], float) and np.isnan(row[key]) else _rounded(row[key], 9) for key in keys}
        for row in report.tests.to_dict("records")
    ]


def _agreement(report: Report) -> list[dict[str, Any]]:
    """Count by direction how many queries both of two models find, one alone, and neither; the first and each other."""
    found = []
    first, *others = report.models
    for other in others:
        for side in report.directions:
            a, b = (report.answers[model][side].rank <= report.k for model in (first, other))
            difference = report.answers[other][side].ncs - report.answers[first][side].ncs
            counts = [int(np.count_nonzero(one)) for one in (a & b, a & ~b, ~a & b, ~a & ~b)]
            found.append(
                {
                    "direction": side, "first": first, "second": other, "counts": counts,
                    "better": [int(np.count_nonzero(difference < 0)), int(np.count_nonzero(difference > 0))],
                }
            )  # fmt: skip
    return found


def _rounded(values: Any, digits: int = 4) -> Any:
    """Return the same with shorter numbers."""
    if isinstance(values, dict):
        return {key: _rounded(one, digits) for key, one in values.items()}
    if isinstance(values, list | tuple):
        return [_rounded(one, digits) for one in values]
    return round(values, digits) if isinstance(values, float) else values
