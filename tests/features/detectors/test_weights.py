"""Files of weights: which are read, what is refused, and that nothing in them is run."""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from fivesentences.errors import InputError
from fivesentences.features.detectors.bottom_up import BottomUpAttention
from fivesentences.features.detectors.network import FLAVOURS, BottomUpNetwork, Widths
from fivesentences.features.detectors.weights import read_state

pytestmark = pytest.mark.parity

ANCHORS = "proposal_generator.anchor_generator.cell_anchors.0"
STEM = "backbone.stem.conv1"


@pytest.fixture(scope="module")
def one(case: Callable[[str, str], Any]) -> Any:
    return case("d2", "small")


@pytest.fixture(scope="module")
def state(one: Any) -> dict[str, torch.Tensor]:
    return one.state()


@pytest.fixture
def load(one: Any) -> Callable[[Path], dict[str, torch.Tensor]]:
    def loaded(path: Path, flavour: str = "d2") -> dict[str, torch.Tensor]:
        return BottomUpAttention(path, flavour, one.settings).network.state_dict()

    return loaded


def same(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in ours)


def arrays(state: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {key: value.numpy() for key, value in state.items()}


WRITERS: dict[str, Callable[[dict[str, torch.Tensor], Path], None]] = {
    "weights.safetensors": save_file,
    "pytorch_model.bin": torch.save,
    "before_1.6.pth": lambda state, path: torch.save(state, path, _use_new_zipfile_serialization=False),
    "checkpoint.pth": lambda state, path: torch.save({"model": OrderedDict(state), "iteration": 3}, path),
    **{
        f"protocol{number}.pkl": lambda state, path, number=number: path.write_bytes(
            pickle.dumps({"model": arrays(state), "__author__": "somebody"}, protocol=number)
        )
        for number in (0, 2, 4, 5)
    },
    "bare.pkl": lambda state, path: path.write_bytes(pickle.dumps(arrays(state))),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_weights(name, state, load, tmp_path):
    path = tmp_path / name
    WRITERS[name](state, path)
    assert same(load(path), state)


def test_older_names_and_counters_of_batches_do_not_matter(state, load, tmp_path):
    renamed = {
        key.replace("norm.weight", "norm.gamma").replace("norm.bias", "norm.beta"): v for key, v in state.items()
    }
    norms = [key.removesuffix(".running_mean") for key in state if key.endswith(".norm.running_mean")]
    assert len(norms) == 104
    for number, norm in enumerate(norms):
        renamed[f"{norm}.num_batches_tracked"] = torch.zeros((), dtype=torch.long) if number % 2 else torch.ones(1)
    save_file(renamed, tmp_path / "weights.safetensors")
    assert same(load(tmp_path / "weights.safetensors"), state)


def test_half_precision_becomes_float32(state, load, tmp_path):
    save_file({key: value.half() for key, value in state.items()}, tmp_path / "weights.safetensors")
    loaded = load(tmp_path / "weights.safetensors")
    assert same(loaded, {key: value.half().float() for key, value in state.items()})
    assert {value.dtype for value in loaded.values()} == {torch.float32}


def test_one_sentence_lists_every_kind_of_mistake(state, load, tmp_path):
    path = tmp_path / "weights.safetensors"
    save_file({key: value for key, value in state.items() if "anchor" not in key}, path)
    with pytest.raises(InputError, match=rf"533 tensors .* the 536 of .*'d2': 3 missing \('{ANCHORS}', .*\);"):
        load(path)
    stem = list(state[f"{STEM}.weight"].shape)  # 7 x 7 pixels
    other = [*stem[:2], 3, 3]
    wrong = dict(state, pixel_mean=torch.zeros(3), **{f"{STEM}.weight": torch.zeros(other)})
    del wrong[f"{STEM}.norm.bias"]
    save_file(wrong, path)
    with pytest.raises(InputError) as caught:
        load(path)
    sentence = str(caught.value)
    assert f"1 missing ('{STEM}.norm.bias'), 1 unknown ('pixel_mean'), 1 of another shape" in sentence
    assert f"'{STEM}.weight' {other} in place of {stem}" in sentence
    assert "\n" not in sentence


def test_weights_of_the_other_flavour_are_refused(state, load, case, tmp_path):
    save_file(state, tmp_path / "weights.safetensors")
    with pytest.raises(InputError, match=r"'caffe'.*5.*roi_heads"):
        load(tmp_path / "weights.safetensors", "caffe")
    with pytest.raises(InputError, match=r"'Caffe'.*'caffe'"):
        load(tmp_path / "weights.safetensors", "Caffe")


@pytest.mark.parametrize(("value", "dtype"), [(torch.nan, torch.float32), (0, torch.int64)])
def test_weights_must_be_finite_floating_point_numbers(value, dtype, state, load, tmp_path):
    bias = torch.full_like(state[f"{STEM}.norm.bias"], value, dtype=dtype)
    save_file(state | {f"{STEM}.norm.bias": bias}, tmp_path / "weights.safetensors")
    with pytest.raises(InputError, match=f"'{STEM}.norm.bias' is not made of finite"):
        load(tmp_path / "weights.safetensors")


class Program:
    """What a hostile pickle holds."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("write", ["torch", "old torch", "pickle", "pickle 0"])
def test_a_program_in_a_file_is_not_run(write, state, tmp_path):
    mark, path = tmp_path / "was_here", tmp_path / "weights.bin"
    content = {"model": {**arrays(state), "more": Program(mark)}}
    if write.startswith("pickle"):
        path.write_bytes(pickle.dumps(content, protocol=0 if write.endswith("0") else 4))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=write == "torch")
    with pytest.raises(InputError) as caught:
        read_state(path)
    assert not mark.exists()
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_damaged_files_end_in_one_sentence(state, tmp_path):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    pickled = pickle.dumps({"model": arrays(state)})
    for content in (
        b"",
        b"{}",
        pickled[: -(len(pickled) // 20)],
        pickled[: len(pickled) // 2] + b".",
        buffer.getvalue()[:-3000],
    ):
        path = tmp_path / "weights.bin"
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read_state(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="no such file"):
        read_state(tmp_path / "nothing.bin")


def test_what_holds_no_weights_is_refused(tmp_path):
    path = tmp_path / "weights.pkl"
    for content, sentence in (
        ([1, 2], "holds no weights"),
        ({}, "holds no weights"),
        ({"model": {"a": np.zeros(2, np.float32), "b": "text"}}, "holds 'b', which is no tensor"),
        ({"a": np.array([{}], object)}, "refused, and nothing in it was run .holds an array of object"),
    ):
        path.write_bytes(pickle.dumps(content))
        with pytest.raises(InputError, match=sentence):
            read_state(path)


def test_a_length_that_the_file_does_not_have_reserves_no_memory(tmp_path):
    path = tmp_path / "weights.pkl"
    path.write_bytes(b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"few bytes.")  # BINBYTES8 of a terabyte
    with pytest.raises(InputError, match="not a complete pickle"):
        read_state(path)


def test_widths_are_those_of_the_tensors_and_noted_unless_published(state, one, tmp_path):
    path = tmp_path / "weights.safetensors"
    save_file(state, path)
    detector = BottomUpAttention(path, "d2", one.settings)
    assert detector.network.widths == one.widths and detector.source["widths"] == asdict(one.widths)
    # Of meta tensors no file can be made: the published network's widths are found by its shapes alone.
    for flavour in FLAVOURS.values():
        with torch.device("meta"):
            published = BottomUpNetwork(flavour)
        assert Widths.of(published.state_dict(), flavour) == Widths() and len(published.state_dict()) == 536
