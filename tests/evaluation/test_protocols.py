"""Protocols and comparisons, against plain loops over folds and queries."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.evaluation import PROTOCOLS, compare, evaluate
from fivesentences.evaluation.protocols import Protocol
from fivesentences.metrics import Evaluator, asp, ncs, recall_at_k
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
        with pytest.raises(InputError, match=r"these fit it: .*coco-1k-first"):
            evaluate(np.zeros((1000, 5000)), protocol=name)


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


def test_the_first_fold_may_be_given_alone(given, small):
    similarity, phi = given
    first = evaluate(similarity, {"x": phi}, "first")
    assert first.value("R@5", "i2t") == recall_at_k(similarity[:4, :20], (5,))[5]
    assert evaluate(similarity[:4, :20], {"x": phi[:20, :4]}, "first").values == first.values


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


def test_one_phi_without_a_name_and_none_at_all(given):
    similarity, phi = given
    assert evaluate(similarity, phi).value("N@1", "i2t", ground_truth="kept") == ncs(similarity, phi, (1,))[1]
    assert not [v for v in evaluate(similarity).values if v["phi"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"protocol": "coco"}, "it is one of"),
        ({"protocol": "f30k"}, r"f30k has 1000 images and 5000 captions"),
        ({"labels": np.zeros((19, 3))}, "give one row per image"),
        ({"categories": np.zeros(20), "caption_categories": np.zeros(99)}, "give one row per caption"),
        ({"positives": {"CxC": None}, "protocol": "folds"}, "defined for the whole gallery"),
    ],
)
def test_a_wrong_request_is_one_sentence(given, small, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        evaluate(**{"similarity": given[0], **arguments})


def test_compare_averages_to_the_metrics_and_clusters_by_image(given):
    similarity, phi = given
    other = np.random.default_rng(5).normal(size=similarity.shape)
    frame = compare(similarity, other, {"x": phi}, resamples=99).set_index(["metric", "direction", "ground_truth"])
    assert frame.loc["R@5", "t2i", ""]["a"] == pytest.approx(recall_at_k(similarity, (5,), "t2i")[5])
    assert frame.loc["N@10", "i2t", "removed"]["b"] == pytest.approx(
        ncs(other, phi, (10,), keep_ground_truth=False)[10]
    )
    assert (frame["clusters"] == 20).all() and set(frame["n"]) == {20, 100}
    assert ((frame["low"] <= frame["difference"]) & (frame["difference"] <= frame["high"])).all()


def test_rsum_is_compared_with_unequal_captions_and_over_folds(given, small):
    similarity, _ = given
    other = np.random.default_rng(6).normal(size=similarity.shape)
    frame = compare(similarity, other, protocol="folds", resamples=50)
    assert frame["clusters"].iloc[0] == 20
    for side, matrix in (("a", similarity), ("b", other)):
        wanted = evaluate(matrix, protocol="folds").value("Rsum")
        assert frame[frame.metric == "Rsum"][side].item() == pytest.approx(wanted)
    pairing = np.array([0, 0, 1, 1, 1, 2, 0])
    frame = compare(similarity[:3, :7], other[:3, :7], image_of_caption=pairing, resamples=50)
    wanted = evaluate(similarity[:3, :7], image_of_caption=pairing).value("Rsum")
    assert frame[frame.metric == "Rsum"]["a"].item() == pytest.approx(wanted)


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


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_value_that_is_not_finite_is_located_in_the_file_under_folds_too(given, small, shuffled):
    similarity, phi = (matrix.copy() for matrix in given)
    order = np.random.default_rng(4).permutation(100) if shuffled else np.arange(100)
    pairing = np.repeat(np.arange(20), 5)[order]
    column = int(np.flatnonzero(order == 63)[0])
    broken, broken_phi = similarity[:, order], phi[order]
    broken[12, column], broken_phi[column, 12] = np.nan, np.inf
    sound, sound_phi = similarity[:, order], phi[order]
    with pytest.raises(InputError, match=rf"^similarity\[12, {column}\] is nan \(image 12, caption {column}\)"):
        evaluate(broken, None, "folds", pairing)
    for pool in ("gallery", "given_rows"):
        with pytest.raises(InputError, match=rf"^x: phi\[{column}, 12\] is inf \(image 12, caption {column}\)"):
            evaluate(sound, {"x": broken_phi}, "folds", pairing, ideal_pool=pool)
    for a, b, name in ((broken, sound, "a"), (sound, broken, "b")):
        with pytest.raises(InputError, match=rf"^{name}\[12, {column}\] is nan"):
            compare(a, b, {"x": sound_phi}, "folds", pairing, resamples=9)


def test_sizes_of_the_file_and_of_a_gallery_are_both_said(given, small):
    scores = evaluate(given[0], protocol="folds")
    about = scores.about
    assert (about["file_images"], about["file_captions"], about["images"], about["captions"]) == (20, 100, 4, 20)
    for frame in (scores.wide(), scores.tidy(), compare(*given[:1], given[1].T, protocol="folds", resamples=9)):
        text = str(frame)
        assert "20 images, 100 captions; scored in galleries of 4 and 20; five folds (mean over 5" in text
        assert "equal scores are ordered by index" in text and "..." not in text and "..." not in str(frame.head())
    tidy = scores.tidy()
    assert (tidy["protocol"] == "folds").all() and (tidy["images"] == 4).all() and "tie_rule" in tidy
    assert "tie_rule" not in str(tidy)  # it stands below


def test_asp_with_average_ranks_and_semantic_recall_with_ground_truth_are_compared(given):
    similarity, phi = given
    other = np.random.default_rng(5).normal(size=similarity.shape)
    more = {"asp": True, "asp_ties": ("index", "average"), "sr_ground_truth": ("kept", "removed")}
    frame = compare(similarity, other, {"x": np.round(phi, 1)}, resamples=9, **more)
    asps = frame[(frame.metric == "ASP") & (frame.direction == "i2t")].set_index("formula")
    for ties in ("index", "average"):
        assert asps.loc[ties, "a"] == pytest.approx(asp(similarity, np.round(phi, 1), ties=ties))
    assert set(frame[frame.metric == "SR@5"].ground_truth) == {"kept", "removed"}
    with pytest.raises(InputError, match="sr_ground_truth is 'own'"):
        compare(similarity, other, sr_ground_truth=("own",))
