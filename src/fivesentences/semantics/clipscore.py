"""CLIPScore, RefCLIPScore and PAC-S of captions, from vectors of images and captions by any dual encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError, counted
from fivesentences.semantics.captioning import CAPTIONING_METRICS, OF_IMAGES, CaptionScores, parse_metric
from fivesentences.semantics.validation import checked_pairing

OWN_VECTORS = "own vectors"  # in place of tokens
WEIGHTS = {"clipscore": 2.5, "pacs": 2.0}


def clip_scores(
    images: ArrayLike,
    candidates: ArrayLike,
    metrics: Sequence[str] = ("clipscore",),
    references: ArrayLike | None = None,
    image_of_reference: ArrayLike | None = None,
) -> dict[str, CaptionScores]:
    """Score one caption per image by cosines with its image, and with the references of the image.

    CLIPScore is 2.5 max(cos(candidate, image), 0); RefCLIPScore is the harmonic mean of that and of the largest
    cosine with a reference, or 0 if that is negative (Hessel et al. 2021). PAC-S and RefPAC-S are the same with the
    factor 2 (Sarto et al. 2023). The numbers of those papers need their encoders: CLIP ViT-B/32 with the prompt
    "A photo depicts ", and PAC-S's fine-tuned weights.

    Args:
        images: ``[images, dim]`` vectors of any length.
        candidates: ``[images, dim]`` vectors of their captions.
        metrics: Some of clipscore, refclipscore, pacs, refpacs.
        references: ``[references, dim]`` vectors of the references, for refclipscore and refpacs.
        image_of_reference: ``[references]`` image index of each.

    Returns:
        The scores of each metric, by its name as it was given.

    Raises:
        InputError: If a metric is not known, references are needed and missing, shapes disagree, an image has no
            reference, or a vector is not finite or has the length 0.
    """
    parsed = {name: parse_metric(name)[0] for name in metrics}
    for name, metric in parsed.items():
        if metric not in OF_IMAGES:
            raise InputError(f"{name} compares no images", cure=f"name one of {', '.join(OF_IMAGES)}")
    of_images, of_candidates = unit_vectors(images, "images"), unit_vectors(candidates, "candidates")
    if of_images.shape != of_candidates.shape:
        what = f"images is {list(of_images.shape)} but candidates is {list(of_candidates.shape)}"
        raise InputError(what, cure="give one vector per image and caption, of one encoder")
    cosine = np.einsum("nd,nd->n", of_images, of_candidates)
    nearest = None
    if needed := [metric for metric in parsed.values() if metric.startswith("ref")]:
        if references is None or image_of_reference is None:
            raise InputError(f"{CAPTIONING_METRICS[needed[0]].title} needs references and image_of_reference")
        nearest = _nearest(of_candidates, unit_vectors(references, "references"), image_of_reference)
    scores = {}
    for name, metric in parsed.items():
        each = WEIGHTS[metric.removeprefix("ref")] * np.maximum(cosine, 0.0)
        if metric.startswith("ref") and nearest is not None:
            total = each + nearest
            each = np.divide(2 * each * nearest, total, out=np.zeros_like(total), where=total > 0)
        scores[name] = CaptionScores(float(each.mean()), each, OWN_VECTORS)
    return scores


def unit_vectors(vectors: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return vectors of length 1.

    Args:
        vectors: ``[rows, dim]`` of any length.
        name: Their name in errors.

    Raises:
        InputError: If it is not such an array, or a vector is not finite or has the length 0.
    """
    array = np.asarray(vectors)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not array.size:
        what = f"it is {array.dtype} {list(array.shape)}, not vectors [rows, dim]"
        raise InputError(what, where=name, cure="save one row of numbers per image or caption")
    rows = array.astype(np.float64)
    if len(wrong := np.argwhere(~np.isfinite(rows))):
        row, column = wrong[0].tolist()
        many = counted(len(np.unique(wrong[:, 0])), "vector")
        what = f"row {row} holds {rows[row, column]} in column {column}; {many} of {len(rows):,} hold such values"
        raise InputError(what, where=name, cure="embed again")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    if len(empty := np.flatnonzero(length == 0)):
        what = f"row {empty[0]} is 0 throughout, as are {len(empty):,} of {len(rows):,}, and has no direction"
        raise InputError(what, where=name, cure="embed again")
    return np.asarray(rows / length)


def _nearest(
    candidates: NDArray[np.float64], references: NDArray[np.float64], image_of_reference: ArrayLike
) -> NDArray[np.float64]:
    """Return ``[images]`` the largest cosine of each candidate with a reference of its image, negative ones as 0."""
    owner = checked_pairing(image_of_reference, len(references))
    if int(owner.max()) + 1 != len(candidates) or references.shape[1] != candidates.shape[1]:
        what = f"references is {list(references.shape)}, of {counted(int(owner.max()) + 1, 'image')}"
        cure = "give references of every image, by the same encoder"
        raise InputError(f"{what}, but candidates is {list(candidates.shape)}", cure=cure)
    found = np.zeros(len(candidates))
    np.maximum.at(found, owner, np.einsum("nd,nd->n", candidates[owner], references))
    return found
