"""`fivesentences captioning` of several systems, and of vectors: tables, paired tests, and files that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from pycocoevalcap.cider.cider import Cider

from fivesentences.errors import InputError
from fivesentences.evaluation.caption_tests import compare_captions
from fivesentences.metrics.comparison import holm
from fivesentences.semantics.captioning import score_captions
from fivesentences.semantics.sentence_encoders import encode_captions

WORDS = ["dog", "cat", "runs", "sits", "on", "grass", "two", "red", "ball", "boat"]
N = 9
TOKENS = ("--tokens", "whitespace")


@pytest.fixture
def systems(tmp_path, monkeypatch):
    """Captions by three systems in COCO's form, each in an order of its own, and references of 9 images."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    references = {image: [" ".join(rng.choice(WORDS, 5)) for _ in range(1 + image % 3)] for image in range(10, 10 + N)}
    annotations = [
        {"image_id": image, "id": 100 * image + at, "caption": text}
        for image, texts in references.items()
        for at, text in enumerate(texts)
    ]
    Path("refs.json").write_text(
        json.dumps({"images": [{"id": one} for one in references], "annotations": annotations})
    )
    made = {}
    for name, kept in (("a", 5), ("b", 3), ("c", 2)):
        made[name] = {
            image: " ".join([*texts[0].split()[:kept], *rng.choice(WORDS, 5 - kept)])
            for image, texts in references.items()
        }
        order = rng.permutation(list(references)).tolist()
        results = [{"image_id": image, "caption": made[name][image]} for image in order]
        Path(f"{name}.json").write_text(json.dumps(results))
    return made, references


def content(path="o.json"):
    return json.loads(Path(path).read_text())


def test_every_system_has_pycocoevalcaps_scores_and_pairs_the_p_of_scipys_test(run, systems):
    made, references = systems
    out = ("--json", "o.json", "--csv", "o.csv", "--latex", "o.tex", "--markdown", "o.md")
    said = run("captioning", "a.json", "b.json", "third=c.json", "refs.json", *TOKENS, *out)
    assert said.code == 0, said.err
    each = {
        name: Cider().compute_score(references, {image: [text] for image, text in made[name].items()}) for name in made
    }
    values = {one["system"]: one["scores"][0]["value"] for one in content()["systems"]}
    assert values == pytest.approx({"a": each["a"][0], "b": each["b"][0], "third": each["c"][0]}, abs=1e-9)
    table = pd.read_csv("o.csv").query("system == 'third'").set_index("image")["value"]
    np.testing.assert_allclose(table.sort_index(), each["c"][1], atol=1e-9)
    tests = {(one["system"], one["against"]): one for one in content()["tests"]}
    of = {"a": each["a"][1], "b": each["b"][1], "third": each["c"][1]}
    for (one, other), test in tests.items():
        theirs = scipy.stats.permutation_test(
            (of[one], of[other]), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        )
        assert test["difference"] == pytest.approx(theirs.statistic) and test["p"] == pytest.approx(theirs.pvalue)
    p = [one["p"] for one in tests.values()]
    assert [one["p_holm"] for one in tests.values()] == pytest.approx(holm(p)) and min(p) < 0.01
    assert r"\textbf" in Path("o.tex").read_text() and "| system |" in Path("o.md").read_text()
    assert "<sup>bc</sup>" in Path("o.md").read_text()


def test_one_system_may_be_compared_with_each_of_the_others(run, systems):
    said = run("captioning", "a.json", "b.json", "c.json", "refs.json", *TOKENS, "--against", "b", "--json", "o.json")
    assert said.code == 0 and [(one["system"], one["against"]) for one in content()["tests"]] == [
        ("a", "b"),
        ("c", "b"),
    ]


def test_metrics_by_meaning_are_mean_and_best_cosines_with_the_references():
    pytest.importorskip("wordllama")
    made, references = ["a dog runs", "the cat"], [["two dogs", "a cat sat"], ["a small cat"]]
    found = score_captions(made, references, ["words", "words-max"])
    vectors = iter(encode_captions("wordllama", [*made, *(text for some in references for text in some)]).array)
    ours = [next(vectors) for _ in made]
    cosines = [[one @ next(vectors) for _ in some] for one, some in zip(ours, references, strict=True)]
    np.testing.assert_allclose(found["words"].each, [np.mean(some) for some in cosines], rtol=1e-5)
    np.testing.assert_allclose(found["words-max"].each, [max(some) for some in cosines], rtol=1e-5)


@pytest.fixture
def vectors(systems):
    """Vectors of images, of references, and of the captions of two systems, each in the order of its file."""
    rng = np.random.default_rng(4)
    ids = {name: [one["image_id"] for one in content(f"{name}.json")] for name in ("a", "b")}
    owner = [one["image_id"] for one in content("refs.json")["annotations"]]
    found = {"images": rng.normal(size=(N, 6)), "refs": rng.normal(size=(len(owner), 6))}
    found |= {name: found["images"][np.array(order) - 10] + rng.normal(size=(N, 6)) for name, order in ids.items()}
    for name, array in found.items():
        np.save(f"{name}.npy", array)
    return found, ids, np.array(owner)


GIVEN = ("--image-embeddings", "images.npy", "--caption-embeddings", "a.npy", "--caption-embeddings", "b.npy")


def test_vectors_are_read_in_the_order_of_their_files(run, vectors):
    found, ids, owner = vectors
    metrics = ("--metric", "clipscore,refclipscore,cider", "--reference-embeddings", "refs.npy")
    said = run("captioning", "a.json", "b.json", "refs.json", *TOKENS, *GIVEN, *metrics, "--csv", "o.csv")
    assert said.code == 0, said.err
    unit = {name: array / np.linalg.norm(array, axis=1, keepdims=True) for name, array in found.items()}
    table = pd.read_csv("o.csv")
    for name, order in ids.items():
        of = table[table["system"] == name].pivot(index="image", columns="metric", values="value")
        for row, image in enumerate(order):
            seen = 2.5 * max(unit[name][row] @ unit["images"][image - 10], 0)
            read = max(0, *(unit["refs"][owner == image] @ unit[name][row]))
            assert of["clipscore"][image] == pytest.approx(seen)
            assert of["refclipscore"][image] == pytest.approx(2 * seen * read / (seen + read) if seen + read else 0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("a.json", ["a.json", "candidates first"]),
        ("a.json a.json refs.json", ["'a'", "A=a.json"]),
        ("a.json b.json refs.json --against d", ["--against", "'d'", "a, b"]),
        ("a.json few.json refs.json", ["few.json", "2 of", "'17', '18'"]),
        ("a.json few.json refs.json --subset", ["few.json", "2 images that a.json has", "'17'", "'18'"]),
        ("a.json twice.json refs.json", ["twice.json", "10", "second caption"]),
        ("a.json empty.json refs.json", ["empty.json", "10", "empty"]),
        ("a.json refs.json --metric words-ptb", ["'words'"]),
        ("a.json refs.json --metric clipscore", ["CLIPScore", "--image-embeddings"]),
        ("a.json refs.json --image-embeddings images.npy", ["--image-embeddings", "clipscore"]),
        ("a.json b.json refs.json --metric pacs --image-embeddings images.npy --caption-embeddings a.npy",
         ["--caption-embeddings", "1 file", "2 files"]),
        ("a.json refs.json --metric pacs --image-embeddings refs.npy --caption-embeddings a.npy",
         ["refs.npy", "18 rows", "9 images"]),
        ("a.json refs.json --metric pacs --image-embeddings images.npy --caption-embeddings nan.npy",
         ["nan.npy", "row 2", "nan"]),
        ("a.json refs.json --metric pacs --image-embeddings images.npy --caption-embeddings thin.npy",
         ["thin.npy", "2", "--image-embeddings 6"]),
        ("a.json refs.json --metric refpacs --image-embeddings images.npy --caption-embeddings a.npy",
         ["RefPAC-S", "--reference-embeddings"]),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_are_named_with_value_and_cure(run, vectors, words, told):
    results = content("a.json")
    Path("few.json").write_text(json.dumps([one for one in results if one["image_id"] < 17]))
    Path("twice.json").write_text(json.dumps([*results, {"image_id": 10, "caption": "a dog"}]))
    emptied = [one | {"caption": " "} if one["image_id"] == 10 else one for one in results]
    Path("empty.json").write_text(json.dumps(emptied))
    with_nan = vectors[0]["a"].copy()
    with_nan[2, 1] = np.nan
    np.save("nan.npy", with_nan)
    np.save("thin.npy", vectors[0]["a"][:, :2])
    said = run("captioning", *words.split(), *TOKENS)
    assert said.code == 1 and said.err.count("\n") == 1 and all(word in said.err for word in told), said.err


def test_systems_of_other_metrics_or_images_are_not_compared():
    a, b = (score_captions(made, [["a dog"], ["cat"]], ["bleu1"], "whitespace") for made in (["a", "b"], ["a", "c"]))
    with pytest.raises(InputError, match="at least two"):
        compare_captions({"a": a})
    with pytest.raises(InputError, match="'c'"):
        compare_captions({"a": a, "b": b}, against="c")
    with pytest.raises(InputError, match="metrics"):
        compare_captions({"a": a, "b": {"bleu2": b["bleu1"]}})
