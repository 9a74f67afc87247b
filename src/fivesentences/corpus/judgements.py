"""Judgements of how well a caption fits an image, by people or by the truth of drawn scenes.

Crisscrossed Captions (Parekh et al. 2020) for COCO, the expert and crowd judgements of Flickr8k (Hodosh et al. 2013),
and the truth scores of the drawn scenes in the same form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import plain_array, read_npy
from fivesentences.corpus.archives import open_zip
from fivesentences.corpus.cxc import CXC_ORIGINAL, cxc_ratings, fields_of, score_of
from fivesentences.corpus.flickr8k import lines_in
from fivesentences.corpus.table import Corpus
from fivesentences.errors import InputError

EXPERTS = "ExpertAnnotations.txt"
CROWD = "CrowdFlowerAnnotations.txt"


_AGAIN = "generate the scenes again"
_WHOLE_NUMBER = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, eq=False)
class Judgements:
    """Pairs of a caption and an image, each with a judge's score.

    Attributes:
        name: ``cxc``, ``flickr8k_expert``, ``flickr8k_expert_each``, ``flickr8k_crowdflower`` or ``scenes_truth``.
        pairs: One row per judgement, in the order of the file: ``caption`` (index into the corpus's captions),
            ``image`` (index into its images), ``human`` (float, larger is better) and ``own`` (whether the caption was
            written for this image).
        scale: What the score is, with its range, in one sentence.
        dropped: Number of judgements in the file that are not in ``pairs`` because the corpus lacks the caption or the
            image.
    """

    name: str
    pairs: pd.DataFrame
    scale: str
    dropped: int = 0

    def within(self, corpus: Corpus, split: str) -> Judgements:
        """The judgements whose caption and image both belong to ``split``, with indices into ``corpus.split(split)``.

        Args:
            corpus: The corpus that these judgements index.
            split: One of its splits.

        Raises:
            InputError: If the split has no images, or no judgement is left.
        """
        part = corpus.split(split)
        place_of_image = _places((corpus.images["split"] == split).to_numpy(dtype=bool))
        place_of_caption = _places((corpus.table["split"] == split).to_numpy(dtype=bool))
        pairs = self.pairs.assign(
            caption=place_of_caption[self.pairs["caption"]], image=place_of_image[self.pairs["image"]]
        )
        kept = ((pairs["caption"] >= 0) & (pairs["image"] >= 0)).to_numpy(dtype=bool)
        if not kept.any():
            raise InputError(f"none of the {len(pairs)} judgements of '{self.name}' is within '{split}' of {part!r}.")
        dropped = self.dropped + int(np.count_nonzero(~kept))
        return replace(self, pairs=pairs[kept].reset_index(drop=True), dropped=dropped)


def load_cxc(path: Path | str, corpus: Corpus) -> Judgements:
    """Crisscrossed Captions, image-text similarity (``sits_test.csv`` or ``sits_val.csv``).

    A caption is found by its ``sentid`` and an image by its COCO id, as ``load_karpathy`` names them. There are 44,833
    pairs of the 5,000 test images: 25,000 captions with their own images and 19,833 with others.

    Args:
        path: The CSV with the columns ``caption``, ``image``, ``agg_score`` and ``sampling_method``.
        corpus: COCO with Karpathy's splits.

    Raises:
        InputError: If the file is missing or is not such a table, a line is malformed, a score is not in 0 to 5, a pair
            occurs twice or is wrongly called a caption with its own image, or no pair belongs to this corpus.
    """
    found = _Pairs(corpus)
    for rating in cxc_ratings(path):
        found.add(str(rating.image), str(rating.caption), rating.score, rating.where, own=rating.method == CXC_ORIGINAL)
    return found.judgements("cxc", "mean of people's ratings of how well the caption fits the image, 0 to 5")


def load_flickr8k_expert(text_zip: Path | str, corpus: Corpus, experts: str = "mean") -> Judgements:
    """The judgements of three experts in Flickr8k's text archive: 5,822 pairs of the test split.

    In 158 of the pairs the caption was written for the image.

    Args:
        text_zip: ``Flickr8k_text.zip``.
        corpus: What ``load_flickr8k`` reads from it.
        experts: ``"mean"``: the score of a pair is the mean of the three. ``"each"``: every judgement is a row, three
            per pair, so that each expert's score counts as it was given; papers that report Kendall's tau on "17,000
            expert judgements" do this (the 5,664 pairs with captions of other images, times 3).

    Raises:
        InputError: If the file is missing from the archive, a line is malformed, a score is not 1, 2, 3 or 4, a pair
            occurs twice, or no pair belongs to this corpus.
    """
    if experts not in ("mean", "each"):
        raise InputError(f"experts is {experts!r}; it must be 'mean' or 'each'.")
    found = _Pairs(corpus)
    for where, (image, caption, *scores) in _fields_in(text_zip, EXPERTS):
        for score in scores:
            if score not in ("1", "2", "3", "4"):
                raise InputError(f"an expert's score is '{score[:60]}'; it must be 1, 2, 3 or 4.", where=where)
        given = [float(score) for score in scores]
        found.add(PurePosixPath(image).stem, caption, given if experts == "each" else sum(given) / 3.0, where)
    what = "one of three experts' judgements" if experts == "each" else "mean of three experts' judgements"
    scale = f"{what}, from 1 (the caption does not describe the image at all) to 4 (it describes it)"
    return found.judgements("flickr8k_expert_each" if experts == "each" else "flickr8k_expert", scale)


def load_flickr8k_crowdflower(text_zip: Path | str, corpus: Corpus) -> Judgements:
    """The crowd's judgements in Flickr8k's text archive: 47,830 pairs of the test split.

    In 721 of the pairs the caption was written for the image.

    Args:
        text_zip: ``Flickr8k_text.zip``.
        corpus: What ``load_flickr8k`` reads from it.

    Raises:
        InputError: If the file is missing from the archive, a line is malformed, the share of yes does not agree with
            the counts, a pair occurs twice, or no pair belongs to this corpus.
    """
    found = _Pairs(corpus)
    for where, (image, caption, share, yes, no) in _fields_in(text_zip, CROWD):
        counts = [int(count) if _WHOLE_NUMBER.fullmatch(count) else -1 for count in (yes, no)]
        if (
            min(counts) < 0
            or sum(counts) == 0
            or abs(score_of(share, where, "the share of yes", 1.0) - counts[0] / sum(counts)) > 1e-6
        ):
            what = f"the share of yes is '{share[:60]}' but there are {yes[:60]} yes and {no[:60]} no."
            raise InputError(what, where=where)
        found.add(PurePosixPath(image).stem, caption, counts[0] / sum(counts), where)
    scale = "share of at least three people who say that the caption describes the image, 0 to 1"
    return found.judgements("flickr8k_crowdflower", scale)


def truth_as_judge(truth: Path | str | ArrayLike, corpus: Corpus, split: str | None = "test") -> Judgements:
    """How much of a caption is true of a drawn scene, in place of human judgement: no person was asked.

    Args:
        truth: ``truth.npy`` of the scenes, or the array: ``[captions, images]`` of the whole corpus, in [0, 1].
        corpus: The whole corpus.
        split: Judge all pairs of a caption and an image of this split; None: of the whole corpus.

    Raises:
        InputError: If the file is missing or damaged, the shape does not fit the corpus, or a value is not in [0, 1].
    """
    what = str(truth) if isinstance(truth, str | Path) else "truth"
    matrix = read_npy(truth, _AGAIN) if isinstance(truth, str | Path) else plain_array(truth, what)
    shape = (corpus.n_captions, corpus.n_images)
    if matrix.shape != shape or matrix.dtype.kind not in "fiub":
        raise InputError(
            f"{what} is {matrix.dtype} {list(matrix.shape)} but the corpus has {shape[0]} captions and {shape[1]} "
            "images",
            cure=_AGAIN,
        )
    captions, images = np.arange(shape[0]), np.arange(shape[1])
    if split is not None:
        corpus.split(split)  # raises if there is no such split
        captions = captions[(corpus.table["split"] == split).to_numpy(dtype=bool)]
        images = images[(corpus.images["split"] == split).to_numpy(dtype=bool)]
    scores = np.asarray(matrix[np.ix_(captions, images)], dtype=np.float64)
    wrong = np.argwhere(~((scores >= 0) & (scores <= 1)))
    if len(wrong):
        row, column = wrong[0]
        pair = f"caption {captions[row]} for image {images[column]}"
        raise InputError(f"the truth of {pair} is {scores[row, column]}; it lies in [0, 1]", where=what, cure=_AGAIN)
    caption, image = np.repeat(captions, len(images)), np.tile(images, len(captions))
    pairs = _frame(caption, image, scores.ravel(), corpus)
    scale = "share of the caption's claims that hold in the drawn scene, 0 to 1, by its generator: no person was asked"
    return Judgements("scenes_truth", pairs, scale)


def load_judgements(judge: str, path: Path | str, corpus: Corpus) -> tuple[Corpus, Judgements]:
    """The judgements of a judge given by name, and the corpus that they index and that phi is to be computed for.

    Args:
        judge: ``cxc``, ``flickr8k_expert``, ``flickr8k_expert_each``, ``flickr8k_crowdflower`` or ``scenes_truth``.
        path: The judge's file: the CSV, the text archive, or ``truth.npy``.
        corpus: The whole corpus.

    Returns:
        The corpus (for ``scenes_truth`` its test split) and the judgements.

    Raises:
        InputError: If the judge is unknown, or as raised by its loader.
    """
    if judge == "scenes_truth":
        return corpus.split("test"), truth_as_judge(path, corpus, "test").within(corpus, "test")
    loaders: dict[str, Callable[[Path | str, Corpus], Judgements]] = {
        "cxc": load_cxc,
        "flickr8k_expert": load_flickr8k_expert,
        "flickr8k_expert_each": partial(load_flickr8k_expert, experts="each"),
        "flickr8k_crowdflower": load_flickr8k_crowdflower,
    }
    if judge not in loaders:
        raise InputError(f"the judge is {judge!r}; it must be one of {', '.join([*loaders, 'scenes_truth'])}.")
    return corpus, loaders[judge](path, corpus)


class _Pairs:
    """Collects the pairs of a file and looks them up in a corpus."""

    def __init__(self, corpus: Corpus):
        self._corpus = corpus
        self._image = {image_id: index for index, image_id in enumerate(corpus.images["image_id"].tolist())}
        self._caption = {caption_id: index for index, caption_id in enumerate(corpus.table["caption_id"].tolist())}
        self._seen: set[tuple[str, str]] = set()
        self._rows: list[tuple[int, int, float]] = []
        self._dropped = 0

    def add(
        self, image_id: str, caption_id: str, human: float | Sequence[float], where: str, own: bool = False
    ) -> None:
        """Add the judgements of one pair; ``own``: according to the file the caption was written for the image."""
        scores = [human] if isinstance(human, float) else human
        if (image_id, caption_id) in self._seen:
            what = f"caption '{caption_id}' and image '{image_id}' are judged a second time."
            raise InputError(what, where=where)
        self._seen.add((image_id, caption_id))
        image, caption = self._image.get(image_id), self._caption.get(caption_id)
        if image is None or caption is None:
            self._dropped += len(scores)
            return
        if own and self._corpus.image_of_caption[caption] != image:
            what = f"'{image_id}' is called the image of caption '{caption_id}', which belongs to another one here"
            raise InputError(what, where=where, cure="take the corpus whose ids the file has")
        self._rows += [(caption, image, score) for score in scores]

    def judgements(self, name: str, scale: str) -> Judgements:
        if not self._rows:
            what = f"none of the {self._dropped} judgements of '{name}' is about a pair of {self._corpus!r}"
            raise InputError(what, cure="is this the right corpus?")
        caption, image, human = zip(*self._rows, strict=True)
        pairs = _frame(np.array(caption), np.array(image), np.array(human), self._corpus)
        return Judgements(name, pairs, scale, self._dropped)


def _frame(
    caption: NDArray[np.int64], image: NDArray[np.int64], human: NDArray[np.float64], corpus: Corpus
) -> pd.DataFrame:
    own = corpus.image_of_caption[caption] == image
    return pd.DataFrame({"caption": caption, "image": image, "human": human, "own": own})


def _places(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Position of each chosen item among the chosen ones; -1 for the others."""
    return np.where(chosen, np.cumsum(chosen) - 1, -1)


def _fields_in(text_zip: Path | str, file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the five fields of each line of a file of Flickr8k's text archive."""
    with open_zip(text_zip) as archive:
        for where, line in lines_in(archive, file):
            yield where, fields_of(where, line, "\t", 5)
