"""ECCV Caption and CxC on COCO's test ids, compared with the package's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.corpus.karpathy import load_karpathy
from fivesentences.errors import InputError
from fivesentences.evaluation.positives import coco_test_ids, cxc_positives, eccv, is_in_order, packaged_positives
from fivesentences.metrics.positives import find_hits

pytest.importorskip("eccv_caption")

HEADER = "caption,image,agg_score,sampling_method\n"
LINE = "COCO_val2014:sentid:{},COCO_val2014_{:012d}.jpg,{},c2i_intrasim\n"


@pytest.fixture
def mirror_captions(mirror):
    return load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco").captions


@pytest.fixture(scope="module")
def similarity():
    """A model that finds something: captions near their image, images near others."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((5000, 24), dtype=np.float32)
    captions = np.repeat(images, 5, axis=0) + 1.2 * rng.standard_normal((25000, 24), dtype=np.float32)
    return images @ captions.T


def first_of(scores, depth=50):
    """``[rows, depth]`` best first, equal ones by index, with numpy's own selection."""
    chosen = np.sort(np.argpartition(-scores, depth, axis=1)[:, :depth], axis=1)
    order = np.argsort(-np.take_along_axis(scores, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_number_is_the_packages(similarity, capsys):
    import eccv_caption

    package = eccv_caption.Metrics()
    image_ids, caption_ids = coco_test_ids()
    # Of CxC's queries every tenth or twentieth: the package wants whole rankings, as lists.
    sampled = {"i2t": np.arange(0, 5000, 10), "t2i": np.arange(0, 25000, 20)}
    ranked = {}
    for side, query_ids, item_ids in (("i2t", image_ids, caption_ids), ("t2i", caption_ids, image_ids)):
        queries = np.union1d(sampled[side], np.flatnonzero(np.isin(query_ids, list(package.eccv_gts[side]))))
        scores = similarity[queries] if side == "i2t" else np.ascontiguousarray(similarity[:, queries].T)
        best = item_ids[first_of(scores)].tolist()  # 50 items are all that the package reads for these metrics
        ranked[side] = dict(zip(query_ids[queries].tolist(), best, strict=True))
        asked = set(query_ids[sampled[side]].tolist())
        package.cxc_gts[side] = {query: items for query, items in package.cxc_gts[side].items() if query in asked}
    ours = eccv(similarity)
    theirs = package.eccv_metrics(ranked, "all")
    assert ours["ECCV mAP@R"] == pytest.approx(theirs["eccv_map_at_r"], abs=1e-12)
    assert ours["ECCV R-P"] == pytest.approx(theirs["eccv_rprecision"], abs=1e-12)
    for k in (1, 5, 10):
        recall = {side: 100.0 * value for side, value in package.eccv_recalls(ranked, "all", K=k).items()}
        assert ours[f"ECCV R@{k}"] == pytest.approx(recall, abs=1e-9)
    cxc = packaged_positives("cxc")
    for side in ("i2t", "t2i"):
        hits = find_hits(similarity, cxc, side, 10)
        is_sampled = np.isin(hits.queries, sampled[side])
        for k in (1, 5, 10):
            theirs = package.cxc_recalls(ranked, side, K=k)[side]
            assert hits.recall(k)[is_sampled].mean() == pytest.approx(theirs, abs=1e-11)
            assert ours[f"CxC R@{k}"][side] == pytest.approx(100.0 * hits.recall(k).mean(), abs=1e-9)
    assert 0.05 < ours["ECCV mAP@R"]["i2t"] < 0.95 and 5 < ours["CxC R@1"]["t2i"] < 95


def test_two_positives_outside_the_gallery_count_in_r():
    positives = packaged_positives("eccv")
    assert positives.outside_i2t.sum() == 2 and positives.outside_t2i.sum() == 0
    for direction, n_queries, n_pairs, most in (("i2t", 1261, 22550, 48), ("t2i", 1332, 11279, 19)):
        number = positives.number(direction)
        assert (np.count_nonzero(number), number.sum(), number.max()) == (n_queries, n_pairs, most)
    assert positives.i2t.sum() == 22548
    assert positives.i2t.multiply(positives.t2i).sum() == 6089


def test_ids_that_are_not_the_test_split_are_named():
    image_ids, caption_ids = coco_test_ids()
    with pytest.raises(InputError, match="5000"):
        packaged_positives("eccv", image_ids[:1000], caption_ids[:5000])
    with pytest.raises(InputError, match=r"caption_ids\[9\] is 7"):
        packaged_positives("eccv", image_ids, np.where(caption_ids == caption_ids[9], 7, caption_ids))
    with pytest.raises(InputError, match=r"image_ids\[1\] is 391895"):
        packaged_positives("eccv", np.where(image_ids == image_ids[1], image_ids[0], image_ids), caption_ids)
    with pytest.raises(InputError, match=r"caption_ids\[0\] is 'a\.jpg'"):
        packaged_positives("eccv", image_ids, ["a.jpg"])
    with pytest.raises(InputError, match="of another gallery"):
        eccv(np.zeros((10, 50)))


@pytest.mark.data
def test_captions_show_the_order(mirror_captions):
    _, caption_ids = coco_test_ids()
    rows = np.random.default_rng(3).permutation(25_000)
    spelt = [caption.upper().replace(" ", "  ") for caption in mirror_captions]
    assert is_in_order(mirror_captions) and is_in_order(spelt)
    assert is_in_order([spelt[at] for at in rows], caption_ids[rows])
    assert not is_in_order(mirror_captions[:5000]) and not is_in_order(["a dog", *mirror_captions[1:]])
    with pytest.raises(InputError, match="image_ids and caption_ids"):
        is_in_order([spelt[at] for at in rows])
    with pytest.raises(InputError, match="order"):
        is_in_order(spelt, caption_ids[rows])


@pytest.mark.data
def test_karpathys_order_is_the_packages_and_cxc_from_the_csv_is_the_packages(mirror):
    corpus = load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco")
    image_ids, caption_ids = coco_test_ids()
    assert corpus.images["image_id"].tolist() == image_ids.astype(str).tolist()
    assert corpus.caption_ids == caption_ids.astype(str).tolist()
    packaged = packaged_positives("cxc", corpus.images["image_id"].tolist(), corpus.caption_ids)
    read = cxc_positives(mirror / "cxc" / "sits_test.csv", corpus.caption_ids, corpus.images["image_id"].tolist())
    assert read.i2t.sum() == 35_585 and np.count_nonzero(read.number("t2i")) == 24_972
    for ours, theirs in ((read.i2t, packaged.i2t), (read.t2i, packaged.t2i)):
        assert (ours != theirs).nnz == 0


def test_cxc_takes_pairs_at_or_above_the_threshold_that_are_in_the_gallery(tmp_path):
    path = tmp_path / "sits.csv"
    rows = [(5, 40, 3.0), (5, 41, 2.99), (6, 41, 4.5), (7, 40, 0.0), (8, 41, 5.0), (5, 99, 5.0)]
    path.write_text(HEADER + "".join(LINE.format(*row) for row in rows))
    found = cxc_positives(path, ["5", "6", "7"], [41, 40])
    np.testing.assert_array_equal(found.i2t.toarray(), [[False, True, False], [True, False, False]])
    np.testing.assert_array_equal(found.t2i.toarray(), found.i2t.toarray())
    lower = cxc_positives(path, ["5", "6", "7"], [41, 40], threshold=2.5)
    assert lower.i2t.sum() == 3
    with pytest.raises(InputError, match=r"\b1041\b.*\b1005\b"):
        cxc_positives(path, ["1005", "6"], [1041, 1040])
    hits = find_hits(np.eye(2, 3), found, "t2i")
    assert hits.queries.tolist() == [0, 1] and hits.recall(1).tolist() == [0.0, 0.0]
