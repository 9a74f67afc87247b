"""The dual encoder that a command names, and how it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import Field, field_validator

from fivesentences.config.types import Count, Precision, Sha256, Strict
from fivesentences.errors import InputError, did_you_mean

PLACE = "{}"  # of the caption in a prompt
Library = Literal["open_clip", "transformers", "sentence_transformers"]
_ALIASES = {"openclip": "open_clip", "open-clip": "open_clip", "hf": "transformers", "huggingface": "transformers",
            "sentence-transformers": "sentence_transformers", "st": "sentence_transformers"}  # fmt: skip
# How open_clip marks a model that is not one of its own architectures.
IN_HUB, IN_FOLDER = "hf-hub:", "local-dir:"
EXAMPLES = (
    "open_clip:ViT-B-32/laion2b_s34b_b79k, transformers:openai/clip-vit-base-patch32 or "
    "sentence_transformers:clip-ViT-B-32"
)


class EncoderName(NamedTuple):
    """A library and its model.

    Attributes:
        library: The library that loads the model.
        model: A repository of the Hugging Face Hub, a local folder, or an architecture of open_clip.
        weights: A tag of open_clip or a checkpoint file, if ``model`` is an architecture; else None.
    """

    library: Library
    model: str
    weights: str | None = None


def parse_encoder(text: str) -> EncoderName:
    """Parse the name of an encoder, such as ``open_clip:ViT-B-32/laion2b_s34b_b79k``.

    ``open_clip:MODEL/PRETRAINED`` takes a tag of open_clip or the path of a checkpoint; ``open_clip:hf-hub:ORG/NAME``
    and ``open_clip:local-dir:FOLDER`` name a model with its configuration. ``transformers:`` and
    ``sentence_transformers:`` take a repository of the Hugging Face Hub or a local folder.

    Raises:
        InputError: If the library is unknown, or the model or open_clip's weights are missing.
    """
    library, colon, model = text.partition(":")
    library = _ALIASES.get(library.lower(), library)
    if library not in get_args(Library) or not model:
        lacks = "model" if library in get_args(Library) else "library"
        hint = did_you_mean(library, get_args(Library)) if colon and lacks == "library" else None
        raise InputError(f"encoder '{text}' names no {lacks}", cure=hint or f"write, for example, {EXAMPLES}")
    if library == "open_clip" and not model.startswith((IN_HUB, IN_FOLDER)):
        architecture, _, weights = model.partition("/")
        if not weights or not architecture:
            raise InputError(
                f"encoder '{text}' names no weights, without which open_clip's models are random",
                cure="write open_clip:MODEL/PRETRAINED, with a tag of open_clip or the path of a checkpoint",
            )
        return EncoderName("open_clip", architecture, weights)
    if library == "open_clip":
        model = model.removeprefix(IN_HUB).removeprefix(IN_FOLDER)
    return EncoderName(library, str(Path(model)) if Path(model).is_dir() else model)  # type: ignore[arg-type]


class EncoderSpec(Strict):
    """A model of images and captions that is not trained here, such as ``open_clip:ViT-B-32/openai``."""

    encoder: str = Field(description="library and model, as `fivesentences embed` takes them")
    prompt: str = Field(default=PLACE, description="what every caption is put into, such as `a photo of {}`")
    max_length: Count | None = Field(default=None, ge=3, description="tokens of a caption that are read; null: all")
    precision: Precision = Field(default="float32", description="what the network computes in")
    revision: str | None = Field(default=None, description="branch, tag or commit of a repository of the Hub")
    sha256: Sha256 | None = Field(default=None, description="of the weights; others are refused")
    batch_size: Count = Field(default=32, description="images or captions per forward pass")

    @property
    def name(self) -> EncoderName:
        """Library, model and weights."""
        return parse_encoder(self.encoder)

    @field_validator("encoder")
    @classmethod
    def _is_known(cls, text: str) -> str:
        try:
            parse_encoder(text)
        except InputError as error:
            raise ValueError(str(error).removesuffix(".")) from None
        return text

    @field_validator("prompt")
    @classmethod
    def _has_one_place(cls, text: str) -> str:
        if text.count(PLACE) != 1:
            raise ValueError(f"it has {text.count(PLACE)} places for a caption; write {PLACE} once")
        return text
