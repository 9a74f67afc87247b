"""Rankings of products on a GPU: what ``in_blocks`` reads on the processor, by torch, which is imported only there.

Vectors are prepared on the processor; products are float32 there too, never TF32. Every block has one shape, which is
meant to give equal vectors equal scores wherever they stand (a test marked ``gpu`` checks it; MKL's blocks on a
processor do not). Equal scores are ordered by index, lower first. Sums are added in another order than by numpy, so
that scores nearer than some 1e-6 may change places, as they may between two kinds of processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.console import Bar
from fivesentences.metrics.in_blocks import Best, Places, Reading, best_own
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.products import Products
from fivesentences.semantics.scoring import SECONDS_WITHOUT_BAR

if TYPE_CHECKING:
    from torch import Tensor

IMAGES_PER_BLOCK, CAPTIONS_PER_BLOCK = 4_096, 8_192  # with what is made of it, a block takes some 2 GB
LAST = 2**32 - 1  # index of an item, turned round, within a key
LEAST = -(2**63)  # key of no item


class _Side:
    """The first items of some queries, and the places of their own items, on a device.

    Args:
        best: ``[queries]`` the best score of an own item.
        target: ``[queries]`` the first own item that has it.
        depth: How many items are kept.
        left: Vectors of the images, on the device.
    """

    def __init__(self, best: NDArray[np.floating], target: NDArray[np.int64], depth: int, left: Tensor):
        import torch

        self.best, self.target = _sent(left, best, target)
        how: dict[str, Any] = {"dtype": torch.int64, "device": left.device}
        self.keys = torch.full((len(best), depth), LEAST, **how)
        self.ahead, self.equal, self.earlier = torch.zeros((3, len(best)), **how)

    def offer(self, queries: slice, scores: Tensor, keys: Tensor, items: Tensor) -> None:
        """Read the scores of some items for some queries.

        Args:
            queries: Which queries.
            scores: ``[queries, items]``.
            keys: ``[queries, items]``, see ``_keys``.
            items: ``[items]`` their indices.
        """
        import torch

        depth = self.keys.shape[1]
        first = keys.topk(min(depth, keys.shape[1]), dim=1).values
        self.keys[queries] = torch.cat([self.keys[queries], first], dim=1).topk(depth, dim=1).values
        equal = scores == self.best[queries, None]
        self.ahead[queries] += (scores > self.best[queries, None]).sum(dim=1)
        self.equal[queries] += equal.sum(dim=1)
        self.earlier[queries] += (equal & (items < self.target[queries, None])).sum(dim=1)

    def found(self) -> tuple[Best, Places]:
        """Return what was found, as arrays."""
        keys = self.keys.cpu().numpy()
        best = Best(0, 1, np.dtype(np.float32))
        bits = (keys >> 32).astype(np.int32)
        best.scores, best.items = _turned(bits).view(np.float32), LAST - (keys & LAST)
        best.scores[keys == LEAST], best.items[keys == LEAST] = -np.inf, -1
        counts = (one.cpu().numpy() for one in (self.best, self.target, self.ahead, self.equal, self.earlier))
        return best, Places(*counts)


def read_on_device(
    products: Products, pairing: NDArray[np.int64], depth: int, captions: NDArray[np.int64] | None = None
) -> Reading:
    """Read a similarity, of float32, on ``products.device``; arguments as in ``in_blocks.read_products``."""
    import torch

    n_images, n_captions = products.shape
    some = np.arange(n_captions) if captions is None else captions
    with _exact():
        left = torch.from_numpy(products.vectors_of_images()).to(products.device)
        own = _own(products, left, pairing)
        best, target, own_equal = best_own(own, pairing)
        sides = {
            "i2t": _Side(best, target, min(depth, n_captions), left),
            "t2i": _Side(own[some], pairing[some], min(depth, n_images), left),
        }
        (of_captions,) = _sent(left, some)
        what = f"rank {n_images:,} images and {len(some):,} captions"
        starts = range(0, len(some), CAPTIONS_PER_BLOCK)
        with Bar(what, len(starts), delay=SECONDS_WITHOUT_BAR) as bar:
            for start in starts:
                texts = slice(start, min(start + CAPTIONS_PER_BLOCK, len(some)))
                for images, scores in _blocks(left, products.vectors_of_captions(some[texts])):
                    row = torch.arange(images.start, images.stop, device=left.device)
                    at = _own_cells(pairing[some[texts]], images)
                    scores[_sent(left, *at)] = _sent(left, own[some[texts]][at[1]])[0]  # its last digit may differ here
                    sides["i2t"].offer(images, scores, _keys(scores, of_captions[texts]), of_captions[texts])
                    turned = scores.T.contiguous()
                    sides["t2i"].offer(texts, turned, _keys(turned, row), row)
                bar.advance()
        found = {side: one.found() for side, one in sides.items()}
    equal: dict[Direction, NDArray[np.int64]] = {"i2t": own_equal, "t2i": np.ones(len(some), dtype=np.int64)}
    lists: dict[Any, Best] = {side: one for side, (one, _) in found.items()}
    places: dict[Any, Places] = {side: one for side, (_, one) in found.items()}
    return Reading(pairing, depth, lists, places, equal, captions)


def _own(products: Products, left: Tensor, pairing: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return ``[captions]`` the score of each caption with its own image."""
    own = np.empty(len(pairing), dtype=np.float32)
    for start in range(0, len(pairing), CAPTIONS_PER_BLOCK):
        texts = np.arange(start, min(start + CAPTIONS_PER_BLOCK, len(pairing)))
        for images, scores in _blocks(left, products.vectors_of_captions(texts), pairing[texts]):
            at = _own_cells(pairing[texts], images)
            own[texts[at[1]]] = scores[_sent(left, *at)].cpu().numpy()
    return own


def _own_cells(owners: NDArray[np.int64], images: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of a block that are an image and its own caption; ``owners`` of the block's captions."""
    inside = np.flatnonzero((owners >= images.start) & (owners < images.stop))
    return owners[inside] - images.start, inside


def _blocks(left: Tensor, vectors: NDArray[Any], of: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, Tensor]]:
    """Yield scores ``[images, captions]`` of some images and these captions; ``of`` leaves out blocks without these.

    All blocks have one shape, filled up with zeros, since the order of sums depends on the shape.
    """
    import torch

    right = left.new_zeros((CAPTIONS_PER_BLOCK, left.shape[1]))
    (right[: len(vectors)],) = _sent(left, vectors)
    for start in range(0, len(left), IMAGES_PER_BLOCK):
        images = slice(start, min(start + IMAGES_PER_BLOCK, len(left)))
        if of is not None and not ((of >= images.start) & (of < images.stop)).any():
            continue
        part = left[images]
        if len(part) < IMAGES_PER_BLOCK:
            part = torch.cat([part, part.new_zeros((IMAGES_PER_BLOCK - len(part), left.shape[1]))])
        scores = (part @ right.T)[: images.stop - images.start, : len(vectors)]
        yield images, scores + 0.0  # minus zero becomes zero, which it equals


def _keys(scores: Tensor, items: Tensor) -> Tensor:
    """Return ``[queries, items]`` integers in the order of scores, of equal ones the lower index above."""
    import torch

    in_order: Tensor = _turned(scores.view(torch.int32)).to(torch.int64)
    return (in_order << 32) | (LAST - items)


def _turned(bits: Any) -> Any:
    """Return the bits of float32 as integers in their order, and back."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


def _sent(left: Tensor, *arrays: NDArray[Any]) -> tuple[Tensor, ...]:
    """Return arrays as tensors beside the vectors of the images."""
    import torch

    return tuple(torch.from_numpy(one).to(left.device) for one in arrays)


@contextmanager
def _exact() -> Iterator[None]:
    """No gradients, and float32 products of full precision, whatever the process asked for."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_float32_matmul_precision(before)
