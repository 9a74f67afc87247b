"""From photographs to one array of features, in chunks from which a killed run can resume."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

from fivesentences.config import Layout
from fivesentences.console import Bar
from fivesentences.corpus import decoding
from fivesentences.corpus.decoding import decode, words_of
from fivesentences.corpus.photographs import Photographs
from fivesentences.errors import InputError
from fivesentences.features import grid_descriptors
from fivesentences.features.chunks import Chunks
from fivesentences.features.files import write_images
from fivesentences.features.identity import contents_of, digest_of
from fivesentences.features.workers import Workers
from fivesentences.storage import replacing, sha256_of

if TYPE_CHECKING:
    from fivesentences.features.networks import Network

Storage = Literal["auto", "float32", "float16"]

GRID_DESCRIPTORS = "grid_descriptors"
CHUNK = 64  # images: a few seconds of work, so that little is lost when a run is killed
# Longer rows are stored as float16: ResNet-152's 7 x 7 x 2048 numbers for COCO's 123,287 images would take 49 GB as
# float32, and a relative error of 0.0005 is far below the variation of the features. Pooled vectors are small.
LONGEST_FLOAT32_ROW = 8192


class Extractor(Protocol):
    """Turns images into features, in two steps that may run in different processes."""

    on_accelerator: bool

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """An RGB image as bytes of a fixed shape."""

    def describe(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Features ``[n, dim]`` or ``[n, regions, dim]`` of prepared images ``[n, ...]``."""


@dataclass(frozen=True)
class Recipe:
    """What a worker needs to know in order to build the extractor."""

    extractor: str
    layout: Layout
    weights: Path | None
    device: str = "cpu"


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
    """

    array: npt.NDArray[Any]
    treated: Counter[str]


def extract_features(
    photographs: Photographs,
    images: pd.DataFrame,
    extractor: str,
    layout: Layout,
    out: Path,
    *,
    workers: int,
    weights: Path | None = None,
    storage: Storage = "auto",
    chunk_size: int = CHUNK,
) -> None:
    """Describe every image and write one array with one row per image, in the order of the table.

    Writes ``out`` (``[images, dim]`` for ``global``, ``[images, regions, dim]`` for ``grid``; regions row by row from
    the top left) and, before it, ``out.with_suffix(".images.parquet")`` (image_id, filename). Until both exist,
    finished chunks are kept in ``.<stem>.chunks`` beside ``out``; a call after a kill resumes from them. A chunk is
    used only for the extractor, layout, weights, list of images and content of photographs that it was made from.

    On a CPU each worker decodes and describes whole chunks on one thread; with a CUDA device the workers decode and
    this process describes. The numbers do not depend on the number of workers. A last line on standard error says how
    many photographs were turned upright, put on white, scaled from 16 bits or had several frames (see
    ``corpus.decoding.decode``), if any; chunks of an earlier call are not counted.

    Args:
        photographs: Where the images are.
        images: ``image_id`` and ``filename``, one row per image.
        extractor: ``grid_descriptors`` or the name of a timm network, such as ``vgg19`` or ``resnet152``.
        layout: ``global`` or ``grid``.
        out: The ``.npy`` to write.
        workers: Number of worker processes; 0 does the work in this process. On a CPU each holds a copy of the network.
        weights: A safetensors file for a timm network; without it timm downloads its own weights.
        storage: ``auto`` stores rows of more than 8,192 numbers as float16, others as float32.
        chunk_size: Images per chunk.

    Raises:
        InputError: If there are no images, an image is missing or cannot be decoded, the extractor is unknown, its
            weights do not fit or cannot be obtained, or a feature is not finite. Finished chunks are kept.
    """
    out = Path(out)
    ids, filenames = _check(photographs, images, layout, storage, out)
    recipe, built, identity = _resolve(extractor, layout, weights)
    identity |= {"extractor": extractor, "layout": layout, "storage": storage, "decoding": decoding.VERSION}
    identity |= {"images": digest_of(zip(ids, filenames, strict=True))}
    identity |= {"photographs": digest_of(contents_of(photographs))}
    chunks = Chunks(out, identity, len(ids), chunk_size)
    missing = chunks.missing()

    on_accelerator = built is not None and built.on_accelerator
    if missing and built is not None and not on_accelerator and weights is None:
        recipe = replace(recipe, weights=_saved_weights(built, chunks.folder))
    tasks = [Task(chunk, filenames[chunks.rows_of(chunk)], photographs.paths, recipe) for chunk in missing]
    done = len(ids) - sum(rows.stop - rows.start for rows in map(chunks.rows_of, missing))
    with Workers(workers) as pool, Bar(f"{extractor} {layout} features", len(ids), done) as bar:
        work: Callable[[Task], Chunk] = prepare_chunk if on_accelerator else describe_chunk
        treated: Counter[str] = Counter()
        for task, chunk in pool.map(work, tasks):
            features = built.describe(chunk.array) if built is not None and on_accelerator else chunk.array
            treated += chunk.treated
            chunks.save(task.chunk, _stored(features, storage, ids[chunks.rows_of(task.chunk)], extractor))
            bar.advance(len(features))
    _extractor.cache_clear()  # with workers=0 the network would stay in memory
    if treated:
        print(f"Of {len(ids) - done:,} photographs: {words_of(treated)}.", file=sys.stderr, flush=True)

    write_images(out, pd.DataFrame({"image_id": ids, "filename": filenames}))
    chunks.assemble()
    chunks.remove()


# --- in a worker --------------------------------------------------------------------------------------------


def prepare_chunk(task: Task) -> Chunk:
    """Read, decode and prepare a chunk of photographs for the extractor: uint8 ``[images, ...]``."""
    extractor, photographs = _extractor(task.recipe), _photographs(task.photographs)
    shown = " and ".join(str(path) for path in task.photographs)
    treated: Counter[str] = Counter()
    images = [
        extractor.prepare(decode(photographs.read(filename), f"{shown}: photograph '{filename}'", treated))
        for filename in task.filenames
    ]
    return Chunk(np.stack(images), treated)


def describe_chunk(task: Task) -> Chunk:
    """Features of a chunk of photographs: float32 ``[images, ...]``."""
    prepared = prepare_chunk(task)
    return prepared._replace(array=_extractor(task.recipe).describe(prepared.array))


@lru_cache(maxsize=1)
def _extractor(recipe: Recipe) -> Extractor:
    if recipe.extractor == GRID_DESCRIPTORS:
        return grid_descriptors.GridDescriptors(recipe.layout)
    from fivesentences.features.networks import Network

    return Network(recipe.extractor, recipe.layout, recipe.weights, recipe.device)


@lru_cache(maxsize=1)
def _photographs(paths: tuple[Path, ...]) -> Photographs:
    return Photographs(*paths)


# --- in the main process ------------------------------------------------------------------------------------


def _check(
    photographs: Photographs, images: pd.DataFrame, layout: str, storage: str, out: Path
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Image ids and filenames, after everything has been checked that can be checked before any work."""
    for name, value, known in (("layout", layout, get_args(Layout)), ("storage", storage, get_args(Storage))):
        if value not in known:
            raise InputError(f"{name} is '{value}'; it must be one of {', '.join(known)}.")
    if out.suffix != ".npy":
        raise InputError(f"{out}: features are written as .npy; give a name with this suffix.")
    if missing := {"image_id", "filename"} - set(images.columns):
        raise InputError(f"the table of images has no column {' and no column '.join(sorted(missing))}.")
    ids, filenames = tuple(images["image_id"].astype(str)), tuple(images["filename"].astype(str))
    if not ids:
        raise InputError(f"{out.name}: there are no images to describe; the table of images is empty.")
    if len(set(ids)) < len(ids):
        twice = images["image_id"][images["image_id"].duplicated()].iloc[0]
        raise InputError(f"image '{twice}' is in the table of images twice; features have one row per image.")
    for filename in filenames:
        if filename not in photographs:
            photographs.read(filename)  # raises, naming where it was looked for
    return ids, filenames


def _resolve(extractor: str, layout: Layout, weights: Path | None) -> tuple[Recipe, Network | None, dict[str, Any]]:
    """The recipe, the network if this process needs it, and everything else that the numbers depend on."""
    if extractor == GRID_DESCRIPTORS:
        if weights is not None:
            raise InputError(f"{GRID_DESCRIPTORS} has no weights, but {weights} was given; leave `weights` out.")
        return Recipe(extractor, layout, None), None, {"version": grid_descriptors.VERSION}
    import timm

    from fivesentences.features import networks

    networks.check_name(extractor, (GRID_DESCRIPTORS,))
    recipe = Recipe(extractor, layout, weights, networks.best_device())
    built = None
    if weights is None or recipe.device != "cpu":
        # Built here to run here, or to download the weights once instead of in every worker.
        built = networks.Network(extractor, layout, weights, recipe.device)
    elif not Path(weights).is_file():
        raise InputError(f"{weights}: there is no such file of weights.")
    content = sha256_of(weights) if weights is not None else networks.digest(built.module) if built else ""
    return recipe, built, {"version": timm.__version__, "weights": content}


def _saved_weights(network: Network, folder: Path) -> Path:
    from fivesentences.features.networks import save_weights

    path = folder / "weights.safetensors"
    if not path.exists():
        with replacing(path) as temporary:
            save_weights(network.module, temporary)
    return path


def _stored(
    features: npt.NDArray[np.float32], storage: Storage, ids: tuple[str, ...], extractor: str
) -> npt.NDArray[Any]:
    """Features in the type that they are stored in, checked to be finite."""
    if storage == "auto":
        storage = "float16" if features[0].size > LONGEST_FLOAT32_ROW else "float32"
    with np.errstate(over="ignore"):
        stored = features.astype(storage)
    bad = ~np.isfinite(stored.reshape(len(ids), -1)).all(axis=1)
    if bad.any():
        first = int(bad.argmax())
        reason = "is not finite; the weights or the image are damaged"
        if np.isfinite(features[first]).all():
            reason = "is too large for float16; store the features as float32"
        raise InputError(f"{extractor}: a feature of image '{ids[first]}' {reason}.")
    return stored
