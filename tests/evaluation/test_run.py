"""A run's JSON holds what the metrics say, and refuses inputs that belong to other data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.features import FeatureSpec
from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, mean_phi, metric_of, recall_at_k
from fivesentences.metrics.result import sums_of
from fivesentences.models import model_spec
from fivesentences.reproduction.evaluation.run import Evaluated, evaluate_runs, kept_epoch, write_mean_similarity
from fivesentences.reproduction.evaluation.tidy import VALUE_COLUMNS, collect, read_evaluations
from fivesentences.retrieval import Gallery, rescore
from fivesentences.semantics import write_phi
from fivesentences.training.spec import CHANCE, EnsembleRun, RunSpec

SPEC = RunSpec(dataset="made", features=FeatureSpec(extractor="made"), model=model_spec("vsepp"))
WORDS = ["a red dog runs", "the dog eats", "a boy on a bike", "two boys ride", "one bird", "a bird in a tree"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    rows = [
        (f"{split}{i}", f"{split}{i}.png", f"{split}{i}.{n}", f"{WORDS[(i + n) % len(WORDS)]} {i}", split, None)
        for split in ("train", "dev", "test")
        for i in range(6)
        for n in range(2 + i % 2)
    ]
    corpus = Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS)))
    corpus.write(tmp_path / "made.parquet")
    test = corpus.split("test")
    for phi in ("cider", "tfidf"):
        write_phi(phi, test.captions, test.image_of_caption, tmp_path / f"{phi}.npy")
    labels = {"dog": [image % 2 == 0 for image in range(18)], "bike": [image % 3 > 0 for image in range(18)]}
    ids = [f"{split}{image}" for split in ("test", "train", "dev") for image in range(6)]
    pd.DataFrame({"image_id": ids, **labels}).to_parquet(tmp_path / "labels.parquet")
    similarity = np.random.default_rng(0).normal(size=(test.n_images, test.n_captions)).astype(np.float32)
    np.save(tmp_path / "similarity.npy", similarity)
    return {name: tmp_path / f"{name}.{suffix}" for name, suffix in
            (("made", "parquet"), ("cider", "npy"), ("tfidf", "npy"), ("similarity", "npy"), ("labels", "parquet"),
             ("out", "json"))}  # fmt: skip


def evaluate(
    files: dict[str, Path],
    phis: tuple[str, ...] = ("cider",),
    inferences: tuple[str, ...] = ("naive",),
    spec: RunSpec | EnsembleRun = SPEC,
    **options: Any,
) -> None:
    matrices = {phi: files[phi] for phi in ("cider", "tfidf") if any(phi in one.split("+") for one in phis)}
    runs = [Evaluated(spec, files["similarity"], inferences)]
    evaluate_runs(runs, corpus=files["made"], phis=phis, matrices=matrices, out=files["out"], **options)


COMMON = {"formulas": ("released", "paper"), "asp_ties": ("index", "average")}


def of_main(files: dict[str, Path]) -> Evaluator:
    """What evaluates the main phi."""
    labels = pd.read_parquet(files["labels"]).set_index("image_id").loc[[f"test{image}" for image in range(6)]]
    phi = {"cider": np.load(files["cider"])}
    options = {"ms": (1, 2, 3, 4, 5), "styles": ("recall", "vse_recall"), "hubness": True, **COMMON}
    return Evaluator(phi, labels=labels.to_numpy(), **options)


def values_of(evaluator: Evaluator, gallery: Gallery, method: str) -> list[Any]:
    values: list[Any] = []
    for way in ("i2t", "t2i"):
        values += evaluator(gallery.with_similarity(rescore(gallery, method, way)), (way,)).values
    return values


def reported(values: list[Any]) -> list[Any]:
    return [value for value in [*values, *sums_of(values)] if metric_of(value["metric"]).of_runs]


def test_every_number_is_that_of_an_evaluator_of_the_rescored_matrix(files: dict[str, Path]) -> None:
    methods = ("naive", "inverted_softmax", "csls", "assignment")
    evaluate(files, ("cider", "tfidf", "cider+tfidf"), methods, labels=files["labels"])
    tidy = collect([files["out"]], "tiny")
    similarity, cider, tfidf = (np.load(files[name]) for name in ("similarity", "cider", "tfidf"))
    gallery = Gallery.of(similarity, Corpus.read(files["made"]).split("test").image_of_caption)
    others = Evaluator({"tfidf": tfidf, "cider+tfidf": mean_phi([cider, tfidf])}, ms=(), **COMMON)
    keys = [name for name in VALUE_COLUMNS if name != "value"]
    wanted: dict[tuple[Any, ...], float] = {}
    for method in methods:
        values = values_of(of_main(files), gallery, method)
        of_others = others(gallery).values if method == "naive" else []
        values += [value for value in of_others if value["phi"] and value["direction"]]
        for value in reported(values):
            wanted[tuple(({**value, "inference": method})[key] for key in keys)] = value["value"]
    by_chance = [*of_main(files).by_chance(gallery), *(v for v in others.by_chance(gallery) if v["phi"])]
    for value in reported([v for v in by_chance if v["direction"]]):
        wanted[tuple(({**value, "inference": CHANCE})[key] for key in keys)] = value["value"]
    assert tidy.set_index(keys)["value"].to_dict() == wanted
    assert tidy["labels"].all() and (tidy.run == SPEC.name).all()


def test_hubs_are_counted_item_by_item(files: dict[str, Path]) -> None:
    evaluate(files, inferences=("naive", "assignment"))
    (content,) = read_json(files["out"])
    similarity = np.load(files["similarity"])
    for way, nearest, items in (("i2t", similarity.argmax(axis=1), 15), ("t2i", similarity.argmax(axis=0), 6)):
        times = np.bincount(nearest, minlength=items)
        assert content["hubs"]["naive"][way] == np.bincount(times).tolist()
    # Every caption is given its own place: an image is the nearest of as many captions as it has.
    assert content["hubs"]["assignment"]["t2i"] == [0, 0, 3, 3]


@pytest.mark.slow
def test_runs_that_are_evaluated_together_have_the_numbers_of_each_alone(files: dict[str, Path]) -> None:
    phis, methods = ("cider", "tfidf", "cider+tfidf"), ("naive", "csls", "inverted_softmax")
    runs, alone = [], []
    for seed in range(3):
        spec = SPEC.model_copy(update={"seed": seed})
        similarity = files["out"].with_name(f"similarity{seed}.npy")
        np.save(similarity, np.random.default_rng(seed).normal(size=np.load(files["similarity"]).shape))
        runs.append(Evaluated(spec, similarity, methods[: seed + 1]))
        evaluate({**files, "similarity": similarity}, phis, methods[: seed + 1], spec, labels=files["labels"])
        alone += read_json(files["out"])
    matrices = {phi: files[phi] for phi in ("cider", "tfidf")}
    evaluate_runs(runs, corpus=files["made"], phis=phis, matrices=matrices, out=files["out"], labels=files["labels"])
    assert read_evaluations([files["out"]]) == alone
    assert collect([files["out"]], "s").run.unique().tolist() == [run.spec.name for run in runs]


def test_an_ensemble_is_evaluated_by_the_mean_of_its_members_similarities(files, tmp_path):
    shape = np.load(files["similarity"]).shape
    members = np.random.default_rng(5).normal(size=(3, *shape)).astype(np.float32)
    paths = [tmp_path / f"member{number}.npy" for number in range(3)]
    for path, matrix in zip(paths, members, strict=True):
        np.save(path, matrix)
    write_mean_similarity(paths, files["similarity"])
    mean = np.load(files["similarity"])
    assert mean.dtype == np.float32
    np.testing.assert_allclose(mean, members.mean(axis=0, dtype=np.float64), rtol=1e-6)
    ensemble = EnsembleRun(ensemble="three", members=[SPEC.model_copy(update={"seed": seed}) for seed in range(3)])
    evaluate(files, spec=ensemble)
    (content,) = read_json(files["out"])
    assert content["run"] == ensemble.name and content["model"] == "three"
    assert content["ensemble_of"] == [member.name for member in ensemble.members]
    corpus = Corpus.read(files["made"]).split("test")
    naive = [v for v in content["values"] if v["inference"] == "naive" and v["direction"] == "t2i"]
    found = {v["metric"]: v["value"] for v in naive if v["metric"] == "R@1"}
    recall = recall_at_k(members.mean(axis=0), ks=(1,), direction="t2i", image_of_caption=corpus.image_of_caption)
    assert found["R@1"] == pytest.approx(recall[1])
    assert collect([files["out"]], "s").run.unique().tolist() == [ensemble.name]
    np.save(paths[1], members[1][:, :-1])
    with pytest.raises(InputError, match=r"member1\.npy.*\[6, 14\]"):
        write_mean_similarity(paths, tmp_path / "mean.npy")


def test_the_kept_epoch_is_the_one_that_the_history_marks(tmp_path):
    assert kept_epoch(tmp_path) == (None, None)
    (tmp_path / "history.csv").write_text("epoch,dev_Rsum,best\n1,,0\n2,5.0,0\n3,,0\n4,7.5,1\n", encoding="utf-8")
    assert kept_epoch(tmp_path) == (4, 7.5)
    (tmp_path / "history.csv").write_text("epoch,dev_Rsum\n1,5.0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"history\.csv"):
        kept_epoch(tmp_path)
