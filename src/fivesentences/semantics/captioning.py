"""Captions that a model made against those that people wrote: CIDEr and SPICE as captioning papers report them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.semantics import java
from fivesentences.semantics.cider import CiderScorer
from fivesentences.semantics.java.jars import cache_folder
from fivesentences.semantics.phi_file import captions_sha256
from fivesentences.semantics.spice import SpiceScorer
from fivesentences.semantics.tuples import RawTuple, Tuples, read_tuples
from fivesentences.semantics.validation import checked_captions
from fivesentences.storage import alone, scratch

KEPT = 20  # files of parsed captions in the user's cache, those that were used last


class CaptionScores(NamedTuple):
    """The score of a set of captions, and that of each.

    Attributes:
        corpus: The mean of ``each``, which is the score of the whole set.
        each: ``[candidates]`` float64.
    """

    corpus: float
    each: NDArray[np.float64]


def cider(
    candidates: Sequence[str], references: Sequence[Sequence[str]], tokenize: str = "whitespace"
) -> CaptionScores:
    """CIDEr of one caption per image against the image's references, 0 to 10.

    Equal to ``pycocoevalcap.cider.Cider().compute_score``, whose document frequencies count the images that are given
    (Vedantam et al. 2015; 10 is that code's factor). The COCO server first cuts words as the Penn Treebank does:
    ``"ptb"``.

    Args:
        candidates: One caption per image.
        references: The captions of each image that people wrote, any number.
        tokenize: As in ``tokenisation.tokenise``.

    Raises:
        InputError: If there are no candidates, the two differ in length, an image has no references, or CIDEr is
            undefined for every image: no reference has an n-gram that another image lacks, as where there is one image.
    """
    captions, image_of_caption = _together(candidates, references)
    is_reference = np.arange(len(captions)) < len(captions) - len(candidates)
    scorer = CiderScorer(captions, image_of_caption, tokenize, documents=is_reference)
    if not (scorer.is_weighted & is_reference).any():
        raise InputError(
            "CIDEr weighs n-grams by how few images have them, and no reference has one that another image lacks "
            f"(images: {len(candidates):,}), so that CIDEr is undefined",
            cure="score several images with different references together, or use SPICE",
        )
    return _scores(scorer, len(candidates))


def spice(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    tuples: Tuples | None = None,
    mirror: Path | None = None,
) -> CaptionScores:
    """SPICE of one caption per image against the image's references, 0 to 1 (Anderson et al. 2016).

    Args:
        candidates: One caption per image.
        references: The captions of each image that people wrote, any number.
        tuples: Tuples of the references, image by image, and then of the candidates; None: parse them, some 25 ms each,
            which needs the extra ``java``. What was parsed is kept in the user's cache, also after a kill.
        mirror: Take CoreNLP from here, not from the network.

    Raises:
        InputError: As ``cider``; or if there is no Java or CoreNLP.
    """
    captions, image_of_caption = _together(candidates, references)
    of_caption = _parsed(captions, len(candidates), mirror) if tuples is None else tuples.of_caption
    return _scores(SpiceScorer(of_caption, image_of_caption), len(candidates))


def _parsed(captions: Sequence[str], candidates: int, mirror: Path | None) -> list[list[RawTuple]]:
    """Return the raw tuples of references and then candidates, known ones from the user's cache, where all are kept.

    The file of a call is named after its references, so that a call with other candidates goes on after a kill; then
    candidates have a file of their own, which that of the next model does not replace.
    """
    folder, made = cache_folder() / "tuples", captions[-candidates:]
    names = [f"{captions_sha256(some)}.jsonl.gz" for some in (captions[:-candidates], made)]
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:  # a home that cannot be written keeps nothing
            folder = stack.enter_context(scratch())
        stack.enter_context(alone(folder / f"{names[0]}.lock", "Another process parses these references; waiting."))
        before = sorted(folder.glob("*.jsonl.gz"), key=lambda path: -path.stat().st_mtime)
        for old in before[KEPT:]:
            old.unlink(missing_ok=True)
        known = before[:KEPT]
        for some, name in ((captions, names[0]), (made, names[1])):
            java.parse_captions(some, folder / name, mirror=mirror, parsed_before=known)
            known = [folder / name, *known]
        return read_tuples(folder / names[0], captions).of_caption


def notes_on_blanks(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    """Return a sentence on captions without words, where there are any.

    Args:
        candidates: One caption per image.
        references: The captions of each image that people wrote.
    """
    blank = [[not text.strip() for text in group] for group in references]
    found = {
        "blank candidates": sum(not text.strip() for text in candidates),
        "blank references": sum(map(sum, blank)),
        "images with blank references alone, which count 0 for any candidate": sum(map(all, blank)),
    }
    return [f"{what.capitalize()}: {number:,}." for what, number in found.items() if number]


def _together(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[list[str], NDArray[np.int64]]:
    """Return all references and then the candidates, and the image of each."""
    candidates, groups = checked_captions(candidates), [checked_captions(group) for group in references]
    if len(groups) != len(candidates):
        raise InputError(f"there are {len(candidates)} candidates but references of {len(groups)} images.")
    images = np.arange(len(groups))
    counts = [len(group) for group in groups]
    return [*chain.from_iterable(groups), *candidates], np.concatenate([np.repeat(images, counts), images])


def _scores(scorer: CiderScorer | SpiceScorer, candidates: int) -> CaptionScores:
    """A candidate is one of its image's captions; left out of them, it meets the references alone."""
    last = np.arange(scorer.shape[0] - candidates, scorer.shape[0])
    each = scorer.pairs(last, np.arange(candidates), without_own=True)
    return CaptionScores(float(each.mean()), each)
