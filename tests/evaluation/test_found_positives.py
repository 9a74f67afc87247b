"""Right pairs among the first n pairs by phi and by labels."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.config.scales import RIGHT
from fivesentences.corpus import load_judgements, load_karpathy
from fivesentences.errors import InputError
from fivesentences.evaluation.found_positives import pairs_until, shared_labels
from fivesentences.evaluation.positives import CXC_THRESHOLD, cxc_positives
from fivesentences.retrieval import blocks


@pytest.mark.parametrize("levels", [3, 1000])
@pytest.mark.parametrize("block", [1, 10**6])
def test_counts_are_those_of_a_search_by_hand(levels, block, monkeypatch):
    monkeypatch.setattr(blocks, "ELEMENTS_PER_BLOCK", block)  # of 16 rows at least
    drawn = np.random.default_rng(levels)
    phi, owner = drawn.integers(levels, size=(45, 6)).astype(np.float32), np.repeat(np.arange(6), [3, 6, 9, 12, 9, 6])
    others = np.argwhere(owner[:, None] != np.arange(6))
    right = [tuple(pair) for pair in others[drawn.permutation(len(others))[:20]]]
    by_hand = [sum(phi[tuple(other)] >= phi[pair] for other in others) for pair in right]
    assert pairs_until(phi, owner, *zip(*right, strict=True)).tolist() == by_hand


def test_labels_are_ordered_by_how_many_differ():
    labels = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=bool)
    assert shared_labels(labels, np.array([0, 0, 2])).tolist() == [[0, -1, -3], [0, -1, -3], [-3, -2, 0]]


def test_pairs_of_an_image_without_a_label_come_last():
    labels = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    ordered = shared_labels(labels, np.array([0, 1, 2]))
    assert ordered[:2, :2].tolist() == [[0, -1], [-1, 0]]
    assert max(ordered[2].max(), ordered[:, 2].max()) < -3


@pytest.mark.parametrize(
    ("phi", "captions", "images", "named"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [], [], "no right pair"),
        ([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 1], "caption 1"),
        ([[1.0, 0.0], [np.nan, 1.0]], [0], [1], "not finite"),
    ],
)
def test_what_has_no_order_is_refused(phi, captions, images, named):
    with pytest.raises(InputError, match=named):
        pairs_until(phi, [0, 1], captions, images)


@pytest.mark.data
def test_right_pairs_of_cxc_are_those_of_its_gallery(mirror):
    corpus = load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco")
    path = mirror / "cxc" / "sits_test.csv"
    corpus, judged = load_judgements("cxc", path, corpus)
    pairs = judged.pairs
    assert RIGHT["cxc"] == CXC_THRESHOLD
    gallery = cxc_positives(path, corpus.table["caption_id"], corpus.images["image_id"])
    assert int((pairs["human"] >= RIGHT["cxc"]).sum()) == gallery.i2t.nnz
