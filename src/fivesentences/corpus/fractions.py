"""Less training data: the first captions, as the released code takes them, or a seeded draw of images."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fivesentences.corpus.table import Corpus
from fivesentences.errors import InputError


def take_fraction(corpus: Corpus, fraction: float, draw: Literal["first", "seeded"] = "first", seed: int = 0) -> Corpus:
    """A share of a corpus, file order kept; give it the training split.

    ``"first"`` keeps the first ``int(captions * fraction)`` captions, as the released code of five_sentences
    does; the last image may then keep some of its captions only (3% and 5% of COCO cut one so). ``"seeded"``
    keeps ``round(images * fraction)`` whole images, drawn by ``numpy.random.default_rng(seed)``.

    Raises:
        InputError: If the fraction is not in (0, 1], leaves nothing, or ``draw`` is unknown.
    """
    if not 0 < fraction <= 1:
        hint = f" Did you mean {fraction / 100:g}?" if 1 < fraction <= 100 else ""
        raise InputError(f"fraction is {fraction!r}; a fraction lies in (0, 1].{hint}")
    if draw == "first":
        rows = np.arange(int(corpus.n_captions * fraction))
    elif draw == "seeded":
        count = round(corpus.n_images * fraction)
        images = np.random.default_rng(seed).choice(corpus.n_images, size=count, replace=False)
        rows = np.flatnonzero(np.isin(corpus.image_of_caption, images))
    else:
        raise InputError(f"draw is {draw!r}; it must be 'first' or 'seeded'.")
    if len(rows) == 0:
        size = f"{corpus.n_images} images and {corpus.n_captions} captions"
        raise InputError(f"fraction {fraction:g} of '{corpus.name}' ({size}) is nothing; take a larger one.")
    return Corpus(corpus.name, corpus.table.iloc[rows])
