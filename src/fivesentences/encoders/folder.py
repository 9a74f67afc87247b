"""A folder of embeddings: vectors of images and captions, and a note of what they are and how they were made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.documents import check_file, read_formatted
from fivesentences.errors import InputError
from fivesentences.semantics.caption_file import read_captions
from fivesentences.semantics.phi_file import captions_sha256, pairing_sha256
from fivesentences.storage import inside, replacing, sha256_of, write_json, write_lines

if TYPE_CHECKING:
    from fivesentences.encoders.subject import CaptionedImages

FORMAT = "fivesentences.embeddings 1"
NOTE, IMAGES, CAPTIONS, PAIRING = "embed.json", "images.npy", "captions.npy", "image_of_caption.txt"
_ARRAYS = (IMAGES, CAPTIONS)
_NEEDED = {
    "model": str, "captions_file": str, "captions_sha256": str, "image_of_caption_sha256": str, "image_ids": list,
    "captions": int, "dim": int, "truncated": int | None, "files": dict, "texts": str, "dataset": str | None,
    "split": str | None, "identity": str,
}  # fmt: skip


@dataclass(frozen=True)
class EmbeddingFolder:
    """Embeddings that ``embed`` wrote.

    Attributes:
        path: The folder.
        note: What ``embed.json`` says.
    """

    path: Path
    note: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> EmbeddingFolder:
        """Read the note of a folder and check that it is about the files beside it.

        Raises:
            InputError: If a file is missing, damaged, or not the one that the note was written for.
        """
        path = Path(path)
        note = read_note(path)
        for name in (*_ARRAYS, PAIRING, note["texts"]):
            beside = inside(path, name)
            check_file(beside, "embed again")
            if note["files"].get(name) != sha256_of(beside):
                raise InputError(
                    f"it is not the file of which {NOTE} beside it speaks", where=beside, cure="embed again"
                )
        folder = cls(path, note)
        rows = {IMAGES: len(note["image_ids"]), CAPTIONS: note["captions"]}
        for name in _ARRAYS:
            array = read_npy(path / name, "embed again")
            if array.shape != (rows[name], note["dim"]):
                raise InputError(
                    f"it is {list(array.shape)}, but {NOTE} says [{rows[name]}, {note['dim']}]; embed again.",
                    where=path / name,
                )
        if captions_sha256(folder.texts()) != note["captions_sha256"]:
            raise InputError(f"these are not the captions of which {NOTE} speaks; embed again.", where=folder.captions)
        return folder

    @classmethod
    def already(cls, path: Path, identity: str) -> EmbeddingFolder | None:
        """The folder if it holds these embeddings already; None if it holds none.

        Raises:
            InputError: If it holds embeddings of something else, or is damaged.
        """
        if not is_embedding_folder(path):
            return None
        found = cls.open(path)
        if found.note["identity"] == identity:
            return found
        raise InputError(
            f"it holds embeddings of something else ({found.note['model']}, {found.subject}), or made otherwise",
            where=path,
            cure="name another folder, or remove it",
        )

    @property
    def images(self) -> Path:
        """``[images, dim]`` float32, each of length 1."""
        return self.path / IMAGES

    @property
    def vectors(self) -> Path:
        """``[captions, dim]`` float32, each of length 1."""
        return self.path / CAPTIONS

    @property
    def captions(self) -> Path:
        """The captions, as ``read_captions`` reads them."""
        return inside(self.path, str(self.note["texts"]))

    @property
    def image_of_caption(self) -> Path:
        """Index of each caption's image, one per line."""
        return self.path / PAIRING

    def texts(self) -> list[str]:
        """The captions, without the prompt."""
        return read_captions(self.captions)

    @property
    def subject(self) -> str:
        """Which captions were embedded, in words."""
        note = self.note
        of = "/".join(word for word in (note["dataset"], note["split"]) if word)
        of = f"{of}, " if of else ""
        split = "" if note["split"] else "; their split is not known"
        return (
            f"{of}{note['captions']:,} captions of {len(note['image_ids']):,} images from {note['captions_file']} "
            f"(SHA-256 {note['captions_sha256'][:12]}){split}"
        )

    def sentences(self) -> list[str]:
        """How the vectors were made, for the notes below a table."""
        note = self.note
        encoder = note.get("encoder", {})
        weights = str(encoder.get("weights_sha256") or "")
        said = [f"{self.path}: {note['model']}"]
        if weights:
            said[0] += f", weights {weights[:12]}"
        if note.get("precision"):
            said[0] += f", {note['precision']}"
        if note.get("prompt", "{}") != "{}":
            said[0] += f", prompt '{note['prompt']}'"
        said[0] += f"; scored on {self.subject}."
        if note["truncated"]:
            length = encoder.get("max_length")
            said.append(
                f"{self.path}: {note['truncated']:,} captions are longer than the {length} tokens that the model "
                "reads, and were cut."
            )
        return said

    def check_captions(self, captions: Sequence[str], where: Path) -> None:
        """Refuse other captions than those that were embedded.

        Raises:
            InputError: If they differ; how many there are on both sides, and the first that differs.
        """
        if captions_sha256(captions) == self.note["captions_sha256"]:
            return
        own = self.texts()
        place = next((at for at, pair in enumerate(zip(own, captions, strict=False)) if pair[0] != pair[1]), None)
        differs = "" if place is None else f"; the first that differs is in line {place + 1}"
        raise InputError(
            f"these {len(captions):,} captions are not those that {self.path} embeds ({self.subject}){differs}",
            where=where,
            cure=f"give {self.captions}, or embed these",
        )

    def check_same(self, other: EmbeddingFolder) -> None:
        """Refuse to put two models into one table that were scored on other captions or images.

        Raises:
            InputError: What differs.
        """
        for key, what in (
            ("split", "splits"),
            ("captions_sha256", "captions"),
            ("image_of_caption_sha256", "images of the captions"),
            ("image_ids", "images"),
        ):
            mine, theirs = self.note[key], other.note[key]
            if mine == theirs or (key == "split" and None in (mine, theirs)):
                continue
            raise InputError(
                f"{self.path} and {other.path} have other {what}: {self.subject}, and {other.subject}",
                cure="embed the same captions with both models",
            )


def read_note(path: Path) -> dict[str, Any]:
    """The note of a folder, with everything that is read from it.

    Raises:
        InputError: If it is missing, or is no such note.
    """
    file = path / NOTE
    if path.is_dir() and not file.exists():
        raise InputError(
            f"this is a folder without {NOTE}, so it holds no (finished) embeddings",
            where=path,
            cure="make them with 'fivesentences embed'",
        )
    cure = "this is not the note of embeddings that this version reads; embed again."
    note = read_formatted(file, FORMAT, cure)
    for key, kind in _NEEDED.items():
        if key not in note or not isinstance(note[key], kind) or isinstance(note[key], bool):
            raise InputError(f"{file}: {cure}")
    texts = all(isinstance(name, str) for name in (*note["image_ids"], *note["files"], *note["files"].values()))
    if not texts or not isinstance(note.get("encoder", {}), dict):
        raise InputError(f"{file}: {cure}")
    return note


def is_embedding_folder(path: Path | str) -> bool:
    """Whether a path is a folder of embeddings, finished or not."""
    return Path(path).is_dir() and (Path(path) / NOTE).is_file()


def write_texts(path: Path, subject: CaptionedImages) -> str:
    """Write the captions and whose they are; the name of the file of captions."""
    lines = not any("\n" in caption or "\r" in caption for caption in subject.captions)
    name = "captions.txt" if lines else "captions.json"  # a caption with a line break needs the latter
    if lines:
        write_lines(path / name, subject.captions)
    else:
        with replacing(path / name) as temporary:
            temporary.write_text(json.dumps(subject.captions) + "\n", encoding="utf-8")
    write_lines(path / PAIRING, subject.image_of_caption.tolist())
    return name


def write_note(path: Path, subject: CaptionedImages, content: Mapping[str, Any], texts: str) -> EmbeddingFolder:
    """Write the note of a folder whose arrays and texts are complete; until then it counts as unfinished."""
    images: NDArray[Any] = read_npy(path / IMAGES)
    note = {
        "format": FORMAT,
        "dataset": subject.dataset,
        "split": subject.split,
        "captions_file": subject.file,
        "captions": len(subject.captions),
        "captions_sha256": captions_sha256(subject.captions),
        "image_of_caption_sha256": pairing_sha256(subject.image_of_caption),
        "image_ids": subject.image_ids,
        "filenames": subject.filenames,
        "texts": texts,
        "dim": int(images.shape[1]),
        "dtype": str(np.dtype(np.float32)),
        "similarity": "cosine",
        "files": {name: sha256_of(path / name) for name in (*_ARRAYS, PAIRING, texts)},
        **content,
    }
    write_json(path / NOTE, note)
    return EmbeddingFolder(path, note)
