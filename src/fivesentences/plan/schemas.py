"""JSON schemas of the configuration files, from which an editor completes and checks them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter

from fivesentences.config import Catalogue, Scale
from fivesentences.config.cluster import Cluster
from fivesentences.models import MODELS
from fivesentences.plan.runs import RunFile, RunSpec
from fivesentences.study.claims import Claims
from fivesentences.study.study import Study

Schema = dict[str, Any]


def schema_texts(study: type[Study]) -> dict[str, str]:
    """Every schema as it is written, by the name of its file: ``scale.json``, ``study.json`` ...

    Args:
        study: The class that studies are read into; it knows the kinds of tables and figures.
    """
    blocks: dict[str, Any] = {
        **{"scale": Scale, "study": study, "datasets": Catalogue, "run": RunFile | RunSpec},
        "cluster": Cluster,
        "claims": Claims,
    }
    return {
        f"{kind}.json": json.dumps(schema_of(kind, block), indent=1, ensure_ascii=False) + "\n"
        for kind, block in blocks.items()
    }


def schema_of(kind: str, block: Any) -> Schema:
    """The JSON schema of a kind of file, from the block or union of blocks that it is read into."""
    schema: Schema = _without_titles(TypeAdapter(block).json_schema())
    schema = _edited(_edited(schema, _known_widths), _known_models)
    if kind == "scale":
        schema = _extending(schema)
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": kind} | schema


def _without_titles(schema: Any) -> Any:
    """Without the titles that pydantic makes of every name."""
    if isinstance(schema, list):
        return [_without_titles(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)
    }


def _edited(schema: Any, edit: Callable[[str, Schema], Schema]) -> Any:
    """Every property, by its name, as ``edit`` has it."""
    if isinstance(schema, list):
        return [_edited(one, edit) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _edited(value, edit) for key, value in schema.items()}
    if isinstance(found.get("properties"), dict):
        found["properties"] = {name: edit(name, value) for name, value in found["properties"].items()}
    return found


def _known_widths(name: str, schema: Schema) -> Schema:
    """``widths`` may name the widths of the registered models alone."""
    patterns = schema.get("patternProperties")
    if name != "widths" or patterns is None:
        return schema
    widths: dict[str, list[str]] = {}
    for model, kind in MODELS.items():
        for width in kind.widths():
            widths.setdefault(width, []).append(model)
    (of_width,) = patterns.values()
    properties = {width: of_width | {"description": f"of {', '.join(models)}"} for width, models in widths.items()}
    others = {key: value for key, value in schema.items() if key != "patternProperties"}
    return others | {"properties": properties, "additionalProperties": False}


def _known_models(name: str, schema: Schema) -> Schema:
    """``model`` suggests the registered models beside a study's own names."""
    if name != "model" or "anyOf" not in schema:
        return schema
    suggested = {"enum": list(MODELS)}

    def with_names(one: Schema) -> Schema:
        return one | {"items": {"anyOf": [suggested, one["items"]]}} if one.get("type") == "array" else one

    return schema | {"anyOf": [suggested, *map(with_names, schema["anyOf"])]}


def _extending(schema: Schema) -> Schema:
    """A scale that extends another needs no key but that one, and may remove keys by null."""
    extends = {"type": "string", "description": "a scale that this one extends: null removes one of its keys"}
    training = schema["$defs"]["TrainingScale"]
    training["properties"] = {name: _or_null(one) for name, one in training["properties"].items()}
    more = {"description": "added to those of the scale that this one extends; of equal settings the last counts"}
    training["properties"]["exceptions+"] = schema["$defs"]["TrainingScale"]["properties"]["exceptions"] | more
    properties = {name: _or_null(one) for name, one in schema["properties"].items()}
    needed = {"if": {"required": ["extends"]}, "then": {}, "else": {"required": schema["required"]}}
    others = {key: value for key, value in schema.items() if key != "required"}
    return others | {"properties": {"extends": extends} | properties} | needed


def _or_null(schema: Schema) -> Schema:
    kept = {key: schema[key] for key in ("default", "description") if key in schema}
    return kept | {"anyOf": [{key: value for key, value in schema.items() if key not in kept}, {"type": "null"}]}
