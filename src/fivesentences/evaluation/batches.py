"""Every number of a model whose embeddings come batch by batch, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.evaluation.protocols import evaluate
from fivesentences.metrics import Evaluation
from fivesentences.retrieval.cosine import gallery_of_embeddings
from fivesentences.retrieval.gallery import as_array, checked_matrix


class EmbeddingEvaluator:
    """Scores the embeddings of all batches as ``evaluate`` scores their cosine similarity::

        evaluator = EmbeddingEvaluator({"cider": phi})
        for images, captions, image_of_caption in batches:
            evaluator.update(images, captions, image_of_caption)
        print(evaluator.compute())

    The embeddings are kept in memory; their similarity is not where it would be large, see ``evaluate``.

    Args:
        phis: ``{name: [captions, images]}`` or one matrix, in the order of all batches; a ``semantics.ScoredPhi`` is
            not held either.
        protocol: A name in ``PROTOCOLS``; default: all images are one gallery.
        in_blocks: As in ``evaluate``.
        options: Further arguments of ``evaluate``, but not the pairing.
    """

    def __init__(
        self,
        phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
        protocol: str | None = None,
        in_blocks: bool | None = None,
        **options: Any,
    ):
        self._in_blocks = in_blocks
        self._options: dict[str, Any] = {"phis": phis, "protocol": protocol, **options}
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._batches: dict[str, list[NDArray[Any]]] = {"images": [], "captions": [], "image_of_caption": []}

    def update(
        self,
        images: ArrayLike | None = None,
        captions: ArrayLike | None = None,
        image_of_caption: ArrayLike | None = None,
    ) -> None:
        """Add a batch of images, of captions, or of both; it is copied.

        Args:
            images: ``[images, dim]`` embeddings, any real dtype and length; arrays, or torch tensors on any device.
            captions: ``[captions, dim]`` embeddings.
            image_of_caption: ``[captions]`` index of each caption's image among the images of all batches, from 0;
                default equal, image-major blocks of all captions.

        Raises:
            InputError: If embeddings are not a matrix of real numbers, or shapes disagree.
        """
        batch: dict[str, NDArray[Any]] = {}
        for name, rows in (("images", images), ("captions", captions)):
            if rows is not None:
                batch[name] = checked_matrix(rows, name)
                for before in self._batches[name][:1]:
                    if batch[name].shape[1] != before.shape[1]:
                        shapes = f"{name} is {list(batch[name].shape)}, but the first batch {list(before.shape)}"
                        raise InputError(f"{shapes}; all embeddings have the same number of columns.")
        if image_of_caption is not None:
            batch["image_of_caption"] = as_array(image_of_caption, "image_of_caption")
            (shape, n_captions) = batch["image_of_caption"].shape, len(batch.get("captions", ()))
            if shape != (n_captions,):
                raise InputError(f"image_of_caption is {list(shape)}, but the batch has {n_captions} captions.")
        for name, values in batch.items():
            self._batches[name].append(values.copy())

    def compute(self) -> Evaluation:
        """Return every number of all batches together.

        Raises:
            InputError: If there are no images or captions, an embedding is not finite or zero, only some batches have a
                pairing, or as ``evaluate``.
        """
        for name in ("images", "captions"):
            if not self._batches[name]:
                raise InputError(f"no batch had {name}; call update first.")
        images, captions, *pairing = (np.concatenate(some) for some in self._batches.values() if some)
        owner = pairing[0] if pairing else None
        return evaluate(gallery_of_embeddings(images, captions, owner, in_blocks=self._in_blocks), **self._options)
