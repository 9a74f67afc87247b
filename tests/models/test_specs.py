"""Specifications of models: names of folders, widths, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fivesentences.errors import InputError
from fivesentences.models import model_spec, widths_of

# Names of settings as stored runs have them: the order of the settings is part of a name, widths are not.
FOLDERS = {
    "vsepp": {"embedding": 64, "word": 32},
    "vsepp,layers=2,measure=order,normalise_images=no,use_abs=yes": {
        **{"use_abs": True, "normalise_images": False, "measure": "order", "layers": 2}
    },
    "scan,direction=i2t": {"direction": "i2t"},
    "scan,direction=t2i": {"direction": "t2i"},  # stated, though it is the default
    "scan,aggregation=Mean,raw_norm=softmax,softmax_temperature=4,projection=weight_norm": {
        **{"projection": "weight_norm", "softmax_temperature": 4, "raw_norm": "softmax", "aggregation": "Mean"}
    },
    "vsrn,recipe=coco": {"recipe": "coco", "caption_hidden": 32},
    "vsrn,captioning=0,caption_longest=20,caption_dropout=0.5": {
        **{"caption_dropout": 0.5, "caption_longest": 20, "captioning": 0}
    },
    "cvse,labels=released": {"labels": "released", "most_concepts": 12},
    "cvse,bidirectional=no,dropout=0.1,alpha=0.75,fused_share=1,loss_weights=1_2_3_4.5,glove=a_b.txt": {
        **{"glove": "a/b.txt", "loss_weights": [1, 2, 3, 4.5], "fused_share": 1, "alpha": 0.75, "dropout": 0.1},
        "bidirectional": False,
    },
    "sgr,dropout=0.2,steps=2,temperature=4": {"steps": 2, "temperature": 4, "dropout": 0.2, "similarity_dim": 16},
    "saf,layers=2,temperature=4": {"temperature": 4, "layers": 2, "similarity_dim": 16},
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folders_name_shows_what_was_stated_but_no_width_also_after_it_was_written_and_read(folder):
    spec = model_spec(folder.partition(",")[0], **FOLDERS[folder])
    again = type(spec).model_validate(spec.model_dump(mode="json"))
    assert spec.folder == again.folder == spec.with_widths({"embedding": 4}).folder == folder
    assert again == spec


def test_a_scales_widths_reach_the_models_that_have_them():
    given = {"embedding": 10, "similarity_dim": 4, "caption_hidden": 3}
    assert model_spec("vsepp").with_widths(given).model_dump() == {"name": "vsepp", "embedding": 10, "word": 300}
    assert model_spec("sgr").with_widths(given).similarity_dim == 4
    assert model_spec("vsrn").with_widths({}).embedding == 2048
    assert widths_of({"vsepp"}) == {"embedding", "word"} < widths_of({"sgr", "vsrn"}) < widths_of()
    with pytest.raises(InputError, match=r"widths of CVSE: embedding is 9: .*multiple of 2"):
        model_spec("cvse").with_widths({"embedding": 9})


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("vsep", {}, "'vsep' is not a model; did you mean 'vsepp'?"),
        ("scan", {"directon": "i2t"}, "'directon' is no setting of the model scan; did you mean 'direction'?"),
        (
            "vsepp",
            {"xyz": 1},
            "it has: layers, measure, normalise_images, use_abs, initialisation, pooling, embedding, word",
        ),
        ("vsepp", {"measure": "euclidean"}, "VSE++: measure is 'euclidean'"),
        ("vsrn", {"captioning": -1.0}, "captioning is -1.0"),
        ("cvse", {"loss_weights": [1, 2]}, "loss_weights is [1, 2]"),
        ("saf", {"embedding": 0}, "embedding is 0"),
    ],
)
def test_what_a_model_cannot_be_is_refused_in_one_sentence(name, settings, said):
    with pytest.raises(InputError) as error:
        model_spec(name, **settings)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_specifications_and_what_they_lead_to_import_no_torch():
    code = (
        "import sys; sys.modules['torch'] = None; from fivesentences.models import MODELS; "
        "import fivesentences.losses, fivesentences.training.spec, fivesentences.reproduction.study.study; "
        "print(*(f'{name}:{kind.layout}' for name, kind in MODELS.items()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    of_regions = {f"{name}:grid" for name in ("scan", "vsrn", "cvse", "sgr", "saf")}
    assert {"vsepp:global", *of_regions} <= set(done.stdout.split())
