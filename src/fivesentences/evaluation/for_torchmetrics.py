"""A metric of torchmetrics that scores the embeddings of all batches, also of several processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivesentences.errors import InputError, first_of, need
from fivesentences.evaluation.flat_numbers import flat_numbers
from fivesentences.evaluation.protocols import evaluate
from fivesentences.retrieval.gallery import as_array, checked_matrix

try:
    import torch
    from torch import Tensor
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat
except ImportError:
    need("torchmetrics", "torchmetrics", "a metric for torchmetrics")
    raise

# Arguments of every metric of torchmetrics; all others are those of ``evaluate``.
OF_EVERY_METRIC = (
    "compute_on_cpu", "compute_with_cache", "dist_sync_fn", "dist_sync_on_step", "distributed_available_fn",
    "process_group", "sync_on_compute",
)  # fmt: skip
NAMED = 10  # missing items
APART = 0.05  # of the largest number of an embedding: more than rounding between two encodings of one item


class ImageTextMetric(Metric):
    """Scores the embeddings of all batches as ``evaluate`` does, in any order and from any number of processes::

        metric = ImageTextMetric({"cider": phi})
        for images, captions, image_ids, caption_ids in loader:
            metric.update(model.image(images), model.text(captions), image_ids, caption_ids)
        self.log_dict(metric.compute())  # {"i2t_R@1": ..., "Rsum": ..., "t2i_NCS@5_cider_kept": ...}

    An id is the index of an image or caption in the whole split, in the order of phi. An item that comes several times
    counts once: a ``DistributedSampler`` repeats some, and a loader of pairs repeats images. Every process must update
    at least once. All embeddings are kept.

    Args:
        phis: ``{name: [captions, images]}`` or one matrix, in the order of the split.
        protocol: A name in ``PROTOCOLS``; default: all images are one gallery.
        image_of_caption: ``[captions]`` image of each caption of the split; default equal, image-major blocks.
        options: Further arguments of ``evaluate``, and of ``torchmetrics.Metric``.
    """

    is_differentiable = False
    full_state_update = False

    images: list[Tensor]
    captions: list[Tensor]
    image_ids: list[Tensor]
    caption_ids: list[Tensor]

    def __init__(
        self,
        phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
        protocol: str | None = None,
        image_of_caption: ArrayLike | None = None,
        **options: Any,
    ):
        super().__init__(**{name: options.pop(name) for name in OF_EVERY_METRIC if name in options})
        self._options = {"phis": phis, "protocol": protocol, "image_of_caption": image_of_caption, **options}
        for name in ("images", "captions", "image_ids", "caption_ids"):
            self.add_state(name, [], dist_reduce_fx="cat")

    def update(
        self,
        images: Tensor | None = None,
        captions: Tensor | None = None,
        image_ids: ArrayLike | Tensor | None = None,
        caption_ids: ArrayLike | Tensor | None = None,
    ) -> None:
        """Add a batch of images, of captions, or of both.

        Args:
            images: ``[images, dim]`` embeddings.
            captions: ``[captions, dim]`` embeddings.
            image_ids: ``[images]`` index of each image in the split, from 0.
            caption_ids: ``[captions]`` index of each caption in the split, from 0.

        Raises:
            InputError: If embeddings have no ids, or ids are not one whole number per row.
        """
        batch: dict[str, Tensor] = {}
        for name, rows, ids in (("image", images, image_ids), ("caption", captions, caption_ids)):
            if rows is None and ids is None:
                continue
            if rows is None or ids is None or rows.ndim != 2:
                raise InputError(f"{name}s are [{name}s, dim] embeddings with {name}_ids, their indices in the split.")
            ids = torch.as_tensor(ids, device=rows.device)
            if ids.shape != rows.shape[:1] or ids.is_floating_point():
                kind = f"{ids.dtype} of shape {list(ids.shape)}"
                raise InputError(f"{name}_ids is {kind}; it is one whole number for each of {len(rows)} {name}s.")
            batch |= {f"{name}s": rows.detach(), f"{name}_ids": ids.long()}
        for name, values in batch.items():
            getattr(self, name).append(values)

    def forward(self, *batch: Any, **named: Any) -> None:
        """Add a batch as ``update``: a batch alone is not a gallery, and has no numbers."""
        self.update(*batch, **named)

    def compute(self) -> dict[str, Tensor]:
        """Return every number of all batches of all processes, by the names of ``flat_numbers``.

        Raises:
            InputError: If an image or caption of the split is missing or an id is beyond it (both are named), rows of
                one id differ, or as ``evaluate``.
        """
        n_images, n_captions = self._sizes()
        images = _in_order(self.images, self.image_ids, n_images, "image")
        captions = _in_order(self.captions, self.caption_ids, n_captions, "caption")
        found = evaluate(images, texts=captions, **self._options)
        return {name: torch.tensor(value, device=self.device) for name, value in flat_numbers(found).items()}

    def _sizes(self) -> tuple[int | None, int | None]:
        """Return how many images and captions the split has, as far as pairing or phi say so."""
        owners, phis = self._options["image_of_caption"], self._options["phis"]
        if owners is not None and (owners := as_array(owners, "image_of_caption")).size:
            return int(owners.max()) + 1, len(owners)
        for phi in phis.values() if isinstance(phis, Mapping) else [] if phis is None else [phis]:
            n_captions, n_images = checked_matrix(phi, "phi").shape
            return n_images, None if self._options.get("ideal_pool") == "given_rows" else n_captions
        return None, None


def _in_order(rows: list[Tensor], ids: list[Tensor], count: int | None, name: str) -> Tensor:
    """Return ``[items of the split, dim]``, the first row of each id."""
    if not len(rows):
        raise InputError(f"no batch had {name}s; call update first.")
    every, indices = dim_zero_cat(rows), dim_zero_cat(ids).cpu().numpy()
    found, first, of = np.unique(indices, return_index=True, return_inverse=True)
    count = int(found[-1]) + 1 if count is None else count
    if len(beyond := found[(found < 0) | (found >= count)]):
        raise InputError(f"{name}_ids has {beyond[-1]}, but the split has {count:,} {name}s, counted from 0.")
    if len(missing := np.setdiff1d(np.arange(count), found)):
        cure = "score every item of the split (Lightning's num_sanity_val_steps is then 0 or -1)"
        what = f"{name}_ids lacks {len(missing):,} of {count:,} {name}s ({first_of(list(missing), NAMED)})"
        raise InputError(what, cure=cure)
    again = np.flatnonzero(first[of] != np.arange(len(of)))
    one, other = every[first[of[again]]].float(), every[again].float()
    apart = (one - other).abs().amax(1) > APART * one.abs().amax(1)
    if apart.any():
        what = f"{name}_ids has {indices[again[int(apart.int().argmax())]]} for {name}s whose embeddings differ"
        raise InputError(what, cure="give the index in the whole split, and put the model into eval mode")
    return every[first]
