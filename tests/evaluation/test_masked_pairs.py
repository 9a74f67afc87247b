"""How well phi finds pairs that people find right: benchmarks/masked_pairs.py, against scikit-learn and by hand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SPEC = importlib.util.spec_from_file_location(
    "masked_pairs", Path(__file__).parents[2] / "benchmarks" / "masked_pairs.py"
)
masked_pairs = importlib.util.module_from_spec(SPEC)
sys.modules["masked_pairs"] = masked_pairs  # dataclasses look their module up
SPEC.loader.exec_module(masked_pairs)


def _made_up(n_images=12, per_image=3, seed=0):
    """phi with many ties, and labels that follow it loosely, of all pairs of different images."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(n_images), per_image)
    phi = rng.integers(0, 6, size=(len(own), n_images)).astype(np.float32)
    caption, image = np.nonzero(own[:, None] != np.arange(n_images))
    positive = rng.random(len(caption)) < 0.05 + 0.1 * phi[caption, image]
    return phi, own, masked_pairs.Judged(caption, image, positive, image)


def _times(n_images, draws=5, seed=1):
    rng = np.random.default_rng(seed)
    return np.stack([np.bincount(rng.integers(n_images, size=n_images), minlength=n_images) for _ in range(draws)])


@pytest.mark.slow  # imports scikit-learn
@pytest.mark.parametrize(
    ("n_images", "per_image"), [(12, 3), (12, 40)], ids=["few pairs per image", "many pairs per image"]
)
def test_every_draw_equals_scikit_learn_with_weights(n_images, per_image):
    metrics = pytest.importorskip("sklearn.metrics")
    phi, own, pairs = _made_up(n_images, per_image)
    if per_image == 3:  # a fifth of the pairs, so that the ranks of the few are weighed anew
        kept = np.arange(len(pairs.image)) % 5 == 0
        pairs = masked_pairs.Judged(*(held[kept] for held in vars(pairs).values()))
    assert (n_images**2 > len(pairs.image)) == (per_image == 3)  # both ways of `auc` are tried
    bounds, _ = masked_pairs.bounds_of(phi, own)
    scores, times = phi[pairs.caption, pairs.image].astype(float), _times(n_images)
    found = masked_pairs.measured(scores, pairs, bounds, times)
    for draw, weight in enumerate(times[:, pairs.drawn]):
        area = metrics.roc_auc_score(pairs.positive, scores, sample_weight=weight)
        assert found["auc", 1.0][draw] == pytest.approx(100 * area, abs=1e-9)
        for share, bound in zip(masked_pairs.SHARES, bounds, strict=True):
            above = scores > bound
            recall = metrics.recall_score(pairs.positive, above, sample_weight=weight)
            assert found["recall", share][draw] == pytest.approx(100 * recall, abs=1e-9)
            precision = metrics.precision_score(pairs.positive, above, sample_weight=weight, zero_division=np.nan)
            assert found["precision", share][draw] == pytest.approx(100 * precision, abs=1e-9, nan_ok=True)


def test_a_share_never_masks_more_pairs_than_it_says():
    phi, own, _ = _made_up()
    others = [phi[caption, image] for caption in range(len(phi)) for image in range(12) if own[caption] != image]
    bounds, above = masked_pairs.bounds_of(phi, own)
    for share, bound, percent in zip(masked_pairs.SHARES, bounds, above, strict=True):
        assert percent == pytest.approx(100 * sum(score > bound for score in others) / len(others))
        assert percent <= 100 * share + 1e-9
        # With ties at the bound, the next lower bound would mask too many.
        lower = max((score for score in others if score < bound), default=-1)
        assert 100 * sum(score > lower for score in others) / len(others) > 100 * share - 100 / len(others)


@pytest.mark.parametrize("captions_ask", [True, False])
def test_what_a_query_does_not_list_counts_as_wrong(captions_ask):
    own, listed = np.repeat(np.arange(4), 2), np.zeros((8, 4), dtype=bool)
    listed[1, 0] = listed[1, 2] = listed[6, 2] = True  # the first is the caption's own image
    pairs = masked_pairs.against_unlisted(listed, own, captions_ask)
    by_hand = {
        (caption, image): bool(listed[caption, image])
        for caption in range(8)
        for image in range(4)
        if own[caption] != image and (caption in (1, 6) if captions_ask else image in (0, 2))
    }
    assert (
        dict(zip(zip(pairs.caption.tolist(), pairs.image.tolist(), strict=True), pairs.positive.tolist(), strict=True))
        == by_hand
    )
    assert pairs.drawn.tolist() == [own[c] if captions_ask else i for c, i in by_hand]


def test_differences_are_paired_by_the_images_that_were_drawn():
    phi, own, pairs = _made_up()
    phi = phi + np.random.default_rng(2).random(phi.shape)  # without ties, so that every share masks something
    twice = phi * 2 + 1  # the same order
    drawn = {
        name: masked_pairs.rows_of(name, given, {"people": pairs}, own)[1] for name, given in (("a", phi), ("b", twice))
    }
    table = masked_pairs.differences(drawn)
    assert (table[["points", "low", "high"]].to_numpy() == 0).all() and set(table["share"]) == {0.01, 0.05, 1.0}
    drawn["b"] = masked_pairs.rows_of("b", -phi, {"people": pairs}, own)[1]
    auc = masked_pairs.differences(drawn).set_index("quantity").loc["auc"]
    assert auc["low"] < auc["points"] < auc["high"]
    values = drawn["a"]["people", "auc", 1.0]
    np.testing.assert_allclose(values + drawn["b"]["people", "auc", 1.0], 100)
    assert auc["points"] == pytest.approx(2 * values[0] - 100)


def test_a_phi_of_chosen_pairs_has_an_auc_of_the_sets_that_it_scores_and_nothing_else():
    phi, own, pairs = _made_up()
    phi += np.random.default_rng(2).random(phi.shape, dtype=np.float32)  # every share masks something
    scored = np.full(phi.shape, np.nan, dtype=np.float32)
    scored[pairs.caption[::2], pairs.image[::2]] = phi[pairs.caption[::2], pairs.image[::2]]
    sets = {"half": masked_pairs.Judged(*(held[::2] for held in vars(pairs).values())), "whole": pairs}
    rows, drawn = masked_pairs.rows_of("some", scored, sets, own)
    whole_rows, whole = masked_pairs.rows_of("all", phi, sets, own)
    assert [(row["judges"], row["quantity"]) for row in rows] == [("half", "auc")]
    np.testing.assert_array_equal(drawn["half", "auc", 1.0], whole["half", "auc", 1.0])
    assert rows[0] in [row | {"phi": "some"} for row in whole_rows]
    for two in ({"some": drawn, "all": whole}, {"all": whole, "some": drawn}):
        table = masked_pairs.differences(two)
        assert table[["judges", "quantity"]].to_numpy().tolist() == [["half", "auc"]] and table["points"][0] == 0


@pytest.mark.slow
@pytest.mark.data
def test_cxc_and_eccv_caption_index_the_split_of_the_captions(mirror):
    pytest.importorskip("eccv_caption")
    files = mirror / "coco" / "coco_test5k.zip", mirror / "cxc" / "sits_test.csv"
    for file in files:
        if not file.exists():
            pytest.skip(f"the mirror has no {file.name}")
    sets, split = masked_pairs.judged_coco(*files)
    counts = {name: (len(pairs.image), int(pairs.positive.sum())) for name, pairs in sets.items()}
    assert counts["cxc"] == (19_833, 10_614)  # 35,585 of eccv_caption's lists less the 24,971 own ones
    assert counts["eccv_captions"] == (1_332 * 4_999, 11_279 - 1_332)
    # Of 22,550, 6,296 are own captions, and two are not among the 25,000.
    assert counts["eccv_images"] == (1_261 * 24_995, 22_550 - 6_296 - 2)
    for pairs in sets.values():
        assert not (split.image_of_caption[pairs.caption] == pairs.image).any()
    rated = pd.read_csv(files[1])
    first = rated[rated["sampling_method"] != "c2i_original"].iloc[0]
    caption, image = sets["cxc"].caption[0], sets["cxc"].image[0]
    assert first["caption"].endswith(f":{split.caption_ids[caption]}")
    assert int(first["image"][-16:-4]) == int(split.images["image_id"].iloc[image])
    assert sets["cxc"].positive[0] == (first["agg_score"] >= 3)
