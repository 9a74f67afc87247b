"""Results as tables: every number at its place, printed whole, and with what they are of."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, recall_at_k
from fivesentences.metrics.registry import METRICS

PAIRING = np.repeat(np.arange(9), [1, 7, 3, 5, 5, 2, 1, 4, 6])
RNG = np.random.default_rng(0)
SIMILARITY, PHI = RNG.normal(size=(9, 34)).astype(np.float32), np.maximum(0, RNG.normal(size=(34, 9)))


@pytest.fixture(scope="module")
def result():
    return Evaluator(
        {"sharp": PHI, "blunt": np.round(PHI)},
        PAIRING,
        formulas=("released", "paper"),
        styles=("recall", "vse_recall"),
        weightings=("hard", "soft"),
        discounts=(None, "log"),
        hubness=True,
        hub_ks=(1, 3),
        categories=list("abcabcabc"),
        category_cutoffs=(None, "R", 7),
    )(SIMILARITY)


def test_the_tidy_table_holds_every_number_and_says_what_it_is_of(result):
    tidy = result.tidy()
    of_gallery = {"protocol": "the whole matrix is one gallery", "images": 9, "captions": 34, "galleries": 1}
    of_gallery |= {"tie_rule": "equal scores are ordered by index, lower first"}
    assert tidy.to_dict("records") == [{**value, **of_gallery} for value in result.values]
    assert of_gallery.items() <= tidy.attrs.items()


def test_the_wide_table_holds_every_number_at_its_place(result):
    wide = result.wide()
    variant = ["metric", "phi", "formula", "ground_truth", "m", "style", "weighting", "discount"]
    assert wide.index.names == variant and wide.index.is_unique
    assert wide.notna().to_numpy().sum() == len(result.values)
    named = {"phi": "blunt", "formula": "paper", "ground_truth": "removed", "m": 2, "style": "vse_recall"}
    found = wide.loc[("SR@k", "blunt", "paper", "removed", "2", "vse_recall", "hard", ""), ("t2i", "@5")]
    assert found == result.value("SR@5", "t2i", **named, weighting="hard")
    assert wide.loc["SR@k"].index.get_level_values("m").tolist()[:6] == ["1", "1", "1", "2", "2", "2"]
    sums = wide[("both", "")].dropna()
    assert sums.index.get_level_values("metric").tolist() == ["Rsum", "mR"] + ["Nsum"] * 12
    assert wide.columns.tolist()[:6] == [("i2t", f"@{k}") for k in (1, 3, 5, 7, 10)] + [("i2t", "")]


def test_a_result_prints_as_its_table_whole_and_without_holes(result):
    assert repr(result) == str(result.wide()) and result._repr_html_() == result.wide()._repr_html_()
    for text in (repr(result), result._repr_html_()):
        assert "NaN" not in text and "..." not in text and "lower first." in text
        assert all(family in text for family in ("mAP@R", "mAP@k", "hubs skewness", "hubs max@k", "vse_recall"))
    alone = Evaluator(None, PAIRING)(SIMILARITY).wide()
    assert alone.index.tolist() == [name for name, metric in METRICS.items() if metric.family == "Recall"]
    assert "..." not in str(alone.head(3)) and "@10" in str(alone.head(3))  # what is taken out of it too
    assert f"{recall_at_k(SIMILARITY, (1,), image_of_caption=PAIRING)[1]:.2f}" in str(alone)
    assert "tie_rule" not in str(result.tidy())  # it stands below


def test_the_numbers_of_a_column_have_equally_many_decimals():
    frame = Evaluator(None, PAIRING)(SIMILARITY).wide()
    frame.iloc[0, 0] = 0.5
    assert "0.50 " in str(frame) and "0.500" not in str(frame)
    of_categories = str(Evaluator(None, PAIRING, categories=list("abcabcabc"))(SIMILARITY)).splitlines()
    for line in of_categories[2:-1]:
        assert line.count(".") == sum(len(cell.partition(".")[2]) in (2, 3) for cell in line.split())


def test_a_number_is_looked_up_by_as_much_as_names_it(result):
    assert result.value("R@5", "t2i") == recall_at_k(SIMILARITY, (5,), "t2i", PAIRING)[5]
    with pytest.raises(
        InputError, match=r"there are 8 numbers with metric='N@5'.*differ in formula \('released', 'paper'\), ground_"
    ):
        result.value("N@5", "i2t", discount="")
    with pytest.raises(InputError, match=r"there are 0 numbers with metric='R@7', direction='i2t'; metric is one of "):
        result.value("R@7", "i2t")
