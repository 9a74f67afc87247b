"""Protocols and comparisons, against plain loops over folds and queries."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.evaluation import PROTOCOLS, compare, evaluate
from fivesentences.evaluation.protocols import Protocol
from fivesentences.metrics import Evaluator, ncs, recall_at_k
from fivesentences.retrieval import Gallery


@pytest.fixture
def given():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 100)), rng.random((100, 20))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "folds", Protocol("folds", 20, 100, 4, 5, "five folds"))
    monkeypatch.setitem(PROTOCOLS, "first", Protocol("first", 20, 100, 4, 1, "the first four"))


@pytest.mark.parametrize(
    ("name", "whole", "alone"),
    [
        ("f30k", (1000, 5000), True),
        ("flickr8k", (1000, 5000), True),
        ("coco-5k", (5000, 25000), False),
        ("coco-1k-5fold", (5000, 25000), False),
        ("coco-1k-first", (5000, 25000), True),
    ],
)
def test_a_protocol_accepts_its_split_or_its_only_gallery_alone(name, whole, alone):
    accepts = PROTOCOLS[name].accepts
    assert accepts(*whole) and not accepts(*whole[::-1]) and not accepts(whole[0], whole[1] - 1)
    assert accepts(1000, 5000) == alone
    if not alone:
        with pytest.raises(InputError, match="coco-1k-first"):
            evaluate(np.zeros((1000, 5000)), protocol=name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("flickr30k", "but f30k has 1000 images"),
        ("F30k", "but f30k has 1000 images"),
        ("coco", "protocol is 'coco'; it is one of coco-5k, coco-1k-5fold, coco-1k-first"),
        ("imagenet", "it is one of flickr8k, f30k, coco-5k"),
        (30, "protocol is 30; it is one of flickr8k, f30k"),
    ],
)
def test_a_protocol_is_known_by_every_name_of_its_dataset(given, name, says):
    with pytest.raises(InputError, match=says):
        evaluate(given[0], protocol=name)


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_number_is_the_mean_over_folds_in_any_caption_order(given, small, shuffled):
    similarity, phi = given
    options = {"formulas": ("released", "paper"), "weightings": ("hard", "soft"), "discounts": (None, "log")}
    options |= {"ncs_ms": (None, 7), "hubness": True, "hub_ks": (1, 3), "category_cutoffs": (None, 9)}
    of_images = {"categories": np.arange(20) % 2, "labels": np.eye(20)}
    of_folds = []
    for fold in range(5):
        images, texts = slice(4 * fold, 4 * fold + 4), slice(20 * fold, 20 * fold + 20)
        own = {name: values[images] for name, values in of_images.items()}
        of_folds.append(Evaluator({"x": phi[texts, images]}, **options, **own)(similarity[images, texts]).values)
    shuffle = np.random.default_rng(1).permutation(100) if shuffled else np.arange(100)
    pairing = np.repeat(np.arange(20), 5)[shuffle]
    matrices = similarity[:, shuffle], {"x": phi[shuffle]}
    result = evaluate(*matrices, "folds", pairing, **options, **of_images)
    assert result.about["galleries"] == 5 and "mean over 5" in result.about["averaged"]
    for found, *parts in zip(result.values, *of_folds, strict=True):
        assert found.pop("value") == pytest.approx(np.mean([part.pop("value") for part in parts]), abs=1e-9), found
        assert all(part == found for part in parts)


def uneven(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A similarity, a phi and a pairing of 20 images with five to seven captions, not adjacent."""
    rng = np.random.default_rng(seed)
    pairing = rng.permutation(np.repeat(np.arange(20), rng.integers(5, 8, 20)))
    return rng.normal(size=(20, len(pairing))), rng.random((len(pairing), 20)), pairing


def by_hand(similarity: np.ndarray, owner: np.ndarray, k: int) -> tuple[float, float]:
    """R@k of both directions by sorting one query after the other; equal scores do not occur."""
    of_images = [any(owner[c] == i for c in np.argsort(-row)[:k]) for i, row in enumerate(similarity)]
    of_captions = [owner[c] in np.argsort(-column)[:k] for c, column in enumerate(similarity.T)]
    return 100 * float(np.mean(of_images)), 100 * float(np.mean(of_captions))


@pytest.mark.parametrize("first", [None, 5, 2])
def test_folds_of_any_pairing_are_those_of_a_plain_loop(small, first):
    similarity, phi, pairing = uneven()
    result = evaluate(similarity, {"x": phi}, "folds", pairing, first_captions=first)
    places = [np.flatnonzero(pairing == image)[:first] for image in range(20)]
    for k in (1, 5):
        of_folds = []
        for fold in range(5):
            images = np.arange(4 * fold, 4 * fold + 4)
            chosen = np.sort(np.concatenate([places[image] for image in images]))
            owner = pairing[chosen] - images[0]
            of_folds.append(by_hand(similarity[np.ix_(images, chosen)], owner, k))
        for side, wanted in zip(("i2t", "t2i"), np.mean(of_folds, axis=0), strict=True):
            assert result[f"R@{k}", side] == pytest.approx(wanted)
    kept = np.sort(np.concatenate(places))
    assert result.about["file_captions"] == len(kept)
    said = [note for note in result.about["notes"] if note.startswith("folds:")]
    assert len(said) == (first != 5) and all(f"{len(kept):,}" in note for note in said)
    if first != 2:  # equal blocks of too few captions are refused where nobody asked for them
        alone = evaluate(similarity[:, kept], {"x": phi[kept]}, "folds", pairing[kept])
        assert alone.values == result.values


def test_other_similarities_are_cut_to_the_same_captions(small):
    similarity, _, pairing = uneven()
    other = np.random.default_rng(9).normal(size=similarity.shape)
    kept = np.sort(np.concatenate([np.flatnonzero(pairing == image)[:5] for image in range(20)]))
    result = evaluate(similarity, None, "folds", pairing, t2i=other, first_captions=5)
    wanted = evaluate(other[:, kept], None, "folds", pairing[kept])
    assert result["R@1", "t2i"] == wanted["R@1", "t2i"]


@pytest.mark.parametrize("first", [0, -1])
def test_a_number_of_captions_below_one_is_refused(small, first):
    similarity, _, pairing = uneven()
    with pytest.raises(InputError, match=f"first_captions is {first}"):
        evaluate(similarity, None, "folds", pairing, first_captions=first)


def test_the_command_uses_all_captions_of_coco_or_the_first_five_of_each(small, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PROTOCOLS, "coco-1k-5fold", PROTOCOLS["folds"])
    similarity, phi, pairing = uneven()
    np.save("s.npy", similarity)
    np.save("x.npy", phi)
    np.savetxt("owner.txt", pairing, fmt="%d")
    words = [
        "evaluate",
        "s.npy",
        "--phi",
        "x.npy",
        "--image-of-caption",
        "owner.txt",
        "--dataset",
        "coco-1k-5fold",
        "--json",
        "o.json",
    ]
    for more, first in (([], None), (["--first-captions", "5"], 5)):
        said = run(*words, *more)
        assert said.code == 0, said.err
        wanted = evaluate(similarity, {"x": phi}, "folds", pairing, first_captions=first)
        found = json.loads(Path("o.json").read_text())
        assert found["file_captions"] == wanted.about["file_captions"]
        assert [one["value"] for one in found["values"]] == pytest.approx([one["value"] for one in wanted.values])


def test_both_ways_to_score_a_matrix_give_the_same_result(given):
    similarity, phi = given
    options = {"hubness": True, "labels": np.eye(20), "categories": np.arange(20) % 3, "asp_ties": ("average",)}
    pairing = np.random.default_rng(3).permutation(np.repeat(np.arange(20), 5))
    wanted = Evaluator({"x": phi}, pairing, **options)(similarity)
    gallery = Gallery.of(similarity, pairing, {"x": phi})
    ways = [evaluate(similarity, {"x": phi}, image_of_caption=pairing, **options), evaluate(gallery, **options)]
    tensor = torch.from_numpy(similarity).requires_grad_()
    ways += [evaluate(tensor, {"x": torch.from_numpy(phi)}, image_of_caption=pairing, **options)]
    half = tensor.bfloat16()
    assert evaluate(half).values == evaluate(half.detach().float().numpy()).values
    for result in ways:
        assert (result.values, result.about) == (wanted.values, wanted.about)


def test_compare_averages_to_the_metrics_and_clusters_by_image(given):
    similarity, phi = given
    other = np.random.default_rng(5).normal(size=similarity.shape)
    frame = compare(similarity, other, {"x": phi}, ms=(), resamples=99)
    frame = frame.set_index(["metric", "direction", "ground_truth"])
    assert frame.loc["Rsum", "", ""]["b"] == pytest.approx(evaluate(other)["Rsum"])
    assert frame.loc["R@5", "t2i", ""]["a"] == pytest.approx(recall_at_k(similarity, (5,), "t2i")[5])
    assert frame.loc["N@10", "i2t", "removed"]["b"] == pytest.approx(
        ncs(other, phi, (10,), keep_ground_truth=False)[10]
    )
    assert (frame["clusters"] == 20).all() and set(frame["n"]) == {20, 100}
    assert ((frame["low"] <= frame["difference"]) & (frame["difference"] <= frame["high"])).all()


def test_a_better_model_is_found_and_chance_is_not(given):
    rng = np.random.default_rng(7)
    own = np.repeat(np.eye(60), 5, axis=1)
    a, b, c = (own * strength + rng.normal(size=own.shape) for strength in (3.0, 1.0, 1.0))
    better, same = compare(a, b, resamples=500), compare(b, c, resamples=500)
    assert (better[better.metric.str.startswith("R")]["p"] < 0.01).all()
    assert same[same.metric == "Rsum"]["p"].item() > 0.01


def test_the_first_fold_repeats_the_released_slip_whatever_the_files_hold(given, small):
    similarity, phi = given
    wanted = ncs(similarity[:4, :20], phi[:, :4], (5,), ideal_pool="given_rows")[5]
    shuffle = np.random.default_rng(2).permutation(100)
    pairing = np.repeat(np.arange(20), 5)[shuffle]
    for s, p, whose in (
        (similarity, phi, None),
        (similarity[:4, :20], phi, None),
        (similarity[:4, :20], phi[:, :4], None),
        (similarity[:, shuffle], phi[shuffle], pairing),
    ):
        found = evaluate(s, {"x": p}, "first", whose, ideal_pool="given_rows")
        assert found.value("N@5", "i2t", ground_truth="kept") == pytest.approx(wanted)
        usual = evaluate(s, {"x": p[:20, :4] if len(s) == 4 else p}, "first", whose)
        assert usual.value("N@5", "i2t", ground_truth="kept") > wanted
        assert usual.value("N@5", "t2i", ground_truth="kept") == found.value("N@5", "t2i", ground_truth="kept")


def test_phi_in_the_place_of_the_protocol_is_named():
    with pytest.raises(InputError, match="phis="):
        evaluate(np.eye(2, 3), np.eye(10, 3), {"cider": np.ones((10, 2))})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "told"),
    [({"captions": ["a"] * 10}, "phis="), ({"dataset": "f30k"}, "protocol="), ({"hubnes": True}, "'hubness'")],
)
def test_an_argument_that_there_is_not_is_an_error_with_its_cure(options, told):
    with pytest.raises(InputError, match=f"{next(iter(options))} is no argument.*{told}"):
        evaluate(np.eye(2).repeat(5, axis=1), **options)


def test_evaluations_are_not_similarities():
    similarity = np.eye(2).repeat(5, axis=1)
    done = evaluate(similarity)
    for name, pair in {"a": (done, done), "b": (similarity, done)}.items():
        with pytest.raises(InputError, match=f"{name} is an evaluation"):
            compare(*pair)
    with pytest.raises(InputError, match="similarity is an evaluation"):
        evaluate(done)
