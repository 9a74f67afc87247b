"""phi of a training batch, by name: computed from prepared captions, or read from a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.semantics.batch_cider import BatchCider
from fivesentences.semantics.phi_file import captions_sha256, read_phi, read_phi_note
from fivesentences.semantics.registry import parse_name, prepare
from fivesentences.semantics.scoring import Scorer

COMPUTED = ("cider", "tfidf")  # milliseconds per batch; the others take 0.1 s and are read from a matrix


class BatchPhi(Protocol):
    """Scores a batch of training captions; several runs on the same captions may share one."""

    def batch(self, caption_indices: ArrayLike) -> NDArray[np.float32]:
        """``[B]`` rows of the run's training captions -> ``[B captions, B images]``."""
        ...


class ScorerPhi:
    """Cells of a prepared scorer, computed for each batch.

    Args:
        scorer: Prepared from the run's training captions.
        image_of_caption: ``[captions]`` image index of each caption.
    """

    def __init__(self, scorer: Scorer, image_of_caption: NDArray[np.int64]):
        self._scorer, self._image_of_caption = scorer, image_of_caption

    def batch(self, caption_indices: ArrayLike) -> NDArray[np.float32]:
        """``[B captions, B images]``."""
        captions = np.asarray(caption_indices)
        size = len(captions)
        images = self._image_of_caption[captions]
        cells = self._scorer.pairs(np.repeat(captions, size), np.tile(images, size))
        return cells.reshape(size, size).astype(np.float32)


class MatrixPhi:
    """A memory-mapped matrix of training captions; only the cells of a batch are read.

    Args:
        matrix: ``[captions, images]`` of the run's captions, or of the whole training split.
        captions: ``[run's captions]``, the row of each of the run's captions in ``matrix``.
        images: ``[run's captions]``, the column of its image.
    """

    def __init__(self, matrix: NDArray[np.float32], captions: NDArray[np.int64], images: NDArray[np.int64]):
        self._matrix, self._captions, self._images = matrix, captions, images

    def batch(self, caption_indices: ArrayLike) -> NDArray[np.float32]:
        """``[B captions, B images]``."""
        rows = np.asarray(caption_indices)
        return np.asarray(self._matrix[self._captions[rows][:, None], self._images[rows][None, :]])


class OwnLeftOut:
    """A phi whose positives are scored without the caption itself among the references of its image.

    Args:
        kept: The phi with all references.
        own: ``[captions]``, what a caption scores with its own image without itself.
        image_of_caption: ``[captions]`` image index of each caption.
    """

    def __init__(self, kept: BatchPhi, own: NDArray[np.floating], image_of_caption: NDArray[np.int64]):
        self._kept, self._own, self._image_of_caption = kept, own.astype(np.float32), image_of_caption

    def batch(self, caption_indices: ArrayLike) -> NDArray[np.float32]:
        """``[B captions, B images]``; a batch may hold several captions of an image."""
        captions = np.asarray(caption_indices)
        images = self._image_of_caption[captions]
        return np.where(images[:, None] == images, self._own[captions][:, None], self._kept.batch(captions))


def mean_of_batches(phis: Sequence[BatchPhi], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean of several phi of one batch; a single one as it is."""
    blocks = [phi.batch(rows) for phi in phis]
    return np.ascontiguousarray(blocks[0] if len(blocks) == 1 else np.mean(blocks, axis=0), dtype=np.float32)


def open_phis(
    names: Iterable[str], train: Corpus, files: Mapping[str, Path | str] | None = None, split: Corpus | None = None
) -> dict[str, BatchPhi]:
    """Every phi that the losses of a run read of its training captions.

    A phi that is computed here, or read from a prepared file, has the document frequencies and references of the run's
    own captions, as released. A matrix has those of the captions that it was made from, which its note tells: the run's
    own, or the whole training split. BLEU, ROUGE and SPICE have no document frequencies, so that their cells are the
    same as long as a fraction keeps whole images.

    Args:
        names: Names of phi, such as ``LossSpec.phi_keys``; ``cider|own_left_out`` leaves a caption out of the
            references of its own image.
        train: The run's training captions, perhaps a fraction of the split.
        files: Name -> file: a matrix of ``train`` or of ``split`` (``.npy`` of ``write_phi``), or, for CIDEr, the file
            that ``BatchCider.write`` made from ``train`` (``.npz``). CIDEr and tf-idf need none.
        split: The whole training split; None: ``train`` is the whole split.

    Raises:
        InputError: If a phi has no file and needs one, or a file is missing or was made from other captions.
    """
    files = files or {}
    whole = train if split is None else split
    return {name: _open(name, train, files.get(name.partition("|")[0]), whole) for name in names}


def _open(name: str, train: Corpus, file: Path | str | None, split: Corpus) -> BatchPhi:
    name, _, references = name.partition("|")
    metric, tokenisation = parse_name(name)
    if references:
        return _without_own(name, _open(name, train, file, split), train)
    if file is not None and Path(file).suffix == ".npy":
        return _open_matrix(Path(file), train, split)
    if metric == "cider":
        captions, pairing = train.captions, train.image_of_caption
        assert tokenisation is not None
        if file is None:
            return BatchCider(captions, pairing, tokenisation)
        return BatchCider.read(file, captions, pairing, tokenisation)
    if file is not None:
        raise InputError(f"{file}: phi {name!r} of the training captions is read from a .npy matrix; give one.")
    if metric not in COMPUTED:
        raise InputError(
            f"phi {name!r} takes too long to be computed for each batch; give its matrix of the run's training "
            f"captions or of the whole split (fivesentences phi {name} CAPTIONS -o {name}.npy), or use one of: "
            f"{', '.join(COMPUTED)}."
        )
    return ScorerPhi(prepare(name, train.captions, train.image_of_caption), train.image_of_caption)


def _open_matrix(file: Path, train: Corpus, split: Corpus) -> MatrixPhi:
    """A matrix of the run's own captions, or of the whole split; the note beside it says which."""
    if train.n_captions < split.n_captions and file.exists():
        made_of = read_phi_note(file)["captions_sha256"]
        if made_of == captions_sha256(train.captions):
            split = train
        elif made_of != captions_sha256(split.captions):
            raise InputError(
                f"{file}: phi was made neither from the {train.n_captions} training captions of this run nor from the "
                f"{split.n_captions} of the whole split; recompute phi."
            )
    return MatrixPhi(read_phi(file, split.captions, split.image_of_caption), *places(train, split))


def _without_own(name: str, kept: BatchPhi, train: Corpus) -> OwnLeftOut:
    pairing = train.image_of_caption
    own = prepare(name, train.captions, pairing).pairs(np.arange(len(pairing)), pairing, without_own=True)
    if np.isnan(own).any():
        raise InputError(
            f"phi {name!r} without a caption's own reference: image {int(pairing[np.isnan(own)][0])} has one training "
            "caption, so that nothing is left to compare it with; use references: kept."
        )
    return OwnLeftOut(kept, own, pairing)


def places(train: Corpus, split: Corpus) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of each caption of ``train`` in ``split``, and the index of its image there; each ``[captions]``.

    Raises:
        InputError: If a caption is not in the split.
    """
    row_of = {identity: row for row, identity in enumerate(split.table["caption_id"])}
    missing = [identity for identity in train.table["caption_id"] if identity not in row_of]
    if missing:
        raise InputError(f"caption {missing[0]!r} is not in the split that phi was made from; make phi again.")
    rows = np.array([row_of[identity] for identity in train.table["caption_id"]], dtype=np.int64)
    return rows, split.image_of_caption[rows]
