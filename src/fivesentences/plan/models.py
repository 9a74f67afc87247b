"""A model of a run: which one, what tells it from its variants, and how wide it is."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from fivesentences.config.types import Layout, Name, Strict, Variant, Width
from fivesentences.plan.registry import layout_of, registered_models

Share = Annotated[float, Field(ge=0, le=1)]
Option = bool | int | float | str | list[float] | None

# Which settings each model takes beside embedding and word; the others must be left out.
WORDS = {"layers", "bidirectional"}
GATED = {*WORDS, "similarity_dim", "temperature", "dropout"}
TAKES: dict[str, set[str]] = {
    "vsepp": {"layers", "measure", "normalise_images", "use_abs"},
    "scan": {
        *WORDS,
        *("direction", "aggregation", "raw_norm", "softmax_temperature", "pooling_temperature"),
        *("normalise_images", "normalise_captions", "projection"),
    },
    "vsrn": {"recipe", "captioning", "caption_hidden", "caption_word", "caption_longest", "caption_dropout"},
    "cvse": {
        *("dropout", "alpha", "test_alpha", "label_ratio", "fused_share", "loss_weights"),
        *("concepts", "glove", "labels"),
        *WORDS,
    },
    "sgr": {*GATED, "steps"},
    "saf": GATED,
}
# Settings that are read here and not by the model's class.
OF_CONCEPTS = {"concepts", "glove", "labels"}


class ModelSettings(Strict):
    """A model and the settings that tell it from its variants; null: the model's own default.

    What they mean is said by the model's class in ``fivesentences.models``. A model of one's own takes ``options``.
    """

    name: Name
    layers: Annotated[int, Field(ge=1)] | None = None
    bidirectional: bool | None = None
    measure: Literal["cosine", "order"] | None = None
    normalise_images: bool | None = None
    normalise_captions: bool | None = None
    use_abs: bool | None = None
    direction: Literal["t2i", "i2t"] | None = None
    aggregation: Literal["LogSumExp", "Mean", "Max", "Sum"] | None = None
    raw_norm: str | None = None
    softmax_temperature: Annotated[float, Field(gt=0)] | None = None
    pooling_temperature: Annotated[float, Field(gt=0)] | None = None
    projection: Literal["basic", "weight_norm"] | None = None
    recipe: Literal["flickr30k", "coco"] | None = None
    captioning: Annotated[float, Field(ge=0)] | None = None
    caption_longest: Annotated[int, Field(ge=2)] | None = None
    caption_dropout: Share | None = None
    dropout: Share | None = None
    alpha: Share | None = None
    test_alpha: Share | None = None
    label_ratio: Share | None = None
    fused_share: Share | None = None
    loss_weights: Annotated[list[float], Field(min_length=4, max_length=4)] | None = None
    labels: Variant | None = Field(
        default=None, description="concept labels at test; released: of all captions of the image, which leaks pairs"
    )
    glove: Path | None = Field(default=None, description="GloVe vectors of concepts as text; null: from counts")
    steps: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(gt=0)] | None = None
    options: dict[Name, Option] = Field(default={}, description="settings of a model that is not one of the six")

    @property
    def folder(self) -> str:
        """Readable name for a folder, such as ``scan,direction=i2t``: what is given and is no width."""
        given = {
            key: value
            for key in ModelSettings.model_fields
            if key not in ("name", "options") and (value := getattr(self, key)) is not None
        }
        return ",".join([self.name, *(f"{key}={_shown(value)}" for key, value in (given | self.options).items())])

    @property
    def layout(self) -> Layout:
        """Which features the model reads, if a scale does not say otherwise."""
        return layout_of(self.name)

    def with_widths(self, widths: Mapping[str, int]) -> ModelSpec:
        """The model with those of a scale's widths that it has."""
        has = {"embedding", "word", *TAKES.get(self.name, ())}
        return ModelSpec.model_validate(self.model_dump() | {key: widths[key] for key in widths if key in has})

    @model_serializer(mode="wrap")
    def _given(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what is left to the model: the list of what other models take would hide the rest."""
        return {key: value for key, value in serialise(self).items() if value is not None and value != {}}

    @model_validator(mode="after")
    def _known(self) -> ModelSettings:
        known = registered_models()
        if known and self.name not in known:
            close = difflib.get_close_matches(self.name, known, n=1)
            hint = f"perhaps '{close[0]}' is meant" if close else f"there are: {', '.join(known)}"
            raise ValueError(f"'{self.name}' is not a model; {hint}")
        return self

    @model_validator(mode="after")
    def _taken(self) -> ModelSettings:
        takes = TAKES.get(self.name, set()) | {"name", "embedding", "word", "options"}
        for key in type(self).model_fields:
            if key not in takes and getattr(self, key) is not None:
                raise ValueError(f"{key} has no part in the model {self.name}; leave it out")
        if self.options and self.name in TAKES:
            raise ValueError(f"options are for models of your own; write the settings of {self.name} beside its name")
        return self


class ModelSpec(ModelSettings):
    """A model of ``fivesentences.models`` with its settings and widths; widths do not show in a folder's name."""

    embedding: Width = 1024
    word: Width = 300
    similarity_dim: Width | None = None
    caption_hidden: Width | None = None
    caption_word: Width | None = None
    concepts: Width | None = Field(default=None, description="the most concepts; null: 300")

    @property
    def arguments(self) -> dict[str, Any]:
        """What the model's class is given beside the sizes that data determine."""
        apart = {"name", "options", *OF_CONCEPTS}
        given = {key: getattr(self, key) for key in type(self).model_fields if key not in apart}
        return {key: value for key, value in given.items() if value is not None} | self.options


WIDTHS = tuple(key for key in ModelSpec.model_fields if key not in ModelSettings.model_fields)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return "_".join(_shown(one) for one in value)
    return str(value).replace("/", "_")
