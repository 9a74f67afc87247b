from __future__ import annotations

import subprocess
import sys
from typing import Any, Literal, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from fivesentences.config.documents import SubspaceTraining
from fivesentences.config.types import Strict
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.models.subspaces.specs import CCA, AnyMethod, DeepCCA, MethodSpec, SemanticMatching, TripletNetwork

SPECS: tuple[type[MethodSpec], ...] = get_args(get_args(AnyMethod)[0])
METHOD = TypeAdapter(AnyMethod)
# What a setting takes beside it to be allowed.
BESIDE: dict[str, dict[str, Any]] = {
    "TripletNetwork.margins": {"loss": {"toward": "nothing"}},
    "SemanticMatching.dimensions": {"after_cca": True},
    "ScheduledMarginSpec.constant": {"toward": "constant"},
    "ScheduledMarginSpec.toward": {"constant": 0.5},
}


def values_of(field: FieldInfo) -> list[Any]:
    """Two values or more that a setting may have."""
    kinds = [field.annotation, *get_args(field.annotation)]
    for kind in kinds:
        if get_origin(kind) is Literal:
            return list(get_args(kind))
        if kind is bool:
            return [True, False]
        if get_origin(kind) is list:
            return [[0.2, 0.3], [0.2, 1.0]]
    limits = [one for kind in kinds for one in getattr(kind, "__metadata__", ())] + list(field.metadata)
    if any(getattr(one, "annotation", None) is int for one in kinds) or int in kinds or "int" in str(field.annotation):
        return [3, 4]
    low = max([float(one.ge) if isinstance(one, Ge) else 0.0 for one in limits if isinstance(one, (Ge, Gt))] or [0.0])
    high = min([1.0, *(float(one.le) if isinstance(one, Le) else 0.9 for one in limits if isinstance(one, (Le, Lt)))])
    return [low + 0.25 * (high - low), low + 0.123456789 * (high - low)]


def settings_of(kind: type[Strict]) -> list[dict[str, Any]]:
    """One setting stated at a time, each with several values."""
    found: list[dict[str, Any]] = []
    for key, field in kind.model_fields.items():
        if key == "method":
            continue
        if field.annotation is ScheduledMarginSpec:
            found += [{key: one} for one in settings_of(ScheduledMarginSpec)]
            continue
        for value in values_of(field):
            beside = BESIDE.get(f"{kind.__name__}.{key}", {})
            beside = {} if key == "toward" and value != "constant" else beside
            found.append({key: value} | beside)
    return found


def made(kind: type[MethodSpec], settings: dict[str, Any]) -> MethodSpec | None:
    """The method, or None where these settings exclude each other."""
    try:
        return METHOD.validate_python({"method": get_args(kind.model_fields["method"].annotation)[0]} | settings)
    except ValidationError:
        return None


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.__name__)
def test_every_stated_setting_shows_in_the_folder_and_in_the_label(kind: type[MethodSpec]) -> None:
    specs = [spec for settings in [{}, *settings_of(kind)] if (spec := made(kind, settings)) is not None]
    stated = {key for spec in specs for key in spec.model_fields_set}
    assert stated == set(kind.model_fields), "a setting was not tried"
    folders = [spec.folder for spec in specs]
    assert len(set(folders)) == len(folders)
    # What is stated at its default is another folder, but may be the same words: fixed margin, m = 1 of `nothing`.
    labels = {spec.label() for spec in specs}
    values = {spec.model_dump_json() for spec in specs}
    assert len(labels) >= len(values)
    for folder in folders:
        assert folder == folder.strip() and not set(folder) & set(" /\\[]'\"") and len(folder.encode()) <= 255


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.__name__)
def test_every_setting_is_described_where_its_name_does_not_say_all(kind: type[MethodSpec]) -> None:
    undescribed = [key for key, field in kind.model_fields.items() if key not in ("method", "loss")]
    assert [key for key in undescribed if not kind.model_fields[key].description] == []


def test_words_for_settings_belong_to_settings() -> None:
    for kind in SPECS:
        fields = set(kind.model_fields) | set(ScheduledMarginSpec.model_fields)
        assert {key.partition(" ")[0] for key in kind.words} <= fields


def test_labels_of_tables() -> None:
    labels = {
        "triplets, scheduled adaptive margin, λ = 0.05, fₐ = 0.4": {
            "method": "triplets",
            "loss": {"start": 0.4, "feature_share": 0.05},
        },
        "triplets, fixed margin, m = 0.3": {"method": "triplets", "loss": {"toward": "nothing", "margin": 0.3}},
        "triplets, fixed margin tuned among 0.2, 1": {
            "method": "triplets",
            "loss": {"toward": "nothing"},
            "margins": [0.2, 1.0],
        },
        "triplets, schedule toward constant 0.56": {
            "method": "triplets",
            "loss": {"toward": "constant", "constant": 0.56},
        },
        "triplets, adaptive margin from the first epoch, λ = 1": {
            "method": "triplets",
            "loss": {"always": True, "feature_share": 1},
        },
        "CCA": {"method": "cca"},
        "ridge CCA, ridge 0.5, weighted by correlation": {"method": "cca", "ridge": 0.5, "weighted": True},
        "SCM, logistic": {"method": "semantic_matching", "classifier": "logistic", "after_cca": True},
        "DCCAE, reconstruction 0.1": {"method": "dcca", "reconstruct": 0.1},
        "PLS, inputs as stored": {"method": "pls", "inputs": "as_stored"},
    }
    said = {METHOD.validate_python(settings).label() for settings in labels.values()}
    assert {label.replace("λ = 0.05, fₐ = 0.4", "fₐ = 0.4, λ = 0.05") for label in labels} == said


def test_settings_without_an_effect_are_refused() -> None:
    with pytest.raises(ValidationError, match="after_cca"):
        SemanticMatching(method="semantic_matching", dimensions=4)
    with pytest.raises(ValidationError, match="logistic"):
        SemanticMatching(method="semantic_matching", classifier="mlp", strength=1.0)
    with pytest.raises(ValidationError, match="margins replaces"):
        TripletNetwork(method="triplets", margins=[0.2], loss=ScheduledMarginSpec(margin=0.3))
    with pytest.raises(ValidationError, match="toward: nothing"):
        TripletNetwork(method="triplets", margins=[0.2, 0.3])


def test_a_scale_gives_what_a_network_does_not_state() -> None:
    scale = SubspaceTraining(epochs=70, hidden=30)
    assert DeepCCA(method="dcca", epochs=7).training(scale) == SubspaceTraining(epochs=7, hidden=30)


def test_equal_settings_have_one_folder_however_they_are_written() -> None:
    assert CCA(method="cca", ridge=0).folder == CCA(method="cca", ridge=0.0).folder == "cca,ridge=0"


def test_settings_need_no_libraries() -> None:
    code = (
        "import sys, fivesentences.models.subspaces.specs, fivesentences.models.subspaces.closed_forms;"
        "print(*[name for name in ('torch', 'sklearn', 'cca_zoo') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
