from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.reproduction.categories.models.specs import AnyMethod, MethodSpec, SemanticMatching, TripletNetwork

SPECS: tuple[type[MethodSpec], ...] = get_args(get_args(AnyMethod)[0])
METHOD = TypeAdapter(AnyMethod)
STATED: dict[str, list[dict[str, Any]]] = {
    "triplets": [
        {"margins": [0.2, 0.3], "loss": {"toward": "nothing"}},
        {"margins": [0.2, 1.0], "loss": {"toward": "nothing"}},
        *({"loss": {"constant": value, "toward": "constant"}} for value in (0.25, 0.123456789)),
        *({"loss": {key: value}} for key in ("shuffled", "always") for value in (True, False)),
        *({"loss": {key: value}} for key in ("margin", "start", "steepness", "feature_share") for value in (0.2, 0.21)),
        *({"loss": {"feature_norm": value}} for value in ("max", "max_cross", "minmax", "modality_max")),
        *({"loss": {key: value}} for key, value in {"anchor": "own", "negatives": "one", "refresh": "step"}.items()),
        *({key: value} for key in ("hidden", "output", "learning_rate") for value in (3, 4)),
    ],
    "cca": [{key: value} for key in ("dimensions", "components") for value in (3, 4)] + [{"weighted": True}],
    "kcca": [{key: value} for key in ("gamma", "ridge") for value in (0.2, 0.25)] + [{"documents": 5}],
    "semantic_matching": [{"after_cca": True, "dimensions": 4}, {"classifier": "mlp"}, {"centre": "train"}],
    "dcca": [{key: value} for key in ("epochs", "dimensions") for value in (3, 4)] + [{"reconstruct": 0.2}],
    "corr_ae": [{"share": value} for value in (0.2, 0.25)],
    "acmr": [{key: 0.25} for key in ("adversary", "triplets", "margin")],
    "pls": [{"dimensions": 3}, {"inputs": "standardise"}, {"inputs": "as_stored"}],
}


@pytest.mark.parametrize("method", STATED)
def test_every_stated_setting_shows_in_the_folder_and_in_the_label(method: str) -> None:
    specs = [METHOD.validate_python({"method": method} | settings) for settings in [{}, *STATED[method]]]
    folders = {spec.folder for spec in specs}
    assert len(folders) == len(specs)
    # What is stated at its default is another folder, but may be the same words: fixed margin, m = 1 of `nothing`.
    assert len({spec.label() for spec in specs}) >= len({spec.model_dump_json() for spec in specs})
    for folder in folders:
        assert folder == folder.strip() and not set(folder) & set(" /\\[]'\"") and len(folder.encode()) <= 255


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


@pytest.mark.slow
def test_settings_need_no_libraries() -> None:
    code = (
        "import sys; from fivesentences.reproduction.categories.models import closed_forms, specs;"
        "print(*[name for name in ('torch', 'sklearn', 'cca_zoo') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
