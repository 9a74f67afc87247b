"""The gallery: queries with what several models retrieve for them, on a page with thumbnails in a folder beside it.

The evaluation has chosen the queries (``evaluation.disagreements``); here they are worded, pictured and written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.pages.answers import FOUND
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.evaluation.disagreements import CLOSE, read_disagreements
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.paper.text.labels import line_labels
from fivesentences.reproduction.paper.text.names import DIRECTIONS, capitalised, number, phi_in_words, signed
from fivesentences.reproduction.study.expand import Row, expand_rows
from fivesentences.reproduction.study.study import Study
from fivesentences.storage import replacing, write_json

FORMAT = "fivesentences.gallery 1"
PAGE, THUMBNAILS = "gallery/index.html", "thumbnails"
LONGEST_SIDE, QUALITY = 200, 82  # pixels and JPEG quality of a thumbnail
DECIMALS = 2  # of phi
# What each criterion is called, what it asks of a query, and how a query says why it was chosen.
CRITERIA = {
    "missed_but_close": (
        "Missed by recall, highest NCS",
        "A model finds no own item among its first {k}, and of such answers the NCS at {k} is largest.",
        "missed, NCS {value} ({model})",
    ),
    "found_but_far": (
        "Found by recall, lowest NCS",
        "A model finds an own item among its first {k}, and of such answers the NCS at {k} is smallest.",
        "found, NCS {value} ({model})",
    ),
    "equal_by_recall": (
        "Recall calls the models equal",
        "All models find the same own items among their first {k}, or all none; the NCS of the best and of the worst "
        "differ most.",
        "recall equal, NCS {value} apart",
    ),
    "models_by_ncs": (
        "Models differ most in NCS",
        "The NCS at {k} of the best and of the worst model differ most.",
        "NCS {value} apart",
    ),
    "models_by_rank": (
        "Models differ most in rank",
        "The rank of the first own item in one model is the largest multiple of that in another.",
        "ranks {value} times apart",
    ),
    "contrast": (
        "{first} against {second}",
        "NCS at {k} differs most between the two, whichever it favours. Over all queries it favours the first on "
        "{first_better} and the second on {second_better}; the mean difference is {mean}.",
        "first − second: NCS {value}",
    ),
    "random": (
        "Drawn at random",
        "Drawn from all queries with the seed {seed}, whatever was retrieved: these show what is usual, all others are "
        "extremes.",
        "",
    ),
}
OWN = {"i2t": "own caption", "t2i": "own image"}
QUERIES = {"i2t": "images", "t2i": "captions"}


def write_gallery(
    site: Site, scale: Scale, study: Study, disagreements: Path, photographs: Photographs, folder: Path
) -> Path:
    """Write ``folder/gallery``: ``index.html``, ``gallery.json``, ``gallery.csv`` and ``thumbnails/``.

    Args:
        site: The site of the scale.
        scale: The scale.
        study: Its study that has the gallery.
        disagreements: File of the evaluation; see ``evaluation.disagreements``.
        photographs: Photographs of the dataset.
        folder: Folder of the site.

    Raises:
        InputError: If a run is in no row of the gallery, or a photograph is missing or cannot be decoded.
    """
    if study.gallery is None:
        raise InputError(f"the study “{study.paper}” has no gallery; add one to its file.")
    found = read_disagreements(disagreements)
    expanded = expand_rows(study.gallery.row_specs(), study, scale)
    row_of = {run.name: row for row in reversed(expanded) for run in row.runs[:1]}
    if strange := [run for run in found["models"] if run not in row_of]:
        what = f"the run '{strange[0]}' is in no row of the gallery"
        raise InputError(what, where=disagreements, cure="find the disagreements again")
    rows = [row_of[run] for run in found["models"]]
    labels = line_labels(rows, study)
    beside = folder / Path(PAGE).parent
    thumbnails = write_thumbnails(filenames_of(found), photographs, beside / THUMBNAILS)
    criteria = {direction: worded_criteria(found, direction, labels) for direction in found["directions"]}
    write_json(beside / "gallery.json", found | {"format": FORMAT, "labels": labels, "criteria": criteria})
    with replacing(beside / "gallery.csv") as temporary:
        tidy(found, labels, criteria).to_csv(temporary, index=False)
    return site.write(
        folder,
        "gallery.html",
        PAGE,
        scripts=["alpine"],
        caption=study.gallery.caption,
        found=found,
        labels=labels,
        criteria=criteria,
        cards=[card(query, found, criteria, labels) for query in found["queries"]],
        thumbnails=thumbnails,
        notes=[*notes_on(found, rows, study), *study.gallery.notes],
        directions={side: capitalised(DIRECTIONS[side]) for side in found["directions"]},
        phis=[phi_in_words(phi) for phi in found["phis"]],
        close=f"{CLOSE:g}",
        number=number,
    )


def worded_criteria(found: Mapping[str, Any], direction: str, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Each criterion of a direction: ``name``, ``key`` (of a filter, equal in both directions), ``label`` and ``says``.

    Args:
        found: Content of the evaluation's file.
        direction: ``"i2t"`` or ``"t2i"``.
        labels: Labels of the models.
    """
    of_model = dict(zip(found["models"], labels, strict=True))
    worded = []
    for one in found["directions"][direction]["criteria"]:
        label, says, _ = CRITERIA[one["criterion"]]
        values: dict[str, Any] = {"k": found["k"], "seed": found["seed"]}
        if one["models"]:
            first, second = (of_model[run] for run in one["models"])
            values |= {"first": first, "second": second, "mean": signed(one["mean"], 2)}
            values |= {side: f"{one[side]:,}" for side in ("first_better", "second_better")}
        key = "-".join([one["criterion"], *(str(found["models"].index(run)) for run in one["models"])])
        total = found["directions"][direction]["queries"]
        among = f" It applies to {one['among']:,} of {total:,} {QUERIES[direction]}." if one["among"] < total else ""
        worded.append(
            {"name": one["criterion"], "key": key, "label": label.format(**values)}
            | {"says": says.format(**values) + among}
        )
    return worded


def card(
    query: Mapping[str, Any],
    found: Mapping[str, Any],
    criteria: Mapping[str, Sequence[Mapping[str, Any]]],
    labels: Sequence[str],
) -> dict[str, Any]:
    """Extend what was found of a query by what the page shows: ``id``, ``title``, ``own``, ``reasons``, ``answers``."""
    direction, k = query["direction"], found["k"]
    answers = [
        answer
        | {"items": [item | {"bars": _bars(item["phi"], query["best_other"])} for item in answer["items"]]}
        | {"hit": answer["rank"] <= k}
        for answer in query["answers"]
    ]
    reasons = []
    for one in query["chosen"]:
        criterion = criteria[direction][one["criterion"]]
        name, value = criterion["name"], one["value"]
        shown = signed(value, 1) if name == "contrast" else number(value, int(name != "models_by_rank" or value < 10))
        wanted = (value, name == FOUND)
        model = next((label for label, a in zip(labels, answers, strict=True) if (a["ncs"], a["hit"]) == wanted), "")
        text = CRITERIA[name][2].format(value=shown, model=model)
        reasons.append({"key": criterion["key"], "label": criterion["label"], "text": text})
    title = f"Image {query['image_id']}" if direction == "i2t" else query["captions"][0]
    about = {"id": f"{direction}-{query['query']}", "title": title, "own": OWN[direction]}
    return dict(query) | about | {"reasons": reasons, "answers": answers}


def _bars(phi: Mapping[str, float], best_other: Mapping[str, float]) -> list[dict[str, Any]]:
    """Each phi as its name, its number, and the share of the best item of another image in percent, at most 100."""
    bars = []
    for name, value in phi.items():
        best = best_other[name]
        percent = round(100 * min(1.0, value / best)) if best > 0 else 100 * (value > 0)
        bars.append({"name": phi_in_words(name), "number": number(value, DECIMALS), "percent": percent})
    return bars


def notes_on(found: Mapping[str, Any], rows: Sequence[Row], study: Study) -> list[str]:
    """Say how the page is to be read: what the numbers are, and of which runs."""
    k, phi = found["k"], phi_in_words(found["phis"][0])
    seeds = sorted({row.runs[0].seed for row in rows})
    models, fractions = ({getattr(row, part) for row in rows} for part in ("model", "fraction"))
    alike = f" All are {study.label_of(rows[0].model)}." if len(models) == 1 else ""
    alike += f" Trained on {rows[0].fraction:.0%} of the captions." if len(fractions) == 1 else ""
    return [
        f"One run of each model (seed {', '.join(map(str, seeds))}) on the {found['split']} split of "
        f"{study.label_of(found['dataset'])}.{alike} "
        "How two single runs differ on single queries says nothing about their losses yet: claims are tested over "
        "seeds and queries.",
        f"R@{k} says whether an own item is among the first {k}. NCS at {k} is the mean {phi} of the first {k} over "
        f"the largest mean that any {k} items of the split reach, in percent; own items are kept (released formula).",
        "φ is always of a caption against all captions of an image. A full bar is the largest φ between the query and "
        "an item that is not its own; own items are measured by the same bar. An image’s own captions are among those "
        "that they are compared with.",
        f"{capitalised(found['tie_rule'])}. A criterion passes over words that it has shown already.",
    ]


def tidy(
    found: Mapping[str, Any], labels: Sequence[str], criteria: Mapping[str, Sequence[Mapping[str, Any]]]
) -> pd.DataFrame:
    """Make one line per item that a model retrieves for a query that is shown."""
    lines = []
    for query in found["queries"]:
        keys = [criteria[query["direction"]][one["criterion"]]["key"] for one in query["chosen"]]
        about = {"dataset": found["dataset"]} | {key: query[key] for key in ("direction", "query", "image_id")}
        about |= {"caption": query["captions"][0], "chosen_by": " ".join(keys)}
        for run, label, answer in zip(found["models"], labels, query["answers"], strict=True):
            of_model = {"run": run, "model": label, f"NCS@{found['k']}": answer["ncs"], "rank": answer["rank"]}
            for place, item in enumerate(answer["items"], start=1):
                result = {"place": place, "own": item["own"], "result_image_id": item["image_id"]}
                lines.append(about | of_model | result | {"result_caption": item["caption"]} | item["phi"])
    return pd.DataFrame(lines)


def filenames_of(found: Mapping[str, Any]) -> list[str]:
    """List every photograph that the page shows, each once: those of queries and of retrieved images."""
    shown = dict.fromkeys(query["filename"] for query in found["queries"])
    answers = [answer for query in found["queries"] if query["direction"] == "t2i" for answer in query["answers"]]
    return list(shown | dict.fromkeys(item["filename"] for answer in answers for item in answer["items"]))


def write_thumbnails(filenames: Iterable[str], photographs: Photographs, folder: Path) -> dict[str, dict[str, Any]]:
    """Write small JPEGs, named by numbers, since names of photographs may be anything; others are removed.

    Args:
        filenames: File names of the photographs.
        photographs: Photographs of the dataset.
        folder: Where thumbnails go; the page lies beside it.

    Returns:
        For each filename its thumbnail: its address from the page beside the folder, and its size in pixels.

    Raises:
        InputError: If a photograph is missing or cannot be decoded.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for place, filename in enumerate(filenames, start=1):
        picture = photographs.decoded(filename)
        picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
        name = f"{place:04d}.jpg"
        with replacing(folder / name) as temporary:
            picture.save(temporary, format="JPEG", quality=QUALITY, optimize=True)
        made[filename] = {"path": f"{folder.name}/{name}", "width": picture.width, "height": picture.height}
    for path in folder.glob("*.jpg"):
        if int(path.stem) > len(made):
            path.unlink()
    return made
