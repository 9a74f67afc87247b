"""The page of captions that systems made: what each says of an image, beside what people wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fivesentences.console import working
from fivesentences.errors import counted
from fivesentences.pages.page import check_folder, page_of, sentence_on, write_files
from fivesentences.pages.pictures import Pictures, Thumbnails, names_of_broken, thumbnails_of
from fivesentences.retrieval.arguments import checked_count
from fivesentences.semantics.captioning import CaptionScores

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Captioned:
    """Systems that captioned the same images.

    Attributes:
        images: ``[images]`` id of each.
        references: ``[images]`` what people wrote of each.
        captions: ``[images]`` captions of each system, by its name.
        scores: Scores of each system, by the title of the metric.
        tests: Paired tests of every two systems, as ``compare_captions`` makes them; None of one system.
        notes: Sentences on files and scores.
        pictures: The photograph of each image; None: captions alone.
    """

    images: Sequence[str]
    references: Sequence[Sequence[str]]
    captions: Mapping[str, Sequence[str]]
    scores: Mapping[str, Mapping[str, CaptionScores]]
    tests: pd.DataFrame | None
    notes: Sequence[str]
    pictures: Pictures | None = None

    @property
    def metrics(self) -> list[str]:
        """Titles of the metrics."""
        return list(next(iter(self.scores.values())))

    def chosen(self, most: int, seed: int = 0) -> list[int]:
        """Return images for a page: all if they are few, else those where systems differ most, and others at random.

        Args:
            most: Number of images.
            seed: Seed of the draw.
        """
        total = len(self.images)
        if total <= most:
            return list(range(total))
        each = {metric: [of[metric].each for of in self.scores.values()] for metric in self.metrics}
        orders = [np.sum(some, axis=0) for some in each.values()]  # worst of all
        orders += [a - b for some in each.values() for a in some for b in some if a is not b]
        of_each = max(1, most // (2 * len(orders)))
        found = {image: None for one in orders for image in np.argsort(one, kind="stable")[:of_each].tolist()}
        drawn = np.random.default_rng([seed, total]).permutation(total).tolist()
        return sorted([*found, *(image for image in drawn if image not in found)][:most])


def write_captions_page(found: Captioned, folder: Path, most: int = 1000, seed: int = 0) -> list[str]:
    """Write ``index.html``, ``data.js`` and ``thumbnails/``, in the place of an earlier page of this kind.

    Args:
        found: What is shown.
        folder: The folder.
        most: The most images.
        seed: Seed by which images are drawn where there are more.

    Returns:
        Sentences on what was written and left out.

    Raises:
        InputError: If the folder holds something else or cannot be written.
    """
    check_folder(folder)
    chosen = found.chosen(checked_count("queries", most), seed)
    thumbnails, said = Thumbnails(0), list[str]()
    if found.pictures is not None:
        with working("make thumbnails", len(chosen)) as advance:
            thumbnails = thumbnails_of(found.pictures, chosen, advance)
        said = [sentence_on(thumbnails), *filter(None, [names_of_broken(found.pictures, thumbnails.broken)])]
        if not found.pictures.named_by:
            said.append("Nothing names the photographs, so they are taken in their own order: compare with references.")
    systems = list(found.captions)
    content = {
        "systems": systems, "metrics": [{"title": title} for title in found.metrics], "total": len(found.images),
        "about": f"{counted(len(found.images), 'image')}, each with one caption by {', '.join(systems)}.",
        "corpus": [[of[metric].corpus for metric in found.metrics] for of in found.scores.values()],
        "notes": [*found.notes, *said], "tests": _tests(found.tests), "tested": _tested(found.tests),
        "images": [_image(found, image, thumbnails) for image in chosen],
    }  # fmt: skip
    write_files(
        folder, page_of("captions", f"{', '.join(systems)} · {len(found.images):,} images"), content, thumbnails
    )
    return said


def _image(found: Captioned, image: int, thumbnails: Thumbnails) -> dict[str, Any]:
    _, width, height = thumbnails.made.get(image, (b"", 0, 0))
    picture = {"id": found.images[image], "width": width, "height": height, "broken": image in thumbnails.broken}
    return {
        "at": image, "id": found.images[image], "picture": picture, "references": list(found.references[image]),
        "captions": [texts[image] for texts in found.captions.values()],
        "scores": [[round(float(of[one].each[image]), 5) for one in found.metrics] for of in found.scores.values()],
    }  # fmt: skip


def _tests(tests: pd.DataFrame | None) -> list[dict[str, Any]]:
    keys = ["metric", "model", "against", "difference", "low", "high", "p_holm"]
    rows = [] if tests is None else tests[keys].to_dict("records")
    return [{str(key): None if value != value else value for key, value in row.items()} for row in rows]


def _tested(tests: pd.DataFrame | None) -> str:
    if tests is None:
        return ""
    how = f"paired {tests.attrs['method']} test, {tests.attrs['resamples']:,} resamples of images"
    pairs = tests.attrs["pairs"]
    family = "one pair of systems, no correction" if pairs == 1 else f"Holm’s correction for {pairs} pairs of systems"
    return f"Difference of the means over captions: {how}; {family}."
