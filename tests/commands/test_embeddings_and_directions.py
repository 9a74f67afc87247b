"""`fivesentences evaluate`: files of embeddings, however they are named, and a similarity for each direction."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fivesentences.evaluation import evaluate


def values(run, *words):
    said = run("evaluate", *words, "--json", "out.json")
    assert said.code == 0, said.err
    content = json.loads(Path("out.json").read_text())
    return [one["value"] for one in content["values"]], content["notes"], said.out


@pytest.fixture
def embeddings(folder):
    np.save("img.npy", 3 * np.load("image_emb.npy")[::5])
    np.save("txt.npy", np.load("text_emb.npy"))
    np.savez("emb.npz", img=np.load("img.npy"), txt=np.load("txt.npy"))


@pytest.mark.parametrize(
    ("given", "pair"),
    [
        ("img.npy txt.npy", "img.npy,txt.npy"),
        ("clip=img.npy txt.npy", "img.npy,txt.npy"),
        ("emb.npz:img emb.npz:txt", "emb.npz:img,emb.npz:txt"),
        ("image_emb.npy text_emb.npy", "image_emb.npy,text_emb.npy"),  # each image once per caption
    ],
)
def test_two_files_of_embeddings_are_one_model_and_the_notes_say_so(run, embeddings, given, pair):
    found, _, shown = values(run, *given.split(), "--phi", "cider.npy")
    wanted = evaluate(np.load("sims.npy"), {"cider": np.load("cider.npy")}).values
    assert found == pytest.approx([one["value"] for one in wanted])
    first, second = pair.split(",")
    assert f"{first} and {second} are taken for embeddings of images and of captions: {pair}." in shown
    assert "Cosine similarity of embeddings of 14 dimensions, normalised first (lengths " in shown


def test_pairs_of_embeddings_stand_among_other_models(run, embeddings):
    said = run("evaluate", "sims.npy", "img.npy", "txt.npy", "b=img.npy,txt.npy", "other.npy", "--csv", "o.csv")
    assert said.code == 0, said.err
    rows = [line.split(",") for line in Path("o.csv").read_text().splitlines()]
    assert list(dict.fromkeys(row[0] for row in rows[1:]))[:4] == ["sims", "img", "b", "other"]


def test_two_similarities_stay_two_models(run, folder):
    said = run("evaluate", "sims.npy", "other.npy", "--json", "out.json")
    assert said.code == 0 and "2 models" in said.out
    np.save("t.npy", np.load("sims.npy").T)
    np.save("u.npy", np.load("other.npy").T)
    assert run("evaluate", "t.npy", "u.npy", "--transposed").code == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("img.npy", ["img.npy is [20, 14]", "IMAGES,TEXTS if these are embeddings"]),
        ("txt.npy img.npy", ["txt.npy has 100 rows and img.npy only 20", "images first"]),
        (
            "t.npy t2.npy",
            ["t.npy and t2.npy have one shape", "write t.npy,t2.npy for embeddings, or give --transposed"],
        ),
        ("img.npy nan.npy", ["nan.npy[3, 2] is nan"]),
        ("img.npy zero.npy", ["zero.npy: 1 of 100 rows is all zeros (7"]),
        ("sims.npy,t2i=t.npy", ["t.npy is [100, 20]", "transposed"]),
        ("sims.npy,t2i=small.npy", ["small.npy is [20, 99] but sims.npy is [20, 100]"]),
        ("sims.npy,t2i=none.npy", ["none.npy: there is no such file"]),
        ("sims.npy,t2i=", ["'' is none of FILE", "',t2i=FILE'"]),
        ("sims.npy,t2i=other.npy,t2i=third.npy", ["names twice what scores caption queries"]),
        ("sims.npy,t2i=img.npy,txt.npy,third.npy", ["is none of FILE"]),
    ],
)
def test_what_fits_nothing_is_refused_with_file_and_cure(run, embeddings, given, says):
    np.save("t.npy", np.load("sims.npy").T)
    np.save("t2.npy", np.load("other.npy").T)
    np.save("small.npy", np.load("sims.npy")[:, :99])
    for name, (row, column), value in (("nan", (3, 2), np.nan), ("zero", (7, slice(None)), 0)):
        texts = np.load("txt.npy")
        texts[row, column] = value
        np.save(f"{name}.npy", texts)
    said = run("evaluate", *given.split())
    assert said.code == 1 and said.err.count("\n") == 1 and all(part in said.err for part in says), said.err


@pytest.mark.parametrize("given", ["sims.npy,t2i=other.npy", "mine=img.npy,txt.npy,t2i=other.npy"])
def test_each_direction_is_read_from_its_own_files(run, embeddings, given):
    matrices = np.load("sims.npy"), np.load("other.npy")
    found, notes, _ = values(run, given, "--phi", "cider.npy", "--trec", "runs", "--trec-depth", "all")
    wanted = evaluate(matrices[0], {"cider": np.load("cider.npy")}, t2i=matrices[1]).values
    assert found == pytest.approx([one["value"] for one in wanted])
    first = "sims.npy" if given[0] == "s" else "img.npy"
    assert f"Image queries are scored by {first}, caption queries by other.npy." in notes
    inputs = json.loads(Path("out.json").read_text())["inputs"]
    assert {"other.npy", first} <= {Path(one["file"] if isinstance(one, dict) else one).name for one in inputs}
    lines = [line.split() for line in Path("runs/t2i.run").read_text().splitlines()]
    order = [int(line[2].lstrip("i")) for line in lines if line[0] == "c7"]
    assert order == np.argsort(-matrices[1][:, 7], kind="stable").tolist()
    lines = [line.split() for line in Path("runs/i2t.run").read_text().splitlines()]
    order = [int(line[2].lstrip("c")) for line in lines if line[0] == "i3"]
    assert order[:5] == np.argsort(-matrices[0][3], kind="stable")[:5].tolist()


def test_models_with_a_similarity_per_direction_are_compared(run, folder):
    said = run("evaluate", "sims.npy", "both=sims.npy,t2i=other.npy", "--json", "out.json")
    assert said.code == 0 and "2 models" in said.out
    tests = json.loads(Path("out.json").read_text())["tests"]
    of_images = [one for one in tests if one["direction"] == "i2t"]
    assert of_images and all(one["difference"] == 0 for one in of_images)
    assert any(one["difference"] != 0 for one in tests if one["direction"] == "t2i")


def test_products_get_a_note_and_cosines_none(run, embeddings):
    np.save("products.npy", np.load("img.npy") @ np.load("txt.npy").T)
    assert "products.npy reaches" in run("evaluate", "products.npy").out
    assert "sims.npy reaches" not in run("evaluate", "sims.npy").out
