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
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import plain_array, read_npy
from fivesentences.corpus.archives import open_zip
from fivesentences.corpus.cxc import CXC_ORIGINAL, cxc_ratings, fields_of, score_of
from fivesentences.corpus.flickr8k import lines_in
from fivesentences.corpus.labels import check_beside_labels
from fivesentences.corpus.table import Corpus
from fivesentences.errors import InputError, counted, say_left_out

_AGAIN = "generate the scenes again"
_WHOLE_NUMBER = re.compile(r"[0-9]{1,6}")
# The place of a pair in its file, the ids of its image and its caption, and its scores.
Pair = tuple[str, str, str, Sequence[float]]


@dataclass(frozen=True, eq=False)
class Judgements:
    """Pairs of a caption and an image, each with a judge's score.

    Attributes:
        name: ``cxc``, ``flickr8k_expert``, ``flickr8k_expert_each``, ``flickr8k_crowdflower`` or ``scenes_truth``.
        pairs: One row per judgement, in the order of the file: ``caption`` (index into the corpus's captions),
            ``image`` (index into its images), ``human`` (float, larger is better) and ``own`` (whether the caption was
            written for this image).
        scale: Meaning and range of the score, in one sentence.
        dropped: Number of judgements in the file that are not in ``pairs`` because the corpus lacks the caption or the
            image.
    """

    name: str
    pairs: pd.DataFrame
    scale: str
    dropped: int = 0

    def within(self, corpus: Corpus, split: str) -> Judgements:
        """Return the judgements within a split, with indices into ``corpus.split(split)``.

        Args:
            corpus: The corpus that these judgements index.
            split: One of its splits.

        Raises:
            InputError: If the split has no images, or no judgement is left.
        """
        part = corpus.split(split)
        pairs = self.pairs.copy()
        for column, splits in (("image", corpus.images["split"]), ("caption", corpus.table["split"])):
            inside = (splits == split).to_numpy(dtype=bool)
            pairs[column] = np.where(inside, np.cumsum(inside) - 1, -1)[pairs[column]]
        kept = ((pairs["caption"] >= 0) & (pairs["image"] >= 0)).to_numpy(dtype=bool)
        if not kept.any():
            raise InputError(f"none of the {len(pairs)} judgements of '{self.name}' is within '{split}' of {part!r}.")
        dropped = self.dropped + int(np.count_nonzero(~kept))
        return replace(self, pairs=pairs[kept].reset_index(drop=True), dropped=dropped)


def load_cxc(path: Path | str, corpus: Corpus) -> Judgements:
    """Read Crisscrossed Captions, image-text similarity (``sits_test.csv`` or ``sits_val.csv``).

    A caption is found by its ``sentid`` and an image by its COCO id, as ``load_karpathy`` names them. There are 44,833
    pairs of the 5,000 test images: 25,000 captions with their own images and 19,833 with others.

    Args:
        path: The CSV with the columns ``caption``, ``image``, ``agg_score`` and ``sampling_method``.
        corpus: COCO with Karpathy's splits.

    Raises:
        InputError: If the file is missing or is not such a table, a line is malformed, a score is not in 0 to 5, a pair
            occurs twice or is wrongly called a caption with its own image, or no pair belongs to this corpus.
    """
    ratings = list(cxc_ratings(path))
    pairs = ((one.where, str(one.image), str(one.caption), [one.score]) for one in ratings)
    own = {one.where for one in ratings if one.method == CXC_ORIGINAL}
    scale = "mean of people's ratings of how well the caption fits the image, 0 to 5"
    return _judgements("cxc", pairs, corpus, scale, own)


def load_flickr8k_expert(text_zip: Path | str, corpus: Corpus, experts: Literal["mean", "each"] = "mean") -> Judgements:
    """Read the judgements of three experts in Flickr8k's text archive: 5,822 pairs of the test split.

    In 158 of the pairs the caption was written for the image.

    Args:
        text_zip: ``Flickr8k_text.zip``.
        corpus: Corpus that ``load_flickr8k`` reads from it.
        experts: ``"mean"``: the score of a pair is the mean of the three. ``"each"``: every judgement is a row, three
            per pair, so that each expert's score counts as it was given; papers that report Kendall's tau on "17,000
            expert judgements" do this (the 5,664 pairs with captions of other images, times 3).

    Raises:
        InputError: If the file is missing from the archive, a line is malformed, a score is not 1, 2, 3 or 4, a pair
            occurs twice, or no pair belongs to this corpus.
    """

    def pairs() -> Iterator[Pair]:
        for where, (image, caption, *scores) in _fields_in(text_zip, "ExpertAnnotations.txt"):
            if odd := [score for score in scores if score not in ("1", "2", "3", "4")]:
                raise InputError(f"an expert's score is '{odd[0][:60]}'; it must be 1, 2, 3 or 4.", where=where)
            given = [float(score) for score in scores]
            yield where, PurePosixPath(image).stem, caption, given if experts == "each" else [sum(given) / 3.0]

    what = "one of three experts' judgements" if experts == "each" else "mean of three experts' judgements"
    scale = f"{what}, from 1 (the caption does not describe the image at all) to 4 (it describes it)"
    return _judgements(f"flickr8k_expert{'_each' if experts == 'each' else ''}", pairs(), corpus, scale)


def load_flickr8k_crowdflower(text_zip: Path | str, corpus: Corpus) -> Judgements:
    """Read the crowd's judgements in Flickr8k's text archive: 47,830 pairs of the test split.

    In 721 of the pairs the caption was written for the image.

    Args:
        text_zip: ``Flickr8k_text.zip``.
        corpus: Corpus that ``load_flickr8k`` reads from it.

    Raises:
        InputError: If the file is missing from the archive, a line is malformed, the share of yes does not agree with
            the counts, a pair occurs twice, or no pair belongs to this corpus.
    """

    def pairs() -> Iterator[Pair]:
        for where, (image, caption, share, *counts) in _fields_in(text_zip, "CrowdFlowerAnnotations.txt"):
            yes, no = (int(count) if _WHOLE_NUMBER.fullmatch(count) else -1 for count in counts)
            given = score_of(share, where, "the share of yes", 1.0)
            if min(yes, no) < 0 or yes + no == 0 or abs(given - yes / (yes + no)) > 1e-6:
                said = f"{counts[0][:60]} yes and {counts[1][:60]} no"
                raise InputError(f"the share of yes is '{share[:60]}' but there are {said}.", where=where)
            yield where, PurePosixPath(image).stem, caption, [yes / (yes + no)]

    scale = "share of at least three people who say that the caption describes the image, 0 to 1"
    return _judgements("flickr8k_crowdflower", pairs(), corpus, scale)


def _named(truth: Path | str | ArrayLike) -> str:
    return str(truth) if isinstance(truth, str | Path) else "truth"


def read_truth(truth: Path | str | ArrayLike, corpus: Corpus, part: Corpus | None = None) -> NDArray[np.floating]:
    """Return how much of each caption is true of each drawn scene, ``[captions, images]`` of a part of the corpus.

    Args:
        truth: ``truth.npy`` of the scenes, or the array: ``[captions, images]`` of the whole corpus, in [0, 1].
        corpus: The whole corpus.
        part: Some of its captions, such as a split; None: all.

    Raises:
        InputError: If the file is missing or damaged, or the shape does not fit the corpus.
    """
    what = _named(truth)
    matrix = read_npy(truth, _AGAIN) if isinstance(truth, str | Path) else plain_array(truth, what)
    if isinstance(truth, str | Path):
        check_beside_labels(Path(truth), _AGAIN)
    shape = (corpus.n_captions, corpus.n_images)
    if matrix.shape != shape or matrix.dtype.kind not in "fiub":
        held = f"{what} is {matrix.dtype} {list(matrix.shape)}"
        raise InputError(f"{held} but the corpus has {shape[0]} captions and {shape[1]} images", cure=_AGAIN)
    if part is None:
        return matrix
    captions = pd.Index(corpus.table["caption_id"]).get_indexer(part.table["caption_id"])
    images = pd.Index(corpus.images["image_id"]).get_indexer(part.images["image_id"])
    return matrix[np.ix_(captions, images)]


def truth_as_judge(truth: Path | str | ArrayLike, corpus: Corpus, split: str | None = "test") -> Judgements:
    """Return how much of a caption is true of a drawn scene, in place of human judgement: no person was asked.

    Args:
        truth: ``truth.npy`` of the scenes, or the array: ``[captions, images]`` of the whole corpus, in [0, 1].
        corpus: The whole corpus.
        split: Judge all pairs of a caption and an image of this split; None: of the whole corpus.

    Raises:
        InputError: If the file is missing or damaged, the shape does not fit the corpus, or a value is not in [0, 1].
    """
    matrix = read_truth(truth, corpus)
    captions, images = np.arange(corpus.n_captions), np.arange(corpus.n_images)
    if split is not None:
        corpus.split(split)  # raises if there is no such split
        captions = captions[(corpus.table["split"] == split).to_numpy(dtype=bool)]
        images = images[(corpus.images["split"] == split).to_numpy(dtype=bool)]
    scores = np.asarray(matrix[np.ix_(captions, images)], dtype=np.float64)
    for row, column in np.argwhere(~((scores >= 0) & (scores <= 1)))[:1]:
        pair = f"caption {captions[row]} for image {images[column]}"
        what = f"the truth of {pair} is {scores[row, column]}; it lies in [0, 1]"
        raise InputError(what, where=_named(truth), cure=_AGAIN)
    pairs = _frame(np.repeat(captions, len(images)), np.tile(images, len(captions)), scores.ravel(), corpus)
    scale = "share of the caption's claims that hold in the drawn scene, 0 to 1, by its generator: no person was asked"
    return Judgements("scenes_truth", pairs, scale)


def load_judgements(judge: str, path: Path | str, corpus: Corpus) -> tuple[Corpus, Judgements]:
    """Read the judgements of a judge given by name.

    Args:
        judge: ``cxc``, ``flickr8k_expert``, ``flickr8k_expert_each``, ``flickr8k_crowdflower`` or ``scenes_truth``.
        path: The judge's file: the CSV, the text archive, or ``truth.npy``.
        corpus: The whole corpus.

    Returns:
        The corpus that the judgements index and that phi is to be computed for (for ``scenes_truth`` its test split),
        and the judgements.

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
    found = loaders[judge](path, corpus)
    lacking = {f"of captions or images that '{corpus.name}' lacks": found.dropped}
    say_left_out(path, counted(len(found.pairs), "judgement"), lacking)
    return corpus, found


def _judgements(
    name: str, pairs: Iterator[Pair], corpus: Corpus, scale: str, own: frozenset[str] | set[str] = frozenset()
) -> Judgements:
    """Look the pairs of a file up in a corpus; ``own``: places of pairs that the file calls a caption and its image."""
    row_of_image = {image_id: row for row, image_id in enumerate(corpus.images["image_id"].tolist())}
    row_of_caption = {caption_id: row for row, caption_id in enumerate(corpus.caption_ids)}
    seen: set[tuple[str, str]] = set()
    rows: list[tuple[int, int, float]] = []
    dropped = 0
    for where, image_id, caption_id, scores in pairs:
        if (image_id, caption_id) in seen:
            raise InputError(f"caption '{caption_id}' and image '{image_id}' are judged a second time.", where=where)
        seen.add((image_id, caption_id))
        image, caption = row_of_image.get(image_id), row_of_caption.get(caption_id)
        if image is None or caption is None:
            dropped += len(scores)
            continue
        if where in own and corpus.image_of_caption[caption] != image:
            what = f"'{image_id}' is called the image of caption '{caption_id}', which belongs to another one here"
            raise InputError(what, where=where, cure="take the corpus whose ids the file has")
        rows += [(caption, image, score) for score in scores]
    if not rows:
        what = f"none of the {dropped} judgements of '{name}' is about a pair of {corpus!r}"
        raise InputError(what, cure="is this the right corpus?")
    captions, images, human = (np.array(values) for values in zip(*rows, strict=True))
    return Judgements(name, _frame(captions, images, human, corpus), scale, dropped)


def _frame(
    caption: NDArray[np.int64], image: NDArray[np.int64], human: NDArray[np.float64], corpus: Corpus
) -> pd.DataFrame:
    own = corpus.image_of_caption[caption] == image
    return pd.DataFrame({"caption": caption, "image": image, "human": human, "own": own})


def _fields_in(text_zip: Path | str, file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the five fields of each line of a file of Flickr8k's text archive."""
    with open_zip(text_zip) as archive:
        for where, line in lines_in(archive, file):
            yield where, fields_of(where, line, "\t", 5)
