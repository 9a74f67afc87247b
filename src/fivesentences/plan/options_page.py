"""``docs/options.md``: every model, loss and method with its options, written from their specifications."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from fivesentences.config import Hyperparameters
from fivesentences.config.documents import (
    AnyDocuments,
    CategoryScale,
    DivisionSpec,
    OtherCategorySeeds,
    SubspaceTraining,
)
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.losses import LossSpec, TripletLoss
from fivesentences.losses.scheduled_margin import ScheduledMarginSpec
from fivesentences.models import MODELS, ModelSpec
from fivesentences.models.subspaces.specs import AnyMethod

HEAD = """\
# Options of models, losses and training

Written by `fivesentences schema` from the specifications in `src/fivesentences/models` and `src/fivesentences/losses`;
do not edit it.

An editor that knows JSON schemas completes these options in `config/*.yaml`: the first line of each file names its
schema in `config/schemas`. How to add a model: [new_model.md](new_model.md), a loss:
[new_loss.md](new_loss.md). What the losses compute: [losses.md](losses.md). Words: [glossary.md](glossary.md).
"""
MODELS_HEAD = """\
## Models

A row of a study names a model, or a variant of one: `models: {scan_i2t: {name: scan, direction: i2t}}`. Options that a
variant states show in the name of its runs (`scan,direction=i2t`). Widths are set by a scale, as in
`training: {widths: {embedding: 256}}`, and do not show. In Python,
`build_model("scan", image_dim=2048, vocabulary_size=8000, direction="i2t", embedding=256)` takes both.
"""
ENCODERS_HEAD = """\
### Encoders

A model of a study may be an encoder that was trained elsewhere, `models: {clip: {encoder: open_clip:ViT-B-32/openai}}`.
Its rows have neither loss nor fraction. What it does:
[encoders.md](encoders.md#beside-trained-models-in-tables-and-figures).
"""
LOSSES_HEAD = """\
## Losses

A loss of a study is a sum: `{triplet: hardest, margin: 0.2, sam: {temperature: 10, negatives: random}}`. Tables call it
by its settings, unless the study has a label for it.
"""
TRAINING_HEAD = """\
## Training

A scale gives these under `training`, and other values for some models, losses or fractions under
`training.exceptions` (all but `threads`). A run's `run.yaml` holds them under `run.training`.
"""


METHODS_HEAD = """\
## Category retrieval

A study names methods, `methods: {sam: {method: triplets, loss: {toward: adaptive}}}`, and its rows use these names.
Options that a method states show in the name of its runs and, unless it has a label, in tables.
"""
CATEGORIES_HEAD = """\
### Documents, divisions and training

A scale has a block `categories`: which documents there are, how they are divided, which of them play the roles of a
study, and how networks are trained. In Python: `fivesentences.config.documents`.
"""


def options_page() -> str:
    """The whole page."""
    encoders = [ENCODERS_HEAD, _table(EncoderSpec, EncoderSpec.model_fields)]
    models = [MODELS_HEAD, *(_model(kind) for kind in MODELS.values()), *encoders]
    parts = [HEAD, *models, LOSSES_HEAD, *_losses(), TRAINING_HEAD]
    parts.append(_table(Hyperparameters, Hyperparameters.model_fields))
    return "\n".join([*parts, METHODS_HEAD, *_methods(), CATEGORIES_HEAD, *_categories()])


def _model(kind: type[ModelSpec]) -> str:
    reads = "one feature vector per image" if kind.layout == "global" else "several feature vectors (regions) per image"
    name = kind.model_fields["name"].default
    rows = _rows(kind, kind.settings()) + _rows(kind, kind.widths(), "width: ")
    return f"### `{name}`\n\n{_sentence(kind)} It reads {reads}.\n\n{_as_table(rows)}"


def _losses() -> list[str]:
    terms = LossSpec.optional_terms()
    plain = [name for name in LossSpec.model_fields if name not in terms]
    return [
        f"### `triplet`\n\n{_sentence(TripletLoss)}\n\n{_table(LossSpec, plain)}",
        *(f"### `{name}`\n\n{_sentence(term)}\n\n{_table(term, term.model_fields)}" for name, term in terms.items()),
    ]


def _methods() -> list[str]:
    """Every method, then the margin of triplets."""
    found = []
    for kind in _members(AnyMethod):
        name = get_args(kind.model_fields["method"].annotation)[0]
        plain = [one for one in kind.model_fields if one not in ("method", "loss")]
        loss = " The options of its `loss` follow below." if "loss" in kind.model_fields else ""
        found.append(f"### `{name}`\n\n{_sentence(kind)}{loss}\n\n{_table(kind, plain)}")
    margin = f"### `loss` of `triplets`\n\n{_sentence(ScheduledMarginSpec)}"
    return [*found, f"{margin}\n\n{_table(ScheduledMarginSpec, ScheduledMarginSpec.model_fields)}"]


def _categories() -> list[str]:
    blocks: list[tuple[str, type[BaseModel], list[str]]] = [
        ("categories", CategoryScale, ["training", "other_seeds", "documents"]),
        ("categories.other_seeds", OtherCategorySeeds, []),
        ("categories.training", SubspaceTraining, []),
        ("divisions", DivisionSpec, []),
    ]
    found = [
        _block(f"`{name}`", kind, [one for one in kind.model_fields if one not in apart])
        for name, kind, apart in blocks
    ]
    for kind in _members(AnyDocuments):
        loader = get_args(kind.model_fields["loader"].annotation)[0]
        names = [one for one in kind.model_fields if one not in ("loader", "divisions")]
        found.append(_block(f"`documents` with `loader: {loader}`", kind, names))
    return found


def _block(title: str, kind: type[BaseModel], names: Collection[str]) -> str:
    return f"#### {title}\n\n{_sentence(kind)}\n\n{_table(kind, names)}"


def _members(union: Any) -> tuple[type[BaseModel], ...]:
    """The blocks of a discriminated union, in their order."""
    members: tuple[type[BaseModel], ...] = get_args(get_args(union)[0])
    return members


def _sentence(kind: type[BaseModel]) -> str:
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split()).replace("``", "`")


def _table(kind: type[BaseModel], names: Collection[str]) -> str:
    return _as_table(_rows(kind, names))


def _as_table(rows: list[str]) -> str:
    return "\n".join(["| option | default | values | meaning |", "| --- | --- | --- | --- |", *rows, ""])


def _rows(kind: type[BaseModel], names: Collection[str], before: str = "") -> list[str]:
    schemas = kind.model_json_schema()["properties"]
    return [_row(name, kind.model_fields[name], schemas[name], before) for name in names]


def _row(name: str, field: FieldInfo, schema: dict[str, Any], before: str) -> str:
    meaning = (field.description or "").replace("|", "\\|")
    return f"| `{name}` | {value_in_words(field.default)} | {values_in_words(schema)} | {before}{meaning} |"


def value_in_words(value: Any) -> str:
    """A default or a choice, as YAML writes it."""
    if value is PydanticUndefined:
        return "needed"
    if isinstance(value, list):
        return ", ".join(map(value_in_words, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def values_in_words(schema: dict[str, Any]) -> str:
    """What a field may be, from its JSON schema."""
    if "anyOf" in schema:
        values = [values_in_words(one) for one in schema["anyOf"]]
        # What a list has may also stand alone, which "one or more" says.
        return " or ".join(one for one in values if f"one or more: {one}" not in values)
    if "enum" in schema or "const" in schema:
        return ", ".join(value_in_words(value) for value in schema.get("enum", [schema.get("const")]))
    kind = str(schema["type"])
    if kind == "array":
        few, one = schema.get("minItems"), values_in_words(schema["items"])
        return f"{few} {one}s" if few is not None and few == schema.get("maxItems") else f"one or more: {one}"
    if kind in ("integer", "number"):
        return {"integer": "whole number", "number": "number"}[kind] + _range(schema)
    if kind == "string":
        if "reattached" in schema.get("pattern", ""):
            return "name of a phi"
        return "path" if schema.get("format") == "path" else "name"
    return {"boolean": "true, false", "object": "names by name"}.get(kind, kind)


def _range(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step = f", a multiple of {schema['multipleOf']}" if "multipleOf" in schema else ""
    if above is not None:
        least = f", at most {high:g}" if high is not None else f", below {below:g}" if below is not None else ""
        return f" above {above:g}{least}{step}"
    if low is not None and high is not None:
        return f" from {low:,} to {high:,}" + step
    return ("" if low is None else f" from {low:g}") + ("" if below is None else f", below {below:g}") + step
