"""A released .pth.tar becomes safetensors, nothing in it runs, and it is recognised as that of its own model."""

from __future__ import annotations

import argparse
import json
import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.models import MODELS, from_released
from fivesentences.models.released_checkpoints import (
    ALLOWED,
    PARTS,
    import_checkpoint,
    load_imported,
    options_of,
    read_checkpoint,
)

FIXTURES = {name: name for name in ("vsepp", "cvse", "sgr", "saf", "vse_infinity")} | {
    "scan": "scan_bigru",
    "vsrn": "vsrn_f30k",
}


def checkpoint_of(released, name: str, several_gpus: bool = False):
    """The fixture's weights as a released code saves them."""
    inner, weights = "module." if several_gpus else "", released.weights().items()
    parts = [
        OrderedDict(
            (inner + key.removeprefix(f"{part}."), value) for key, value in weights if key.startswith(f"{part}.")
        )
        for part in PARTS[name]
    ]
    settings = argparse.Namespace(data_name="f30k_precomp", lr=2e-4, word2idx={"a": 1}, best=np.float64(1.5), resume="")
    return {"epoch": 7, "model": parts, "best_rsum": np.float64(412.5), "opt": settings, "Eiters": np.int64(99)}


@pytest.mark.parity
@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.parametrize("older", [False, True])
def test_an_imported_checkpoint_scores_as_the_released_weights(released_of, tmp_path, name, older):
    released = released_of(FIXTURES[name])
    file, folder = tmp_path / "model_best.pth.tar", tmp_path / "imported"
    torch.save(checkpoint_of(released, name, several_gpus=older), file, _use_new_zipfile_serialization=not older)
    vectors = released.arrays.get("in/concept_input_emb")
    given = {} if vectors is None else {"concept_vectors": vectors}
    weights = {key: value for key, value in released.weights().items() if not key.startswith("caption_model.")}
    inputs, extras = released.inputs(), released.extras()
    expected = from_released(name, weights, **given)(*inputs, **extras).detach().numpy()
    for model in (import_checkpoint(file, folder, name, concept_vectors=vectors), load_imported(folder)):
        assert not model.training
        np.testing.assert_array_equal(model(*inputs, **extras).detach().numpy(), expected)
    note = json.loads((folder / "checkpoint.json").read_text())
    assert (note["model"], note["epoch"], note["best_rsum"], note["Eiters"]) == (name, 7, 412.5, 99)
    assert note["released_settings"]["lr"] == 2e-4 and note["released_settings"]["best"] == 1.5
    assert note["released_settings"]["word2idx"] is None  # no plain value


class Harm:
    """A pickle that, if it is run, makes a folder."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("older", [False, True])
def test_a_file_that_would_run_something_is_refused_by_name_and_does_not_run(tmp_path, older):
    file, made = tmp_path / "model.pth.tar", tmp_path / "made"
    torch.save({"model": [{}, {}], "opt": Harm(made)}, file, _use_new_zipfile_serialization=not older)
    with pytest.raises(InputError, match=r"nothing in it was run: .*mkdir"):
        read_checkpoint(file, "scan")
    assert not made.exists()


def test_every_allowed_class_is_plain_data():
    classes = [entry[0] if isinstance(entry, tuple) else entry for entry in ALLOWED]
    names = {f"{entry.__module__}.{entry.__qualname__}" for entry in classes if isinstance(entry, type)}
    assert {name.partition(".")[0] for name in names} == {"argparse", "numpy"}
    assert [entry for entry in classes if not isinstance(entry, type)] == [np.float64(0).__reduce__()[0]] * 2


def test_a_file_of_python_2_is_read(tmp_path):
    # Python 2 wrote text as bytes (opcode U); a float64 of numpy then holds bytes that are no UTF-8.
    number = struct.pack("<d", -412.5)
    storage = b"(U\x07storagectorch\nFloatStorage\nU\x011U\x03cpuK\x02NtQ"  # type, key "1", place, two numbers
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00K\x02\x85K\x01\x85\x89N\x74R"
    scalar = b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02f8K\x00K\x01tR"
    scalar += b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbU\x08" + number + b"tR"
    settings = b"cargparse\nNamespace\n)\x81}(U\x09data_nameU\x0cf30k_precompub"
    parts = b"](}(U\x07fc.bias" + tensor + b"u}e"
    pickled = b"\x80\x02}(U\x05model" + parts + b"U\x09best_rsum" + scalar + b"U\x03opt" + settings + b"u."
    head = b"".join(pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    file = tmp_path / "old.pth.tar"
    file.write_bytes(head + pickled + b"\x80\x02](U\x011e." + struct.pack("<qff", 2, 0.5, -3.0))
    found = read_checkpoint(file, "vsepp")
    assert {key: value.tolist() for key, value in found.weights.items()} == {"img_enc.fc.bias": [0.5, -3.0]}
    assert (found.settings, found.facts) == ({"data_name": "f30k_precomp"}, {"best_rsum": -412.5})


def of_vsepp(**changes):
    """A small checkpoint of VSE++: names without the part -> weights."""
    gru = torch.nn.GRU(3, 4)
    text = {f"rnn.{key}": value.detach() for key, value in gru.named_parameters()} | {"embed.weight": torch.ones(9, 3)}
    image = {"fc.weight": torch.ones(4, 5), "fc.bias": torch.ones(4)}
    return [{key: changes.get(key, value) for key, value in part.items()} for part in (image, text)]


ENDLESS: list = []
ENDLESS.append(ENDLESS)
WHOLE = [{key: torch.ones_like(value, dtype=torch.int64) for key, value in part.items()} for part in of_vsepp()]


@pytest.mark.parametrize(
    ("content", "name", "what"),
    [
        ({"model": [{}, {}], "opt": None}, "sgr", r"3.*img_enc.*txt_enc.*sim_enc"),
        ({"model": [{"a": 1}, {}]}, "scan", r"img_enc\.a"),
        ({"model": [{"fc.weight": torch.zeros(2, 3)}, {}]}, "vsepp", r"txt_enc\.embed\.weight"),
        ({"model": of_vsepp()}, "scam", "'scan'"),
        ({"model": [[1, 2], {}]}, "vsepp", "things"),
        ({"model": of_vsepp(), "opt": {"a": ENDLESS}}, "vsepp", "without end"),
        (
            {"model": of_vsepp(**{"fc.weight": torch.ones(4)})},
            *("vsepp", r"img_enc\.fc\.weight' is \[4\], but it must be a matrix"),
        ),
        ({"model": of_vsepp(**{"embed.weight": torch.ones(0, 3)})}, "vsepp", r"txt_enc\.embed\.weight.*\[0, 3\]"),
        ({"model": WHOLE}, "vsepp", "floating"),
        ({"model": of_vsepp()}, "vsepp", r"'use'.*VSE"),
    ],
)
def test_what_is_no_checkpoint_is_refused_in_a_sentence(tmp_path, content, name, what):
    file = tmp_path / "model.pth.tar"
    torch.save(content, file)
    with pytest.raises(InputError, match=what):
        import_checkpoint(file, tmp_path / "out", name, {"use": 1} if "'use'" in what else {})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["module.{}.{}", "{}.module.{}", "{}.{}"])
def test_one_dict_of_weights_is_read_as_a_list_of_parts_is(tmp_path, name):
    image, text = of_vsepp()
    one = {
        name.format(part, key): value
        for part, state in zip(PARTS["vsepp"], (image, text), strict=True)
        for key, value in state.items()
    }
    for number, model in enumerate(([image, text], one)):
        torch.save({"model": model}, tmp_path / f"{number}.pth.tar")
    first, second = (read_checkpoint(tmp_path / f"{number}.pth.tar", "vsepp").weights for number in range(2))
    assert first.keys() == second.keys()
    import_checkpoint(tmp_path / "1.pth.tar", tmp_path / "out", "vsepp")


def test_what_the_released_command_line_says_becomes_options():
    assert options_of("vsepp", {"measure": "order", "use_abs": True, "no_imgnorm": True}) == {
        "measure": "order",
        "use_abs": True,
        "normalise_images": False,
    }
    said = options_of(
        "scan", {"cross_attn": "i2t", "agg_func": "Mean", "lambda_softmax": 4.0, "raw_feature_norm": "softmax"}
    )
    assert said["direction"] == "i2t" and said["aggregation"] == "Mean" and said["softmax_temperature"] == 4.0
    assert options_of("cvse", {"data_name": "coco_precomp", "Concept_label_ratio": 0.4}) == {
        "test_alpha": 0.9,
        "label_ratio": 0.4,
    }
    assert options_of("cvse", {}) == {"test_alpha": 0.85}


# --- whose weights they are ----------------------------------------------------------------------------------


def write_checkpoint(path, weights, parts, one: bool, settings=None):
    """Weights as a released code saves them, as a list of parts or as one dictionary."""
    of_part = [
        {key.removeprefix(f"{part}."): value for key, value in weights.items() if key.startswith(f"{part}.")}
        for part in parts
    ]
    torch.save({"model": weights if one else of_part} | ({} if settings is None else {"opt": settings}), path)


@pytest.mark.parity
@pytest.mark.parametrize("one", [False, True], ids=["list of parts", "one dictionary"])
@pytest.mark.parametrize("real", FIXTURES)
def test_released_weights_are_taken_for_their_own_model_alone(released_of, tmp_path, real, one):
    file = tmp_path / "m.pth.tar"
    write_checkpoint(file, released_of(FIXTURES[real]).weights(), PARTS[real], one)
    for asked in MODELS:
        if asked == real:
            assert read_checkpoint(file, asked).weights
            continue
        with pytest.raises(InputError) as error:
            import_checkpoint(file, tmp_path / "out", asked)
        assert f"look like those of {MODELS[real].title} (" in str(error.value)
    assert not (tmp_path / "out").exists()
