"""Photographs to features, as worker processes do it. Imports neither pandas nor, until a network needs it, torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from fivesentences.corpus.photographs import Photographs
from fivesentences.errors import InputError

if TYPE_CHECKING:
    from fivesentences.config.types import Crops, Layout, Precision

#: The name of the extractor that needs no learned weights: colours, gradients and flat shapes.
GRID_DESCRIPTORS = "grid_descriptors"


@dataclass(frozen=True)
class Recipe:
    """What an extractor is built from.

    Attributes:
        extractor: ``grid_descriptors`` or the name of a timm network.
        layout: ``global`` or ``grid``.
        weights: A safetensors file; None where the extractor has no weights, or timm downloads them.
        device: Name of the device in torch.
        crops: ``centre``: what the network's own preparation leaves of an image. ``ten``: four corners, the centre and
            their mirror images; the features are the mean over the ten.
        normalise: Scale each vector to length 1 (after the mean over crops).
        precision: Precision of the network's arithmetic. Below float32, torch's autocast decides which operations stay
            precise.
    """

    extractor: str
    layout: Layout
    weights: Path | None
    device: str = "cpu"
    crops: Crops = "centre"
    normalise: bool = False
    precision: Precision = "float32"


class Extractor(Protocol):
    """Turns images into features, in two steps that may run in different processes.

    Attributes:
        on_accelerator: Whether ``describe`` needs a device that only one process should use.
        images_at_once: Images that are described together: the unit of work.
        preparer: Prepares images as this does, and can be pickled.
    """

    on_accelerator: bool
    images_at_once: int
    preparer: Any

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """Turn an RGB image into bytes of a fixed shape."""

    def describe(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Compute features ``[n, dim]`` or ``[n, regions, dim]`` of prepared images ``[n, ...]``."""

    def facts(self) -> dict[str, Any]:
        """Return what the features depend on besides name and layout, as JSON: preparation, versions, weights."""


class ImageTask(NamedTuple):
    """Some photographs that are described together, or only prepared if ``preparer`` is given."""

    filenames: tuple[str, ...]
    photographs: tuple[Path, ...]
    recipe: Recipe
    preparer: Any = None


class Chunk(NamedTuple):
    """Result of a task.

    Attributes:
        array: ``[images, ...]``, prepared images or their features; None if no photograph can be read.
        corrupt: Why photographs could not be read, by place; their rows mean nothing.
    """

    array: npt.NDArray[Any] | None
    corrupt: dict[int, str]


def work(task: ImageTask) -> Chunk:
    """Read, decode, prepare (uint8 ``[images, ...]``) and describe (float32 ``[images, ...]``) photographs.

    A photograph that cannot be read is replaced by one that can, so that the others are described in the same company
    as otherwise, which the last digits depend on.
    """
    photographs, preparer = _photographs(task.photographs), task.preparer or extractor_of(task.recipe)
    prepared: dict[int, npt.NDArray[np.uint8]] = {}
    corrupt: dict[int, str] = {}
    for place, filename in enumerate(task.filenames):
        try:
            prepared[place] = preparer.prepare(photographs.decoded(filename))
        except InputError as error:
            corrupt[place] = str(error)
    if not prepared:
        return Chunk(None, corrupt)
    other = next(iter(prepared.values()))
    batch = np.stack([prepared.get(place, other) for place in range(len(task.filenames))])
    return Chunk(describe(task.recipe, batch) if task.preparer is None else batch, corrupt)


def describe(recipe: Recipe, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Compute features of prepared images, of length 1 if the recipe says so (a vector of zeros stays one)."""
    rows = extractor_of(recipe).describe(batch)
    if recipe.normalise:
        length = np.linalg.norm(rows, axis=-1, keepdims=True)
        rows /= np.where(length > 0, length, 1)
    return rows


@lru_cache(maxsize=1)
def extractor_of(recipe: Recipe) -> Extractor:
    """Build the extractor of a recipe; a process keeps the last one.

    Raises:
        InputError: If it is unknown, or its weights or options do not fit.
    """
    if recipe.extractor != GRID_DESCRIPTORS:
        from fivesentences.features.networks import Network

        return Network(recipe)
    from fivesentences.features.grid_descriptors import GridDescriptors

    if recipe.crops != "centre" or recipe.precision != "float32" or recipe.weights is not None:
        what = f"{GRID_DESCRIPTORS} describes whole pictures in float32 and has no weights"
        raise InputError(what, cure="leave crops, precision and weights out")
    return GridDescriptors(recipe.layout)


@lru_cache(maxsize=1)
def _photographs(paths: tuple[Path, ...]) -> Photographs:
    return Photographs(*paths)
