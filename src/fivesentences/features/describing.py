"""Photographs to features, as worker processes do it. Imports neither pandas nor, until a network needs it, torch."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from fivesentences.corpus.photographs import Photographs
from fivesentences.errors import InputError
from fivesentences.features.recipe import GRID_DESCRIPTORS, Recipe


class Extractor(Protocol):
    """Turns images into features, in two steps that may run in different processes.

    Attributes:
        on_accelerator: Whether ``describe`` needs a device that only one process should use.
        images_at_once: Images that are described together: the unit of work.
    """

    on_accelerator: bool

    @property
    def images_at_once(self) -> int:
        """See above."""

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """Turn an RGB image into bytes of a fixed shape."""

    def describe(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Compute features ``[n, dim]`` or ``[n, regions, dim]`` of prepared images ``[n, ...]``."""

    def facts(self) -> dict[str, Any]:
        """Return what the features depend on besides name and layout, as JSON: preparation, versions, weights."""


@dataclass(frozen=True)
class Task:
    """Some photographs that are described together."""

    filenames: tuple[str, ...]
    photographs: tuple[Path, ...]
    recipe: Recipe


class Chunk(NamedTuple):
    """What a worker makes of a task.

    Attributes:
        array: ``[images, ...]``, prepared images or their features; None if no photograph can be read.
        treated: How many photographs were turned, put on white and so on, see ``corpus.decoding``.
        corrupt: Why photographs could not be read, by place; their rows mean nothing.
    """

    array: npt.NDArray[Any] | None
    treated: Counter[str]
    corrupt: dict[int, str]


def prepare_chunk(task: Task) -> Chunk:
    """Read, decode and prepare photographs for the extractor: uint8 ``[images, ...]``.

    A photograph that cannot be read is replaced by one that can, so that the others are described in the same company
    as otherwise, which the last digits depend on.
    """
    extractor, photographs = _preparer_of(task.recipe), _photographs(task.photographs)
    treated: Counter[str] = Counter()
    prepared: dict[int, npt.NDArray[np.uint8]] = {}
    corrupt: dict[int, str] = {}
    for place, filename in enumerate(task.filenames):
        try:
            image = photographs.decoded(filename, treated)
        except InputError as error:
            corrupt[place] = str(error)
        else:
            prepared[place] = extractor.prepare(image)
    if not prepared:
        return Chunk(None, treated, corrupt)
    other = next(iter(prepared.values()))
    return Chunk(np.stack([prepared.get(place, other) for place in range(len(task.filenames))]), treated, corrupt)


def describe_chunk(task: Task) -> Chunk:
    """Compute features of photographs: float32 ``[images, ...]``."""
    prepared = prepare_chunk(task)
    if prepared.array is None:
        return prepared
    return prepared._replace(array=describe(extractor_of(task.recipe), prepared.array, task.recipe))


def describe(extractor: Extractor, batch: npt.NDArray[np.uint8], recipe: Recipe) -> npt.NDArray[np.float32]:
    """Compute features of prepared images, of length 1 if the recipe says so (a vector of zeros stays one)."""
    rows = extractor.describe(batch)
    if recipe.normalise:
        length = np.linalg.norm(rows, axis=-1, keepdims=True)
        rows /= np.where(length > 0, length, 1)
    return rows


@lru_cache(maxsize=1)
def _preparer_of(recipe: Recipe) -> Any:
    if recipe.preprocessing is None:
        return extractor_of(recipe)
    from fivesentences.features.networks import Preparer

    return Preparer(json.loads(recipe.preprocessing), recipe.crops)


def forget() -> None:
    """Let go of the extractor, which would stay in the memory of a process that goes on."""
    extractor_of.cache_clear()
    _preparer_of.cache_clear()


@lru_cache(maxsize=1)
def extractor_of(recipe: Recipe) -> Extractor:
    """Build the extractor of a recipe; a process keeps the last one.

    Raises:
        InputError: If it is unknown, or its weights or options do not fit.
    """
    if recipe.extractor == GRID_DESCRIPTORS:
        from fivesentences.features.grid_descriptors import GridDescriptors

        if recipe.crops != "centre" or recipe.precision != "float32":
            raise InputError(f"{GRID_DESCRIPTORS} describes whole pictures in float32; leave crops and precision out.")
        return GridDescriptors(recipe.layout)
    from fivesentences.features.networks import Network, check_name

    check_name(recipe.extractor, (GRID_DESCRIPTORS,))
    return Network(
        recipe.extractor, recipe.layout, recipe.weights, recipe.device, crops=recipe.crops, precision=recipe.precision
    )


@lru_cache(maxsize=1)
def _photographs(paths: tuple[Path, ...]) -> Photographs:
    return Photographs(*paths)
