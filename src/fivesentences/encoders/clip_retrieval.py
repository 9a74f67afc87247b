"""Embeddings that clip-retrieval wrote, as a folder of ours.

Its ``clip-retrieval inference`` writes ``img_emb/img_emb_N.npy`` and ``text_emb/text_emb_N.npy``, float16 with rows of
length 1, and ``metadata/metadata_N.parquet`` with the columns ``image_path`` and ``caption``: one row of each per pair
of an image and a caption, so that an image with five captions is there five times. Source:
https://github.com/rom1504/clip-retrieval, ``clip_inference/writer.py`` and ``mapper.py``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fivesentences
from fivesentences.arrays import read_npy
from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.encoders.folder import (
    CAPTIONS,
    IMAGES,
    EmbeddingFolder,
    write_note,
    write_texts,
)
from fivesentences.encoders.subject import CaptionedImages
from fivesentences.errors import InputError
from fivesentences.features.identity import fingerprint_of
from fivesentences.storage import replacing, sha256_of

AGAIN = "run clip-retrieval inference again"
EQUAL = 0.01  # by which rows of one image may differ, which float16 and other batches cause


def take_over(folder: Path, out: Path) -> EmbeddingFolder:
    """Write clip-retrieval's embeddings as a folder of ours, with one row per image.

    Images are in the order in which they first occur, captions in that of the files.

    Args:
        folder: With ``img_emb``, ``text_emb`` and ``metadata``.
        out: The folder to write.

    Raises:
        InputError: If a file is missing or damaged, numbers of rows disagree, rows of one image differ, a caption holds
            several lines, or a row is zero or not finite.
    """
    images, texts, tables = (
        _parts(folder, *names) for names in (("img_emb", ".npy"), ("text_emb", ".npy"), ("metadata", ".parquet"))
    )
    if not list(images) == list(texts) == list(tables):
        raise InputError("img_emb, text_emb and metadata do not have the same parts; " + AGAIN + ".", where=folder)
    paths: list[str] = []
    captions: list[str] = []
    first_rows: dict[str, int] = {}
    of_images: list[npt.NDArray[np.float32]] = []
    of_captions: list[npt.NDArray[np.float32]] = []
    for number, table in tables.items():
        frame = frame_of(read_parquet(table, AGAIN), table, AGAIN)
        if missing := {"image_path", "caption"} - set(frame.columns):
            raise InputError(f"it has no column '{sorted(missing)[0]}'; {AGAIN} with images, texts and metadata.",
                             where=table)  # fmt: skip
        rows, vectors = _rows(images[number], len(frame)), _rows(texts[number], len(frame))
        of_captions.append(vectors)
        if len(dims := {part.shape[1] for part in (rows, *of_captions)}) > 1:
            raise InputError(f"its vectors have {max(dims)} dimensions, others {min(dims)}; {AGAIN}.", where=table)
        for at, (path, caption) in enumerate(zip(frame["image_path"], frame["caption"], strict=True)):
            place = f"{table}: row {at}"
            _check_caption(caption, place)
            path = str(path)
            if path not in first_rows:
                first_rows[path] = len(of_images)
                of_images.append(rows[at])
            elif np.abs(of_images[first_rows[path]] - rows[at]).max() > EQUAL:
                raise InputError(f"{place}: image '{path}' has another vector than before; {AGAIN}.")
            paths.append(path)
            captions.append(caption)
    pairing = np.array([first_rows[path] for path in paths], dtype=np.int64)
    subject = CaptionedImages(list(first_rows), list(first_rows), captions, pairing, f"{folder}/metadata")
    files = [path for parts in (images, texts, tables) for path in parts.values()]
    encoder = {"library": "clip-retrieval", "files": {str(path.relative_to(folder)): sha256_of(path) for path in files}}
    note: dict[str, Any] = {"model": f"clip_retrieval:{folder.name}", "encoder": encoder, "truncated": None}
    note["identity"] = fingerprint_of(note)
    if (there := EmbeddingFolder.already(out, note["identity"])) is not None:
        return there
    for name, whole in ((IMAGES, np.stack(of_images)), (CAPTIONS, np.concatenate(of_captions))):
        with replacing(out / name) as temporary:
            np.save(temporary, whole, allow_pickle=False)
    texts_file = write_texts(out, subject)
    return write_note(out, subject, {**note, "fivesentences": fivesentences.__version__}, texts_file)


def _parts(folder: Path, name: str, suffix: str) -> dict[int, Path]:
    """The parts of one kind by their number, in its order."""
    kind = name if suffix == ".npy" else "metadata"
    form = re.compile(rf"{kind}_(\d+){re.escape(suffix)}")
    found = {int(match[1]): path for path in (folder / name).glob(f"*{suffix}") if (match := form.fullmatch(path.name))}
    if not found:
        raise InputError(
            f"there is no {name}/{kind}_0{suffix} in it",
            where=folder,
            cure="name a folder that 'clip-retrieval inference' wrote with images, texts and metadata",
        )
    return dict(sorted(found.items()))


def _rows(path: Path, wanted: int) -> npt.NDArray[np.float32]:
    """Vectors of length 1 from one part."""
    array = read_npy(path, AGAIN)
    if array.ndim != 2 or array.dtype.kind != "f" or len(array) != wanted:
        raise InputError(
            f"it is {array.dtype} {list(array.shape)}, but the metadata has {wanted} rows; {AGAIN}.", where=path
        )
    rows = np.asarray(array, dtype=np.float32)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    bad = ~np.isfinite(lengths[:, 0]) | (lengths[:, 0] == 0)
    if bad.any():
        raise InputError(f"row {int(bad.argmax())} is zero or not finite; {AGAIN}.", where=path)
    unit: npt.NDArray[np.float32] = (rows / lengths).astype(np.float32)
    return unit


def _check_caption(caption: object, place: str) -> None:
    if not isinstance(caption, str):
        raise InputError(f"{place}: the caption is {str(caption)[:40]!r}, which is no text; {AGAIN}.")
    if len(caption.splitlines()) > 1:
        raise InputError(
            f"{place}: one text holds {len(caption.splitlines())} lines, as data sets of clip_benchmark do, so that "
            "several captions became one vector",
            cure="give clip-retrieval one caption per pair",
        )
