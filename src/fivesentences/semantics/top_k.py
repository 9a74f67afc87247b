"""The best images of every caption, for corpora whose whole phi matrix is too large (COCO train: 256 GB).

A store is a folder with ``images.npy`` (int32) and ``scores.npy`` (float32), both ``[captions, k]`` with the best
image first, and ``note.json``. The scores are those of the phi file, rounded to float32; among equal scores the image
with the lower index comes first. Only scores above 0 are stored; the rest of a row is filled with image -1, score 0.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import new_npy
from fivesentences.console import Bar
from fivesentences.documents import read_json
from fivesentences.errors import Cure, InputError, cure_of
from fivesentences.seals import check_seal, seal_of
from fivesentences.semantics.phi_file import check_made_of, map_array, note_of, read_note
from fivesentences.semantics.registry import check_whole, prepare
from fivesentences.semantics.scoring import SECONDS_WITHOUT_BAR, Scorer, ahead
from fivesentences.semantics.tuples import Tuples
from fivesentences.semantics.validation import check_gains, checked_indices
from fivesentences.storage import alone, check_outputs, rename_together, work_folder, write_json

NOTHING = -1  # image index of an empty slot
ROWS_OF_BLOCK = 16
SECONDS_BETWEEN_SAVES = 20.0
KINDS: dict[str, type[np.generic]] = {"images": np.int32, "scores": np.float32}
FILES = (*(f"{name}.npy" for name in KINDS), "note.json")


@dataclass(frozen=True)
class TopK:
    """The best images of every caption, memory-mapped.

    Attributes:
        images: ``[captions, k]`` int32 image indices, best first; -1 where a caption has fewer images above 0.
        scores: ``[captions, k]`` float32, descending; 0 where there is no image.
        note: Record of the captions, images and phi behind the store.
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
            damaged = f"the store holds image {wrong[0]}, but phi has {self.shape[1]} images"
            raise InputError(damaged, cure="recompute phi")
        row_start = np.r_[0, np.cumsum(stored.sum(axis=1))]
        scores = self.scores[captions][stored]
        rows = scipy.sparse.csr_array(
            (scores, images[stored], row_start.astype(np.int32)), shape=(len(captions), self.shape[1])
        )
        rows.sort_indices()
        return rows


def write_top_k(
    phi_name: str,
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    out: Path | str,
    k: int = 100,
    tuples: Tuples | None = None,
) -> None:
    """Write the ``k`` best images of every caption by a phi, without ever holding the whole matrix.

    The store is built in a hidden folder beside ``out``, into which its three files are moved once complete; other
    files there stay. If the process is killed, all but the last seconds of work are kept: the same call continues from
    there.

    Args:
        phi_name: As in ``registry.prepare``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        out: The folder to write; an existing store is replaced.
        k: Number of images to keep per caption.
        tuples: Scene-graph tuples of the captions, for SPICE.

    Raises:
        InputError: As ``write_phi``; or if ``k`` is below 1, or ``out`` exists and is not a store.
    """
    out = Path(out)
    check_store(phi_name, out, k)
    scorer = prepare(phi_name, captions, image_of_caption, tuples)
    note = note_of(phi_name, scorer, captions, image_of_caption, tuples)
    note["top_k"] = k = min(int(k), note["shape"][1])
    out = out.resolve()  # a link stays one, as for files
    partial = _unfinished(out)
    with alone(partial.with_name(f"{partial.name}.lock"), f"{out} is being written by another process; waiting"):
        try:
            _fill(scorer, work_folder(partial), note, k)
            out.mkdir(exist_ok=True)
            rename_together({partial / name: out / name for name in FILES})
            shutil.rmtree(partial)
        except OSError as error:
            cure = cure_of(error, "the finished captions are kept")
            raise InputError(f"{out} cannot be written ({error.strerror or error})", cure=cure) from None


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
    moved = _unfinished(out) / FILES[-1]  # a kill came before the files of a whole store were moved
    if out.exists() and not (out / FILES[-1]).exists() and not moved.is_file():
        raise InputError(f"{out} exists and is not a store of best images; name another folder.")
    check_outputs({name: out / name for name in FILES}, (), out)


def _unfinished(out: Path) -> Path:
    out = out.resolve()
    return out.with_name(f".{out.name}.partial")


def _fill(scorer: Scorer, partial: Path, note: dict[str, Any], k: int) -> None:
    """Score group after group; how many are done is noted once their rows are on disk."""
    progress = partial / "progress.json"
    groups = scorer.groups(ROWS_OF_BLOCK)
    arrays: dict[str, Any] = {}
    done = checksum = 0
    with contextlib.suppress(Exception):  # a damaged file fails anywhere: then all is scored again
        saved = read_json(progress)
        if saved["note"] == note:
            arrays = {name: np.load(partial / f"{name}.npy", mmap_mode="r+", allow_pickle=False) for name in KINDS}
            for group in groups[: saved["groups"]]:
                checksum = checksum_of_rows(arrays["images"][group], arrays["scores"][group], checksum)
            fits = all(
                arrays[name].shape == (scorer.shape[0], k) and arrays[name].dtype == KINDS[name] for name in KINDS
            )
            done = saved["groups"] if fits and checksum == saved["checksum"] else 0
    if not done:
        checksum = 0
        progress.unlink(missing_ok=True)
        arrays = {name: new_npy(partial / f"{name}.npy", kind, (scorer.shape[0], k)) for name, kind in KINDS.items()}

    def save() -> None:
        for array in arrays.values():
            array.flush()
        write_json(progress, {"note": note, "groups": done, "checksum": checksum})

    if done:
        print(f"{partial}: continuing after {done} of {len(groups)} blocks of captions", file=sys.stderr, flush=True)
    saved_at = time.monotonic()
    try:
        with Bar(str(note["phi"]), len(groups), done, delay=SECONDS_WITHOUT_BAR) as bar:
            for group, found in ahead(lambda group: best_of_rows(scorer.sparse(group), k), groups[done:]):
                arrays["images"][group], arrays["scores"][group] = found
                checksum = checksum_of_rows(*found, checksum)
                done += 1
                bar.advance(1)
                if time.monotonic() - saved_at >= SECONDS_BETWEEN_SAVES:
                    save()
                    saved_at = time.monotonic()
    finally:
        save()
    progress.unlink()
    if not arrays["scores"].any():
        check_gains(arrays["scores"], str(note["phi"]))
    write_json(partial / "note.json", note | {"sha256": seal_of(note, *(partial / name for name in FILES[:-1]))})


def checksum_of_rows(images: NDArray[np.int32], scores: NDArray[np.float32], before: int) -> int:
    """Return a checksum of some rows and all those before."""
    return zlib.crc32(scores.tobytes(), zlib.crc32(images.tobytes(), before))


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
        bound = np.partition(of_row, len(of_row) - k)[len(of_row) - k] if len(of_row) > k else 0.0
        chosen = np.flatnonzero((of_row >= bound) & (of_row > 0))
        chosen = chosen[np.lexsort((columns[chosen], -of_row[chosen]))[:k]]
        images[row, : len(chosen)], scores[row, : len(chosen)] = columns[chosen], of_row[chosen]
    return images, scores


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
    if not (path / "note.json").exists():
        cure = Cure(python="create it with write_top_k", shell="create it with 'fivesentences phi ... --top-k K'")
        raise InputError("there is no such store of best images", where=path, cure=cure)
    note = read_note(path / "note.json")
    shape = [note["shape"][0], note.get("top_k")]
    images, scores = (map_array(path / f"{name}.npy", kind, shape) for name, kind in KINDS.items())
    check_seal(note, *(path / name for name in FILES[:-1]), noted=path / FILES[-1], cure="recompute phi")
    check_made_of(path, note, captions, image_of_caption)
    return TopK(images, scores, note)
