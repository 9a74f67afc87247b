"""Metrics of an incomplete pool, against ir_measures and against their definitions as plain loops."""

from __future__ import annotations

import math

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, Bpref, Qrel, Rprec, ScoredDoc, Success, infAP, nDCG

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, pick
from fivesentences.metrics.judged import JUDGED_METRICS, Judged, by_judgements, judged_scores
from fivesentences.retrieval import Gallery

IMAGES, CAPTIONS, PAIRS = 30, 60, 500
OWNERS = np.repeat(np.arange(IMAGES), CAPTIONS // IMAGES)
THEIRS = {"R@1": Success @ 1, "R-P": Rprec, "AP": AP, "nDCG": nDCG, "bpref": Bpref, "infAP": infAP}
OF_WHOLE_RANKINGS = ("bpref", "infAP")


def given(seed, graded=False, ties=False):
    rng = np.random.default_rng(seed)
    similarity = rng.standard_normal((IMAGES, CAPTIONS))
    cells = rng.choice(IMAGES * CAPTIONS, PAIRS, replace=False)
    gain = rng.integers(0, 4, PAIRS) / 3 if graded else (rng.random(PAIRS) < 0.2).astype(float)
    judged = Judged(cells // IMAGES, cells % IMAGES, gain, (IMAGES, CAPTIONS), OWNERS)
    return np.round(similarity) if ties else similarity, judged


def pools(judged, keep):
    """Gains of each judged caption, by image."""
    for caption in sorted(set(judged.captions.tolist())):
        of = judged.captions == caption
        gains = dict(zip(judged.images[of].tolist(), judged.gain[of].tolist(), strict=True))
        gains.pop(OWNERS[caption], None)
        yield caption, gains | ({int(OWNERS[caption]): 1.0} if keep else {})


def by_definition(ranking, gains):
    """Every metric of one caption, from all images, best first."""
    right = {image for image, gain in gains.items() if gain > 0}
    condensed = [image for image in ranking if image in gains]
    hits = [image in right for image in condensed]
    n = len(right)
    precision = [sum(hits[: at + 1]) / (at + 1) for at in range(len(hits))]
    q = [(2 * sum(hits[: at + 1])) / (min(at + 1, n) + at + 1) for at in range(len(hits))]
    dcg = sum(gains[image] / math.log2(at + 2) for at, image in enumerate(condensed))
    ideal = sum(gain / math.log2(at + 2) for at, gain in enumerate(sorted(gains.values(), reverse=True)))
    wrong = len(condensed) - n
    ahead = [sum(1 for hit in hits[:at] if not hit) for at in range(len(hits)) if hits[at]]
    inferred = 0.0
    for image in right:
        above = ranking[: ranking.index(image)]
        seen, known = sum(one in right for one in above), sum(one in gains for one in above)
        k = len(above) + 1
        inferred += 1.0 if k == 1 else 1 / k + (known / k) * (seen + 1e-5) / (known + 2e-5)
    return {
        "R@1": float(hits[0]),
        "R-P": sum(hits[:n]) / n,
        "mAP@R": sum(p for p, hit in zip(precision[:n], hits[:n], strict=True) if hit) / n,
        "AP": sum(p for p, hit in zip(precision, hits, strict=True) if hit) / n,
        "nDCG": dcg / ideal,
        "Q": sum(one for one, hit in zip(q, hits, strict=True) if hit) / n,
        "bpref": sum(1 - min(one, n) / min(n, wrong) if one else 1.0 for one in ahead) / n,
        "infAP": inferred / n,
    }


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("graded", [True, False])
@pytest.mark.parametrize("ties", [True, False])
def test_every_metric_of_every_caption_equals_its_definition(keep, graded, ties):
    similarity, judged = given(1, graded, ties)
    ours = judged_scores(similarity, judged, keep)
    assert tuple(ours) == (("nDCG",) if graded else JUDGED_METRICS)
    some = 0
    for caption, gains in pools(judged, keep):
        ranking = sorted(range(IMAGES), key=lambda image: (-similarity[image, caption], image))
        ranking = [image for image in ranking if keep or image != OWNERS[caption]]
        nothing = not any(gain > 0 for gain in gains.values())
        some += not nothing
        for name, (values, empty) in ours.items():
            assert empty[caption] == nothing
            if not nothing:
                assert values[caption] == pytest.approx(by_definition(ranking, gains)[name], abs=1e-12), (name, caption)
    assert some == np.count_nonzero(~ours["nDCG"][1]) > 20


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("name", THEIRS)
def test_ir_measures_gives_the_same_numbers(keep, name):
    similarity, judged = given(2)
    of = dict(pools(judged, keep))
    qrels = [Qrel(str(c), str(i), int(gain)) for c, gains in of.items() for i, gain in gains.items()]
    run = [
        ScoredDoc(str(caption), str(image), float(similarity[image, caption]))
        for caption, gains in of.items()
        for image in range(IMAGES)
        if (image in gains or name in OF_WHOLE_RANKINGS) and (keep or image != OWNERS[caption])
    ]
    theirs = {int(one.query_id): one.value for one in ir_measures.iter_calc([THEIRS[name]], qrels, run)}
    values, empty = judged_scores(similarity, judged, keep)[name]
    for caption in np.flatnonzero(~empty):
        assert values[caption] == pytest.approx(theirs[caption], abs=1e-9)
    wanted = np.mean([theirs[caption] for caption in np.flatnonzero(~empty)])
    assert by_judgements(similarity, judged, keep_ground_truth=keep)[name] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("keep", [True, False])
def test_graded_ndcg_equals_that_of_ir_measures(keep):
    similarity, judged = given(3, graded=True)
    of = dict(pools(judged, keep))
    qrels = [Qrel(str(c), str(i), round(3 * gain)) for c, gains in of.items() for i, gain in gains.items()]
    run = [ScoredDoc(str(c), str(i), float(similarity[i, c])) for c, gains in of.items() for i in gains]
    theirs = {int(one.query_id): one.value for one in ir_measures.iter_calc([nDCG], qrels, run)}
    values, empty = judged_scores(similarity, judged, keep)["nDCG"]
    for caption in np.flatnonzero(~empty):
        assert values[caption] == pytest.approx(theirs[caption], abs=1e-9)


def test_an_evaluation_reports_them_beside_what_chance_reaches():
    similarity, judged = given(4)
    evaluator = Evaluator(None, OWNERS, judged={"crowd": judged})
    result = evaluator.with_queries(similarity)
    for kept in ("kept", "removed"):
        wanted = by_judgements(similarity, judged, keep_ground_truth=kept == "kept")
        chance = evaluator.by_chance(similarity)
        for name, value in wanted.items():
            unit = 100 if name == "R@1" else 1
            assert result[f"crowd {name}", "t2i", {"ground_truth": kept}] == pytest.approx(unit * value)
            if name != "infAP":
                assert 0 < pick(chance, f"crowd {name}", "t2i", ground_truth=kept)["value"] < unit
        of_queries = pick(result.queries, "crowd AP", "t2i", ground_truth=kept)["values"]
        assert np.nanmean(of_queries) == pytest.approx(wanted["AP"])
    assert not any(row["direction"] == "i2t" for row in result.values if row["metric"].startswith("crowd"))


def test_a_better_order_of_what_nobody_judged_changes_nothing_but_infap():
    similarity, judged = given(5)
    known = np.zeros((IMAGES, CAPTIONS), dtype=bool)
    known[judged.images, judged.captions] = True
    known[OWNERS, np.arange(CAPTIONS)] = True
    other = np.where(known, similarity, -9.0)
    before, after = (by_judgements(one, judged) for one in (similarity, other))
    assert {name for name in before if before[name] != after[name]} == {"infAP"}
    assert after["infAP"] > before["infAP"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"captions": [0, 60]}, r"captions\[1\] is 60"),
        ({"images": [-1, 3]}, r"images\[0\] is -1"),
        ({"gain": [0.5, 1.5]}, r"gain\[1\] is 1.5"),
        ({"gain": [0.5, np.nan]}, r"gain\[1\] is nan"),
        ({"captions": [4, 4], "images": [2, 2]}, "caption 4 and image 2"),
        ({"gain": [1.0]}, "1 gains"),
        ({"images": [0.5, 1.0]}, "images is float64"),
    ],
)
def test_judgements_that_cannot_be_are_refused(change, named):
    usual = {"captions": [0, 1], "images": [1, 2], "gain": [0.0, 1.0], "shape": (IMAGES, CAPTIONS), "own": OWNERS}
    with pytest.raises(InputError, match=named):
        Judged(**{name: np.asarray(one) if name != "shape" else one for name, one in {**usual, **change}.items()})


def test_a_gallery_in_another_order_or_of_another_size_is_refused():
    similarity, judged = given(6)
    with pytest.raises(InputError, match="59"):
        by_judgements(similarity[:, :-1], judged, image_of_caption=OWNERS[:-1])
    with pytest.raises(InputError, match="caption 0 with image 0"):
        by_judgements(Gallery.of(similarity, OWNERS[::-1].copy()), judged)
    nobody = Judged(judged.captions, judged.images, 0 * judged.gain, judged.shape, OWNERS)
    with pytest.raises(InputError, match="none of the"):
        by_judgements(similarity, nobody, keep_ground_truth=False)
    with pytest.raises(InputError, match="'crowd' are int"):
        Evaluator(None, OWNERS, judged={"crowd": 3})
