"""From images and captions to a folder of embeddings, in chunks from which a killed run can resume."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fivesentences
from fivesentences.console import Bar
from fivesentences.corpus import Photographs, decoding
from fivesentences.encoders.encoder import Encoder, Settings
from fivesentences.encoders.folder import (
    CAPTIONS,
    IMAGES,
    EmbeddingFolder,
    write_note,
    write_texts,
)
from fivesentences.encoders.subject import CaptionedImages
from fivesentences.errors import InputError
from fivesentences.features.files import writing_npy
from fivesentences.features.unfinished import FinishedParts, contents_of, digest_of, fingerprint_of
from fivesentences.storage import replacing

# Rows: what a killed run loses at most, and how often the bar moves.
IMAGES_PER_CHUNK, CAPTIONS_PER_CHUNK = 64, 512


@dataclass(frozen=True)
class Run:
    """How the work is cut.

    Attributes:
        batch_size: Images or captions per forward pass; the last digits of the vectors depend on it.
        workers: Threads that read and decode images.
    """

    batch_size: int = 32
    workers: int = 2


def embed(
    name: str,
    encoder: Encoder,
    subject: CaptionedImages,
    photographs: Photographs,
    out: Path,
    settings: Settings,
    run: Run,
) -> EmbeddingFolder:
    """Embed images and captions, and write a folder of vectors with a note.

    The folder gets ``images.npy`` and ``captions.npy`` (float32, rows of length 1), ``captions.txt``,
    ``image_of_caption.txt`` and, last, ``embed.json``. A call after a kill resumes from finished chunks; a call after
    the end finds that there is nothing to do.

    Args:
        name: What the encoder is called.
        encoder: The encoder.
        subject: What is embedded.
        photographs: Where the images are.
        out: The folder.
        settings: How the encoder was loaded.
        run: How the work is cut.

    Returns:
        The folder.

    Raises:
        InputError: If an image is missing or cannot be decoded (it is named), a vector is zero or not finite, or the
            folder holds embeddings of something else.
    """
    subject.check(photographs)
    note: dict[str, Any] = {
        "model": name,
        "encoder": dict(encoder.facts),
        "prompt": settings.prompt,
        "precision": settings.precision,
        "device": settings.device,
        "batch_size": run.batch_size,
        "decoding": decoding.VERSION,
        "normalised": True,
    }
    of_captions = {"captions": digest_of((caption,) for caption in subject.captions)}
    of_images = {"images": digest_of(zip(subject.image_ids, subject.filenames, strict=True))}
    of_images |= {"photographs": digest_of(contents_of(photographs))}
    pairing = {"image_of_caption": subject.image_of_caption.tolist(), "split": [subject.dataset, subject.split]}
    identity = fingerprint_of({**note, **of_captions, **of_images, **pairing})
    if (there := EmbeddingFolder.already(out, identity)) is not None:
        return there
    if out.exists() and not out.is_dir():
        raise InputError("it is a file; embeddings are written into a folder.", where=out)
    out.mkdir(parents=True, exist_ok=True)

    parts = {
        CAPTIONS: FinishedParts(out / CAPTIONS, {**note, **of_captions}),
        IMAGES: FinishedParts(out / IMAGES, {**note, **of_images}),
    }
    with parts[CAPTIONS], parts[IMAGES]:
        chunks = _chunks(len(subject.captions), CAPTIONS_PER_CHUNK)
        with _bar(f"captions by {name}", parts[CAPTIONS], chunks) as (missing, bar):
            for rows in missing:
                vectors = _in_batches(encoder.captions, subject.captions[rows], run.batch_size)
                named = [f"caption {row + 1} ({subject.captions[row][:60]!r})" for row in range(rows.start, rows.stop)]
                parts[CAPTIONS].save(_name(rows), vectors=_unit(vectors, named))
                bar.advance(len(named))
        _write(out / CAPTIONS, parts[CAPTIONS], chunks)
        truncated = sum(encoder.truncated(subject.captions[rows]) for rows in chunks)
        treated: Counter[str] = Counter()
        chunks = _chunks(len(subject.filenames), IMAGES_PER_CHUNK)
        with _bar(f"images by {name}", parts[IMAGES], chunks) as (missing, bar):
            names = [subject.filenames[rows] for rows in missing]
            for rows, prepared in zip(
                missing, _prepared(encoder, photographs, names, run.workers, treated), strict=True
            ):
                vectors = _in_batches(encoder.images, prepared, run.batch_size)
                named = [f"image '{filename}'" for filename in subject.filenames[rows]]
                parts[IMAGES].save(_name(rows), vectors=_unit(vectors, named))
                bar.advance(len(named))
        _write(out / IMAGES, parts[IMAGES], chunks)
        if treated:
            print(f"Of the photographs: {decoding.words_of(treated)}.", file=sys.stderr, flush=True)
        texts = write_texts(out, subject)
        made = {"truncated": truncated, "identity": identity, "fivesentences": fivesentences.__version__}
        folder = write_note(out, subject, {**note, **made}, texts)
        for one in parts.values():
            one.remove()
    return folder


def _chunks(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _name(rows: slice) -> str:
    return f"{rows.start:08d}"


@contextmanager
def _bar(description: str, parts: FinishedParts, chunks: Sequence[slice]) -> Iterator[tuple[list[slice], Bar]]:
    """Yield the chunks that are missing, and a bar that counts rows."""
    missing = [rows for rows in chunks if _name(rows) not in parts]
    total = chunks[-1].stop
    with Bar(description, total, total - sum(rows.stop - rows.start for rows in missing)) as bar:
        yield missing, bar


def _prepared(
    encoder: Encoder,
    photographs: Photographs,
    chunks: Sequence[Sequence[str]],
    workers: int,
    treated: Counter[str],
) -> Iterator[list[Any]]:
    """Yield the prepared images of each chunk; those of the next one are prepared while the encoder is busy."""

    def prepared(name: str) -> tuple[Any, Counter[str]]:
        counted: Counter[str] = Counter()
        return encoder.prepare(photographs.decoded(name, counted)), counted

    with ThreadPoolExecutor(workers) as pool:
        begun: deque[list[Future[tuple[Any, Counter[str]]]]] = deque()
        try:
            for place in range(len(chunks)):
                for names in chunks[place + len(begun) : place + 2]:
                    begun.append([pool.submit(prepared, name) for name in names])
                made = [future.result() for future in begun.popleft()]
                for _, counted in made:
                    treated.update(counted)
                yield [image for image, _ in made]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _write(out: Path, parts: FinishedParts, chunks: Sequence[slice]) -> None:
    """Write the vectors of all chunks as one array, whole or not at all."""
    dim = parts.load(_name(chunks[0]))["vectors"].shape[1]
    with replacing(out) as temporary, writing_npy(temporary, (chunks[-1].stop, dim), np.float32) as append:
        for rows in chunks:
            append(parts.load(_name(rows))["vectors"])


def _in_batches(
    describe: Callable[[Sequence[Any]], npt.NDArray[np.float32]], items: Sequence[Any], size: int
) -> npt.NDArray[np.float32]:
    return np.concatenate([describe(items[start : start + size]) for start in range(0, len(items), size)])


def _unit(rows: npt.NDArray[np.float32], named: Sequence[str]) -> npt.NDArray[np.float32]:
    """Scale rows to length 1.

    Raises:
        InputError: If a row is zero or not finite, so that it has no direction.
    """
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    bad = ~np.isfinite(lengths[:, 0]) | (lengths[:, 0] == 0)
    if bad.any():
        row = int(bad.argmax())
        what = "is zero" if lengths[row, 0] == 0 else "is not finite"
        raise InputError(
            f"the vector of {named[row]} {what}",
            cure="the weights are damaged, or the precision is too low: try float32",
        )
    unit: npt.NDArray[np.float32] = (rows / lengths).astype(np.float32)
    return unit
