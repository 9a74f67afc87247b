"""``docs/options.md``: every model and loss with its options, written from their specifications."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fivesentences.config import Hyperparameters
from fivesentences.losses import LossSpec, TripletSpec
from fivesentences.models import MODELS, ModelSpec

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


def options_page() -> str:
    """The whole page."""
    parts = [HEAD, MODELS_HEAD, *(_model(kind) for kind in MODELS.values()), LOSSES_HEAD, *_losses(), TRAINING_HEAD]
    return "\n".join([*parts, _table(Hyperparameters, Hyperparameters.model_fields)])


def _model(kind: type[ModelSpec]) -> str:
    reads = "one feature vector per image" if kind.layout == "global" else "several feature vectors (regions) per image"
    name = kind.model_fields["name"].default
    rows = _rows(kind, kind.settings()) + _rows(kind, kind.widths(), "width: ")
    return f"### `{name}`\n\n{_sentence(kind)} It reads {reads}.\n\n{_as_table(rows)}"


def _losses() -> list[str]:
    terms = LossSpec.optional_terms()
    plain = [name for name in LossSpec.model_fields if name not in terms]
    return [
        f"### `triplet`\n\n{_sentence(TripletSpec)}\n\n{_table(LossSpec, plain)}",
        *(f"### `{name}`\n\n{_sentence(term)}\n\n{_table(term, term.model_fields)}" for name, term in terms.items()),
    ]


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
    return f"| `{name}` | {_shown(field.default)} | {_values(schema)} | {before}{meaning} |"


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _values(schema: dict[str, Any]) -> str:
    """What a field may be, from its JSON schema."""
    if "anyOf" in schema:
        return " or ".join(_values(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(_shown(value) for value in schema.get("enum", [schema.get("const")]))
    kind = str(schema["type"])
    if kind == "array":
        return f"{schema['minItems']} {_values(schema['items'])}s"
    if kind in ("integer", "number"):
        return {"integer": "whole number", "number": "number"}[kind] + _range(schema)
    return {"boolean": "true, false", "string": "name of a phi" if "pattern" in schema else "path"}.get(kind, kind)


def _range(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    step = f", a multiple of {schema['multipleOf']}" if "multipleOf" in schema else ""
    if above is not None:
        return f" above {above:g}" + ("" if high is None else f", at most {high:g}") + step
    if low is not None and high is not None:
        return f" from {low:,} to {high:,}" + step
    return ("" if low is None else f" from {low:g}") + step
