"""The scheduled adaptive margin: every number of ``scheduled_margin.npz``, and what the file does not show."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from torch import Tensor

from fivesentences.errors import InputError
from fivesentences.losses import ScheduledAdaptiveMargin
from fivesentences.losses.scheduled_margin import (
    centroid_term,
    centroids,
    different_category,
    distances,
    feature_limits,
    feature_term,
    hinges_of,
    one_negative,
    unit,
)
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec, activation
from fivesentences.metrics import category_map
from fivesentences.metrics.category import CategoryReader, category_codes
from fivesentences.metrics.ranking import read_rankings

TOLERANCE = 1e-9  # of the largest entry, where that is above 1
MODALITIES = ("image", "text")
DIVISORS = {"hits": "found", "min": "possible"}


class Fixture:
    """The file, and our tensors of its inputs."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays
        self.settings = json.loads(str(arrays["hparams"]))
        self.left = {key for key in arrays if key.startswith(("out/", "grad/"))}
        self.labels = torch.from_numpy(arrays["in/label"]).long()
        self.batch = torch.from_numpy(arrays["in/batch"]).long()
        self.chosen = tuple(torch.from_numpy(arrays[f"in/negative/{side}"]).long() for side in ("i2t", "t2i"))
        self.distance = {name: distances(self.tensor(f"in/feature/{name}")) for name in MODALITIES}

    def tensor(self, key: str) -> Tensor:
        return torch.from_numpy(self.arrays[key])

    def compare(self, key: str, ours: Tensor | np.ndarray | list) -> None:
        theirs = self.arrays[key]
        limit = TOLERANCE * max(1.0, float(np.abs(theirs).max()))
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=limit, err_msg=key)
        self.left.remove(key)

    def feature_term(self, name: str) -> Tensor:
        scope, norm = name.split("_", 1)
        image, text = (self.distance[modality] for modality in MODALITIES)
        labels = self.labels
        if scope == "batch":
            image, text = (one[self.batch][:, self.batch] for one in (image, text))
            labels = labels[self.batch]
        return feature_term(image, text, feature_limits(image, text, norm, different_category(labels)))

    def clusters(self, image: Tensor, text: Tensor, of: str = "unit", similarity: str = "cosine") -> Tensor:
        size = self.settings["categories"]
        return centroid_term(*(centroids(one, self.labels, size, of) for one in (image, text)), similarity)


@pytest.fixture
def fixture(parity) -> Fixture:
    return Fixture(parity("scheduled_margin"))


@pytest.mark.parity
def test_every_number_and_gradient_of_the_equations_is_ours(fixture):
    for schedule in fixture.settings["schedules"]:
        start, steepness, epochs = schedule["f_a"], schedule["k"], schedule["n_e"]
        ours = [activation(t, start, steepness, epochs) for t in range(epochs + 1)]
        fixture.compare(f"out/alpha/fa{start:g}_k{steepness:g}_ne{epochs}", ours)
    for modality in MODALITIES:
        fixture.compare(f"out/distance/{modality}", fixture.distance[modality])
    for scope in ("corpus", "batch"):
        for norm in fixture.settings["feature_norms"]:
            fixture.compare(f"out/feature_term/{scope}_{norm}", fixture.feature_term(f"{scope}_{norm}"))
    for time in ("start", "now"):
        outputs = [fixture.tensor(f"in/{time}/{modality}") for modality in MODALITIES]
        for of in ("unit", "raw"):
            for modality, one in zip(MODALITIES, outputs, strict=True):
                ours = centroids(one, fixture.labels, fixture.settings["categories"], of)
                fixture.compare(f"out/centroid/{time}/{of}/{modality}", ours)
            for similarity in ("cosine", "dot"):
                ours = fixture.clusters(*outputs, of, similarity)
                fixture.compare(f"out/centroid_term/{time}/{of}_{similarity}", ours)
    for case in fixture.settings["cases"]:
        compare_case(fixture, case)
    for name in fixture.settings["map_cases"]:
        compare_map(fixture, name)
    assert not fixture.left


def compare_case(fixture: Fixture, case: dict) -> None:
    batch, labels = fixture.batch, fixture.labels[fixture.batch]
    different = different_category(labels)
    rows = [fixture.tensor(f"in/now/{name}")[batch].clone().requires_grad_() for name in MODALITIES]
    similarity = unit(rows[0]) @ unit(rows[1]).T
    features = fixture.feature_term(case["feature_term"])
    if case["feature_term"].startswith("corpus"):
        features = features[batch][:, batch]
    time = "start" if case["refresh"] == "epoch" else "now"
    all_outputs = [fixture.tensor(f"in/{time}/{name}") for name in MODALITIES]
    if case["refresh"] == "step":
        all_outputs = [whole.index_copy(0, batch, one) for whole, one in zip(all_outputs, rows, strict=True)]
    attached = fixture.clusters(*all_outputs)
    clusters = attached.detach()
    settings = {"margin": case["m"], "feature_share": case["lambda"]}
    module = ScheduledAdaptiveMargin(epochs=100, **settings)
    module.spec = AlphaGiven(**settings).given(case["alpha"])
    margins = module.margins(labels, different, 1, features, clusters)
    key = case["key"]
    fixture.compare(f"out/margin/{key}", margins[0])

    def gradients(loss: Tensor, name: str) -> None:
        for modality, slope in zip(MODALITIES, torch.autograd.grad(loss, rows, retain_graph=True), strict=True):
            fixture.compare(f"grad/{name}/{key}/{modality}", slope)

    def loss_of(hinge: tuple[Tensor, ...]) -> list[Tensor]:
        sums = [one.sum() for one in hinge]
        return [*sums, sums[0] + sums[1], (sums[0] + sums[1]) / len(batch)]

    hinge = hinges_of(similarity, margins, fixture.chosen)
    for side, one in zip(("i2t", "t2i"), hinge, strict=True):
        fixture.compare(f"out/hinge/{key}/{side}", one.detach())
    listed = loss_of(hinge)
    means = [listed[2] / (2 * hinge[0].numel()), hinge[0].mean() + hinge[1].mean()]
    fixture.compare(f"out/loss/{key}", torch.stack([*listed, *means]).detach())
    gradients(listed[3], "loss")
    if f"grad/loss_margin_attached/{key}/image" in fixture.left:
        moving = module.margins(labels, different, 1, features, attached)
        gradients(loss_of(hinges_of(similarity, moving, fixture.chosen))[3], "loss_margin_attached")

    every = hinges_of(similarity, margins)
    everything = loss_of(tuple(one * different for one in every))
    by_pairs = everything[2] / different.sum()
    fixture.compare(f"out/loss_all/{key}", torch.stack([*everything, by_pairs]).detach())
    gradients(everything[3], "loss_all")
    hardest = loss_of(tuple((one * different).max(dim=1).values for one in every))
    fixture.compare(f"out/loss_max/{key}", torch.stack(hardest).detach())
    gradients(hardest[3], "loss_max")
    # The module as a whole, whose negatives and reductions are settings.
    for negatives, reduction, expected in (
        ("all", "batch", everything[3]),
        ("all", "triplets", by_pairs),
        ("hardest", "batch", hardest[3]),
    ):
        module.spec = AlphaGiven(**settings, negatives=negatives, reduction=reduction).given(case["alpha"])
        torch.testing.assert_close(module(similarity, labels, 1, features, clusters), expected, rtol=1e-12, atol=0)


class AlphaGiven(ScheduledMarginSpec):
    """Settings whose alpha the fixture names, not an epoch."""

    fixed_alpha: float = 0.0

    def given(self, alpha: float) -> AlphaGiven:
        return self.model_copy(update={"fixed_alpha": alpha})

    def alpha(self, epoch: int, epochs: int) -> float:
        return self.fixed_alpha


def compare_map(fixture: Fixture, name: str) -> None:
    similarity, images, texts = (
        fixture.arrays[f"in/map/{name}/{key}"] for key in ("similarity", "image_label", "text_label")
    )
    for key in sorted(key for key in fixture.left if key.startswith(f"out/map/{name}/")):
        _, _, _, direction, reading = key.split("/")
        limited = re.fullmatch(r"at(\d+)_(\w+)", reading)
        cutoff = int(limited[1]) if limited else {"all": None, "at_R": "R"}[reading]
        divide_by = DIVISORS[limited[2]] if limited else None
        codes = category_codes(images, texts, similarity.shape, None)
        reader = CategoryReader(codes, direction, (cutoff,), divide_by)
        read_rankings(similarity, direction, reader)
        mean = category_map(similarity, images, texts, direction, cutoff, divide_by=divide_by)
        assert mean == pytest.approx(fixture.arrays[key].mean(), abs=TOLERANCE)
        fixture.compare(key, reader.average_precision[cutoff])


def test_alpha_is_a_half_at_the_start_and_never_overflows():
    assert activation(40, 0.4, 0.1, 100) == 0.5
    assert activation(0, 1.0, 1e6, 1000) == 0.0
    assert activation(1000, 0.0, 1e6, 1000) == 1.0
    assert ScheduledMarginSpec().alpha(41, 100) == ScheduledMarginSpec(first_epoch=1).alpha(40, 100) == 0.5
    assert ScheduledMarginSpec(always=True).alpha(1, 100) == 1.0


def test_distances_are_those_of_scipy_near_duplicates_too():
    rng = np.random.default_rng(0)
    left, right = rng.normal(100, 1, (30, 8)), rng.normal(100, 1, (20, 8))
    left[1] = left[0]
    np.testing.assert_allclose(distances(torch.from_numpy(left)), cdist(left, left), atol=1e-6)
    ours = distances(torch.from_numpy(left), torch.from_numpy(right))
    np.testing.assert_allclose(ours, cdist(left, right), atol=1e-6)
    assert (distances(torch.from_numpy(left)).diagonal() == 0).all()


@pytest.mark.parametrize("norm", ["max", "max_cross", "minmax", "modality_max", "modality_minmax"])
def test_distances_of_other_documents_stay_within_the_limits_of_the_corpus(norm):
    few = distances(torch.randn(10, 3, generator=torch.Generator().manual_seed(0)))
    limits = feature_limits(few, 2 * few, norm, different_category(torch.arange(10) % 3))
    term = feature_term(5 * few, 7 * few, limits)
    assert term.min() == 0 and term.max() == 1


def brute_force(spec: ScheduledMarginSpec, similarity, labels, alpha, features, clusters) -> float:
    """Equation 5 as it is printed, one triplet after the other."""
    size, total, triplets = len(labels), 0.0, 0
    for direction, scores in enumerate((similarity, similarity.T)):
        for a in range(size):
            found = []
            for n in range(size):
                if labels[a] == labels[n]:
                    continue
                share = spec.feature_share
                adaptive = share * features[direction][a, n] + (1 - share) * clusters[labels[a], labels[n]]
                margin = alpha * adaptive + (1 - alpha) * spec.margin
                found.append(max(0.0, margin - scores[a, a] + scores[a, n]))
            kept = found if spec.negatives == "all" else [max(found)]
            total += math.fsum(kept)
            triplets += len(kept)
    return total / size if spec.reduction == "batch" else 2 * total / triplets


@pytest.mark.parametrize("negatives", ["all", "hardest"])
@pytest.mark.parametrize("reduction", ["batch", "triplets"])
def test_the_loss_is_the_printed_sum_with_a_feature_term_of_each_direction(negatives, reduction):
    rng = np.random.default_rng(1)
    labels = np.array([0, 1, 2, 0, 1, 1, 0])
    similarity, clusters = rng.uniform(-1, 1, (7, 7)), rng.uniform(size=(3, 3))
    features = rng.uniform(size=(7, 7)), rng.uniform(size=(7, 7))
    loss = ScheduledAdaptiveMargin(epochs=10, negatives=negatives, reduction=reduction, feature_share=0.3)
    given = (torch.from_numpy(features[0]), torch.from_numpy(features[1]))
    ours = loss(torch.from_numpy(similarity), torch.from_numpy(labels), 6, given, torch.from_numpy(clusters))
    expected = brute_force(loss.spec, similarity, labels, activation(5, 0.4, 0.1, 10), features, clusters)
    assert ours.item() == pytest.approx(expected, abs=1e-12)


def test_one_negative_is_drawn_evenly_from_other_categories():
    labels = torch.tensor([2, 0, 1, 0, 2, 2])
    generator = torch.Generator().manual_seed(0)
    draws = torch.rand(4000, len(labels), generator=generator)
    counts = torch.zeros(6, 6)
    for row in draws:
        chosen = one_negative(labels, row)[:, 0]
        assert (labels[chosen] != labels).all()
        counts[torch.arange(6), chosen] += 1
    for anchor in range(6):
        others = counts[anchor][labels != labels[anchor]]
        assert others.min() > 0.85 * 4000 / len(others)


def test_shuffled_margins_are_the_same_margins_on_other_pairs():
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    features, clusters = torch.rand(6, 6), torch.rand(3, 3)
    different = different_category(labels)
    plain = ScheduledAdaptiveMargin().margins(labels, different, 50, features, clusters)[0]
    control = ScheduledAdaptiveMargin(shuffled=True).margins(labels, different, 50, features, clusters)[0]
    assert not torch.equal(control, plain)
    torch.testing.assert_close(control[different].sort().values, plain[different].sort().values)


def test_mistakes_are_named():
    labels, similarity = torch.tensor([0, 1]), torch.eye(2)
    with pytest.raises(InputError, match="clusters"):
        ScheduledAdaptiveMargin()(similarity, labels, 1, torch.rand(2, 2))
    with pytest.raises(InputError, match="features"):
        ScheduledAdaptiveMargin()(similarity, labels, 1)
    with pytest.raises(InputError, match="constant"):
        ScheduledAdaptiveMargin(toward="constant")
    with pytest.raises(InputError, match="always"):
        ScheduledAdaptiveMargin(toward="nothing", always=True)
