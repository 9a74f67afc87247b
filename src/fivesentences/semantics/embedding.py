"""Phi from vectors of captions: the cosine of a caption with the captions of an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.references import References
from fivesentences.semantics.registry import MINILM, REFERENCE_KINDS
from fivesentences.semantics.scoring import Indices, Scorer
from fivesentences.semantics.sentence_encoders import CaptionVectors, encode_captions
from fivesentences.semantics.validation import checked_corpus, checked_pairing

ROWS_OF_PRODUCT = 128  # fewer take a half more time for each, where there are ten thousand images


class EmbeddingScorer(Scorer):
    """Cosine of a caption's vector with those of an image's captions, 0 to 1, prepared once.

    A negative cosine counts 0: NCS and semantic recall add phi up, and a caption cannot be less than unrelated.

    Args:
        captions: Vectors of the captions, or captions, which are encoded.
        image_of_caption: ``[captions]`` image index of each caption.
        references: How the captions of an image stand for it: ``"centroid"``, the mean of their vectors, of length 1;
            ``"max"``, the nearest of them; ``"mean"``, the mean of their cosines.
        model: Encoder of captions; see ``encode_captions``.

    Raises:
        InputError: If captions and images do not fit, there is no such model, or no such references.
    """

    scores_rows_alone = False

    def __init__(
        self,
        captions: CaptionVectors | Sequence[str],
        image_of_caption: ArrayLike,
        references: str = "centroid",
        model: str = MINILM,
    ):
        if references not in REFERENCE_KINDS:
            raise InputError(f"references is {references!r}; expected one of {', '.join(REFERENCE_KINDS)}.")
        if isinstance(captions, CaptionVectors):
            vectors, pairing = captions, checked_pairing(image_of_caption, len(captions.array))
        else:
            texts, pairing = checked_corpus(captions, image_of_caption)
            vectors = encode_captions(model, texts)
        self._vectors = vectors.array
        self.facts = {"vectors": vectors.facts, "references": references, "negative cosines": 0}
        self._references = References(pairing)
        self._kind, self.shape = references, self._references.shape
        ordered = self._vectors[self._references.by_image]
        self._sums = np.add.reduceat(ordered, self._references.first, axis=0)  # [images, dim]
        self._of_image = self._standing(self._sums, self._references.count)

    def _standing(self, sums: NDArray[np.float32], count: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors whose cosines are taken: means of the sums, of length 1 for centroids."""
        length = np.linalg.norm(sums, axis=1) if self._kind == "centroid" else count.astype(np.float32)
        length = length[:, None]
        return np.asarray(np.divide(sums, length, out=np.zeros_like(sums), where=length > 0))

    def groups(self, rows: int) -> list[Indices]:
        """All captions in order, at least so many at a time that their product is fast."""
        return super().groups(max(rows, ROWS_OF_PRODUCT))

    def score(self, captions: Indices) -> NDArray[np.float32]:
        """Return ``[captions, images]`` dense float32."""
        if self._kind != "max":
            return self._cosines(captions, self._of_image)
        return self._cells(captions, np.arange(self.shape[1]))

    def batch(self, captions: Indices) -> NDArray[np.float32]:
        """Return ``[B captions, B images]`` float32, the images being those of the captions."""
        return self._cells(captions, self._references.image_of_caption[captions])

    def _cells(self, captions: Indices, images: Indices) -> NDArray[np.float32]:
        """Return ``[captions, images]``."""
        if self._kind != "max":
            return self._cosines(captions, self._of_image[images])
        ours = self._vectors[captions]
        found = np.zeros((len(captions), len(images)), dtype=np.float32)
        of = self._references
        count, first = of.count[images], of.first[images]
        for place in range(count.max(initial=0)):  # the first reference of every image, then the second ...
            has = np.flatnonzero(count > place)
            cosines = ours @ self._vectors[of.by_image[first[has] + place]].T
            if len(has) == len(images):
                np.maximum(found, cosines, out=found)
            else:
                found[:, has] = np.maximum(found[:, has], cosines)
        return found

    def _cosines(self, captions: Indices, of_images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return ``[captions, images]`` cosines with vectors that stand for images, negative ones as 0."""
        cosines = np.asarray(self._vectors[captions] @ of_images.T)
        return np.asarray(np.maximum(cosines, 0, out=cosines))

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        own = self._references.own(captions, images) & without_own
        count = self._references.count[images] - own
        if self._kind == "max":
            pair, reference, count = self._references.of_pairs(captions, images, without_own)
            cosines = np.einsum("pd,pd->p", self._vectors[captions][pair], self._vectors[reference])
            found = np.full(len(captions), -np.inf)
            np.maximum.at(found, pair, cosines)
        else:
            sums = self._sums[images] - np.where(own[:, None], self._vectors[captions], 0)
            found = np.einsum("pd,pd->p", self._vectors[captions], self._standing(sums, count)).astype(np.float64)
        return np.where(count > 0, np.maximum(found, 0), np.nan)
