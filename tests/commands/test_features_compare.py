"""`fivesentences features compare`: ours beside released features, as a table, a picture and a check."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from PIL import Image

from drawn_features import drawn, write

FACTS = ("boxes", "sizes", "classes")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Released features of six images, ours that are equal, and ours with classes of other weights."""
    monkeypatch.chdir(tmp_path)
    theirs = [replace(one, features=np.abs(one.features) + 1) for one in drawn(6, FACTS, regions=(6, 6), dim=9)]
    write(theirs, tmp_path / "theirs.npy", "table")
    write([replace(one, image_id=f"{one.image_id}.jpg") for one in theirs], tmp_path / "ours.npy", "table")
    write([replace(one, classes=one.classes + 1) for one in theirs], tmp_path / "wrong.npy", "table")
    (tmp_path / "photographs").mkdir()
    for one in theirs:
        Image.new("RGB", (one.width, one.height), "white").save(f"photographs/{one.image_id}.png")
    return theirs


def test_equal_features_are_as_released(files, run):
    said = run("features", "compare", "ours.npy", "theirs.npy", "--check", "--csv", "images.csv")
    assert said.code == 0 and said.out.rstrip().endswith("As released.")
    assert "all 6 images" in said.out
    table = pd.read_csv("images.csv")
    assert list(table["image_id"]) == [one.image_id for one in files]
    assert (table["same_regions"] == 1).all() and (table["same_classes"] == 1).all()


def test_a_check_of_wrong_weights_ends_with_what_is_wrong_and_where(files, run):
    said = run("features", "compare", "wrong.npy", "theirs.npy", "--check", "--json", "found.json")
    assert said.code == 1 and "As released" not in said.out
    assert said.err.splitlines()[-1].startswith(
        "Error: wrong.npy: not as released: 0% of the classes of partners are equal, not 80%"
    )
    found = json.loads(Path("found.json").read_text())
    assert found["as_released"] is False and found["overall"]["same_regions"] == 1
    assert run("features", "compare", "wrong.npy", "theirs.npy").code == 0  # without --check it only tells


@pytest.mark.slow
@pytest.mark.parametrize("photographs", [(), ("-p", "photographs")])
def test_a_picture_shows_boxes_of_both_and_has_every_pair(files, run, photographs):
    said = run("features", "compare", "ours.npy", "theirs.npy", "--picture", "p.png", *photographs, "-n", "2")
    assert said.code == 0
    pairs = pd.read_csv("p.csv")
    assert len(pairs) == 36
    drawn_pairs = pairs.dropna(subset="theirs_x1")
    assert drawn_pairs["image_id"].nunique() == 4 and len(drawn_pairs) == 8
    np.testing.assert_allclose(
        drawn_pairs[["ours_x1", "ours_y1", "ours_x2", "ours_y2"]],
        drawn_pairs[["theirs_x1", "theirs_y1", "theirs_x2", "theirs_y2"]],
    )
    assert min(imread("p.png").shape[:2]) > 700


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--picture", "p.jpg"), "p.jpg: the file name of a picture must end in .png."),
        (("--picture", "p.png", "--image", "nobody"), "image 'nobody' is not in both; ids look like 'image_0'."),
        (("--csv", "theirs.npy"), "theirs.npy"),
    ],
)
def test_mistakes_are_one_sentence(files, run, arguments, said):
    ended = run("features", "compare", "ours.npy", "theirs.npy", *arguments)
    assert ended.code == 1 and said in ended.err.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.data
def test_released_features_of_ten_photographs_are_as_released(mirror, run, tmp_path, monkeypatch):
    """Half precision, other ids and another format change nothing; those of the next photograph are not as released."""
    monkeypatch.chdir(tmp_path)
    theirs = mirror / "butd_sample" / "train2014_obj36.tsv"
    assert run("features", "convert", str(theirs), "half.npy", "--as", "float16").code == 0
    assert run("features", "compare", "half.npy", str(theirs), "--check").code == 0
    images = pd.read_parquet("half.images.parquet")
    order = "".join(f"{name}\n" for name in images["image_id"])
    (tmp_path / "order.txt").write_text(order)
    arrays = np.load("half.npy")
    np.save("next_ims.npy", np.roll(arrays, 1, axis=0))
    (tmp_path / "next_ids.txt").write_text(order)
    said = run("features", "compare", "next_ims.npy", str(theirs), "--check")
    assert said.code == 1 and "median cosine" in said.err
