"""The best images of every caption, for corpora whose whole phi matrix fits nowhere (COCO train: 256 GB).

A store is a folder: ``images.npy`` (int32) and ``scores.npy`` (float32), both ``[captions, k]`` with the best image
first, and ``note.json``. The scores are those of the phi file, rounded to float32; among equal scores the image with
the lower index comes first. Only scores above 0 are stored; what is left of a row is image -1 with score 0.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.pairing import checked_captions, checked_pairing
from fivesentences.semantics.phi import (
    check_made_of,
    check_whole,
    map_array,
    note_of,
    prepare,
    read_note,
)
from fivesentences.semantics.scoring import Indices, LateBar, Scorer, ahead, new_array
from fivesentences.semantics.tuples import Tuples
from fivesentences.storage import locked, read_json, write_json

NOTHING = -1  # image index of an empty place
ROWS_OF_BLOCK = 16
SECONDS_BETWEEN_SAVES = 20.0
PAIRS_AT_A_TIME = 100_000


@dataclass(frozen=True)
class TopK:
    """The best images of every caption, memory-mapped.

    Attributes:
        images: ``[captions, k]`` int32 image indices, best first; -1 where a caption has fewer images above 0.
        scores: ``[captions, k]`` float32, descending; 0 where there is no image.
        note: What it was made of.
    """

    images: NDArray[np.int32]
    scores: NDArray[np.float32]
    note: dict[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Captions and images of the matrix that this stands for."""
        return self.images.shape[0], int(self.note["shape"][1])

    @property
    def k(self) -> int:
        """Most images of a caption."""
        return int(self.images.shape[1])

    def rows(self, captions: ArrayLike) -> scipy.sparse.csr_array:
        """Some rows of phi, ``[len(captions), images]`` float32, columns ascending; what is not stored is 0.

        Raises:
            InputError: If there is no such caption.
        """
        captions = _checked_indices("captions", captions, self.shape[0])
        images = self.images[captions]
        stored = images != NOTHING
        row_start = np.r_[0, np.cumsum(stored.sum(axis=1))]
        scores = self.scores[captions][stored]
        rows = scipy.sparse.csr_array(
            (scores, images[stored], row_start.astype(np.int32)), shape=(len(captions), self.shape[1])
        )
        rows.sort_indices()
        return rows

    def lookup(self, captions: ArrayLike, images: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Single cells of phi.

        Args:
            captions: ``[pairs]``.
            images: ``[pairs]``.

        Returns:
            ``[pairs]`` scores, 0 where the image is not among the caption's best, and ``[pairs]`` whether it is. A
            cell that is not stored is at most the caption's k-th score, or exactly 0 if the row is not full.

        Raises:
            InputError: If there is no such caption or image, or the lists differ in length.
        """
        captions = _checked_indices("captions", captions, self.shape[0])
        images = _checked_indices("images", images, self.shape[1])
        if len(captions) != len(images):
            raise InputError(f"{len(captions)} captions are paired with {len(images)} images; give as many of both.")
        scores = np.zeros(len(captions), dtype=np.float32)
        stored = np.zeros(len(captions), dtype=np.bool_)
        for start in range(0, len(captions), PAIRS_AT_A_TIME):
            part = slice(start, start + PAIRS_AT_A_TIME)
            found = self.images[captions[part]] == images[part, None]
            stored[part] = found.any(axis=1)
            scores[part] = self.scores[captions[part], found.argmax(axis=1)] * stored[part]
        return scores, stored


def write_top_k(
    phi_name: str,
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    out: Path | str,
    k: int = 100,
    tuples: Tuples | None = None,
) -> None:
    """Write the ``k`` best images of every caption by a phi; nothing of the size of the whole matrix is ever made.

    Work goes on in a hidden folder beside ``out``, which is renamed when whole. What was computed survives a kill
    but for the last seconds: the same call goes on from there.

    Args:
        phi_name: As in ``phi.prepare``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        out: The folder to write; an earlier store there is replaced.
        k: How many images to keep for a caption.
        tuples: The captions' scene-graph tuples, for SPICE.

    Raises:
        InputError: As ``phi.write_phi``; if ``k`` is below 1, ``out`` is something else than a store, or another
            process is writing it.
    """
    out = Path(out)
    check_store(phi_name, out, k)
    captions = checked_captions(captions)
    pairing = checked_pairing(image_of_caption, len(captions))
    note = note_of(phi_name, captions, pairing, tuples)
    note["top_k"] = k = min(int(k), note["shape"][1])
    scorer = prepare(phi_name, captions, pairing, tuples)
    partial = out.with_name(f".{out.name}.partial")
    with _alone(partial, out):
        done, images, scores = _begin(partial, note, len(captions), k)
        _fill(scorer, done, images, scores, phi_name)
        del done, images, scores
        if out.exists():
            shutil.rmtree(out)
        partial.rename(out)
        (out / "done.npy").unlink()


def check_store(phi_name: str, out: Path, k: int) -> None:
    """Whether ``write_top_k`` can write such a store, asked before anything costly is done.

    Raises:
        InputError: If there is no such phi or it scores single pairs only, ``k`` is below 1, or ``out`` is something
            else than a store.
    """
    check_whole(phi_name)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}; keep a whole number of images for a caption, at least 1.")
    if out.suffix == ".npy":
        raise InputError(f"{out}: the best {k} images of a caption are kept in a folder; name one without .npy.")
    if out.exists() and not (out / "note.json").is_file():
        raise InputError(f"{out} is there and is no store of best images; name another folder.")


def _begin(
    partial: Path, note: dict[str, Any], n_captions: int, k: int
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.float32]]:
    """The arrays to fill: those of an earlier call for the same thing, or new ones."""
    wanted: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
        "done": (np.uint8, (n_captions,)),
        "images": (np.int32, (n_captions, k)),
        "scores": (np.float32, (n_captions, k)),
    }
    arrays = {}
    try:
        if read_json(partial / "note.json") == note:
            for name, (dtype, shape) in wanted.items():
                array = np.load(partial / f"{name}.npy", mmap_mode="r+", allow_pickle=False)
                if array.dtype == dtype and array.shape == shape:
                    arrays[name] = array
    except (InputError, ValueError, EOFError, OSError):
        arrays = {}
    if len(arrays) < len(wanted):
        arrays = {}
        for name in ("note.json", *(f"{name}.npy" for name in wanted)):
            (partial / name).unlink(missing_ok=True)
        for name, (dtype, shape) in wanted.items():
            arrays[name] = new_array(partial / f"{name}.npy", dtype, shape)
        write_json(partial / "note.json", note)
    elif arrays["done"].any():
        already = int(arrays["done"].sum())
        print(f"{partial}: going on after {already} of {n_captions} captions", file=sys.stderr, flush=True)
    return arrays["done"], arrays["images"], arrays["scores"]


def _fill(
    scorer: Scorer,
    done: NDArray[np.uint8],
    images: NDArray[np.int32],
    scores: NDArray[np.float32],
    description: str,
) -> None:
    """Score what is not done yet; rows reach the disk before they are marked as done."""
    k = images.shape[1]
    left = (group[done[group] == 0] for group in scorer.groups(ROWS_OF_BLOCK))
    unmarked: list[Indices] = []
    saved = time.monotonic()

    def save() -> None:
        for array in (images, scores):
            if isinstance(array, np.memmap):
                array.flush()
        for group in unmarked:
            done[group] = 1
        if isinstance(done, np.memmap):
            done.flush()
        unmarked.clear()

    try:
        with LateBar(description, len(done), int(done.sum())) as bar:
            blocks = ahead(lambda group: best_of_rows(scorer.sparse(group), k), (group for group in left if len(group)))
            for group, (best_images, best_scores) in blocks:
                images[group], scores[group] = best_images, best_scores
                unmarked.append(group)
                bar.advance(len(group))
                if time.monotonic() - saved >= SECONDS_BETWEEN_SAVES:
                    save()
                    saved = time.monotonic()
    finally:
        save()


def best_of_rows(rows: scipy.sparse.csr_array, k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The ``k`` largest entries above 0 of every row, as float32.

    Returns:
        ``[rows, k]`` column indices and scores, largest first, equal ones by column; -1 and 0 where a row has fewer.
    """
    images = np.full((rows.shape[0], k), NOTHING, dtype=np.int32)
    scores = np.zeros((rows.shape[0], k), dtype=np.float32)
    values = rows.data.astype(np.float32)
    for row in range(rows.shape[0]):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        of_row, columns = values[part], rows.indices[part]
        chosen = np.flatnonzero((of_row >= _bound(of_row, k)) & (of_row > 0))
        order = np.lexsort((columns[chosen], -of_row[chosen]))[:k]
        chosen = chosen[order]
        images[row, : len(chosen)], scores[row, : len(chosen)] = columns[chosen], of_row[chosen]
    return images, scores


def _bound(values: NDArray[np.float32], k: int) -> np.float32:
    """A number that at least ``k`` values reach and few others, or -inf if there are not so many.

    Of the largest values of short stretches, ``k`` reach the k-th largest one: so much is to be sorted out later,
    which a partition of all values would cost eight times as much to say exactly.
    """
    stretch = max(1, len(values) // (8 * k))
    if stretch > 1:
        values = values[: len(values) // stretch * stretch].reshape(-1, stretch).max(axis=1)
    if len(values) <= k:
        return np.float32(-np.inf)
    return np.float32(np.partition(values, len(values) - k)[len(values) - k])


def read_top_k(
    path: Path | str, captions: Sequence[str] | None = None, image_of_caption: ArrayLike | None = None
) -> TopK:
    """The best images of every caption that ``write_top_k`` wrote, memory-mapped and read-only.

    Args:
        path: The folder.
        captions: Captions that it must have been made of, if they are to be compared.
        image_of_caption: Image indices that it must have been made of, if they are to be compared.

    Raises:
        InputError: If the folder or a file in it is missing or damaged, or the captions or their images are others.
    """
    path = Path(path)
    if not (path / "note.json").is_file():
        raise InputError(f"{path}: there is no such store of best images; make it with write_top_k.")
    note = read_note(path / "note.json")
    shape = [note["shape"][0], note.get("top_k")]
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype in (("images", np.int32), ("scores", np.float32)):
        array = map_array(path / f"{name}.npy")
        if list(array.shape) != shape or array.dtype != dtype:
            raise InputError(
                f"{path / name}.npy is {array.dtype} {list(array.shape)} but the note says {np.dtype(dtype)} {shape}; "
                "make phi again."
            )
        arrays[name] = array
    check_made_of(path, note, captions, image_of_caption)
    return TopK(arrays["images"], arrays["scores"], note)


def _checked_indices(name: str, given: ArrayLike, limit: int) -> NDArray[np.int64]:
    indices = np.asarray(given)
    if indices.ndim != 1 or (len(indices) and indices.dtype.kind not in "iu"):
        raise InputError(f"{name} is {indices.dtype} {list(indices.shape)}; give a list of whole numbers.")
    wrong = np.flatnonzero((indices < 0) | (indices >= limit))
    if len(wrong):
        raise InputError(f"{name}[{wrong[0]}] is {indices[wrong[0]]}; this store has {name} 0 to {limit - 1}.")
    return indices.astype(np.int64)


@contextmanager
def _alone(partial: Path, out: Path) -> Iterator[None]:
    """Two processes that wrote to one folder would spoil each other's work."""
    partial.mkdir(parents=True, exist_ok=True)
    lock = partial.with_name(f"{partial.name}.lock")
    with lock.open("w") as file:
        if not locked(file):
            raise InputError(f"{out} is being written by another process; wait for it, or end it.")
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
