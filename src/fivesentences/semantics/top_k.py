"""The best images of every caption, for corpora whose whole phi matrix is too large (COCO train: 256 GB).

A store is a folder with ``images.npy`` (int32) and ``scores.npy`` (float32), both ``[captions, k]`` with the best
image first, and ``note.json``. The scores are those of the phi file, rounded to float32; among equal scores the image
with the lower index comes first. Only scores above 0 are stored; the rest of a row is filled with image -1, score 0.
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

from fivesentences.documents import read_json
from fivesentences.errors import Cure, InputError
from fivesentences.semantics.phi_file import check_made_of, map_array, note_of, read_note
from fivesentences.semantics.registry import check_whole, prepare
from fivesentences.semantics.scoring import Indices, LateBar, Scorer, ahead, new_array
from fivesentences.semantics.tuples import Tuples
from fivesentences.semantics.validation import checked_corpus, checked_indices, checked_pairs
from fivesentences.storage import locked, write_json

NOTHING = -1  # image index of an empty slot
ROWS_OF_BLOCK = 16
SECONDS_BETWEEN_SAVES = 20.0
PAIRS_PER_CHUNK = 100_000


@dataclass(frozen=True)
class TopK:
    """The best images of every caption, memory-mapped.

    Attributes:
        images: ``[captions, k]`` int32 image indices, best first; -1 where a caption has fewer images above 0.
        scores: ``[captions, k]`` float32, descending; 0 where there is no image.
        note: What the store was made from.
    """

    images: NDArray[np.int32]
    scores: NDArray[np.float32]
    note: dict[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of captions and of images of the phi matrix."""
        return self.images.shape[0], int(self.note["shape"][1])

    @property
    def k(self) -> int:
        """Largest number of images of a caption."""
        return int(self.images.shape[1])

    def rows(self, captions: ArrayLike) -> scipy.sparse.csr_array:
        """Return some rows of phi, ``[len(captions), images]`` float32, columns ascending; what is not stored is 0.

        Raises:
            InputError: If an index is out of range.
        """
        captions = checked_indices("captions", captions, self.shape[0])
        images = self.images[captions]
        stored = images != NOTHING
        if len(wrong := images[(images < NOTHING) | (images >= self.shape[1])]):
            raise InputError(
                f"the store holds image {wrong[0]}, but phi has {self.shape[1]} images; it is damaged: recompute phi."
            )
        row_start = np.r_[0, np.cumsum(stored.sum(axis=1))]
        scores = self.scores[captions][stored]
        rows = scipy.sparse.csr_array(
            (scores, images[stored], row_start.astype(np.int32)), shape=(len(captions), self.shape[1])
        )
        rows.sort_indices()
        return rows

    def lookup(self, captions: ArrayLike, images: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Look up single cells of phi.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image indices.

        Returns:
            ``[pairs]`` scores, 0 where the image is not stored for the caption, and ``[pairs]`` True where it is. A
            cell that is not stored is at most the caption's k-th score, or exactly 0 if the row is not full.

        Raises:
            InputError: If an index is out of range, or the lists differ in length.
        """
        captions, images = checked_pairs(captions, images, self.shape)
        scores = np.zeros(len(captions), dtype=np.float32)
        stored = np.zeros(len(captions), dtype=np.bool_)
        for start in range(0, len(captions), PAIRS_PER_CHUNK):
            part = slice(start, start + PAIRS_PER_CHUNK)
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
    """Write the ``k`` best images of every caption by a phi, without ever holding the whole matrix.

    The store is built in a hidden folder beside ``out``, which is renamed once complete. If the process is killed, all
    but the last seconds of work are kept: the same call continues from there.

    Args:
        phi_name: As in ``registry.prepare``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        out: The folder to write; an existing store is replaced.
        k: Number of images to keep per caption.
        tuples: Scene-graph tuples of the captions, for SPICE.

    Raises:
        InputError: As ``write_phi``; or if ``k`` is below 1, ``out`` exists and is not a store, or another process
            is writing it.
    """
    out = Path(out)
    check_store(phi_name, out, k)
    captions, pairing = checked_corpus(captions, image_of_caption)
    note = note_of(phi_name, captions, pairing, tuples)
    note["top_k"] = k = min(int(k), note["shape"][1])
    scorer = prepare(phi_name, captions, pairing, tuples)
    partial = out.with_name(f".{out.name}.partial")
    with _alone(partial, out):
        done, images, scores = _begin(partial, note, len(captions), k)
        _fill(scorer, done, images, scores, phi_name)
        del done, images, scores
        if out.is_symlink():  # a link stays one, as for files
            out = out.resolve()
        if out.exists():
            shutil.rmtree(out)
        shutil.move(partial, out)
        (out / "done.npy").unlink()


def check_store(phi_name: str, out: Path, k: int) -> None:
    """Check that ``write_top_k`` can write such a store, before any costly work is done.

    Raises:
        InputError: If there is no such phi or it scores single pairs only, ``k`` is below 1, or ``out`` exists and is
            not a store.
    """
    check_whole(phi_name)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}; give the number of images to keep per caption, a whole number of at least 1.")
    if out.suffix == ".npy":
        raise InputError(f"{out}: the best {k} images of each caption are kept in a folder; name one without .npy.")
    if out.exists() and not (out / "note.json").is_file():
        raise InputError(f"{out} exists and is not a store of best images; name another folder.")


def _begin(
    partial: Path, note: dict[str, Any], n_captions: int, k: int
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.float32]]:
    """Open the arrays to fill: those of an interrupted call with the same note, or new ones."""
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
        print(f"{partial}: continuing after {already} of {n_captions} captions", file=sys.stderr, flush=True)
    return arrays["done"], arrays["images"], arrays["scores"]


def _fill(
    scorer: Scorer,
    done: NDArray[np.uint8],
    images: NDArray[np.int32],
    scores: NDArray[np.float32],
    description: str,
) -> None:
    """Score the captions that are not done yet; rows reach the disk before they are marked as done."""
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
    """Find the ``k`` largest entries above 0 of every row, as float32.

    Returns:
        ``[rows, k]`` column indices and scores, largest first, equal scores by column; -1 and 0 where a row has fewer.
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
    """Return a bound that at least ``k`` values and few others reach, or -inf if there are not that many values.

    It is the k-th largest of the maxima of short stretches, so at least ``k`` values reach it. The exact bound, by a
    partition of all values, would cost eight times as much and save little sorting.
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
    """Open a store that ``write_top_k`` wrote, memory-mapped and read-only.

    Args:
        path: The folder.
        captions: Captions that it must have been made from; not compared if None.
        image_of_caption: Image indices that it must have been made from; not compared if None.

    Raises:
        InputError: If the folder or a file in it is missing or damaged, or it was made from other captions or images.
    """
    path = Path(path)
    if not (path / "note.json").is_file():
        raise InputError(
            "there is no such store of best images",
            where=path,
            cure=Cure(python="create it with write_top_k", shell="create it with 'fivesentences phi ... --top-k K'"),
        )
    note = read_note(path / "note.json")
    shape = [note["shape"][0], note.get("top_k")]
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype in (("images", np.int32), ("scores", np.float32)):
        array = map_array(path / f"{name}.npy")
        if list(array.shape) != shape or array.dtype != dtype:
            raise InputError(
                f"{path / name}.npy is {array.dtype} {list(array.shape)} but the note says {np.dtype(dtype)} {shape}; "
                "recompute phi."
            )
        arrays[name] = array
    check_made_of(path, note, captions, image_of_caption)
    return TopK(arrays["images"], arrays["scores"], note)


@contextmanager
def _alone(partial: Path, out: Path) -> Iterator[None]:
    """Lock the folder: two processes that write to it would destroy each other's work."""
    partial.mkdir(parents=True, exist_ok=True)
    lock = partial.with_name(f"{partial.name}.lock")
    with lock.open("w") as file:
        if not locked(file):
            raise InputError(f"{out} is being written by another process; wait for that process, or end it.")
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
