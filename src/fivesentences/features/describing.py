"""Photographs to features, as worker processes do it. Imports neither pandas nor, until a network needs it, torch."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fivesentences.corpus.photographs import Photographs
from fivesentences.errors import InputError
from fivesentences.features.recipe import GRID_DESCRIPTORS, Extractor, Recipe


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
    from fivesentences.features.grid_descriptors import GridDescriptors  # scikit-image takes a second

    if recipe.crops != "centre" or recipe.precision != "float32" or recipe.weights is not None:
        what = f"{GRID_DESCRIPTORS} describes whole pictures in float32 and has no weights"
        raise InputError(what, cure="leave crops, precision and weights out")
    return GridDescriptors(recipe.layout)


@lru_cache(maxsize=1)
def _photographs(paths: tuple[Path, ...]) -> Photographs:
    return Photographs(*paths)
