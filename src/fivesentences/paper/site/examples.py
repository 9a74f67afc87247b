"""Photographs of a dataset with their captions on one sheet, so that a reader sees what the numbers are about."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fivesentences.corpus import Corpus, Photographs, decode
from fivesentences.documents import read_json
from fivesentences.paper.site.pictures import Picture
from fivesentences.paper.text.captions import wrapped
from fivesentences.storage import replacing, write_json

COLUMNS, ROWS = 4, 2
WIDTH = 46  # characters per line of a caption


def write_examples(corpus: Corpus, photographs: Photographs, out: Path) -> None:
    """Draw images spread evenly over the corpus, each above its captions.

    Args:
        corpus: Usually the test split.
        photographs: Its photographs.
        out: A ``.json`` (what the sheet shows); the sheet lies beside it as ``.png``.

    Raises:
        InputError: If a photograph is missing or cannot be decoded.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    chosen = np.unique(np.linspace(0, corpus.n_images - 1, COLUMNS * ROWS).round().astype(int))
    figure = Figure(figsize=(3.2 * COLUMNS, 4.5 * ROWS), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(ROWS, COLUMNS, squeeze=False).ravel()
    # As much room again below each photograph, for its captions.
    figure.subplots_adjust(left=0.01, right=0.99, top=0.99, bottom=0.21, wspace=0.06, hspace=0.68)
    for axis in axes:
        axis.set_axis_off()
        axis.set_anchor("N")
    for axis, image in zip(axes, chosen, strict=False):
        filename = corpus.images.filename.iloc[image]
        axis.imshow(decode(photographs.read(filename), filename))
        captions = [corpus.captions[row] for row in np.flatnonzero(corpus.image_of_caption == image)]
        axis.text(0, -0.04, _paragraphs(captions), transform=axis.transAxes, va="top", fontsize=7.5, linespacing=1.3)
    with replacing(out.with_suffix(".png")) as temporary:
        figure.savefig(temporary, dpi=130, metadata={"Software": None})
    write_json(out, {"dataset": corpus.name, "images": len(chosen), "of": corpus.n_images})


def _paragraphs(captions: list[str]) -> str:
    """Captions below each other."""
    text = "\n".join(wrapped(caption, WIDTH, lines=3, indent="   ") for caption in captions)
    return text.replace("$", r"\$")  # a dollar sign would start a formula


def read_examples(path: Path) -> Picture:
    """The sheet as a picture for the page, from the ``.json`` beside it.

    Raises:
        InputError: If the file is missing.
    """
    shown = read_json(path, "make it again")
    caption = f"{shown['images']} of the {shown['of']} test images of {shown['dataset']}, each with its captions."
    return Picture(
        path.with_suffix(".png"), f"What {shown['dataset']} looks like", caption, name=f"examples-{path.stem}"
    )
