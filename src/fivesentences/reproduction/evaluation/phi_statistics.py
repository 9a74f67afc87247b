"""Statistics of phi over the captions of a split: scores with their own images and with other images.

Binary relevance calls every caption of another image wrong. This module measures how often phi disagrees (after Figure
1 of Five Sentences): how it is distributed over captions with their own and with other images, how many captions fit
another image better than some caption that people wrote for it, and which captions these are.

An image's own captions are among the references that they are compared with, which raises their scores. Scores with
the own image therefore come in two kinds: ``kept``, as in the matrix, and ``own_left_out``, where a caption is only
compared with the other captions of its image. Scores with other images are the same for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus import Corpus
from fivesentences.documents import read_formatted
from fivesentences.retrieval.blocks import blocks_of_rows
from fivesentences.semantics import read_phi
from fivesentences.semantics.phi_file import read_phi_note
from fivesentences.semantics.registry import model_of, needs_tuples, prepare
from fivesentences.semantics.sentence_encoders import CaptionVectors
from fivesentences.semantics.tuples import Tuples
from fivesentences.storage import write_json

BINS = 60
FORMAT = "fivesentences.meaning 2"


def phi_statistics(
    corpus: Corpus,
    phis: Mapping[str, NDArray[np.floating]],
    own_left_out: Mapping[str, NDArray[np.floating]] | None = None,
    *,
    images: int = 5,
    captions: int = 3,
    bins: int = BINS,
) -> dict[str, Any]:
    """Compare what each phi says about an image's own captions and about captions of other images.

    Args:
        corpus: One split.
        phis: phi by name, ``[captions, images]`` each, at least 0; read in blocks, so memory maps may be large.
        own_left_out: Where known, by the name of the phi: ``[captions]`` score of each caption with its own image, the
            caption removed from the references; NaN if no reference is left.
        images: Number of images that are shown with the best captions of other images. All images are ordered by the
            score of the best such caption under the first phi, best first (equal scores by index), and the shown ones
            are spread evenly over this order, including its first and last.
        captions: Number of captions of other images that are shown for each image and phi: the best ones, equal scores
            by index, identical texts only once.
        bins: Bins of the histograms, equally wide from 0 to the largest value.

    Returns:
        ``dataset``, ``split``, ``images`` and ``captions`` (how many), ``ranked_by`` (the first phi), ``phis`` and
        ``chosen``. For each phi:

        ``edges``: ``[bins + 1]`` edges of the histograms; ``other``: ``[bins]`` numbers of pairs of a caption with
        another image; ``other_zero``: how many of them have exactly 0; and ``kept`` and (where known)
        ``own_left_out``, each with

        ``own``, ``own_zero``: the same of captions with their own image; ``captions``, ``images``: how many have
        such a score.

        ``captions_beat_own``: captions ``c`` of image ``i`` for which the largest ``phi[c, j]``, ``j != i``, is
        larger than the smallest ``phi[d, i]`` of the captions ``d`` of ``i``: the caption scores higher with some
        other image than the worst caption of its own image scores with that image.

        ``captions_beat_theirs``: captions ``c`` of image ``i`` for which some ``j != i`` has ``phi[c, j]`` larger
        than the smallest ``phi[d, j]`` of the captions ``d`` of ``j``: the caption fits an image that it was not
        written for better than a caption that was.

        ``images_beaten``: images ``i`` for which some caption ``c`` of another image has ``phi[c, i]`` larger than
        the smallest ``phi[d, i]`` of the captions ``d`` of ``i``.

        Each image of ``chosen``: ``image_id``, ``filename``, ``rank`` (from 1), its own ``captions``, and for each
        phi ``own`` (the scores of these, of each kind; None if no reference is left) and ``other`` (``caption``,
        ``image_id``, ``score``; best first).
    """
    owner = corpus.image_of_caption
    extremes = {name: _extremes(phi, owner) for name, phi in phis.items()}
    first = next(iter(phis))
    order = np.argsort(-extremes[first].best_other_of_image, kind="stable")
    ranks = np.unique(np.linspace(0, len(order) - 1, min(images, len(order))).round().astype(np.int64))
    numbers, columns, own = {}, {}, {}
    for name, phi in phis.items():
        own[name] = {"kept": extremes[name].own}
        if own_left_out is not None and name in own_left_out:
            # With the precision of the matrix, so that equal scores compare equal.
            own[name]["own_left_out"] = np.asarray(own_left_out[name]).astype(phi.dtype)
        numbers[name], columns[name] = _distribution(phi, owner, extremes[name], own[name], bins, order[ranks])
    chosen = []
    for place, rank in enumerate(ranks.tolist()):
        rows = np.flatnonzero(owner == order[rank]).tolist()
        about = corpus.images.iloc[order[rank]]
        chosen.append(
            {
                "image_id": str(about["image_id"]),
                "filename": str(about["filename"]),
                "rank": rank + 1,
                "captions": [corpus.captions[row] for row in rows],
                "own": {
                    name: {kind: [_or_none(scores[row]) for row in rows] for kind, scores in kinds.items()}
                    for name, kinds in own.items()
                },
                "other": {name: _best_other(corpus, columns[name][:, place], set(rows), captions) for name in phis},
            }
        )
    return {
        "dataset": corpus.name, "split": corpus.splits[0], "images": corpus.n_images, "captions": corpus.n_captions,
        "ranked_by": first, "phis": numbers, "chosen": chosen,
    }  # fmt: skip


def write_statistics(
    corpus: Corpus,
    paths: Mapping[str, Path | str],
    out: Path | str,
    tuples: Tuples | None = None,
    vectors: Mapping[str, CaptionVectors] | None = None,
    **options: Any,
) -> None:
    """Write what ``phi_statistics`` says about matrices that ``write_phi`` wrote, with their notes, as JSON.

    Args:
        corpus: The split that the matrices are of.
        paths: ``.npy`` file of each phi by name.
        out: A ``.json``.
        tuples: Scene-graph tuples of the corpus's captions; without them, SPICE only has own scores of the kind
            ``kept``.
        vectors: Vectors of its captions, by model; what is missing is encoded.
        options: Further arguments of ``phi_statistics``.

    Raises:
        InputError: If a matrix is missing, damaged or of other captions; see ``read_phi`` and ``phi_statistics``.
    """
    phis = {name: read_phi(path, corpus.captions) for name, path in paths.items()}
    every, owner = np.arange(corpus.n_captions), corpus.image_of_caption
    left_out = {
        name: prepare(name, corpus.captions, owner, tuples, (vectors or {}).get(model_of(name) or "")).pairs(
            every, owner, without_own=True
        )
        for name in phis
        if tuples is not None or not needs_tuples(name)
    }
    found = phi_statistics(corpus, phis, left_out, **options)
    for name, path in paths.items():
        note = read_phi_note(path)
        made_by = note.get("tuples")
        found["phis"][name] |= {
            "tokenisation": note.get("tokenisation") or "",
            "tuples": made_by["source"] if isinstance(made_by, dict) else "",
        }
    write_json(out, found | {"format": FORMAT})


def read_statistics(path: Path | str) -> dict[str, Any]:
    """Read what ``write_statistics`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "this was not written by this version of write_statistics; make it again.")


class _Extremes(NamedTuple):
    """The extreme values that one pass over phi finds.

    Attributes:
        own: ``[captions]`` phi of each caption with its own image.
        best_other: ``[captions]`` the largest phi of each caption with another image.
        best_other_of_image: ``[images]`` the largest phi of each image with a caption of another.
        largest: The largest phi of all.
    """

    own: NDArray[np.floating]
    best_other: NDArray[np.floating]
    best_other_of_image: NDArray[np.floating]
    largest: float


def _extremes(phi: NDArray[np.floating], owner: NDArray[np.int64]) -> _Extremes:
    own, best_other = np.zeros((2, len(phi)), dtype=phi.dtype)
    best_other_of_image, largest = np.full(phi.shape[1], -np.inf, dtype=phi.dtype), 0.0
    for rows, block in blocks_of_rows(phi, dtype=None):
        at = (np.arange(len(block)), owner[rows])
        own[rows] = block[at]
        largest = max(largest, float(block.max()))
        block[at] = -np.inf
        best_other[rows] = block.max(axis=1)
        np.maximum(best_other_of_image, block.max(axis=0), out=best_other_of_image)
    return _Extremes(own, best_other, best_other_of_image, largest)


def _distribution(
    phi: NDArray[np.floating],
    owner: NDArray[np.int64],
    extremes: _Extremes,
    own: Mapping[str, NDArray[np.floating]],
    bins: int,
    chosen: NDArray[np.int64],
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Return histograms and counts of a phi, and its columns of the chosen images."""
    top = max(extremes.largest, *(float(np.nanmax(scores, initial=0.0)) for scores in own.values())) or 1.0
    worst = {kind: _worst_of_image(scores, owner, phi.shape[1]) for kind, scores in own.items()}
    every, zero, beat_theirs = np.zeros(bins, dtype=np.int64), 0, dict.fromkeys(own, 0)
    columns = np.empty((len(phi), len(chosen)))
    for rows, block in blocks_of_rows(phi, dtype=None):
        columns[rows] = block[:, chosen]
        every += np.bincount(_bin_of(block, top, bins).ravel(), minlength=bins)
        zero += int(np.count_nonzero(block == 0))
        block[np.arange(len(block)), owner[rows]] = -np.inf
        for kind in own:
            beat_theirs[kind] += int(np.count_nonzero((block > worst[kind]).any(axis=1)))
    kept = own["kept"]
    found: dict[str, Any] = {
        "edges": np.linspace(0.0, top, bins + 1).tolist(),
        "other": (every - np.bincount(_bin_of(kept, top, bins), minlength=bins)).tolist(),
        "other_zero": zero - int(np.count_nonzero(kept == 0)),
    }
    for kind, scores in own.items():
        known = scores[~np.isnan(scores)]
        found[kind] = {
            "own": np.bincount(_bin_of(known, top, bins), minlength=bins).tolist(),
            "own_zero": int(np.count_nonzero(known == 0)),
            "captions": int(np.count_nonzero(np.isfinite(worst[kind][owner]))),
            "images": int(np.count_nonzero(np.isfinite(worst[kind]))),
            "captions_beat_own": int(np.count_nonzero(extremes.best_other > worst[kind][owner])),
            "captions_beat_theirs": beat_theirs[kind],
            "images_beaten": int(np.count_nonzero(extremes.best_other_of_image > worst[kind])),
        }
    return found, columns


def _worst_of_image(scores: NDArray[np.floating], owner: NDArray[np.int64], images: int) -> NDArray[np.floating]:
    """Return ``[images]`` the smallest score of each image's captions; infinite if none is known: nothing beats it."""
    worst = np.full(images, np.inf, dtype=scores.dtype)
    np.minimum.at(worst, owner, np.where(np.isnan(scores), np.inf, scores).astype(scores.dtype))
    return worst


def _bin_of(values: NDArray[np.floating], top: float, bins: int) -> NDArray[np.int64]:
    """Return the bin of each value, the largest in the last bin; in float64, so that equal values get equal bins."""
    return np.minimum(values.astype(np.float64) * (bins / top), bins - 1).astype(np.int64)


def _best_other(corpus: Corpus, column: NDArray[np.float64], own: set[int], captions: int) -> list[dict[str, Any]]:
    """Return the captions of other images with the largest scores; words are shown once."""
    best: dict[str, dict[str, Any]] = {}
    for row in np.argsort(-column, kind="stable").tolist():
        if row not in own and (text := corpus.captions[row]) not in best:
            image_id = str(corpus.images["image_id"].iloc[corpus.image_of_caption[row]])
            best[text] = {"caption": text, "image_id": image_id, "score": float(column[row])}
        if len(best) == captions:
            break
    return list(best.values())


def _or_none(value: np.floating) -> float | None:
    return None if np.isnan(value) else float(value)
