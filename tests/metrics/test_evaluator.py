"""One pass gives what the single functions give, for any number of similarity matrices and phi."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from fivesentences.config.metrics import METRICS, Metric, parse_metric
from fivesentences.errors import InputError
from fivesentences.metrics import (
    Evaluator,
    Positives,
    asp,
    category_map,
    map_at_r,
    metric_of,
    ncs,
    ndcg,
    nsum,
    pick,
    pmrp,
    r_precision,
    r_precision_of,
    rank_statistics,
    recall_at_k,
    recall_of_positives,
    rsum,
    semantic_recall,
    true_recall_at_k,
)
from fivesentences.metrics import relevance as relevance_module
from fivesentences.metrics.judged import Judged, by_judgements
from fivesentences.retrieval import Gallery
from fivesentences.retrieval.hubness import hubness

PHI = np.eye(34, 9)
PAIRING = np.repeat(np.arange(9), [1, 7, 3, 5, 5, 2, 1, 4, 6])


@pytest.fixture
def matrices():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 34)).astype(np.float32), np.maximum(0, rng.normal(size=(34, 9)))


def everything(phi):
    """Arguments of an Evaluator that reports every metric in every variant, of two phi."""
    rng = np.random.default_rng(1)
    labels = rng.random((9, 4)) < 0.4
    labels[[0, 5]] = [[False] * 4, [True] * 4]  # one image without a label
    pairs = rng.random((9, 34)) < 0.1
    pairs[3], pairs[:, 7] = False, False  # queries without a positive
    return {
        "phis": {"sharp": phi, "blunt": np.round(phi)},
        "image_of_caption": PAIRING,
        "ms": (3, 1),
        "formulas": ("released", "paper"),
        "styles": ("recall", "vse_recall"),
        "weightings": ("hard", "soft"),
        "discounts": (None, "log"),
        "ncs_ms": (None, 4),
        "asp_ties": ("index", "average"),
        "hubness": True,
        "hub_ks": (1, 3, 50),
        "labels": labels,
        "categories": ["a", "b", "c", "a", "b", None, "c", "d", "a"],
        "category_cutoffs": (None, "R", 5, 100),
        "judged": {
            "crowd": Judged(np.repeat([2, 5, 9], 4), np.tile([0, 3, 5, 8], 3), np.tile([1, 0, 0], 4), (9, 34), PAIRING)
        },
        "positives": {
            "CxC": Positives(pairs, pairs, own=np.zeros(pairs.shape)),
            "ECCV": Positives(pairs, np.roll(pairs, 3, axis=1), np.arange(9) % 2, own=np.zeros(pairs.shape)),
        },
    }


def single(row, similarity, options):
    """What the single function gives for a number."""
    metric, k, positives = parse_metric(row["metric"])
    direction, keep, phi = row["direction"], row["ground_truth"] == "kept", options["phis"].get(row["phi"])
    pairing, categories = options["image_of_caption"], options["categories"]
    given = {"direction": direction, "image_of_caption": pairing}
    more = {"m": row["m"] or None, "discount": row["discount"] or None, "image_of_caption": pairing}
    of_list = similarity, options["positives"].get(positives)
    if positives in options["judged"]:
        found = by_judgements(
            similarity, options["judged"][positives], keep_ground_truth=keep, image_of_caption=pairing
        )
        return found[row["metric"].removeprefix(f"{positives} ")] * (100 if metric.unit == "percent" else 1)
    variant = (row["m"], keep, row["formula"], row["style"] or "recall", row["weighting"])
    if metric.is_hubness:
        hubs = hubness(similarity, direction, k or 1)
        statistics = {"max": hubs.maximum, "skewness": hubs.skewness, "Gini": hubs.gini, **hubs.shares}
        return statistics[metric.name.removeprefix("hubs ")]
    return {
        "R@k": lambda: recall_at_k(similarity, (k,), **given)[k],
        "true R@k": lambda: true_recall_at_k(similarity, (k,), **given)[k],
        "Med r": lambda: rank_statistics(similarity, **given).median,
        "Mean r": lambda: rank_statistics(similarity, **given).mean,
        "Rsum": lambda: rsum(similarity, image_of_caption=pairing),
        "mR": lambda: rsum(similarity, image_of_caption=pairing) / 6,
        "N@k": lambda: ncs(similarity, phi, (k,), direction, keep, row["formula"], **more)[k],
        "nDCG@k": lambda: ndcg(similarity, phi, (k,), **given, empty=options.get("empty", "zero"))[k],
        "Nsum": lambda: nsum(similarity, phi, keep_ground_truth=keep, formula=row["formula"], **more),
        "SR@k": lambda: semantic_recall(similarity, phi, (k,), direction, *variant, image_of_caption=pairing)[k],
        "ASP": lambda: asp(similarity, phi, direction, row["formula"]),
        "PMRP": lambda: pmrp(similarity, options["labels"], **given),
        "mAP": lambda: category_map(similarity, categories, **given),
        "mAP@R": lambda: category_map(similarity, categories, cutoff="R", **given),
        "mAP@k": lambda: category_map(similarity, categories, cutoff=k, **given),
        "R-P": lambda: r_precision(similarity, categories, **given),
        "<list> R@k": lambda: recall_of_positives(*of_list, (k,), direction)[k],
        "<list> R-P": lambda: r_precision_of(*of_list, direction),
        "<list> mAP@R": lambda: map_at_r(*of_list, direction),
    }[metric.name]()


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("kind", ["random", "ties"])
def test_every_number_of_every_variant_equals_the_single_function(matrices, kind):
    similarity, phi = matrices
    similarity = np.round(similarity) if kind == "ties" else similarity
    options = everything(phi)
    values = Evaluator(**options)(similarity).values
    keys = [tuple(value for name, value in row.items() if name != "value") for row in values]
    assert len(keys) == len(set(keys))
    assert {metric_of(row["metric"]) for row in values} == set(METRICS.values())
    for row in values:
        assert row["value"] == pytest.approx(single(row, similarity, options), abs=1e-9), row
        assert bool(row["phi"]) == metric_of(row["metric"]).needs_phi


def reciprocal_rank(ranking):
    return 1 / (1 + ranking.ground_truth_rank)


def phi_of_the_first(ranking, relevance, k):
    return relevance.values(ranking.items[:, :k], ranking.direction).max(axis=1)


def test_a_new_metric_is_a_function_and_an_entry_of_the_registry(matrices, monkeypatch):
    similarity, phi = matrices
    for name, function, needs in (("MRR", reciprocal_rank, ""), ("best phi@k", phi_of_the_first, "phi")):
        made = Metric(name=name, measures="", source="", family="Recall", unit="fraction", needs=needs,
                      scores=f"{__name__}:{function.__name__}")  # fmt: skip
        monkeypatch.setitem(METRICS, name, made)
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, ModuleType(__name__)))
    for function in (reciprocal_rank, phi_of_the_first):
        monkeypatch.setattr(sys.modules[__name__], function.__name__, function, raising=False)
    result = Evaluator(phi, PAIRING, ks=(2,)).with_queries(similarity)
    ranks = pick(result.queries, "Mean r", "t2i")["values"]
    assert result["MRR", "t2i"] == pytest.approx(np.mean(1 / ranks))
    assert 0 < result["best phi@2", "i2t", {"phi": "phi"}] <= phi.max()
    assert "MRR" in repr(result)


def test_metrics_need_neither_torch_nor_pandas():
    code = "import sys, fivesentences.metrics; sys.exit(bool({'torch', 'pandas'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_depends_on_phi_alone_is_computed_once_for_a_gallery(matrices, monkeypatch):
    similarity, phi = matrices
    evaluator, of_gallery = Evaluator(phi, PAIRING, asp_ties=()), Evaluator(asp_ties=())
    gallery = Gallery.of(similarity, PAIRING, phi)
    first = evaluator(similarity).values
    assert of_gallery(gallery).values == first
    assert of_gallery(Gallery.of(similarity, PAIRING, np.round(phi))).values != first  # another phi starts again
    of_gallery(gallery)
    with pytest.raises(InputError, match="not equal blocks"):
        of_gallery(similarity)
    with pytest.raises(InputError, match="give a list"):
        evaluator(similarity, "i2t")

    def refuse(*_):
        raise AssertionError("phi was read again")

    monkeypatch.setattr(relevance_module, "rank", refuse)
    monkeypatch.setattr(relevance_module.Relevance, "_find_neighbours", refuse)
    assert evaluator(similarity).values == first
    assert of_gallery(gallery.with_similarity(-similarity)).values == evaluator(-similarity).values != first


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ms": (0,)}, "ms holds 0"),
        ({"empty": "drop"}, "'zero' or 'skip' or 'error'"),
        ({"discounts": ("log",), "formulas": ("paper",)}, "'log'"),
        ({"ncs_ms": (3,), "formulas": ("released",)}, "'paper'"),
        ({"ideal_pool": "all"}, "'gallery' or 'given_rows'"),
        ({"category_cutoffs": "R"}, "give a list"),
        ({"phis": {"": PHI}}, "named ''"),
        ({"caption_categories": [1] * 34}, "caption_categories"),
        ({"categories": ["a"] * 9, "caption_categories": ["a"] * 33}, "33 values"),
        ({"positives": {"ECCV": Positives.symmetric(np.ones((9, 33)))}}, "positives ECCV"),
    ],
)
def test_what_is_unknown_or_does_not_fit_is_refused(matrices, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        Evaluator(**{"phis": matrices[1], "image_of_caption": PAIRING, **arguments})(matrices[0])
