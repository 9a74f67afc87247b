"""Edges of released checkpoints as users download, rename and mix them up."""

from __future__ import annotations

import tarfile
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from edge_cases import Case, Program, refused, right
from fivesentences.models.labelled_weights import write_labelled
from fivesentences.models.released_checkpoints import load_imported

pytestmark = pytest.mark.slow


def parts_of(two_ways: bool, **changed: torch.Tensor) -> list[dict[str, torch.Tensor]]:
    """The parts of VSE++, or of SCAN, whose captions are read two ways; some weights are changed."""
    torch.manual_seed(0)
    gru = torch.nn.GRU(3, 4, bidirectional=two_ways)
    text = {f"rnn.{name}": value.detach() for name, value in gru.named_parameters()}
    parts = [{"fc.weight": torch.randn(4, 5), "fc.bias": torch.randn(4)}, text | {"embed.weight": torch.randn(9, 3)}]
    return [{name: changed.get(name.replace(".", "_"), value) for name, value in part.items()} for part in parts]


def write_files(folder: Path) -> None:
    bad, weights = torch.randn(4, 5), torch.randn(4, 5)
    bad[1, :3] = torch.tensor([float("nan"), float("inf"), float("-inf")])
    changed = {
        "vsepp": {},
        "nan": {"fc_weight": bad},
        "two_nan": {"fc_weight": bad, "fc_bias": bad[1, :4]},
        "half": {"fc_weight": weights.half()},
        "float8": {"fc_weight": weights.to(torch.float8_e4m3fn)},
        "complex": {"fc_weight": weights.to(torch.complex64)},
        "meta": {"fc_weight": weights.to("meta")},
        "quantised": {"fc_weight": torch.quantize_per_tensor(weights, 0.1, 0, torch.qint8)},
        "sparse": {"fc_weight": torch.eye(4, 5).to_sparse()},
    }
    checkpoints = {name: {"model": parts_of(False, **weights)} for name, weights in changed.items()} | {
        "scan": {"model": parts_of(True)},
        "vsepp_by_option": {"model": parts_of(False), "opt": Namespace(measure="cosine", use_abs=False)},
        "scan_by_option": {"model": parts_of(False), "opt": Namespace(cross_attn="t2i", agg_func="Mean")},
        "program": {"model": Program()},
    }
    for name, content in checkpoints.items():
        torch.save(content, folder / f"{name}.pth.tar")
    with tarfile.open(folder / "archive.pth.tar", "w") as archive:
        archive.add(folder / "vsepp.pth.tar", "vsepp.pth.tar")
    whole = (folder / "vsepp.pth.tar").read_bytes()
    damaged = {"cut": whole[:-300], "junk": b"hello", "empty": b"", "deep": b"\x80\x02" + b"(" * 9999}
    for name, content in damaged.items():
        (folder / f"{name}.pth.tar").write_bytes(content)
    vectors = np.zeros((3, 2), dtype=np.float32)
    vectors[1] = np.nan
    np.save(folder / "vectors.npy", vectors)
    write_labels(folder)
    for name in ("run/weights.safetensors", "whole/weights.safetensors", "whole/run.yaml", "whole/vocabulary.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"")


LABELS = {
    "nameless": {"options": {}},
    "numbered": {"model": 5, "options": {}},
    "bare": {"model": "vsepp"},
    "listed": {"model": "vsepp", "options": []},
    "twice": {"model": "vsepp", "options": {"state_dict": 1}},
    "wide": {"model": "vsepp", "options": {"embedding": 65_536}},
    "layers": {"model": "vsepp", "options": {"layers": 10**9}},
}


def write_labels(folder: Path) -> None:
    parts = zip(("img_enc", "txt_enc"), parts_of(False), strict=True)
    tensors = {f"{part}.{name}": value for part, state in parts for name, value in state.items()}
    for name, label in LABELS.items():
        (folder / f"label_{name}").mkdir()
        write_labelled(folder / f"label_{name}" / "released.safetensors", tensors, {"format": 1, **label})


def imported(name: str, model: str, *said: str, more: str = "") -> Case:
    return refused(f"checkpoint import {name}.pth.tar -o out --model {model} {more}", f"{name}.pth.tar: ", *said)


OUT = ("out",)
CASES = [
    right("checkpoint import vsepp.pth.tar -o out --model vsepp", "vsepp, ", makes=OUT),
    right("checkpoint import half.pth.tar -o out --model vsepp", "vsepp, ", makes=OUT),
    right("checkpoint import scan.pth.tar -o out --model scan", "scan, ", makes=OUT),
    right("checkpoint import scan_by_option.pth.tar -o out --model scan", "scan, ", makes=OUT),
    right("checkpoint import vsepp.pth.tar -o out --model scan --option bidirectional=false", "scan, ", makes=OUT),
    refused("checkpoint import program.pth.tar -o out --model vsepp", "program.pth.tar", "posix.system"),
    imported("archive", "vsepp", ".tar archive"),
    imported("cut", "vsepp", "checkpoint"),
    imported("junk", "vsepp", "checkpoint"),
    imported("empty", "vsepp", "it is empty"),
    imported("deep", "vsepp", "checkpoint"),
    imported("nowhere", "vsepp"),
    imported("vsepp", "scan", "VSE++", "--option bidirectional=false"),
    imported("vsepp_by_option", "scan", "the option measure", more="--option bidirectional=false"),
    imported("scan_by_option", "vsepp", "SCAN", "cross_attn", "give --model scan"),
    *(imported("vsepp", model, "VSE++", "--model vsepp") for model in ("vsrn", "cvse", "sgr", "saf")),
    *(
        imported("scan", model, "those of SCAN", "weight_ih_l0_reverse", "--model scan")
        for model in ("vsepp", "vsrn", "cvse", "sgr", "saf")
    ),
    imported("nan", "vsepp", "img_enc.fc.weight holds 3", "20"),
    imported("two_nan", "vsepp", "img_enc.fc.weight", "NaN"),
    imported("float8", "vsepp", "img_enc.fc.weight", "float8"),
    imported("complex", "vsepp", "img_enc.fc.weight", "complex64"),
    imported("quantised", "vsepp", "img_enc.fc.weight"),
    imported("sparse", "vsepp", "img_enc.fc.weight"),
    refused("checkpoint import meta.pth.tar -o out --model vsepp", "meta.pth.tar"),
    refused(
        "checkpoint import vsepp.pth.tar -o out --model cvse --concept-vectors vectors.npy", "concept_vectors holds 2"
    ),
    refused("similarity run -o s.npy", "vocabulary.json"),
    refused("similarity run -o s.npy --corpus c.parquet --features f.npy", "vocabulary.json"),
    refused("similarity whole -o s.npy", "run.yaml"),
    refused("similarity nowhere -o s.npy", "weights.safetensors"),
    refused(lambda folder: load_imported(folder / "whole"), "released.safetensors"),
    *(refused(lambda folder, n=n: load_imported(folder / f"label_{n}"), name=n) for n in LABELS),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_trained_weights(case, carry_out):
    carry_out(case)
