"""phi of a training batch, by name: computed from prepared captions, or read from a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.semantics.batch_cider import BatchCider
from fivesentences.semantics.embedding import EmbeddingScorer
from fivesentences.semantics.phi_file import captions_sha256, read_phi, read_phi_note
from fivesentences.semantics.registry import is_drawn, of_batches, parse_name, prepare
from fivesentences.semantics.scoring import Scorer
from fivesentences.semantics.sentence_encoders import encode_captions, read_vectors

# [B] rows of a run's training captions -> [B captions, B images] float32. Several runs on the same captions share one.
BatchPhi = Callable[[NDArray[np.int64]], NDArray[np.float32]]


def mean_of_batches(phis: Sequence[BatchPhi], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the mean of several phi of one batch; a single one as it is."""
    blocks = [phi(rows) for phi in phis]
    return np.ascontiguousarray(blocks[0] if len(blocks) == 1 else np.mean(blocks, axis=0), dtype=np.float32)


def open_phis(
    names: Iterable[str], train: Corpus, files: Mapping[str, Path | str] | None = None, split: Corpus | None = None
) -> dict[str, BatchPhi]:
    """Return every phi that the losses of a run read of its training captions.

    A phi that is computed here, or read from a prepared file, has the document frequencies and references of the run's
    own captions, as released. A matrix has those of the captions that it was made from, which its note tells: the run's
    own, or the whole training split. BLEU, ROUGE and SPICE have no document frequencies, so that their cells are the
    same as long as a fraction keeps whole images.

    Args:
        names: Names of phi, such as ``LossSpec.phi_keys``; ``cider|own_left_out`` leaves a caption out of the
            references of its own image.
        train: The run's training captions, perhaps a fraction of the split.
        files: Name -> file: a matrix of ``train`` or of ``split`` (``.npy`` of ``write_phi``), or, for CIDEr, the file
            that ``BatchCider.write`` made from ``train`` (``.npz``); for ``embedding`` the vectors that
            ``write_vectors`` wrote. SPICE alone needs one; vectors are encoded then, and all else is computed.
        split: The whole training split; None: ``train`` is the whole split.

    Raises:
        InputError: If a phi has no file and needs one, or a file is missing or was made from other captions.
    """
    files, whole = files or {}, train if split is None else split
    return {name: _open(name, train, files.get(name.partition("|")[0]), whole) for name in names}


def _open(name: str, train: Corpus, file: Path | str | None, split: Corpus) -> BatchPhi:
    name, _, references = name.partition("|")
    metric, tokenisation, model, kind = parse_name(name)
    captions, pairing = train.captions, train.image_of_caption
    if model is not None and kind is not None:
        vectors = encode_captions(model, captions) if file is None else read_vectors(Path(file), train.table)
        embedding = EmbeddingScorer(vectors, pairing, kind)
        return _without_own(name, embedding.batch, embedding, pairing) if references else embedding.batch
    if references:
        return _without_own(name, _open(name, train, file, split), prepare(name, captions, pairing), pairing)
    if file is not None and Path(file).suffix == ".npy":
        return _open_matrix(Path(file), train, split)
    if metric == "cider":
        assert tokenisation is not None
        cider = BatchCider(captions, pairing, tokenisation) if file is None else None
        return (cider or BatchCider.read(Path(file or ""), captions, pairing, tokenisation)).batch
    if file is not None:
        raise InputError(f"{file}: phi {name!r} of the training captions is read from a .npy matrix; give one.")
    if not of_batches(name):
        made = "drawn with the scenes" if is_drawn(name) else f"fivesentences phi {name} CAPTIONS -o {name}.npy"
        cure = f"give its matrix of the training captions ({made})"
        raise InputError(f"phi {name!r} is not computed for each batch, which would take too long", cure=cure)
    scorer = prepare(name, captions, pairing)
    return lambda rows: scorer.block(rows, pairing[rows]).astype(np.float32)


def _open_matrix(file: Path, train: Corpus, split: Corpus) -> BatchPhi:
    """Return a matrix of the run's own captions, or of the whole split; the note beside it says which."""
    if train.n_captions < split.n_captions and file.exists():
        made_of = read_phi_note(file)["captions_sha256"]
        if made_of == captions_sha256(train.captions):
            split = train
        elif made_of != captions_sha256(split.captions):
            counts = f"{train.n_captions} training captions of this run nor from the {split.n_captions} of the split"
            raise InputError(f"phi was made neither from the {counts}", where=file, cure="recompute phi")
    matrix = read_phi(file, split.captions, split.image_of_caption)
    captions, images = places(train, split)
    # The matrix is memory-mapped: only the cells of a batch are read.
    return lambda rows: np.asarray(matrix[captions[rows][:, None], images[rows][None, :]])


def _without_own(name: str, kept: BatchPhi, scorer: Scorer, pairing: NDArray[np.int64]) -> BatchPhi:
    """Return a phi whose positives are scored without the caption itself among the references of its image."""
    own = scorer.pairs(np.arange(len(pairing)), pairing, without_own=True)
    if np.isnan(own).any():
        what = f"image {int(pairing[np.isnan(own)][0])} has one training caption, so that nothing is left as reference"
        raise InputError(f"phi {name!r}: {what}; use references: kept.")
    own = own.astype(np.float32)

    def batch(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        images = pairing[rows]  # a batch may hold several captions of an image
        return np.where(images[:, None] == images, own[rows][:, None], kept(rows))

    return batch


def places(train: Corpus, split: Corpus) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of each caption of ``train`` in ``split``, and the index of its image there; each ``[captions]``.

    Raises:
        InputError: If a caption is not in the split.
    """
    row_of = {identity: row for row, identity in enumerate(split.table["caption_id"])}
    try:
        rows = np.array([row_of[identity] for identity in train.table["caption_id"]], dtype=np.int64)
    except KeyError as error:
        raise InputError(f"caption {error} is not in the split that phi was made from; make phi again.") from None
    return rows, split.image_of_caption[rows]
