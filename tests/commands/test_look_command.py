"""`fivesentences look` and `evaluate --figure` as they are typed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from drawn_photographs import jpeg
from fivesentences.errors import InputError


@pytest.fixture
def photographed(folder) -> Path:
    """The small model's 20 images, in a zip."""
    with zipfile.ZipFile("photos.zip", "w") as archive:
        for number in range(20):
            archive.writestr(f"{number:02d}.jpg", jpeg(number % 12))
    return folder


def look(*arguments: str) -> None:
    from fivesentences.cli import command_line

    command_line(later=True).main(["look", *arguments], standalone_mode=False)


def read(folder: str = "look") -> dict:
    text = Path(folder, "data.js").read_text("utf-8").split("\n", 1)[1]
    return json.loads(text.removeprefix("window.LOOK=").rstrip().removesuffix(";"))


def test_models_are_those_of_evaluate(photographed, capsys):
    look("sims.npy", "other.npy", "emb=image_emb.npy,text_emb.npy", "--captions", "captions.txt", "-o", "look")
    data = read()
    assert data["models"] == ["sims", "other", "emb"] and data["shape"] == [20, 100]
    values = {row["model"]: row["values"] for row in data["numbers"] if row["metric"] == "R"}
    assert values["sims"] == values["emb"] != values["other"]
    assert capsys.readouterr().out.splitlines()[0] == str(Path("look/index.html"))


def test_photographs_and_what_is_said_of_them(photographed, capsys):
    look("sims.npy", "--captions", "captions.txt", "--images", "photos.zip")
    printed = capsys.readouterr().out
    assert "20 thumbnails of 240 pixels" in printed and "Nothing names the photographs" in printed
    data = read()
    assert data["images"]["source"] == "photos.zip" and data["images"]["named_by"] == ""
    assert [one[1] for one in data["pictures"]][:2] == ["00.jpg", "01.jpg"]


def test_names_of_photographs(photographed):
    Path("ids.txt").write_text("".join(f"{number:02d}\n" for number in reversed(range(20))))
    look("sims.npy", "--captions", "captions.txt", "--images", "photos.zip", "--image-ids", "ids.txt")
    data = read()
    assert data["images"]["named_by"] == "ids.txt" and data["pictures"][0][1] == "19"


def test_a_file_of_captions_that_names_images_names_photographs(photographed):
    captions = Path("captions.txt").read_text().splitlines()
    lines = [f"{19 - number // 5:02d}.jpg#{number % 5}\t{text}\n" for number, text in enumerate(captions)]
    Path("tokens.txt").write_text("".join(lines))
    look("sims.npy", "--captions", "tokens.txt", "--images", "photos.zip")
    data = read()
    assert data["images"]["named_by"] == "tokens.txt" and data["pictures"][0][1] == "19.jpg"


def test_fewer_queries_are_shown_where_asked_for(photographed):
    look("sims.npy", "--captions", "captions.txt", "--queries", "10", "--k", "3")
    data = read()
    assert {len(side["queries"]) for side in data["sides"].values()} == {10} and data["k"] == 3


@pytest.mark.slow
def test_lists_of_items_are_looked_at_as_far_as_they_reach(photographed):
    sims = np.load("sims.npy")
    for name, scores in (("i2t", sims), ("t2i", sims.T)):
        order = np.argsort(-scores, axis=1, kind="stable")[:, :12]
        np.savez(f"{name}.npz", indices=order, scores=np.take_along_axis(scores, order, 1))
    look("sims.npy", "--captions", "captions.txt", "-o", "whole")
    look("i2t.npz,t2i=t2i.npz", "--captions", "captions.txt", "-o", "lists")
    whole, lists = read("whole"), read("lists")
    assert lists["reach"] == 12 and lists["ks"] == [1, 2, 5, 10]
    assert lists["sides"]["t2i"]["answers"][0]["items"] == whole["sides"]["t2i"]["answers"][0]["items"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--query", "3"], "--query chooses what --figure draws"),
        (["--figure", "out.pdf"], "--query chooses what --figure draws"),
        (["--query", "3", "--figure", "out.docx"], r"must end in \.pdf, \.svg, \.png"),
        (["--query", "100", "--figure", "out.pdf"], r"no query 100: the captions are 0 to 99"),
        (["--query", "3", "--figure", "sims.npy"], r"must end in"),
        (["-o", "captions.txt"], "this is a file, and a page is a folder"),
        (["-o", "."], "the folder holds something else already"),
        (["--images", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_told_in_one_sentence(photographed, arguments, said):
    with pytest.raises(InputError, match=said):
        look("sims.npy", "--captions", "captions.txt", *arguments)
    assert not Path("look").exists()


def test_captions_are_needed(photographed):
    with pytest.raises(InputError, match="--captions FILE"):
        look("sims.npy", "--phi", "cider.npy")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".pdf", ".svg", ".png"])
def test_figures_are_written_and_equal_each_time(photographed, suffix):
    from fivesentences.cli import command_line

    begins = {".pdf": b"%PDF", ".svg": b"<?xml", ".png": b"\x89PNG"}[suffix]
    contents = []
    for _ in range(2):
        look(
            "sims.npy",
            "--captions",
            "captions.txt",
            "--images",
            "photos.zip",
            "--query",
            "17",
            "--figure",
            f"q{suffix}",
        )
        arguments = ["evaluate", "sims.npy", "other.npy", "--phi", "cider.npy", "--figure", f"c{suffix}", "-q"]
        command_line(later=True).main(arguments, standalone_mode=False)
        contents.append([Path(f"{name}{suffix}").read_bytes() for name in "qc"])
        assert all(one.startswith(begins) for one in contents[-1])
    assert contents[0] == contents[1] and not Path("look").exists()


@pytest.mark.slow
def test_curves_of_folds_are_their_means(folder, monkeypatch):
    from fivesentences.cli import command_line
    from fivesentences.pages import curves

    drawn = []
    monkeypatch.setattr(curves.Curves, "write", lambda self, path: drawn.append(self.lines))
    words = ["evaluate", "sims.npy", "--phi", "cider.npy", "--dataset", "coco-1k-5fold", "--ks", "1,2", "-q"]
    command_line(later=True).main([*words, "--figure", "c.pdf", "--json", "o.json"], standalone_mode=False)
    values = {(row["metric"], row["direction"], row["ground_truth"]): row["value"] for row in read_values("o.json")}
    for line in drawn[0]["sims"]:
        short = "R" if line.metric == "R" else "N"
        assert line.ks == (1, 2)
        expected = [values[f"{short}@{k}", line.direction, line.ground_truth] for k in line.ks]
        assert line.values == pytest.approx(expected)


def read_values(path: str) -> list[dict]:
    return json.loads(Path(path).read_text("utf-8"))["values"]
