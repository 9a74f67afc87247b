"""`fivesentences features extract` and `show` on a folder of drawn pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from PIL import Image

from fivesentences.corpus import Photographs, decode
from fivesentences.features.grid_descriptors import GridDescriptors

NAMES = ("red", "red_too", "green", "green_too", "blue", "blue_too", "white")


@pytest.fixture
def pictures(tmp_path, monkeypatch) -> Path:
    """Pictures in pairs of nearly the same colour, 90 x 60 pixels."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        image = Image.new("RGB", (90, 60), name.removesuffix("_too"))
        image.putpixel((5 * number, 7), (9, 9, 9))
        image.save(folder / f"{name}.png")
    return folder


def descriptors(folder: Path, names: list[str]) -> np.ndarray:
    one, there = GridDescriptors("global"), Photographs(folder)
    return np.stack([one.describe(one.prepare(decode(there.read(name), name))[None])[0] for name in names])


def test_a_folder_becomes_features_with_their_source(pictures, run):
    said = run("features", "extract", "pictures", "--network", "grid_descriptors", "-o", "f.npy", "--workers", "0")
    assert said.code == 0
    assert said.out == "f.npy: 7 images, 1,199 numbers (float32)\n"
    images = pd.read_parquet("f.images.parquet")
    assert list(images["image_id"]) == [f"{name}.png" for name in sorted(NAMES)]
    np.testing.assert_array_equal(np.load("f.npy"), descriptors(pictures, list(images["filename"])))
    source = json.loads(Path("f.source.json").read_text())
    assert source["extractor"] == "grid_descriptors"
    said = run("features", "extract", "pictures", "--network", "grid_descriptors:grid", "-o", "g.npy", "--workers", "1")
    assert said.out == "g.npy: 7 images of 36 cells, 72 numbers (float32)\n"


def test_parts_join_to_the_whole(pictures, run):
    start = ("features", "extract", "pictures", "--network", "grid_descriptors", "--workers", "0", "-o")
    run(*start, "whole.npy")
    for part in (1, 2, 3):
        assert run(*start, f"{part}.npy", "--part", f"{part}/3").code == 0
    assert [len(np.load(f"{part}.npy")) for part in (1, 2, 3)] == [2, 2, 3]
    assert run("features", "convert", "1.npy", "2.npy", "3.npy", "joined.npy").code == 0
    np.testing.assert_array_equal(np.load("joined.npy"), np.load("whole.npy"))
    said = run("features", "extract", "pictures", "--network", "grid_descriptors", "-o", "x.npy", "--part", "1/8")
    assert said.err == "Error: 8 parts of 7 images are too many; give fewer parts.\n"


def test_a_contact_sheet_puts_like_beside_like(pictures, run):
    run("features", "extract", "pictures", "--network", "grid_descriptors", "-o", "f.npy", "--workers", "0")
    said = run("features", "show", "f.npy", "-p", "pictures", "-o", "sheet.png", "-n", "2")
    assert said.code == 0
    assert said.out == "sheet.png: neighbours of 7 images of f.npy (numbers in sheet.csv)\n"
    data = pd.read_csv("sheet.csv")
    first = data[data["place"] == 1].set_index("query")["image_id"]
    for colour in ("red", "green", "blue"):
        assert first[f"{colour}.png"] == f"{colour}_too.png"
        assert first[f"{colour}_too.png"] == f"{colour}.png"
    # In the first row of the sheet, the picture of the query and the one of its neighbour have their colour.
    sheet, query = imread("sheet.png"), data["query"][0]
    colour = np.array(Image.new("RGB", (1, 1), Path(query).stem.removesuffix("_too")).getpixel((0, 0))) / 255
    same = (np.abs(sheet[: len(sheet) // 7 + 40, :, :3] - colour) < 0.02).all(axis=2).sum(axis=0) > 50
    assert (np.diff(same.astype(int)) == 1).sum() + same[0] == 2


@pytest.mark.slow
@pytest.mark.data
def test_the_released_regions_are_drawn_on_their_photographs(mirror, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = mirror / "butd_sample"
    said = run("features", "show", str(there / "train2014_obj36.tsv"), "-p", str(there / "images"), "-o", "b.png")
    assert said.code == 0
    data = pd.read_csv("b.csv")
    assert len(data) == 40
    assert (data.groupby("image_id")["score"].apply(lambda scores: (scores.diff().dropna() <= 0).all())).all()
    assert min(imread("b.png").shape[:2]) > 1000
