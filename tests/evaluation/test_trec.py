"""Runs and qrels as trec_eval and ranx read them: their recall is ours, and their order of equal scores too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fivesentences.evaluation import protocols
from fivesentences.evaluation.protocols import Protocol, ProtocolScorer
from fivesentences.evaluation.trec import strictly_decreasing, trec_ids, write_qrels, write_run
from fivesentences.metrics import ndcg
from fivesentences.retrieval import Gallery

ir_measures = pytest.importorskip("ir_measures")
RNG = np.random.default_rng(0)
PAIRING = RNG.permutation(np.repeat(np.arange(20), RNG.integers(1, 7, size=20)))
FIRST = Protocol("first", 20, len(PAIRING), 8, 1, "the first eight")
FOLDS = Protocol("folds", 20, 60, 4, 5, "five folds of four")


def measured(folder, scorer, similarity, side, depth=None, **options):
    """Measures by the programs of TREC."""
    image_ids, caption_ids = trec_ids(None, scorer.whole.n_images, "i"), trec_ids(None, scorer.whole.n_captions, "c")
    write_run(
        folder / "a.run", scorer, similarity, side, image_ids, caption_ids, depth=depth, tag="my model", **options
    )
    write_qrels(folder / "a.qrels", scorer, side, image_ids, caption_ids)
    run = list(ir_measures.read_trec_run(str(folder / "a.run")))
    qrels = list(ir_measures.read_trec_qrels(str(folder / "a.qrels")))
    measures = [getattr(ir_measures, name) @ k for name in ("R", "Success") for k in (1, 5, 10)]
    return ir_measures.pytrec_eval.calc_aggregate(measures, qrels, run), run


def check(folder, scorer, similarity):
    result = scorer(similarity)
    for side in ("i2t", "t2i"):
        found, _ = measured(folder, scorer, similarity, side, 10)
        for k in (1, 5, 10):
            assert 100 * found[ir_measures.Success @ k] == pytest.approx(result[f"R@{k}", side], abs=1e-9)
            assert 100 * found[ir_measures.R @ k] == pytest.approx(result[f"true R@{k}", side], abs=1e-9)


@pytest.mark.parametrize("levels", [0, 2, 5], ids=["no ties", "two scores", "five scores"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_recall_by_trec_eval_equals_ours_whatever_the_ties(tmp_path, levels, dtype):
    similarity = RNG.normal(size=(20, len(PAIRING))).astype(dtype)
    if levels:
        similarity = np.floor(RNG.random(size=similarity.shape) * levels).astype(dtype)
    check(tmp_path, ProtocolScorer(Gallery.of(similarity, PAIRING)), similarity)


@pytest.mark.parametrize("side", ["i2t", "t2i"])
def test_ndcg_by_grades_of_phi_equals_ours(tmp_path, side):
    similarity = RNG.normal(size=(20, len(PAIRING)))
    phi = RNG.integers(0, 6, size=similarity.T.shape) / 5  # which a thousand grades hold exactly
    scorer = ProtocolScorer(Gallery.of(similarity, PAIRING, {"mine": phi}))
    _, run = measured(tmp_path, scorer, similarity, side)
    ids = trec_ids(None, scorer.whole.n_images, "i"), trec_ids(None, scorer.whole.n_captions, "c")
    write_qrels(tmp_path / "g.qrels", scorer, side, *ids, phi="mine")
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "g.qrels")))
    assert {line.relevance for line in qrels} == {200, 400, 600, 800, 1000}
    found = ir_measures.calc_aggregate([ir_measures.nDCG @ 5], qrels, run)[ir_measures.nDCG @ 5]
    assert found == pytest.approx(ndcg(similarity, phi, [5], side, image_of_caption=PAIRING)[5], abs=1e-12)


@pytest.mark.parametrize("side", ["i2t", "t2i"])
def test_queries_that_phi_says_nothing_or_little_of_count_in_the_mean_of_others(tmp_path, side):
    similarity = RNG.normal(size=(20, len(PAIRING)))
    phi = RNG.integers(1, 6, size=similarity.T.shape) / 5
    phi[:, 3:9] = phi[:, :6] = phi[10:16, :] = 0
    phi[:, 12] *= 1e-4  # rounded to 0 in parts of the largest
    phi[20] *= 1e-4
    scorer = ProtocolScorer(Gallery.of(similarity, PAIRING, {"mine": phi}))
    _, run = measured(tmp_path, scorer, similarity, side)
    ids = trec_ids(None, scorer.whole.n_images, "i"), trec_ids(None, scorer.whole.n_captions, "c")
    write_qrels(tmp_path / "g.qrels", scorer, side, *ids, phi="mine")
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "g.qrels")))
    assert {line.query_id for line in qrels} == {line.query_id for line in run}
    found = ir_measures.calc_aggregate([ir_measures.nDCG @ 5], qrels, run)[ir_measures.nDCG @ 5]
    assert found == pytest.approx(ndcg(similarity, phi, [5], side, image_of_caption=PAIRING)[5], abs=1e-3)


def test_a_protocol_in_parts_ranks_each_query_within_its_gallery(tmp_path, monkeypatch):
    monkeypatch.setattr(protocols, "PROTOCOLS", {"folds": FOLDS, "first": FIRST})
    owner = RNG.permutation(np.repeat(np.arange(20), 3))
    similarity = np.round(RNG.normal(size=(20, 60)), 1)
    check(tmp_path, ProtocolScorer(Gallery.of(similarity, owner), "folds"), similarity)
    _, run = measured(tmp_path, ProtocolScorer(Gallery.of(similarity, owner), "folds"), similarity, "i2t")
    assert len(run) == 20 * 12 and {line.query_id for line in run} == {f"i{index}" for index in range(20)}
    assert all(owner[int(line.doc_id[1:])] // 4 == int(line.query_id[1:]) // 4 for line in run)
    similarity = RNG.normal(size=(20, len(PAIRING)))
    first = ProtocolScorer(Gallery.of(similarity, PAIRING), "first")
    check(tmp_path, first, similarity)
    _, run = measured(tmp_path, first, similarity, "t2i")
    assert {int(line.query_id[1:]) for line in run} == set(np.flatnonzero(PAIRING < 8).tolist())


def test_each_gallery_is_re_scored_by_itself(tmp_path):
    similarity = RNG.normal(size=(20, len(PAIRING)))
    for inference in ("csls,k=3", "inverted_softmax"):
        for protocol in (FIRST, None):
            scorer = ProtocolScorer(Gallery.of(similarity, PAIRING), protocol)
            result = scorer(similarity, inference=inference)
            for side in ("i2t", "t2i"):
                found, _ = measured(tmp_path, scorer, similarity, side, 10, inference=inference)
                assert 100 * found[ir_measures.Success @ 5] == pytest.approx(result["R@5", side], abs=1e-9)


def test_the_depth_and_the_tag_are_those_asked_for(tmp_path):
    similarity = RNG.normal(size=(20, len(PAIRING)))
    scorer = ProtocolScorer(Gallery.of(similarity, PAIRING))
    for depth, lines in ((3, 60), (None, similarity.size), (10**6, similarity.size)):
        _, run = measured(tmp_path, scorer, similarity, "i2t", depth)
        assert len(run) == lines
    rows = [line.split() for line in (tmp_path / "a.run").read_text().splitlines()]
    assert {(len(row), row[1], row[5]) for row in rows} == {(6, "Q0", "my_model")}
    order = np.argsort(-similarity[0], kind="stable")
    assert [row[2] for row in rows[: len(order)]] == [f"c{index}" for index in order]
    assert [int(row[3]) for row in rows[: len(order)]] == list(range(1, len(order) + 1))


EXTREME = st.sampled_from([0.0, -0.0, 1e-45, -1e-45, 1.0, 3.4028234663852886e38, -3.4028234663852886e38])


@given(arrays(np.float64, (3, 7), elements=st.floats(-1e300, 1e300)) | arrays(np.float32, (3, 7), elements=EXTREME))
def test_written_scores_decrease_strictly_and_stay_near(scores):
    ranked = -np.sort(-scores, axis=1)
    found = strictly_decreasing(ranked)
    assert found.dtype == np.float32 and np.isfinite(found).all() and (np.diff(found, axis=1) < 0).all()
    read_again = np.array([[float(f"{value:.9g}") for value in row] for row in found.tolist()])
    assert (read_again.astype(np.float32) == found).all() and (np.diff(read_again, axis=1) < 0).all()
    if (np.abs(ranked) < 1e38).all():
        near = np.abs(found.astype(np.float64) - ranked)
        assert (near <= 8 * np.spacing(np.maximum(np.abs(ranked), np.abs(found)).astype(np.float32))).all()
