"""A run's JSON holds what the metrics say, and refuses inputs that belong to other data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.config import FeatureSpec, ModelSpec, RunSpec
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.evaluation import collect, evaluate_run, summary, write_tidy
from fivesentences.metrics import ncs, rank_statistics, recall_at_k, semantic_recall
from fivesentences.semantics import write_phi
from fivesentences.storage import read_json

SPEC = RunSpec(dataset="made", features=FeatureSpec(extractor="made"), model=ModelSpec(name="vsepp"))
WORDS = ["a red dog runs", "the dog eats", "a boy on a bike", "two boys ride", "one bird", "a bird in a tree"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    rows = [
        {
            "image_id": f"{split}{image}",
            "filename": f"{split}{image}.png",
            "caption_id": f"{split}{image}.{number}",
            "caption": f"{WORDS[(image + number) % len(WORDS)]} {image}",
            "split": split,
            "category": None,
        }
        for split in ("train", "dev", "test")
        for image in range(6)
        for number in range(2 + image % 2)
    ]
    corpus = Corpus("made", pd.DataFrame(rows))
    corpus.write(tmp_path / "made.parquet")
    test = corpus.split("test")
    write_phi("cider", test.captions, test.image_of_caption, tmp_path / "cider.npy")
    similarity = np.random.default_rng(0).normal(size=(test.n_images, test.n_captions)).astype(np.float32)
    np.save(tmp_path / "similarity.npy", similarity)
    return {name: tmp_path / f"{name}.{suffix}" for name, suffix in
            (("made", "parquet"), ("cider", "npy"), ("similarity", "npy"), ("out", "json"))}  # fmt: skip


def evaluate(files: dict[str, Path]) -> None:
    evaluate_run(SPEC, corpus=files["made"], similarity=files["similarity"], phi=files["cider"], out=files["out"])


def test_every_number_is_that_of_the_public_functions(files: dict[str, Path]) -> None:
    evaluate(files)
    tidy = collect([files["out"]], "tiny")
    similarity, phi = np.load(files["similarity"]), np.load(files["cider"])
    pairing = Corpus.read(files["made"]).split("test").image_of_caption

    def value(**keys: object) -> float:
        found = tidy[np.logical_and.reduce([tidy[key] == wanted for key, wanted in keys.items()])]
        assert len(found) == 1, keys
        return float(found.value.iloc[0])

    for way in ("i2t", "t2i"):
        for k, number in recall_at_k(similarity, direction=way, image_of_caption=pairing).items():
            assert value(metric=f"R@{k}", direction=way) == number
        ranks = rank_statistics(similarity, direction=way, image_of_caption=pairing)
        assert value(metric="Mean r", direction=way) == ranks.mean
        for formula in ("released", "paper"):
            for kept in (True, False):
                name = "kept" if kept else "removed"
                common = {"direction": way, "formula": formula, "ground_truth": name}
                scores = ncs(similarity, phi, direction=way, keep_ground_truth=kept, formula=formula,
                             image_of_caption=pairing)  # fmt: skip
                for k, number in scores.items():
                    assert value(metric=f"N@{k}", **common) == pytest.approx(number, abs=1e-9)
                for m in (1, 3, 5):
                    shares = semantic_recall(similarity, phi, direction=way, m=m, keep_ground_truth=kept,
                                             formula=formula, image_of_caption=pairing)  # fmt: skip
                    for k, number in shares.items():
                        assert value(metric=f"SR@{k}", m=m, style="recall", **common) == pytest.approx(number, abs=1e-9)


def test_the_json_says_protocol_gallery_tie_rule_and_phi(files: dict[str, Path]) -> None:
    evaluate(files)
    content = read_json(files["out"])
    assert (content["images"], content["captions"], content["phi"]) == (6, 15, "cider")
    assert "index" in content["tie_rule"]
    assert content["phi_made_of"]["tokenisation"] == "whitespace"
    assert RunSpec.model_validate(content["spec"]) == SPEC


def test_the_phi_of_another_split_is_refused(files: dict[str, Path]) -> None:
    dev = Corpus.read(files["made"]).split("dev")
    write_phi("cider", [f"{caption} !" for caption in dev.captions], dev.image_of_caption, files["cider"])
    with pytest.raises(InputError, match=r"cider\.npy"):
        evaluate(files)


def test_a_similarity_of_another_gallery_is_refused(files: dict[str, Path]) -> None:
    np.save(files["similarity"], np.zeros((3, 7), np.float32))
    with pytest.raises(InputError, match=r"similarity.npy is \[3, 7\], but test of made has 6 images and 15 captions"):
        evaluate(files)


def test_the_tidy_table_and_its_summary_are_written(files: dict[str, Path], tmp_path: Path) -> None:
    evaluate(files)
    tidy = collect([files["out"]], "tiny")
    write_tidy(tidy, tmp_path / "tiny.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "tiny.parquet"), tidy, check_dtype=False)
    sums = read_json(tmp_path / "tiny.json")
    assert sums == summary(tidy)
    assert set(sums[SPEC.name]) == {"Rsum", "Nsum", "Nsum without ground truth"}


def test_a_file_that_is_no_evaluation_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match=r"x\.json: 'run' is missing"):
        collect([tmp_path / "x.json"], "tiny")
