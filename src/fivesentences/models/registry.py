"""The models that there are, one line each, by their specifications; importing this does not import torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, SerializeAsAny

from fivesentences.config.reading import check
from fivesentences.errors import InputError, did_you_mean
from fivesentences.models.cvse_spec import CVSESpec
from fivesentences.models.saf_spec import SAFSpec
from fivesentences.models.scan_spec import SCANSpec
from fivesentences.models.sgr_spec import SGRSpec
from fivesentences.models.spec import ModelSpec
from fivesentences.models.vsepp_spec import VSEPPSpec
from fivesentences.models.vsrn_spec import VSRNSpec

#: The specification of every model, by name.
MODELS: dict[str, type[ModelSpec]] = {
    "vsepp": VSEPPSpec,
    "scan": SCANSpec,
    "sgr": SGRSpec,
    "saf": SAFSpec,
    "vsrn": VSRNSpec,
    "cvse": CVSESpec,
}


def spec_class(name: str) -> type[ModelSpec]:
    """The specification of a model.

    Raises:
        InputError: If there is no model of that name.
    """
    if name not in MODELS:
        hint = did_you_mean(name, MODELS) or f"there are: {', '.join(MODELS)}."
        raise InputError(f"'{name}' is not a model; {hint}")
    return MODELS[name]


def model_spec(name: str, **settings: Any) -> ModelSpec:
    """A model with some settings and widths; the others have their defaults.

    Args:
        name: A key of ``MODELS``.
        settings: Settings and widths of that model, such as ``direction="i2t", embedding=256``.

    Raises:
        InputError: If there is no such model, or it lacks a setting, or a value is out of range.
    """
    kind = spec_class(name)
    return check(kind, {"name": name} | settings, kind.title)


def widths_of(names: set[str] | None = None) -> set[str]:
    """Widths that at least one of some models has; of all models without names."""
    return {width for name, kind in MODELS.items() if names is None or name in names for width in kind.widths()}


def _of_its_kind(given: Any) -> Any:
    """Plain data -> the specification that its ``name`` asks for."""
    if not isinstance(given, dict):
        return given
    if "name" not in given:
        raise ValueError(f"it names no model; add name, one of: {', '.join(MODELS)}")
    try:
        kind = spec_class(str(given["name"]))
    except InputError as error:
        raise ValueError(str(error).removesuffix(".")) from None
    return kind.model_validate(given)


def _without_widths(spec: ModelSpec) -> ModelSpec:
    for width in spec.widths():
        if width in spec.model_fields_set:
            raise ValueError(f"{width} is a width, and widths are set by a scale; move it to training.widths there")
    return spec


class _OneOfTheModels:
    """The JSON schema of a field that holds a model: that of one of the registered specifications."""

    def __get_pydantic_json_schema__(self, schema: Any, of_schema: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        kinds = [of_schema(kind.__pydantic_core_schema__) for kind in MODELS.values()]
        return {"oneOf": [kind | {"required": ["name"]} for kind in kinds]}


#: A pydantic field that holds any registered model: ``{name: scan, direction: i2t}`` becomes its specification.
AnyModelSpec = Annotated[SerializeAsAny[ModelSpec], BeforeValidator(_of_its_kind), _OneOfTheModels()]
#: The same in a study, which tells variants of a model apart and leaves the widths to the scale.
ModelVariant = Annotated[AnyModelSpec, AfterValidator(_without_widths)]
