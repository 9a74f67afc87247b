"""Less training data: the first captions as in the released code, or fewer captions per image."""

from __future__ import annotations

import numpy as np

from fivesentences.corpus.table import Corpus
from fivesentences.errors import InputError


def take_fraction(corpus: Corpus, fraction: float) -> Corpus:
    """Return a share of a corpus, usually of its training split, in file order.

    It is the first ``int(captions * fraction)`` captions, as in the released code of five_sentences; the last image may
    then keep only some of its captions (3% and 5% of COCO cut one like this).

    Args:
        corpus: Corpus to take a share of.
        fraction: The share, in (0, 1].

    Raises:
        InputError: If the fraction is not in (0, 1] or leaves nothing.
    """
    if not 0 < fraction <= 1:
        hint = f" Did you mean {fraction / 100:g}?" if 1 < fraction <= 100 else ""
        raise InputError(f"fraction is {fraction!r}; a fraction lies in (0, 1].{hint}")
    count = int(corpus.n_captions * fraction)
    if count == 0:
        size = f"{corpus.n_images} images and {corpus.n_captions} captions"
        raise InputError(f"fraction {fraction:g} of '{corpus.name}' ({size}) leaves nothing; take a larger one.")
    return Corpus(corpus.name, corpus.table.iloc[:count])


def take_captions(corpus: Corpus, captions_per_image: int | None) -> Corpus:
    """Return the first captions of every image, in file order; usually of the training split.

    This is how DAA's supplement (appendix D) reduces training data: 20% to 100% are one to five captions of every
    image. It does not say which captions; here they are the first.

    Args:
        corpus: Corpus whose captions are taken.
        captions_per_image: At least 1; an image with fewer captions keeps them all. None: all captions.

    Raises:
        InputError: If the number is below 1.
    """
    if captions_per_image is None:
        return corpus
    if captions_per_image < 1:
        raise InputError(f"captions_per_image is {captions_per_image}; every image keeps at least one caption.")
    images = corpus.image_of_caption
    place = np.arange(corpus.n_captions) - np.searchsorted(images, images)  # position of each caption within its image
    return Corpus(corpus.name, corpus.table[place < captions_per_image])


def training_part(corpus: Corpus, fraction: float, captions_per_image: int | None = None) -> Corpus:
    """Return what a run trains on: a fraction of the training split, and some captions of each of its images.

    Raises:
        InputError: As raised by ``take_fraction`` and ``take_captions``.
    """
    return take_captions(take_fraction(corpus, fraction), captions_per_image)
