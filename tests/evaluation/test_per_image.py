"""What images contribute to Rsum, Nsum and ASP has the run's own numbers as its mean."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.features import FeatureSpec
from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.documents import read_json
from fivesentences.evaluation.run import Evaluated, RunEvaluator, evaluate_runs
from fivesentences.evaluation.tidy import SUMMED, frame_of_run, read_per_image, write_per_image
from fivesentences.models import model_spec
from fivesentences.semantics import write_phi
from fivesentences.study.runs import RunSpec

SPEC = RunSpec(dataset="made", features=FeatureSpec(extractor="made"), model=model_spec("vsepp"))
SIZES = {"equal numbers": [5] * 12, "different numbers": [1, 2, 7, 3, 1, 1, 4, 2, 2, 5, 1, 9]}


def made(sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairing, similarity and phi of a gallery, in which own items are somewhat better than others."""
    draw, owner = np.random.default_rng(len(set(sizes))), np.repeat(np.arange(len(sizes)), sizes)
    own = owner[None] == np.arange(len(sizes))[:, None]
    return owner, draw.normal(size=own.shape) + own, draw.gamma(0.4, 0.3, own.T.shape) + own.T


def value_of(values, metric: str, direction: str, ground_truth: str, formula: str) -> float:
    wanted = (metric, direction, ground_truth, formula)
    (found,) = (
        value["value"]
        for value in values
        if tuple(value[key] for key in ("metric", "direction", "ground_truth", "formula")) == wanted
        and value["phi"] in ("", "main")
    )
    return found


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_mean_over_images_is_the_runs_own_number(sizes):
    owner, similarity, phi = made(sizes)
    other = np.random.default_rng(9).gamma(0.4, 0.3, phi.shape)
    found = RunEvaluator({"main": phi, "other": other}, owner)(similarity, ("naive", "csls"))
    naive = [value for value in found.values if value["inference"] == "naive"]
    assert found.per_image is not None
    for column, key in SUMMED.items():
        assert found.per_image[column].mean() == pytest.approx(value_of(naive, *key), abs=1e-10)
    frame = frame_of_run("run", [f"i{image}" for image in range(len(sizes))], found.per_image)
    assert frame[list(SUMMED)].dtypes.unique().tolist() == [np.float32]
    for column in SUMMED:
        mean = frame[column].astype(float).mean()
        assert mean == pytest.approx(value_of(naive, *SUMMED[column]), abs=1e-4)


def test_an_image_contributes_its_own_hits_and_the_mean_of_its_captions():
    owner, similarity, phi = made(SIZES["equal numbers"])
    found = RunEvaluator({"main": phi}, owner)(similarity).per_image
    assert found is not None
    for image in range(12):
        hits = sum((np.argsort(-similarity[image], kind="stable")[:k] // 5 == image).any() for k in (1, 5, 10))
        of_captions = [
            sum(image in np.argsort(-similarity[:, caption], kind="stable")[:k] for k in (1, 5, 10))
            for caption in range(5 * image, 5 * image + 5)
        ]
        assert found["Rsum"][image] == pytest.approx(100 * (hits + np.mean(of_captions)))


def test_runs_are_read_again_by_name_from_several_files(tmp_path):
    draw = np.random.default_rng(0)
    frames = {
        run: frame_of_run(run, ["b", "a", "c"], {column: draw.normal(size=3) for column in SUMMED})
        for run in ("one", "two", "three")
    }
    write_per_image([frames["one"], frames["two"]], tmp_path / "1.parquet")
    write_per_image([frames["three"]], tmp_path / "2.parquet")
    write_per_image([], tmp_path / "3.parquet")
    found = read_per_image(sorted(tmp_path.glob("*.parquet")), ["three", "one", "no such run"])
    assert set(found) == {"one", "three"}
    for run, frame in found.items():
        wanted = frames[run].set_index("image_id")[list(SUMMED)]
        pd.testing.assert_frame_equal(frame, wanted, check_index_type=False, check_names=False)


def test_evaluations_write_them_beside_the_numbers(tmp_path):
    rows = [
        (f"i{i}", f"i{i}.png", f"i{i}.{n}", f"a dog {i % 3} runs {n}", "test", None) for i in range(12) for n in (0, 1)
    ]
    corpus = Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS)))
    corpus.write(tmp_path / "made.parquet")
    write_phi("cider", corpus.captions, corpus.image_of_caption, tmp_path / "cider.npy")
    np.save(tmp_path / "s.npy", np.random.default_rng(0).normal(size=(12, 24)).astype(np.float32))
    evaluate_runs(
        [Evaluated(SPEC, tmp_path / "s.npy")], corpus=tmp_path / "made.parquet", phis=["cider"],
        matrices={"cider": tmp_path / "cider.npy"}, out=tmp_path / "out.json", per_image=tmp_path / "out.parquet",
    )  # fmt: skip
    (content,) = read_json(tmp_path / "out.json")
    frame = read_per_image([tmp_path / "out.parquet"], [SPEC.name])[SPEC.name]
    assert frame.index.tolist() == [f"i{i}" for i in range(12)]
    rsum = next(value["value"] for value in content["values"] if value["metric"] == "Rsum")
    assert frame["Rsum"].astype(float).mean() == pytest.approx(rsum, abs=1e-4)
