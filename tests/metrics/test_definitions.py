"""Every metric in every variant, for every query, against plain Python loops on random and adversarial galleries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fivesentences.config.metrics import METRICS, metric_of
from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, category_map, ncs, pick
from fivesentences.metrics.category import DIVISORS
from fivesentences.metrics.plausible_match import pmrp

DIRECTIONS = ("i2t", "t2i")
KS = (1, 2, 5, 10, 1000)  # 1000 is more than any gallery here
EVERYTHING = {
    "ks": KS,
    "ms": (1, 3, 50),
    "formulas": ("released", "paper"),
    "styles": ("recall", "vse_recall"),
    "weightings": ("hard", "soft"),
    "discounts": (None, "log"),
    "ncs_ms": (None, 1, 3, 1000),
    "asp_ties": ("index", "average"),
    "category_cutoffs": (None, "R", 3, 1000),
}
OF_A_GALLERY = {"Med r", "Rsum", "mR", "Nsum", *(name for name, metric in METRICS.items() if metric.is_hubness)}
ELSEWHERE = {name for name, metric in METRICS.items() if metric.needs == "judgements"}  # test_judged.py


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_value_of_every_query_equals_its_definition(slow, case, direction):
    definitions, given = slow.Definitions(case, direction), (case.similarity, (direction,))
    rows = Evaluator(**case.options, **EVERYTHING).per_query(*given)
    assert {metric_of(row["metric"]) for row in rows} == {
        metric for name, metric in METRICS.items() if name not in OF_A_GALLERY | ELSEWHERE
    }
    wanted = [definitions.of(row) for row in rows]
    for empty in ("zero", "skip"):
        evaluator = Evaluator(**case.options, **EVERYTHING, empty=empty)
        if empty == "skip" and any(all(value is None for value in values) for values in wanted):
            with pytest.raises(InputError, match="leaves none"):
                evaluator(*given)
            continue
        rows, values = evaluator.per_query(*given), evaluator(*given).values
        for row, of_queries in zip(rows, wanted, strict=True):
            ours = row.pop("values")
            always_left_out = metric_of(row["metric"]).needs in ("labels", "lists of positives")
            of_queries, mean = slow.after_policy(of_queries, "skip" if always_left_out else empty)
            tolerance = 1e-12 if metric_of(row["metric"]).unit == "fraction" else 1e-9
            np.testing.assert_allclose(ours, of_queries, atol=tolerance, rtol=0, err_msg=str(row))
            assert pick(values, **row)["value"] == pytest.approx(mean, abs=tolerance, rel=0), row
        found = [pick(values, f"{name} r", direction)["value"] for name in ("Med", "Mean")]
        assert found == pytest.approx(definitions.median_and_mean_rank(), abs=1e-9)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_average_precision_and_plausible_matches_have_further_forms(slow, case, direction):
    definitions = slow.Definitions(case, direction)
    given = case.similarity, case.categories, case.caption_categories, direction
    for cutoff in (None, "R", 3, 1000):
        for divide_by in (None, *DIVISORS):
            wanted = slow.after_policy(definitions.average_precision(cutoff, divide_by), "zero")[1]
            assert category_map(*given, cutoff, divide_by=divide_by) == pytest.approx(wanted, abs=1e-12)
    zetas = (0, 1, 2, 50)
    wanted = 100 * np.array(definitions.pmrp(zetas), dtype=float)  # None becomes NaN
    found = pmrp(case.similarity, case.labels, direction, zetas, case.pairing)
    assert found == pytest.approx(np.nanmean(wanted.mean(axis=0)), abs=1e-9)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(("formula", "discount"), [("released", None), ("released", "log"), ("paper", None)])
def test_an_ideal_over_given_rows_is_taken_over_all_of_phi(slow, formula, discount, keep):
    """The released 1K slip: columns of phi are cut to the fold, rows are not."""
    case = slow.made("ties")
    n_images, n_captions = case.similarity.shape
    more = np.concatenate([case.phi, np.random.default_rng(1).random((30, n_images)) * 5])
    given = {"ks": KS, "ms": (), "asp_ties": (), "formulas": (formula,), "discounts": (discount,)}
    rows = Evaluator(more, **given, ideal_pool="given_rows").per_query(case.similarity)
    over_gallery = ncs(case.similarity, case.phi, KS, "i2t", keep, formula, discount=discount)
    # Captions beyond the gallery are in the ideal and never retrieved.
    longer, owner = np.pad(case.similarity, ((0, 0), (0, 30))), np.pad(case.pairing, (0, 30), constant_values=-1)
    definitions = slow.Definitions(replace(case, similarity=longer, phi=more, pairing=owner), "i2t")
    for query in definitions.queries:
        query.order = [item for item in query.order if item < n_captions]
    for k in KS:
        ours = pick(rows, f"N@{k}", "i2t", ground_truth="kept" if keep else "removed")["values"]
        np.testing.assert_allclose(ours, definitions.ncs(k, formula, keep, None, discount), atol=1e-9)
        if k < 10:
            assert np.mean(ours) < over_gallery[k]
    by_caption = ncs(case.similarity, more, KS, "t2i", keep, formula, discount=discount, ideal_pool="given_rows")
    assert by_caption == ncs(case.similarity, case.phi, KS, "t2i", keep, formula, discount=discount)
