"""Edges of what others left: values of queries, embeddings, names of encoders, vocabularies, detectors."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from edge_cases import Program, refused, right
from fivesentences.config.features import FeatureSpec
from fivesentences.config.reading import check
from fivesentences.encoders.folder import PAIRING, EmbeddingFolder
from fivesentences.encoders.spec import EncoderSpec, parse_encoder
from fivesentences.features.detectors import read_vocabulary
from fivesentences.features.detectors.weights import read_state
from fivesentences.reproduction.categories.evaluation import read_subspace_table
from fivesentences.reproduction.evaluation.tidy import read_evaluations, read_per_image
from fivesentences.reproduction.paper.tables.writing import read_texts
from fivesentences.semantics.phi_file import captions_sha256, pairing_sha256
from fivesentences.storage import sha256_of

pytestmark = pytest.mark.slow

KEYS = {"metric": "R@1", "direction": "i2t", "formula": "", "ground_truth": "", "m": 0, "style": "", "weighting": ""}
KEYS |= {"discount": "", "phi": ""}
DEEP = "[" * 5000


def evaluated(**changed: Any) -> dict[str, Any]:
    """What `evaluate --json` writes, as far as it is read again."""
    gallery = {"protocol": "whole", "protocol_words": "whole", "tie_rule": "index", "images": 4, "captions": 20}
    gallery |= {"file_images": 4, "file_captions": 20, "galleries": 1, "averaged": ""}
    return {**gallery, "similarity": "s.npy", "values": [{**KEYS, "value": 50.0}], **changed}


def embedded(folder: Path, **changed: Any) -> None:
    """A folder of embeddings as `embed` writes it, with something changed in its note."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    captions = [f"a dog {number}" for number in range(20)]
    pairing = np.repeat(range(4), 5)
    for name, rows in (("images", 4), ("captions", 20)):
        array = rng.normal(size=(rows, 3)).astype(np.float32)
        np.save(folder / f"{name}.npy", array / np.linalg.norm(array, axis=1, keepdims=True))
    (folder / "captions.txt").write_text("".join(f"{caption}\n" for caption in captions))
    (folder / PAIRING).write_text("".join(f"{number}\n" for number in pairing))
    names = ("images.npy", "captions.npy", PAIRING, "captions.txt")
    note = {
        "format": "fivesentences.embeddings 1", "model": "m", "captions_file": "c", "image_ids": list("abcd"),
        "captions": 20, "captions_sha256": captions_sha256(captions), "dim": 3, "truncated": None, "dataset": None,
        "image_of_caption_sha256": pairing_sha256(pairing), "texts": "captions.txt", "split": None, "identity": "i",
        "files": {name: sha256_of(folder / name) for name in names},
    }  # fmt: skip
    (folder / "embed.json").write_text(json.dumps(note | changed))


def queries(path: Path, label: bytes | None, **changed: Any) -> None:
    """Values of queries with a label in the schema."""
    frame = pd.DataFrame({"file": "s", "query": [0, 1, 2, 3], **KEYS, "value": 1.0} | changed)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table.replace_schema_metadata(label and {b"fivesentences.queries": label}), path)


def write_files(folder: Path) -> None:
    """What the cases read."""
    (folder / "cut.json").write_text(json.dumps(evaluated())[:-40])
    about = json.dumps({"about": evaluated(), "format": "fivesentences.queries 1", "image_of_caption": [0] * 20})
    for name, label in {
        "unlabelled": None, "label_cut": about[:-9].encode(), "label_list": b"[]", "label_deep": DEEP.encode(),
        "label_pairing": about.replace("[0,", '["0",').encode(), "label_format": about.replace("s 1", "s 9").encode(),
    }.items():  # fmt: skip
        queries(folder / f"{name}.parquet", label)
    both = {"query": [*range(4), *range(20)], "direction": ["i2t"] * 4 + ["t2i"] * 20}
    queries(folder / "good.parquet", about.encode(), **both)
    queries(folder / "one_side.parquet", about.encode())
    queries(folder / "beyond.parquet", about.encode(), query=[0, 1, 2, 9])
    queries(folder / "text_values.parquet", about.encode(), value="1")
    queries(folder / "odd_metric.parquet", about.encode(), metric="accuracy")
    (folder / "cut.parquet").write_bytes((folder / "beyond.parquet").read_bytes()[:-30])
    embedded(folder / "good")
    for name, changed in {
        "e_dim": {"dim": 4}, "e_bool": {"captions": True}, "e_outside": {"texts": "../captions.txt"},
        "e_root": {"texts": "/etc/passwd"}, "e_ids": {"image_ids": [1, 2, 3, 4]}, "e_files": {"files": {}},
        "e_files_list": {"files": []}, "e_digest": {"files": {"images.npy": 3}}, "e_format": {"format": "x"},
        "e_encoder": {"encoder": [1]}, "e_captions": {"captions_sha256": "0" * 64}, "e_few": {"image_ids": ["a"]},
    }.items():  # fmt: skip
        embedded(folder / name, **changed)
    embedded(folder / "e_cut")
    os.truncate(folder / "e_cut" / "images.npy", 100)
    embedded(folder / "e_gone")
    (folder / "e_gone" / "captions.npy").unlink()
    embedded(folder / "e_note")
    (folder / "e_note" / "embed.json").write_text(DEEP)
    embedded(folder / "e_nan")
    array = np.load(folder / "e_nan" / "captions.npy")
    array[7, 1] = np.nan
    np.save(folder / "e_nan" / "captions.npy", array)
    note = json.loads((folder / "e_nan" / "embed.json").read_text())
    note["files"]["captions.npy"] = sha256_of(folder / "e_nan" / "captions.npy")
    (folder / "e_nan" / "embed.json").write_text(json.dumps(note))

    (folder / "vocabulary_long.txt").write_bytes(b"yolk\n" * 300_000)
    (folder / "vocabulary_nul.txt").write_bytes(b"yolk\ngo\0al\n")
    (folder / "vocabulary_empty.txt").write_bytes(b"")
    Image.new("RGB", (40, 30), (200, 10, 10)).save(folder / "red.png")
    with zipfile.ZipFile(folder / "red.zip", "w") as archive:
        archive.write(folder / "red.png", "red.png")
    torch.save({"model": {"a": Program()}}, folder / "program.pth")
    (folder / "program.pkl").write_bytes(pickle.dumps({"model": {"a": Program()}}))
    (folder / "deep.pkl").write_bytes(b"\x80\x04" + b"(" * 200_000)
    (folder / "header.safetensors").write_bytes((1 << 60).to_bytes(8, "little") + b"{}")
    (folder / "json.safetensors").write_bytes((9999).to_bytes(8, "little") + DEEP.encode() + b" " * 5000)


def encoder(**content: Any) -> Any:
    return lambda folder: check(EncoderSpec, content, "encoders.clip")


def features(**content: Any) -> Any:
    return lambda folder: check(FeatureSpec, content, "features")


RESULTS = [
    right("evaluate good.parquet --csv new.csv -q", makes=("new.csv",)),
    refused("evaluate unlabelled.parquet", "unlabelled.parquet", "captions"),
    *(refused(f"evaluate {name}.parquet", f"{name}.parquet", "again")
      for name in ("label_cut", "label_list", "label_pairing", "label_format", "text_values", "cut")),
    refused("evaluate label_deep.parquet", "label_deep.parquet", "100"),
    refused("evaluate beyond.parquet", "R@1"),
    refused("evaluate one_side.parquet", "one_side.parquet", "directions"),
    refused("evaluate odd_metric.parquet", "accuracy"),
    refused("evaluate good.parquet --csv good.parquet", "--csv", "good.parquet"),
]  # fmt: skip
EMBEDDINGS = [
    right("evaluate good -q --json new.json", makes=("new.json",)),
    refused("evaluate e_dim", "images.npy", "[4, 3]", "[4, 4]"),
    refused("evaluate e_few", "images.npy", "[4, 3]", "[1, 3]"),
    *(refused(f"evaluate {name}", f"{name}/embed.json", "embed again")
      for name in ("e_bool", "e_ids", "e_files_list", "e_digest", "e_format", "e_encoder")),
    refused("evaluate e_outside", "../captions.txt"),
    refused("evaluate e_root", "/etc/passwd"),
    refused("evaluate e_files", "embed.json"),
    refused("evaluate e_cut", "embed.json"),
    refused("evaluate e_gone", "captions.npy", "embed again"),
    refused("evaluate e_captions", "captions.txt", "embed.json"),
    refused("evaluate e_note", "e_note/embed.json", "100"),
    refused("evaluate e_nan", "e_nan"),
    right(lambda folder: EmbeddingFolder.open(folder / "good").subject, "20 captions of 4 images", name="a folder"),
]  # fmt: skip
ENCODERS = [
    *(refused(lambda folder, text=text: parse_encoder(text), said) for text, said in (
        ("", "names no library"), ("clip", "names no library"), ("open_clpi:ViT-B-32/a", "open_clip"),
        ("open_clip:", "names no model"), ("open_clip:ViT-B-32", "names no weights"),
        ("open_clip:/a", "names no weights"), ("open_clip:ViT-B-32/", "names no weights"))),
    refused(encoder(encoder="open_clip:ViT-B-32"), "encoders.clip", "names no weights"),
    refused(encoder(encoder="st:x", prompt="{} and {}"), "2 places"),
    refused(encoder(encoder="st:x", prompt="photo"), "0 places"),
    refused(encoder(encoder="st:x", max_length=2), "max_length is 2"),
    refused(encoder(encoder="st:x", sha256="abc"), "sha256"),
    refused(encoder(encoder="st:x", batch_size=0), "batch_size is 0"),
    refused(encoder(encoder="st:x", precision="float8"), "precision is 'float8'"),
    refused(encoder(encoder="st:x", promt="{}"), "promt", "prompt"),
]  # fmt: skip
FEATURES = [
    *(refused(features(**content), *said) for content, said in (
        ({"extractor": "../x"}, ("extractor", "../x")),
        ({"extractor": "resnet18", "layout": "regions"}, ("only bottom_up and faster_rcnn",)),
        ({"extractor": "bottom_up", "layout": "regions", "proposals": "tiles"}, ("proposals",)),
        ({"extractor": "resnet18", "short": 9}, ("layout: global does not have",)),
        ({"extractor": "resnet18", "layout": "grid", "regions": 7}, ("regions is 7",)),
        ({"extractor": "resnet18", "parts": 0}, ("parts is 0",)),
        ({"extractor": "resnet18", "crops": "ten", "layout": "grid"}, ("crops is 'ten'",)),
        ({"extractor": "faster_rcnn", "layout": "regions", "flavour": "d2"}, ("only bottom_up has",)))),
]  # fmt: skip
MADE_HERE = [  # by earlier stages of the workflow, and cut since
    refused(lambda folder: read_evaluations([folder / "cut.json"]), "cut.json", "evaluate the runs"),
    refused(lambda folder: read_per_image([folder / "cut.parquet"], ["r"]), "cut.parquet", "evaluate"),
    refused(lambda folder: read_per_image([folder / "beyond.parquet"], ["r"]), "'run'"),
    refused(lambda folder: read_subspace_table([folder / "cut.parquet"], "metrics"), "cut.parquet", "evaluate"),
    refused(lambda folder: read_texts(folder / "cut.json"), "cut.json", "figure"),
]  # fmt: skip
DETECTORS = [
    refused(lambda folder: read_vocabulary(folder / "vocabulary_long.txt"), "at most 1,048,576"),
    refused(lambda folder: read_vocabulary(folder / "vocabulary_empty.txt", 3), "0 lines"),
    refused(lambda folder: read_vocabulary(folder / "vocabulary_nul.txt"), "vocabulary_nul.txt"),
    *(refused(lambda folder, file=file: read_state(folder / file), file)
      for file in ("program.pth", "program.pkl", "deep.pkl", "header.safetensors", "json.safetensors", "red.png")),
    refused("features regions red.zip -o new.npy", "--weights"),
    refused("features regions red.zip --weights nowhere.pkl -o new.npy", "nowhere.pkl"),
    refused("features regions red.zip --weights program.pth -o new.npy", "program.pth"),
    refused("features regions red.zip --weights program.pth --regions 0 -o new.npy", "--regions"),
    refused("features regions red.zip --weights program.pth --regions 9-3 -o new.npy", "--regions"),
    refused("features regions red.zip --weights program.pth --part 3/2 -o new.npy", "--part"),
    refused("features regions red.zip --network faster_rcnn --flavour d2 -o new.npy", "faster_rcnn", "--flavour"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*RESULTS, *EMBEDDINGS, *ENCODERS, *FEATURES, *MADE_HERE, *DETECTORS], ids=str)
def test_results_and_embeddings(case, carry_out):
    carry_out(case)
