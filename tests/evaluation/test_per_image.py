"""What images contribute to Rsum, Nsum and ASP has the run's own numbers as its mean."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.reproduction.evaluation.run import RunEvaluator
from fivesentences.reproduction.evaluation.tidy import SUMMED, frame_of_run, read_as
from fivesentences.training.spec import CHANCE

SIZES = {"equal numbers": [5] * 12, "different numbers": [1, 2, 7, 3, 1, 1, 4, 2, 2, 5, 1, 9]}


def made(sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairing, similarity and phi of a gallery, in which own items are somewhat better than others."""
    draw, owner = np.random.default_rng(len(set(sizes))), np.repeat(np.arange(len(sizes)), sizes)
    own = owner[None] == np.arange(len(sizes))[:, None]
    return owner, draw.normal(size=own.shape) + own, draw.gamma(0.4, 0.3, own.T.shape) + own.T


def value_of(values, metric: str, direction: str, ground_truth: str, formula: str, phi: str = "main") -> float:
    wanted = (metric, direction, ground_truth, formula)
    (found,) = (
        value["value"]
        for value in values
        if tuple(value[key] for key in ("metric", "direction", "ground_truth", "formula")) == wanted
        and value["phi"] in ("", phi)
    )
    return found


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_mean_over_images_is_the_runs_own_number(sizes):
    owner, similarity, phi = made(sizes)
    other = np.random.default_rng(9).gamma(0.4, 0.3, phi.shape)
    evaluator = RunEvaluator({"main": phi, "other": other, "third": phi}, owner, further=["other"])
    values, _, found = evaluator(similarity, ("naive", "csls", "csls, 3 folds"))
    assert list(found) == [(method, of) for method in ("naive", "csls") for of in ("main", "other")]
    of_third = {value["inference"] for value in values if value["phi"] == "third"}
    assert of_third == {"naive", CHANCE}, "re-scored similarities are scored by main and further phi alone"
    for (method, of), per_image in found.items():
        of_method = [value for value in values if value["inference"] == method]
        for column, key in SUMMED.items():
            assert per_image[column].mean() == pytest.approx(value_of(of_method, *key, of), abs=1e-10)
    per_image, naive = found["naive", "main"], [value for value in values if value["inference"] == "naive"]
    frame = frame_of_run("run", [f"i{image}" for image in range(len(sizes))], per_image)
    assert frame[list(SUMMED)].dtypes.unique().tolist() == [np.float32]
    for column in SUMMED:
        mean = frame[column].astype(float).mean()
        assert mean == pytest.approx(value_of(naive, *SUMMED[column]), abs=1e-4)


def test_an_image_contributes_its_own_hits_and_the_mean_of_its_captions():
    owner, similarity, phi = made(SIZES["equal numbers"])
    *_, per_image = RunEvaluator({"main": phi}, owner)(similarity)
    found = per_image["naive", "main"]
    for image in range(12):
        hits = sum((np.argsort(-similarity[image], kind="stable")[:k] // 5 == image).any() for k in (1, 5, 10))
        of_captions = [
            sum(image in np.argsort(-similarity[:, caption], kind="stable")[:k] for k in (1, 5, 10))
            for caption in range(5 * image, 5 * image + 5)
        ]
        assert found["Rsum"][image] == pytest.approx(100 * (hits + np.mean(of_captions)))


def test_what_is_read_as_it_is_by_the_main_phi_has_the_name_of_the_run():
    assert read_as("a/seed=0") == "a/seed=0"
    assert read_as("a/seed=0", "csls") == "a/seed=0,inference=csls"
    assert read_as("a/seed=0", "csls", "tfidf") == "a/seed=0,inference=csls,phi=tfidf"
