"""CIDEr between the captions and images of a training batch, in about a millisecond."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import read_npz
from fivesentences.documents import parse_json
from fivesentences.errors import Cure, InputError
from fivesentences.semantics.cider import SCALE, CiderVectors, cider_vectors, length_penalty
from fivesentences.semantics.phi_file import captions_sha256, pairing_sha256
from fivesentences.semantics.references import References, ranges
from fivesentences.semantics.tokenisation import composed
from fivesentences.semantics.validation import checked_indices, checked_pairing
from fivesentences.storage import replacing

FORMAT = 1
# Name in the file: attribute.
STORED = {name: f"_{name}" for name in ("length", "penalty", "own", "column", "candidate", "reference", "start")}


class BatchCider:
    """phi of any batch of captions of a corpus, prepared once.

    Document frequencies and the number of images are those of the whole corpus, so an entry equals that of
    ``cider_matrix`` on the same captions. The prepared state is read-only: one object can serve several threads and
    be pickled to worker processes.

    An n-gram that occurs with a single image contributes only to the scores of that image's own captions. These
    contributions are summed during preparation, one number per caption, and only n-grams of two or more images are
    multiplied for each batch.

    Args:
        captions: Raw captions of the training split.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``cider_matrix``.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        vectors = cider_vectors(captions, image_of_caption, tokenize)
        self._made_of = _made_of(captions, image_of_caption, tokenize)
        self._references = References(vectors.image_of_caption)
        self._length = vectors.length
        self._penalty = length_penalty(np.arange(int(vectors.length.max()) + 1))

        image = vectors.image_of_caption[vectors.caption]
        column_and_image = np.unique(vectors.column * vectors.n_images + image)
        images_of_column = np.bincount(column_and_image // vectors.n_images, minlength=vectors.n_columns)
        shared = images_of_column[vectors.column] > 1
        self._own = self._own_image_part(vectors, ~shared)

        # Frequent columns first: the entries that most batches look up are then close together in memory.
        frequency = np.bincount(vectors.column[shared], minlength=vectors.n_columns)
        rank = np.empty(vectors.n_columns, dtype=np.int32)
        rank[np.argsort(-frequency, kind="stable")] = np.arange(vectors.n_columns, dtype=np.int32)
        self._n_columns = int(np.count_nonzero(frequency))
        self._column = rank[vectors.column[shared]]
        self._candidate = vectors.candidate[shared]
        self._reference = vectors.reference[shared]
        self._start = np.searchsorted(vectors.caption[shared], np.arange(vectors.n_captions + 1))

    @staticmethod
    def _own_image_part(vectors: CiderVectors, private: NDArray[np.bool_]) -> NDArray[np.float64]:
        """``[captions]`` contribution of n-grams of a single image to a caption's score against its own image."""
        caption, column = vectors.caption[private], vectors.column[private]
        shape = (vectors.n_captions, vectors.n_columns)
        candidates = scipy.sparse.csr_array((vectors.candidate[private], (caption, column)), shape=shape)
        references = scipy.sparse.csr_array((vectors.reference[private], (caption, column)), shape=shape)
        pairs = (candidates @ references.T.tocsr()).tocoo()  # only pairs of captions of one image
        penalty = length_penalty(vectors.length[pairs.row] - vectors.length[pairs.col])
        summed = np.bincount(pairs.row, weights=pairs.data * penalty, minlength=vectors.n_captions)
        return np.asarray(summed * SCALE / vectors.n_references[vectors.image_of_caption])

    def write(self, path: Path | str) -> None:
        """Write the prepared state as ``.npz`` (plain arrays, no pickle) for ``read``; equal captions give equal bytes.

        Raises:
            InputError: If the name does not end in .npz.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise InputError(f"{path}: the file name of prepared CIDEr must end in .npz.")
        note = json.dumps({"format": FORMAT} | self._made_of, sort_keys=True)
        arrays = {name: getattr(self, attribute) for name, attribute in STORED.items()}
        with replacing(path) as temporary:
            np.savez(temporary, note=np.array(note), **arrays)

    @classmethod
    def read(
        cls, path: Path | str, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"
    ) -> Self:
        """Read what ``write`` wrote; bit-equal to ``BatchCider(captions, image_of_caption, tokenize)``.

        Raises:
            InputError: If the file is missing or damaged, or was made from other captions, images or words.
        """
        if not Path(path).exists():
            cure = Cure("create it with BatchCider.write", "leave it out, and CIDEr is computed from the captions")
            raise InputError("there is no such file of prepared CIDEr", where=path, cure=cure)
        text, *found = read_npz(path, ["note", *STORED], "prepared CIDEr", "recreate it")
        note, arrays = parse_json(str(text), path, "recreate it"), dict(zip(STORED, found, strict=True))
        made_of = _made_of(captions, image_of_caption, tokenize)
        for key, value in {"format": FORMAT, **made_of}.items():
            if not isinstance(note, dict) or note.get(key) != value:
                differs = f"{key} is {note.get(key) if isinstance(note, dict) else None}, but here it is {value}"
                raise InputError(differs, where=path, cure="recreate the file")
        if not _are_whole(arrays, len(captions)):
            raise InputError("its arrays do not fit together", where=path, cure="recreate the file")
        prepared = cls.__new__(cls)
        prepared._made_of = made_of
        prepared._references = References(checked_pairing(image_of_caption, len(captions)))
        for name, attribute in STORED.items():
            setattr(prepared, attribute, arrays[name])
        prepared._n_columns = int(prepared._column.max(initial=-1)) + 1
        return prepared

    def __len__(self) -> int:
        """Number of captions in the corpus."""
        return len(self._length)

    def batch(self, caption_indices: ArrayLike) -> NDArray[np.float32]:
        """Compute phi of a batch in single precision.

        Args:
            caption_indices: ``[B]`` captions of the batch; their images may repeat.

        Returns:
            ``[B captions, B images]``: entry ``[c, j]`` is the CIDEr of caption ``c`` of the batch against all
            captions in the corpus of the image of caption ``j`` of the batch; 0 to 10.

        Raises:
            InputError: If there are no indices, or one is out of range.
        """
        return self.exact(caption_indices).astype(np.float32)

    def exact(self, caption_indices: ArrayLike) -> NDArray[np.float64]:
        """Compute phi of a batch in double precision; see ``batch``."""
        candidates = checked_indices("caption_indices", caption_indices, len(self))
        if not len(candidates):
            raise InputError("caption_indices is empty; give at least one caption.")
        images, image_in_batch = np.unique(self._references.image_of_caption[candidates], return_inverse=True)
        n_references = self._references.count[images]
        references = self._references.by_image[ranges(self._references.first[images], n_references)]

        # The columns of the batch's candidates get small local numbers; columns of references only contribute nothing.
        entries, entries_of_candidate = self._entries(candidates)
        column = self._column[entries]
        local_of_column = np.full(self._n_columns, -1, dtype=np.int32)
        local_of_column[column] = np.arange(len(column), dtype=np.int32)
        candidate_values = np.zeros((len(column), len(candidates)))  # [local columns, candidates]
        place = np.repeat(np.arange(len(candidates)), entries_of_candidate)
        candidate_values[local_of_column[column], place] = self._candidate[entries]

        entries, entries_of_reference = self._entries(references)
        local = local_of_column[self._column[entries]]
        known = np.flatnonzero(local >= 0)
        start = np.searchsorted(known, np.concatenate([[0], np.cumsum(entries_of_reference)]))
        reference_values = scipy.sparse.csr_array(
            (self._reference[entries[known]], local[known], start.astype(np.int32)),
            shape=(len(references), len(column)),
        )
        by_reference = reference_values @ candidate_values  # [references, candidates]
        by_reference *= self._penalty[np.abs(self._length[references][:, None] - self._length[candidates][None, :])]
        first = np.cumsum(n_references) - n_references
        by_image = np.add.reduceat(by_reference, first, axis=0) * (SCALE / n_references)[:, None]
        by_image[image_in_batch, np.arange(len(candidates))] += self._own[candidates]
        return np.ascontiguousarray(by_image[image_in_batch].T)

    def _entries(self, captions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the captions' entries, one caption after the other, and the number of entries of each."""
        count = self._start[captions + 1] - self._start[captions]
        return ranges(self._start[captions], count), count


def _are_whole(arrays: Mapping[str, NDArray[Any]], n_captions: int) -> bool:
    """Return whether arrays of a file are such as ``write`` writes for as many captions."""
    floats = {"penalty", "own", "candidate", "reference"}
    if any(array.ndim != 1 or array.dtype.kind != ("f" if name in floats else "i") for name, array in arrays.items()):
        return False
    n_entries, start, length, column = len(arrays["column"]), arrays["start"], arrays["length"], arrays["column"]
    sizes = {"length": n_captions, "own": n_captions, "candidate": n_entries, "reference": n_entries}
    return (
        all(np.isfinite(arrays[name]).all() for name in floats)
        and all(len(arrays[name]) == size for name, size in {**sizes, "start": n_captions + 1}.items())
        and (start[0], start[-1]) == (0, n_entries)
        and bool((np.diff(start) >= 0).all())
        and 0 <= int(length.min()) <= int(length.max()) < len(arrays["penalty"])
        and 0 <= int(column.min(initial=0)) <= int(column.max(initial=0)) < max(1, n_entries)
    )


def _made_of(captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str) -> dict[str, str]:
    return {
        "tokenisation": tokenize,
        "captions_sha256": captions_sha256([*map(composed, captions)]),
        "image_of_caption_sha256": pairing_sha256(image_of_caption),
    }
