"""From images and captions to a folder of embeddings, in chunks from which a killed run can resume."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
from fivesentences.features.chunks import Chunks
from fivesentences.features.identity import contents_of, digest_of, fingerprint_of

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

    chunks = Chunks(out / CAPTIONS, {**note, **of_captions}, len(subject.captions), CAPTIONS_PER_CHUNK)
    _fill(
        chunks,
        f"captions by {name}",
        lambda rows: subject.captions[rows],
        lambda texts: _in_batches(encoder.captions, texts, run.batch_size),
        lambda row: f"caption {row + 1} ({subject.captions[row][:60]!r})",
    )
    truncated = sum(
        encoder.truncated(subject.captions[start : start + CAPTIONS_PER_CHUNK])
        for start in range(0, len(subject.captions), CAPTIONS_PER_CHUNK)
    )
    treated: Counter[str] = Counter()
    of_pixels = Chunks(out / IMAGES, {**note, **of_images}, len(subject.filenames), IMAGES_PER_CHUNK)
    with ThreadPoolExecutor(run.workers) as pool:
        reader = _Reader(encoder, photographs, subject.filenames, treated, pool, of_pixels)
        _fill(
            of_pixels,
            f"images by {name}",
            reader.images,
            lambda images: _in_batches(encoder.images, images, run.batch_size),
            lambda row: f"image '{subject.filenames[row]}'",
        )
    if treated:
        print(f"Of the photographs: {decoding.words_of(treated)}.", file=sys.stderr, flush=True)

    for one in (chunks, of_pixels):
        one.assemble()
    texts = write_texts(out, subject)
    made = {"truncated": truncated, "identity": identity, "fivesentences": fivesentences.__version__}
    folder = write_note(out, subject, {**note, **made}, texts)
    for one in (chunks, of_pixels):
        one.remove()
    return folder


def _fill(
    chunks: Chunks,
    description: str,
    read: Callable[[slice], Sequence[Any]],
    describe: Callable[[Sequence[Any]], npt.NDArray[np.float32]],
    named: Callable[[int], str],
) -> None:
    """Make the chunks that are missing."""
    missing = chunks.missing()
    done = chunks.rows - sum(rows.stop - rows.start for rows in map(chunks.rows_of, missing))
    with Bar(description, chunks.rows, done) as bar:
        for chunk in missing:
            rows = chunks.rows_of(chunk)
            items = read(rows)
            chunks.save(chunk, _unit(describe(items), rows.start, named))
            bar.advance(len(items))


class _Reader:
    """Prepares the images of a chunk, and those of the next one while the encoder is busy."""

    def __init__(
        self,
        encoder: Encoder,
        photographs: Photographs,
        filenames: Sequence[str],
        treated: Counter[str],
        pool: ThreadPoolExecutor,
        chunks: Chunks,
    ):
        self._encoder, self._photographs, self._filenames, self._treated = encoder, photographs, filenames, treated
        self._pool = pool
        self._left = [chunks.rows_of(chunk) for chunk in chunks.missing()]
        self._begun: list[list[Future[tuple[Any, Counter[str]]]]] = []

    def images(self, rows: slice) -> list[Any]:
        """The prepared images of the chunk whose turn it is; those of the next one are begun."""
        while self._left and len(self._begun) < 2:
            names = self._filenames[self._left.pop(0)]
            self._begun.append([self._pool.submit(self._prepared, name) for name in names])
        try:
            made = [future.result() for future in self._begun.pop(0)]
        except BaseException:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise
        assert len(made) == rows.stop - rows.start
        for _, treated in made:
            self._treated.update(treated)
        return [image for image, _ in made]

    def _prepared(self, name: str) -> tuple[Any, Counter[str]]:
        treated: Counter[str] = Counter()
        return self._encoder.prepare(self._photographs.decoded(name, treated)), treated


def _in_batches(
    describe: Callable[[Sequence[Any]], npt.NDArray[np.float32]], items: Sequence[Any], size: int
) -> npt.NDArray[np.float32]:
    return np.concatenate([describe(items[start : start + size]) for start in range(0, len(items), size)])


def _unit(rows: npt.NDArray[np.float32], first: int, named: Callable[[int], str]) -> npt.NDArray[np.float32]:
    """Rows scaled to length 1.

    Raises:
        InputError: If a row is zero or not finite, so that it has no direction.
    """
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    bad = ~np.isfinite(lengths[:, 0]) | (lengths[:, 0] == 0)
    if bad.any():
        row = int(bad.argmax())
        what = "is zero" if lengths[row, 0] == 0 else "is not finite"
        raise InputError(
            f"the vector of {named(first + row)} {what}",
            cure="the weights are damaged, or the precision is too low: try float32",
        )
    unit: npt.NDArray[np.float32] = (rows / lengths).astype(np.float32)
    return unit
