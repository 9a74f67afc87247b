"""From images and captions to a folder of embeddings, in chunks from which a killed run can resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import fivesentences
from fivesentences.console import Bar
from fivesentences.corpus import Photographs, decoding
from fivesentences.encoders.folder import CAPTIONS, FORMAT, IMAGES, NOTE, PAIRING, EmbeddingFolder
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.encoders.subject import CaptionedImages
from fivesentences.errors import InputError, need
from fivesentences.features.files import writing_npy
from fivesentences.features.unfinished import FinishedParts, contents_of, digest_of, fingerprint_of
from fivesentences.semantics.phi_file import captions_sha256, pairing_sha256
from fivesentences.storage import replacing, sha256_of, write_json, write_lines

if TYPE_CHECKING:
    from fivesentences.encoders.encoder import Encoder

# Rows: what a killed run loses at most, and how often the bar moves.
IMAGES_PER_CHUNK, CAPTIONS_PER_CHUNK = 64, 512
Vectors = npt.NDArray[np.float32]


def load_encoder(spec: EncoderSpec, device: str = "cpu") -> Encoder:
    """Load an encoder; nothing that a model brings along is run.

    Weights are read from safetensors, or by ``torch.load`` with ``weights_only``; ``trust_remote_code`` is never set.

    Args:
        spec: Which one, and how it is run.
        device: ``cpu`` or ``cuda``.

    Raises:
        InputError: If its library is not installed, it cannot be found or loaded, is no dual encoder, or has other
            weights than ``spec.sha256``.
    """
    library = spec.name.library
    need(library, "encoders", f"an encoder of {library}")
    made: type[Encoder]
    if library == "open_clip":
        from fivesentences.encoders.of_open_clip import OpenClipEncoder as made
    elif library == "transformers":
        from fivesentences.encoders.of_transformers import TransformersEncoder as made
    else:
        from fivesentences.encoders.of_sentence_transformers import SentenceTransformersEncoder as made
    encoder = made(spec, device)
    if spec.sha256 not in (None, found := encoder.facts["weights_sha256"]):
        raise InputError(f"the SHA-256 of the weights of {spec.encoder} is {found}, not {spec.sha256}.")
    encoder.check()
    return encoder


def embed(
    encoder: Encoder, subject: CaptionedImages, photographs: Photographs, out: Path, workers: int = 2
) -> EmbeddingFolder:
    """Embed images and captions, and write a folder of vectors with a note.

    The folder gets ``images.npy`` and ``captions.npy`` (float32, rows of length 1), ``captions.txt`` (``.json`` if a
    caption has a line break), ``image_of_caption.txt`` and, last, ``embed.json``. A call after a kill resumes from
    finished chunks; a call after the end finds that there is nothing to do.

    Args:
        encoder: The encoder; the last digits of the vectors depend on its batch size.
        subject: Images and captions to be embedded.
        photographs: Where the images are.
        out: The folder.
        workers: Threads that read and decode images.

    Raises:
        InputError: If an image is missing or cannot be decoded (it is named), a vector is zero or not finite, or the
            folder holds embeddings of something else.
    """
    subject.check(photographs)
    spec, captions, names = encoder.spec, subject.captions, subject.filenames
    note: dict[str, Any] = {
        "model": spec.encoder,
        "encoder": encoder.facts,
        "prompt": spec.prompt,
        "precision": spec.precision,
        "device": encoder.device,
        "batch_size": spec.batch_size,
        "decoding": decoding.VERSION,
        "normalised": True,
    }
    of_captions = {"captions": digest_of((caption,) for caption in captions)}
    of_images = {
        "images": digest_of(zip(subject.image_ids, names, strict=True)),
        "photographs": digest_of(contents_of(photographs)),
    }
    pairing = {"image_of_caption": subject.image_of_caption.tolist(), "split": [subject.dataset, subject.split]}
    identity = fingerprint_of({**note, **of_captions, **of_images, **pairing})
    if (out / NOTE).is_file():
        there = EmbeddingFolder.open(out)
        if there.note["identity"] == identity:
            for name in (CAPTIONS, IMAGES):
                FinishedParts.clear(out / name)  # of a process killed at its very end
            return there
        what = f"it holds embeddings of something else ({there.note['model']}, {there.subject}), or made otherwise"
        raise InputError(what, where=out, cure="name another folder")
    if out.exists() and not out.is_dir():
        raise InputError("it is a file; embeddings are written into a folder.", where=out)
    out.mkdir(parents=True, exist_ok=True)

    def chunk_of_captions(missing: list[slice]) -> Iterator[Vectors]:
        return (_in_batches(encoder.captions, captions[rows], spec.batch_size) for rows in missing)

    def chunk_of_images(missing: list[slice]) -> Iterator[Vectors]:
        wanted = [name for rows in missing for name in names[rows]]
        prepared = photographs.decoded_ahead(wanted, encoder.prepare, workers, IMAGES_PER_CHUNK)
        for rows in missing:
            some = list(islice(prepared, len(names[rows])))
            if corrupt := [one for one in some if isinstance(one, InputError)]:
                raise corrupt[0]
            yield _in_batches(encoder.images, some, spec.batch_size)

    shown = [f"caption {number} ({caption[:60]!r})" for number, caption in enumerate(captions, start=1)]
    with (
        FinishedParts(out / CAPTIONS, {**note, **of_captions}) as parts,
        FinishedParts(out / IMAGES, {**note, **of_images}) as more_parts,
    ):
        _write(out / CAPTIONS, parts, shown, CAPTIONS_PER_CHUNK, chunk_of_captions, f"captions by {spec.encoder}")
        shown = [f"image '{name}'" for name in names]
        dim = _write(out / IMAGES, more_parts, shown, IMAGES_PER_CHUNK, chunk_of_images, f"images by {spec.encoder}")
        texts = "captions.json" if any("\n" in text or "\r" in text for text in captions) else "captions.txt"
        (write_json if texts.endswith("json") else write_lines)(out / texts, captions)
        write_lines(out / PAIRING, subject.image_of_caption.tolist())
        note |= {
            "format": FORMAT,
            "dataset": subject.dataset,
            "split": subject.split,
            "captions_file": subject.file,
            "captions": len(captions),
            "captions_sha256": captions_sha256(captions),
            "image_of_caption_sha256": pairing_sha256(subject.image_of_caption),
            "image_ids": subject.image_ids,
            "filenames": names,
            "texts": texts,
            "dim": dim,
            "dtype": "float32",
            "similarity": "cosine",
            "files": {name: sha256_of(out / name) for name in (IMAGES, CAPTIONS, PAIRING, texts)},
            "truncated": sum(encoder.truncated(captions[rows]) for rows in _chunks(len(captions), CAPTIONS_PER_CHUNK)),
            "identity": identity,
            "fivesentences": fivesentences.__version__,
        }
        write_json(out / NOTE, note)
        parts.remove()
        more_parts.remove()
    return EmbeddingFolder(out, note)


def _chunks(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _write(
    out: Path,
    parts: FinishedParts,
    shown: Sequence[str],
    size: int,
    computed: Callable[[list[slice]], Iterator[Vectors]],
    title: str,
) -> int:
    """Compute the chunks that are missing, and write the vectors of all as one array; return their dimensions."""
    chunks = {f"{rows.start:08d}": rows for rows in _chunks(len(shown), size)}
    missing = {name: rows for name, rows in chunks.items() if name not in parts}
    with Bar(title, len(shown), len(shown) - sum(len(shown[rows]) for rows in missing.values())) as bar:
        for (name, rows), vectors in zip(missing.items(), computed(list(missing.values())), strict=True):
            parts.save(name, vectors=_unit(vectors, shown[rows]))
            bar.advance(len(vectors))
    dim = int(parts.load(next(iter(chunks)))["vectors"].shape[1])
    with replacing(out) as temporary, writing_npy(temporary, (len(shown), dim), np.float32) as append:
        for name in chunks:
            append(parts.load(name)["vectors"])
    return dim


def _in_batches(describe: Callable[[Sequence[Any]], Vectors], items: Sequence[Any], size: int) -> Vectors:
    return np.concatenate([describe(items[start : start + size]) for start in range(0, len(items), size)])


def _unit(rows: Vectors, shown: Sequence[str]) -> Vectors:
    """Scale rows to length 1.

    Raises:
        InputError: If a row is zero or not finite, so that it has no direction.
    """
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    bad = ~np.isfinite(lengths[:, 0]) | (lengths[:, 0] == 0)
    if bad.any():
        row = int(bad.argmax())
        what = "is zero" if lengths[row, 0] == 0 else "is not finite"
        cure = "the weights are damaged, or the precision is too low: try float32"
        raise InputError(f"the vector of {shown[row]} {what}", cure=cure)
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit
