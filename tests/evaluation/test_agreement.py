"""How well phi agrees with judges: the correlations, and what is noted with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus import COLUMNS, Corpus, Judgements, load_judgements, load_karpathy
from fivesentences.corpus.judgements import truth_as_judge
from fivesentences.metrics import STATISTICS, correlation
from fivesentences.reproduction.evaluation.agreement import COLUMNS as KEYS
from fivesentences.reproduction.evaluation.agreement import agreement, read_agreement, write_agreement
from fivesentences.reproduction.scenes import generate
from fivesentences.semantics import cider_matrix, read_tuples

WORDS = ["a", "dog", "cat", "man", "runs", "sits", "red", "blue", "on", "grass", "with", "ball", "big"]


@pytest.fixture
def corpus():
    """Twelve images of 1 to 4 captions, ``i0`` and ``i4`` and ``i8`` with one only; the last six are the test split."""
    rng = np.random.default_rng(0)
    rows = [
        (f"i{i}", f"i{i}.jpg", f"i{i}#{k}", " ".join(rng.choice(WORDS, 6)), "test" if i >= 6 else "train", None)
        for i in range(12)
        for k in range(i % 4 + 1)
    ]
    return Corpus("made", pd.DataFrame(rows, columns=list(COLUMNS)))


@pytest.fixture
def judgements(corpus):
    """Every caption of the test images with each of these, and a score of few levels."""
    captions = np.flatnonzero(corpus.table["split"] == "test")
    caption, image = np.repeat(captions, 6), np.tile(np.arange(6, 12), len(captions))
    own = corpus.image_of_caption[caption] == image
    human = np.random.default_rng(1).integers(0, 4, len(own)) / 3 + own
    pairs = pd.DataFrame({"caption": caption, "image": image, "human": human, "own": own})
    return Judgements("someone", pairs, "a made score, 0 to 2")


def by_key(numbers):
    return {(n["phi"], n["references"], n["pairs"], n["statistic"]): n for n in numbers}


def test_numbers_are_the_correlations_of_the_cells_of_the_matrix(corpus, judgements):
    frame, numbers = agreement(judgements, corpus, [("cider", "kept")])
    phi = cider_matrix(corpus.captions, corpus.image_of_caption)
    pairs = judgements.pairs
    cells = phi[pairs["caption"], pairs["image"]]
    np.testing.assert_allclose(frame["cider"], cells, atol=1e-12, rtol=0)
    found = by_key(numbers)
    assert len(found) == len(numbers) == 8
    assert agreement(judgements, corpus, [("cider", "kept")] * 2)[1] == numbers
    for statistic in STATISTICS:
        for which, chosen in (("all", np.ones(len(cells), dtype=bool)), ("other", ~pairs["own"].to_numpy())):
            number = found["cider", "kept", which, statistic]
            theirs = correlation(cells[chosen], pairs["human"].to_numpy()[chosen], statistic, resamples=0).value
            assert number["value"] == pytest.approx(theirs, abs=1e-10)
            assert number["low"] < theirs < number["high"]
            assert (number["n_pairs"], number["n_images"], number["left_out"]) == (chosen.sum(), 6, 0)


def test_taking_the_own_caption_out_changes_own_pairs_only(corpus, judgements):
    rows = [("cider", "kept"), ("cider", "own_left_out")]
    frame, numbers = agreement(judgements, corpus, rows, resamples=20)
    own = frame["own"].to_numpy()
    kept, left_out = frame["cider"].to_numpy(), frame["cider|own_left_out"].to_numpy()
    np.testing.assert_array_equal(kept[~own], left_out[~own])
    with_others = own & ~np.isnan(left_out)
    assert (left_out[with_others] < kept[with_others]).all()
    found = by_key(numbers)
    for statistic in STATISTICS:
        both = [found["cider", references, "other", statistic] for _, references in rows]
        assert both[0] | {"references": "own_left_out"} == both[1]
        assert (
            found["cider", "own_left_out", "all", statistic]["value"]
            < found["cider", "kept", "all", statistic]["value"]
        )


@pytest.mark.parametrize("resample", ["images", "images and captions"])
def test_images_or_images_and_captions_are_resampled(corpus, judgements, resample):
    options = {"statistics": ["pearson"], "resamples": 40, "seed": 3}
    frame, numbers = agreement(judgements, corpus, [("cider", "kept")], **options, resample=resample)
    pairs = judgements.pairs
    ways = [pairs["image"], pairs["caption"]][: 1 + ("captions" in resample)]
    theirs = correlation(frame["cider"], pairs["human"], "pearson", ways, 40, seed=3)
    number = by_key(numbers)["cider", "kept", "all", "pearson"]
    assert (number["low"], number["high"]) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    drawn = f"6 images and {pairs['caption'].nunique()} captions" if "captions" in resample else "6 images"
    assert number["interval"] == f"95% percentile interval of 40 bootstrap resamples of {drawn}"


@pytest.mark.parametrize("phi", ["cider", "bleu4"])
def test_cells_of_the_whole_matrix_and_single_pairs_are_alike(phi, corpus, judgements):
    every = np.indices((corpus.n_captions, corpus.n_images)).reshape(2, -1)
    own = corpus.image_of_caption[every[0]] == every[1]
    pairs = pd.DataFrame({"caption": every[0], "image": every[1], "human": np.arange(len(own)) % 3.0, "own": own})
    rows = [(phi, "kept"), (phi, "own_left_out")]
    whole, _ = agreement(Judgements("someone", pairs, "made"), corpus, rows, statistics=["pearson"], resamples=0)
    single, _ = agreement(judgements, corpus, rows, statistics=["pearson"], resamples=0)
    found = whole.set_index(["caption_id", "image_id"])
    for column in (phi, f"{phi}|own_left_out"):
        same_pairs = found.loc[list(zip(single["caption_id"], single["image_id"], strict=True)), column]
        np.testing.assert_allclose(same_pairs, single[column], atol=1e-12, rtol=0)


def test_written_and_read_again_nothing_changes(corpus, judgements, tmp_path):
    frame, numbers = agreement(judgements, corpus, [("binary", "kept"), ("cider", "own_left_out")], resamples=10)
    write_agreement(frame, numbers, tmp_path / "pairs.parquet", tmp_path / "numbers.json")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "pairs.parquet"), frame)
    table = read_agreement(tmp_path / "numbers.json")
    assert list(table.columns) == KEYS
    for row, number in zip(table.to_dict("records"), numbers, strict=True):
        assert {key: None if value != value else value for key, value in row.items()} == number


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Drawn scenes of three splits, and all judgements of the test split by their truth."""
    folder = tmp_path_factory.mktemp("scenes")
    scenes = generate(folder, seed=0, train=12, dev=5, test=9)
    return scenes, truth_as_judge(folder / "truth.npy", scenes, "test"), folder / "tuples.jsonl.gz"


@pytest.mark.slow
def test_spice_of_judged_pairs_needs_the_tuples_of_their_split_alone(drawn):
    scenes, judgements, file = drawn
    rows = [(phi, references) for phi in ("spice", "spice_colour", "cider") for references in ("kept", "own_left_out")]
    test = scenes.split("test")
    of_all = read_tuples(file, scenes.captions, scenes.caption_ids)
    of_test = read_tuples(file, test.captions, test.caption_ids)
    frame, numbers = agreement(judgements, scenes, rows, of_all, resamples=20)
    again, numbers_again = agreement(judgements, scenes, rows, of_test, resamples=20, parsed="test")
    assert frame["spice"].nunique() > 20 and frame["spice_colour"].nunique() > 5
    pd.testing.assert_frame_equal(again, frame, check_exact=True)
    assert numbers_again == numbers
    # CIDEr's idf is that of all splits, as before.
    assert {number["idf_corpus"] for number in numbers_again if number["phi"] == "cider"} == {
        "the captions of the 26 images of scenes (train, dev, test)"
    }


@pytest.mark.slow
@pytest.mark.data
def test_table_1_on_cxc_is_as_published(mirror):
    """Published: binary .711, CIDEr .734 / .453; the digits beyond were measured with independent code."""
    corpus, judgements = load_judgements(
        "cxc", mirror / "cxc" / "sits_test.csv", load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco")
    )
    rows = [("binary", "kept"), ("cider-reattached", "kept"), ("cider", "kept")]
    _, numbers = agreement(judgements, corpus, rows, statistics=["pearson"])
    value = {(n["phi"], n["pairs"]): n["value"] for n in numbers}
    assert value["binary", "all"] == pytest.approx(0.7115, abs=1e-4)
    assert value["cider-reattached", "all"] == pytest.approx(0.7346, abs=1e-4)
    assert value["cider-reattached", "other"] == pytest.approx(0.4537, abs=1e-4)
    assert value["cider", "all"] == pytest.approx(0.7385, abs=1e-4)
    assert value["cider", "other"] == pytest.approx(0.4869, abs=1e-4)
    assert {n["n_pairs"] for n in numbers} == {44_833, 19_833}
    for number in numbers:
        if number["value"] is not None:
            assert 0.005 < number["high"] - number["low"] < 0.03
