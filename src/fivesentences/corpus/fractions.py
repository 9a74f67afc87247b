"""Less training data, or worse: the first captions as in the released code, fewer captions per image, wrong pairs."""

from __future__ import annotations

import numpy as np

from fivesentences.corpus.table import Corpus
from fivesentences.errors import InputError

NOISE = 0x6E6F697365  # keeps the generator of wrong pairs apart from others with a run's seed


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


def permute_captions(corpus: Corpus, noise: float, seed: int) -> Corpus:
    """Return a corpus in which a share of the captions is permuted among their places: noisy correspondence.

    As NCR (Huang et al., NeurIPS 2021) and its successors make wrong pairs: ``int(captions * noise)`` captions, drawn
    by the seed, are shuffled among themselves, so that the number of captions of each image stays. A few land on
    their own image again. A caption keeps its ``caption_id`` wherever it goes.

    Args:
        corpus: Training captions of a run.
        noise: The share, in [0, 1).
        seed: Seed of the run.

    Raises:
        InputError: If the share is not in [0, 1).
    """
    if not 0 <= noise < 1:
        raise InputError(f"noise is {noise!r}; a share of wrong pairs lies in [0, 1).")
    count = int(corpus.n_captions * noise)
    if count < 2:
        return corpus
    generator = np.random.default_rng([seed, NOISE])
    places = generator.choice(corpus.n_captions, size=count, replace=False)
    moved = corpus.table[["caption_id", "caption"]].to_numpy(copy=True)
    moved[places] = moved[generator.permutation(places)]
    table = corpus.table.copy()
    table[["caption_id", "caption"]] = moved
    return Corpus(corpus.name, table)


def training_part(
    corpus: Corpus, fraction: float, captions_per_image: int | None = None, noise: float = 0.0, seed: int = 0
) -> Corpus:
    """Return what a run trains on: a fraction of the training split, some captions of each image, and wrong pairs.

    Raises:
        InputError: As raised by ``take_fraction``, ``take_captions`` and ``permute_captions``.
    """
    return permute_captions(take_captions(take_fraction(corpus, fraction), captions_per_image), noise, seed)
