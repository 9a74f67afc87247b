"""Results as tables: every number at its place, printed whole, and with what they are of."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.config.metrics import METRICS
from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, recall_at_k

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


def test_one_number_is_one_expression(result):
    assert result["R@5", "t2i"] == result.value("R@5", "t2i")
    assert result["Rsum"] == sum(result[f"R@{k}", side] for k in (1, 5, 10) for side in ("i2t", "t2i"))
    variant = {"phi": "blunt", "formula": "released", "discount": "", "ground_truth": "kept"}
    assert result["N@5", "i2t", variant] == result.value("N@5", "i2t", **variant)
    assert result["NCS@5", "i2t", variant] == result["N@5", "i2t", variant] and ("NCS@5", "i2t", variant) in result
    assert ("R@5", "t2i") in result and "Rsum" in result and "R@5" not in result and 3 not in result
    with pytest.raises(TypeError):
        iter(result)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (("R@5", "i2c"), "direction of R@5 is one of 'i2t', 't2i': did you mean 'i2t'?"),
        (("Rsum", "i2t"), "Rsum has no direction; leave it out"),
        (("N@5", "i2t", {"formulae": "paper"}), "has no 'formulae'; it is named by metric, direction"),
        (
            ("SR@1", "t2i"),
            "they differ in formula ('released', 'paper'), ground_truth ('kept', 'removed'), m (1, 2, 3)",
        ),
        (7, "7 names no number"),
    ],
)
def test_a_wrong_expression_says_what_there_is(result, key, says):
    with pytest.raises(KeyError) as error:
        result[key]
    assert isinstance(error.value, InputError) and says in str(error.value) and len(str(error.value)) < 700


@pytest.mark.parametrize(
    ("metric", "direction", "needs"),
    [
        ("N@1", "i2t", "N@1 needs a phi"),
        ("NCS@1", "i2t", "NCS@1 needs a phi"),
        ("Nsum", "", "Nsum needs a phi"),
        ("SR@5", "t2i", "SR@5 needs a phi"),
        ("nDCG@5", "t2i", "nDCG@5 needs a phi"),
        ("ASP", "t2i", "ASP needs a phi"),
        ("PMRP", "t2i", "PMRP needs labels"),
        ("mAP@R", "t2i", "mAP@R needs categories"),
        ("CxC R@1", "t2i", "CxC R@1 needs a list of positives"),
    ],
)
def test_a_number_that_needs_more_than_a_similarity_says_what(result, metric, direction, needs):
    alone = Evaluator(None, PAIRING)(SIMILARITY)
    with pytest.raises(KeyError, match=needs):
        alone[metric, direction]
    for key in (("NCS@7", "i2t"), ("N@7", "i2t"), ("R@7", "i2t")):  # another cut-off, which is something else
        with pytest.raises(KeyError, match=r"metric is one of .*'R@1'"):
            result[key]


def test_latex_is_the_table_as_it_is_printed(result, tmp_path):
    for frame in (result.wide(), result.tidy(), result.wide().head(2)):
        body = [line for line in frame.to_latex().splitlines() if line.endswith(r"\\")]
        assert len(body) == len(frame) + 1 and len({line.replace(r"\&", "").count(" & ") for line in body}) == 1
    text = result.wide().to_latex()
    assert f"{result['R@1', 'i2t']:.3f}" in text and r"\multicolumn{6}{c}{i2t}" in text and "% 9 images" in text
    result.wide().to_latex(tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text() == text


def test_the_values_of_queries_average_to_the_numbers():
    result = Evaluator({"sharp": PHI}, PAIRING).with_queries(SIMILARITY)
    assert result.values == Evaluator({"sharp": PHI}, PAIRING)(SIMILARITY).values
    frame = result.per_query()
    keys = [name for name in frame.columns if name not in ("query", "value")]
    means = frame.groupby(keys, sort=False)["value"].mean()
    assert len(means) == len(result.queries) > 20
    for key, mean in means.items():
        named = dict(zip(keys, key, strict=True))
        assert mean == pytest.approx(result.value(**named))
    assert frame[frame.direction == "t2i"]["query"].max() == len(PAIRING) - 1
