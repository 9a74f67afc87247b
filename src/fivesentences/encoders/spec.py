"""A dual encoder as a row of tables: what a study says of it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from fivesentences.config.types import Count, Precision, Sha256, Strict
from fivesentences.encoders.naming import PLACE, parse_encoder
from fivesentences.errors import InputError


class EncoderSpec(Strict):
    """A model of images and captions that is not trained here: ``clip: {encoder: open_clip:ViT-B-32/openai}``."""

    encoder: str = Field(description="library and model, as `fivesentences embed` takes them")
    prompt: str = Field(default=PLACE, description="what every caption is put into, such as `a photo of {}`")
    max_length: Count | None = Field(default=None, ge=3, description="tokens of a caption that are read; null: all")
    precision: Precision = Field(default="float32", description="what the network computes in")
    revision: str | None = Field(default=None, description="branch, tag or commit of a repository of the Hub")
    sha256: Sha256 | None = Field(default=None, description="of the weights; others are refused")
    batch_size: Count = Field(default=32, description="images or captions per forward pass")

    @property
    def title(self) -> str:
        """What tables call it: the model as its library does."""
        return self.encoder.partition(":")[2]

    @property
    def is_local(self) -> bool:
        """Whether its weights are files of the user, so that nothing needs to be fetched."""
        name = parse_encoder(self.encoder)
        return Path(name.model).is_dir() or (name.weights is not None and Path(name.weights).is_file())

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
