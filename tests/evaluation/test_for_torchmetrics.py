"""The metric for torchmetrics against ``evaluate``: in one process, in collections, and in two that hold half each."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torchmetrics import MetricCollection

from fivesentences import evaluate
from fivesentences.errors import InputError
from fivesentences.evaluation.flat_numbers import flat_numbers
from fivesentences.evaluation.for_torchmetrics import ImageTextMetric

N_IMAGES, N_CAPTIONS = 21, 105
OWNERS = np.repeat(np.arange(N_IMAGES), 5)


@pytest.fixture
def given():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(N_IMAGES, 6))
    captions = images[OWNERS] + 2 * rng.normal(size=(N_CAPTIONS, 6))
    return torch.tensor(images), torch.tensor(captions), rng.random((N_CAPTIONS, N_IMAGES))


def numbers(scores):
    return {name: float(score) for name, score in scores.items()}


def pairs_in(metric, images, captions, order, size=8):
    """Update with batches of captions and their images, as a loader of pairs gives them."""
    for some in np.split(order, range(size, len(order), size)):
        metric.update(images[OWNERS[some]], captions[some], OWNERS[some], torch.tensor(some))


def test_batches_of_pairs_in_any_order_are_scored_as_the_whole(given):
    images, captions, phi = given
    metric = ImageTextMetric({"cider": phi})
    expected = evaluate(images, captions, phis={"cider": phi})
    for seed in range(2):
        pairs_in(metric, images, captions, np.random.default_rng(seed).permutation(N_CAPTIONS))
        found = metric.compute()
        assert numbers(found) == pytest.approx(flat_numbers(expected), rel=1e-6)
        assert all(score.ndim == 0 for score in found.values())
        assert len(found) == len(expected.values)  # no two numbers have one name
        metric.reset()
    assert float(found["i2t_R@1"]) == pytest.approx(expected["R@1", "i2t"])
    assert float(found["t2i_SR@5_cider_removed_m2"]) == pytest.approx(
        expected["SR@5", "t2i", {"m": 2, "ground_truth": "removed"}]
    )


def test_images_and_captions_may_come_apart_and_pairing_and_options_are_those_of_evaluate(given):
    images, captions, phi = given
    owners = np.random.default_rng(1).permutation(OWNERS)
    metric = ImageTextMetric(phi, image_of_caption=owners, asp_ties=(), ms=(1,), compute_on_cpu=True)
    for start in range(0, N_CAPTIONS, 10):
        metric.update(captions=captions[start : start + 10], caption_ids=range(start, min(start + 10, N_CAPTIONS)))
    metric(images.flip(0), image_ids=torch.arange(N_IMAGES).flip(0))
    expected = evaluate(images, captions, phis=phi, image_of_caption=owners, asp_ties=(), ms=(1,))
    assert numbers(metric.compute()) == pytest.approx(flat_numbers(expected), rel=1e-6)


def test_a_collection_holds_several_in_one_flat_dictionary(given):
    images, captions, phi = given
    both = MetricCollection({"all": ImageTextMetric(), "five": ImageTextMetric(phi.T.reshape(phi.shape), ms=())})
    pairs_in(both, images, captions, np.arange(N_CAPTIONS))
    found = both.compute()
    assert float(found["all_Rsum"]) == float(found["five_Rsum"]) and "five_i2t_NCS@5_phi_kept" in found


@pytest.mark.parametrize("known_by", ["phi", "pairing", "nothing"])
def test_missing_items_are_named(given, known_by):
    images, captions, phi = given
    metric = ImageTextMetric(**{"phi": {"phis": phi}, "pairing": {"image_of_caption": OWNERS}, "nothing": {}}[known_by])
    pairs_in(metric, images, captions, np.delete(np.arange(N_CAPTIONS), [7, 23]))
    with pytest.raises(InputError, match=r"caption.* 2 of 105.*7, 23"):
        metric.compute()
    metric.reset()
    pairs_in(metric, images, captions, np.delete(np.arange(N_CAPTIONS), range(15, 20)))
    with pytest.raises(InputError, match=r"image.* 1 of 21.*3"):
        metric.compute()


def test_ids_that_are_not_those_of_the_split_are_refused(given):
    images, captions, phi = given
    metric = ImageTextMetric(phi)
    with pytest.raises(InputError, match="images"):
        metric.compute()
    for wrong in ({}, {"image_ids": range(3)}, {"image_ids": np.linspace(0, 1, N_IMAGES)}):
        with pytest.raises(InputError, match="image_ids"):
            metric.update(images, **wrong)
    metric.update(images, captions, range(1, N_IMAGES + 1), range(N_CAPTIONS))
    with pytest.raises(InputError, match=r"image_ids has 21"):
        metric.compute()
    metric.reset()
    for start in range(0, 20, 10):  # counted within the batch
        metric.update(images[start : start + 10], captions, range(10), range(N_CAPTIONS))
    with pytest.raises(InputError):
        metric.compute()
    without_phi = ImageTextMetric()
    for start in range(0, 20, 10):
        without_phi.update(images[start : start + 10], captions[:50], range(10), range(50))
    with pytest.raises(InputError, match=r"image_ids has 0.*differ"):
        without_phi.compute()


def test_without_torchmetrics_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, "fivesentences.evaluation.for_torchmetrics")
    with pytest.raises(InputError, match=r"\[torchmetrics\]"):
        importlib.import_module("fivesentences.evaluation.for_torchmetrics")


@pytest.mark.slow
def test_two_processes_run_the_example_and_both_have_the_numbers_of_one(given, tmp_path):
    images, captions, phi = given
    # DistributedSampler gives one every second pair, and the other the rest and one of the first again.
    rows = {"images_of_pairs": images[OWNERS], "captions": captions, "image_ids": OWNERS}
    np.savez(tmp_path / "given.npz", phi=phi, caption_ids=np.arange(N_CAPTIONS), **rows)
    script, own = Path(__file__).with_name("gloo_process.py"), os.environ | {"GLOO_SOCKET_IFNAME": "lo"}
    both = [subprocess.Popen([sys.executable, script, str(rank), tmp_path], env=own) for rank in range(2)]
    try:
        assert [one.wait(timeout=300) for one in both] == [0, 0]
    finally:
        for one in both:
            one.kill()
    expected = flat_numbers(evaluate(images, captions, phis={"cider": phi}, asp_ties=()))
    for rank in range(2):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == pytest.approx(expected, rel=1e-6)
