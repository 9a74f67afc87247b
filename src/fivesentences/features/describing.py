"""What a worker process does: photographs to features. Imports neither pandas nor, until it is needed, torch."""

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
        """An RGB image as bytes of a fixed shape."""

    def describe(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Features ``[n, dim]`` or ``[n, regions, dim]`` of prepared images ``[n, ...]``."""

    def facts(self) -> dict[str, Any]:
        """What the features depend on besides name and layout, as JSON: how images are prepared, versions, weights."""


@dataclass(frozen=True)
class Task:
    """One chunk of work."""

    chunk: int
    filenames: tuple[str, ...]
    photographs: tuple[Path, ...]
    recipe: Recipe


class Chunk(NamedTuple):
    """What a worker makes of a task.

    Attributes:
        array: ``[images, ...]``, prepared images or their features.
        treated: How many photographs were turned, put on white and so on, see ``corpus.decoding``.
        corrupt: Why photographs could not be read, by place; their rows mean nothing.
    """

    array: npt.NDArray[Any] | None
    treated: Counter[str]
    corrupt: dict[int, str]


def prepare_chunk(task: Task) -> Chunk:
    """Read, decode and prepare a chunk of photographs for the extractor: uint8 ``[images, ...]``.

    A photograph that cannot be read is replaced by one that can, so that the others are described in the company that
    they would have had otherwise; where there is none, the array is None.
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
    """Features of a chunk of photographs: float32 ``[images, ...]``."""
    prepared = prepare_chunk(task)
    if prepared.array is None:
        return prepared
    return prepared._replace(array=describe(extractor_of(task.recipe), prepared.array, task.recipe))


def describe(extractor: Extractor, batch: npt.NDArray[np.uint8], recipe: Recipe) -> npt.NDArray[np.float32]:
    """Features of prepared images, of length 1 if the recipe says so (a vector of zeros stays one)."""
    rows = extractor.describe(batch)
    if recipe.normalise:
        length = np.linalg.norm(rows, axis=-1, keepdims=True)
        rows /= np.where(length > 0, length, 1)
    return rows


def facts_of(recipe: Recipe) -> tuple[dict[str, Any], int]:
    """Build the extractor and keep it for the tasks that follow: its facts, and how many images it takes at once."""
    extractor = extractor_of(recipe)
    return extractor.facts(), extractor.images_at_once


def begin(recipe: Recipe) -> tuple[dict[str, Any], int] | None:
    """The first thing that a worker process does: import and build what its tasks need.

    Returns:
        As ``facts_of``; None if another process has the extractor.
    """
    if recipe.extractor != GRID_DESCRIPTORS:
        from fivesentences.features.without_compiler import without_compiler

        with without_compiler():
            import timm.data  # noqa: F401
    if recipe.preprocessing is not None:
        _preparer_of(recipe)
        return None
    return facts_of(recipe)


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
    """The extractor of a recipe; a process keeps the last one.

    Raises:
        InputError: If it is unknown, or its weights or options do not fit.
    """
    if recipe.extractor == GRID_DESCRIPTORS:
        from fivesentences.features import grid_descriptors

        if recipe.crops != "centre" or recipe.precision != "float32":
            raise InputError(f"{GRID_DESCRIPTORS} describes whole pictures in float32; leave crops and precision out.")
        return grid_descriptors.GridDescriptors(recipe.layout)
    from fivesentences.features.networks import Network, check_name

    check_name(recipe.extractor, (GRID_DESCRIPTORS,))
    return Network(
        recipe.extractor,
        recipe.layout,
        recipe.weights,
        recipe.device,
        crops=recipe.crops,
        precision=recipe.precision,
    )


@lru_cache(maxsize=1)
def _photographs(paths: tuple[Path, ...]) -> Photographs:
    return Photographs(*paths)
