"""A folder of embeddings: vectors of images and captions, and a note of what they are and how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from fivesentences.arrays import read_npy
from fivesentences.documents import check_file, read_formatted
from fivesentences.errors import InputError
from fivesentences.semantics.caption_file import read_texts
from fivesentences.semantics.phi_file import captions_sha256
from fivesentences.storage import inside, sha256_of

FORMAT = "fivesentences.embeddings 1"
NOTE, IMAGES, CAPTIONS, PAIRING = "embed.json", "images.npy", "captions.npy", "image_of_caption.txt"
CURE = "this is not the note of embeddings that this version reads; embed again."


class Note(BaseModel, strict=True):
    """The part of ``embed.json`` that is read; the rest is for people."""

    model: str
    encoder: dict[str, Any] = {}
    captions_file: str
    captions_sha256: str
    image_of_caption_sha256: str
    image_ids: list[str]
    captions: int
    dim: int
    truncated: int | None
    files: dict[str, str]
    texts: str
    dataset: str | None
    split: str | None
    identity: str


@dataclass(frozen=True)
class EmbeddingFolder:
    """Embeddings that ``embed`` wrote.

    Attributes:
        path: The folder.
        note: The content of ``embed.json``.
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
        file = path / NOTE
        if path.is_dir() and not file.exists():
            what = f"this is a folder without {NOTE}, so it holds no (finished) embeddings"
            raise InputError(what, where=path, cure="make them with 'fivesentences embed'")
        note = read_formatted(file, FORMAT, CURE)
        try:
            Note.model_validate(note)
        except ValidationError:
            raise InputError(CURE, where=file) from None
        folder = cls(path, note)
        for name in (IMAGES, CAPTIONS, PAIRING, note["texts"]):
            beside = inside(path, name)
            check_file(beside, "embed again")
            if note["files"].get(name) != sha256_of(beside):
                what = f"it is not the file of which {NOTE} beside it speaks"
                raise InputError(what, where=beside, cure="embed again")
        for name, rows in ((IMAGES, len(note["image_ids"])), (CAPTIONS, note["captions"])):
            if (shape := read_npy(path / name, "embed again").shape) != (rows, note["dim"]):
                what = f"it is {list(shape)}, but {NOTE} says [{rows}, {note['dim']}]"
                raise InputError(what, where=path / name, cure="embed again")
        if captions_sha256(folder.texts()) != note["captions_sha256"]:
            what = f"these are not the captions of which {NOTE} speaks"
            raise InputError(what, where=folder.captions, cure="embed again")
        return folder

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
        """The captions, one per line."""
        return inside(self.path, self.note["texts"])

    @property
    def image_of_caption(self) -> Path:
        """Index of each caption's image, one per line."""
        return self.path / PAIRING

    def texts(self) -> list[str]:
        """Read the captions, without the prompt."""
        return read_texts(self.captions)

    @property
    def subject(self) -> str:
        """Which captions were embedded, in words."""
        note = self.note
        of = "".join(f"{word}, " for word in ["/".join(filter(None, (note["dataset"], note["split"])))] if word)
        return (
            f"{of}{note['captions']:,} captions of {len(note['image_ids']):,} images from {note['captions_file']} "
            f"(SHA-256 {note['captions_sha256'][:12]}){'' if note['split'] else '; their split is not known'}"
        )

    def sentences(self) -> list[str]:
        """Say how the vectors were made, for the notes below a table."""
        note = self.note
        encoder, prompt = note.get("encoder", {}), note.get("prompt", "{}")
        weights = str(encoder.get("weights_sha256") or "")[:12]
        how = [note["model"], weights and f"weights {weights}", note.get("precision")]
        how.append("" if prompt == "{}" else f"prompt '{prompt}'")
        said = [f"{self.path}: {', '.join(filter(None, how))}; scored on {self.subject}."]
        if note["truncated"]:
            said.append(
                f"{self.path}: {note['truncated']:,} captions are longer than the {encoder.get('max_length')} tokens "
                "that the model reads, and were cut."
            )
        return said

    def check_captions(self, captions: Sequence[str], where: Path) -> None:
        """Refuse other captions than those that were embedded.

        Raises:
            InputError: If they differ; how many there are on both sides, and the first that differs.
        """
        if captions_sha256(captions) == self.note["captions_sha256"]:
            return
        pairs = enumerate(zip(self.texts(), captions, strict=False), start=1)
        place = next((line for line, (own, given) in pairs if own != given), None)
        differs = "" if place is None else f"; the first that differs is in line {place}"
        raise InputError(
            f"these {len(captions):,} captions are not those that {self.path} embeds ({self.subject}){differs}",
            where=where,
            cure=f"give {self.captions}, or embed these",
        )

    def check_same(self, other: EmbeddingFolder) -> None:
        """Refuse to put two models into one table that were scored on other captions or images.

        Raises:
            InputError: If the splits are known and differ, or the captions, their images or the images do.
        """
        mine, theirs = self.note, other.note
        differ = {
            "splits": None not in (mine["split"], theirs["split"]) and mine["split"] != theirs["split"],
            "captions": mine["captions_sha256"] != theirs["captions_sha256"],
            "images of the captions": mine["image_of_caption_sha256"] != theirs["image_of_caption_sha256"],
            "images": mine["image_ids"] != theirs["image_ids"],
        }
        if what := next((name for name, does in differ.items() if does), None):
            raise InputError(
                f"{self.path} and {other.path} have other {what}: {self.subject}, and {other.subject}",
                cure="embed the same captions with both models",
            )
