"""Embeddings in batches, against the similarity of all of them and torchmetrics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fivesentences import EmbeddingEvaluator, evaluate
from fivesentences.errors import InputError

OWNERS = np.repeat(np.arange(20), 5)


@pytest.fixture
def given():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(20, 6))
    return images, images[OWNERS] + 2 * rng.normal(size=(100, 6)), rng.random((100, 20))


def test_images_and_captions_may_come_apart_in_any_order_and_in_one_buffer(given):
    images, captions, phi = given
    order = np.random.default_rng(1).permutation(100)
    evaluator, buffer = EmbeddingEvaluator(phi[order]), np.empty((10, 6))
    for _ in range(2):
        evaluator.reset()
        for some in np.split(order, 10):
            buffer[:] = captions[some]
            evaluator.update(captions=buffer, image_of_caption=OWNERS[some])
        evaluator.update(images)
    expected = evaluate(1 - cdist(images, captions, "cosine"), phi)
    assert evaluator.compute()["Rsum"] == expected["Rsum"]
    assert evaluator.compute()["Nsum", "", {"ground_truth": "kept"}] == pytest.approx(
        expected["Nsum", "", {"ground_truth": "kept"}]
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 5, 10])
def test_recall_is_torchmetrics_hit_rate_of_the_same_batches(given, k):
    import torch
    from torchmetrics.retrieval import RetrievalHitRate  # which takes seconds

    images, captions, _ = map(torch.tensor, given)
    ours, theirs = EmbeddingEvaluator(ks=(k,)), RetrievalHitRate(top_k=k)
    for start in range(0, 20, 4):
        some = slice(start, start + 4)
        ours.update(images[some], captions[5 * start : 5 * start + 20])
        cosines = torch.nn.functional.cosine_similarity(images[some, None], captions[None], dim=2)
        queries = torch.arange(20)[some, None].expand_as(cosines)
        theirs.update(cosines.ravel(), (torch.tensor(OWNERS) == queries).ravel(), indexes=queries.ravel())
    assert ours.compute()[f"R@{k}", "i2t"] == pytest.approx(100 * float(theirs.compute()))


def test_what_does_not_fit_is_refused_and_not_kept(given):
    images, captions, _ = given
    evaluator = EmbeddingEvaluator()
    with pytest.raises(InputError, match="images"):
        evaluator.compute()
    evaluator.update(images, captions)
    before = evaluator.compute().values
    for wrong, named in (
        ((images[:, :3],), r"\[20, 3\]"),
        ((None, captions[:, 0]), "captions"),
        ((images, captions, OWNERS[:7]), r"\[7\].*100 captions"),
        ((images, None, [0]), "0 captions"),
    ):
        with pytest.raises(InputError, match=named):
            evaluator.update(*wrong)
    assert evaluator.compute().values == before
    evaluator.update(captions=captions[:1], image_of_caption=[0])
    with pytest.raises(InputError, match=r"image_of_caption.*\[1\].*101 captions"):
        evaluator.compute()
