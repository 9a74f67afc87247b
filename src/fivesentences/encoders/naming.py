"""Names of dual encoders: a library, a model, and its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from fivesentences.errors import InputError, did_you_mean

PLACE = "{}"  # of the caption in a prompt
Library = Literal["open_clip", "transformers", "sentence_transformers"]
# How people write them elsewhere.
_ALIASES = {"openclip": "open_clip", "open-clip": "open_clip", "hf": "transformers", "huggingface": "transformers",
            "sentence-transformers": "sentence_transformers", "st": "sentence_transformers"}  # fmt: skip
# What open_clip itself sets before a model that is not one of its own architectures.
IN_HUB, IN_FOLDER = "hf-hub:", "local-dir:"
EXAMPLES = (
    "open_clip:ViT-B-32/laion2b_s34b_b79k, transformers:openai/clip-vit-base-patch32 or "
    "sentence_transformers:clip-ViT-B-32"
)


@dataclass(frozen=True)
class EncoderName:
    """Which encoder is meant.

    Attributes:
        library: That loads it.
        model: An architecture of open_clip, or a repository of the Hugging Face Hub, or a local folder.
        weights: Of an architecture: a tag of open_clip, or a local checkpoint file; else None.
        is_architecture: Whether ``model`` is an architecture of open_clip rather than a repository or folder.
    """

    library: Library
    model: str
    weights: str | None = None
    is_architecture: bool = False

    def __str__(self) -> str:
        return f"{self.library}:{self.model}" + (f"/{self.weights}" if self.weights else "")


def parse_encoder(text: str) -> EncoderName:
    """An encoder by what somebody typed, such as ``open_clip:ViT-B-32/laion2b_s34b_b79k``.

    ``open_clip:MODEL/PRETRAINED`` takes a tag of open_clip or the path of a checkpoint; ``open_clip:hf-hub:ORG/NAME``
    and ``open_clip:local-dir:FOLDER`` name a model with its configuration. ``transformers:`` and
    ``sentence_transformers:`` take a repository of the Hugging Face Hub or a local folder.

    Raises:
        InputError: If it is no such name.
    """
    library, colon, model = text.partition(":")
    library = _ALIASES.get(library.lower(), library)
    if library not in get_args(Library):
        hint = did_you_mean(library, get_args(Library)) if colon else None
        raise InputError(f"encoder '{text}' names no library; write, for example, {hint or EXAMPLES}".rstrip(".") + ".")
    if not model:
        raise InputError(f"encoder '{text}' names no model; write, for example, {EXAMPLES}.")
    if library == "open_clip" and not model.startswith((IN_HUB, IN_FOLDER)):
        architecture, slash, weights = model.partition("/")
        if not slash or not weights or not architecture:
            raise InputError(
                f"encoder '{text}' names no weights, without which open_clip's models are random",
                cure="write open_clip:MODEL/PRETRAINED, with a tag of open_clip or the path of a checkpoint",
            )
        return EncoderName("open_clip", architecture, weights, is_architecture=True)
    if library == "open_clip":
        model = model.removeprefix(IN_HUB).removeprefix(IN_FOLDER)
    model = str(Path(model)) if Path(model).is_dir() else model
    return EncoderName(library, model)  # type: ignore[arg-type]
