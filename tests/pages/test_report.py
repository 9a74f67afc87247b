"""Numbers of a report are those of `evaluate`; what it chooses and says is so."""

from __future__ import annotations

import numpy as np
import pytest

import fivesentences
from fivesentences import evaluate
from fivesentences.errors import InputError
from fivesentences.evaluation import compare
from fivesentences.pages.report import HEADLINES, look
from fivesentences.semantics import cider_matrix


@pytest.fixture(scope="module")
def scored(shipped):
    captions = (shipped / "captions.txt").read_text("utf-8").splitlines()
    return evaluate(np.load(shipped / "sims.npy"), phis={"cider": cider_matrix(captions)})


def test_the_table_has_the_numbers_of_evaluate_and_their_chance(report, scored):
    rows = {(row["metric"], row["ground_truth"], row["model"]): row["values"] for row in report.numbers()}
    by_chance = {(row["metric"], row["direction"], row["ground_truth"]): row["value"] for row in scored.chance.values}
    for metric, short, kept in (("R", "R", ""), ("NCS", "N", "kept"), ("NCS", "N", "removed")):
        for side in ("i2t", "t2i"):
            variant = {"ground_truth": kept} if kept else {}
            expected = [scored.value(f"{short}@{k}", side, **variant) for k in HEADLINES]
            assert rows[metric, kept, "first"][side] == pytest.approx(expected, abs=1e-9)
            expected = [by_chance[f"{short}@{k}", side, kept] for k in HEADLINES]
            assert rows[metric, kept, "chance"][side] == pytest.approx(expected, abs=1e-9)


def test_curves_pass_through_these_numbers_within_their_intervals(report, scored):
    for line in report.lines("first"):
        short, variant = ("R", {}) if line.metric == "R" else ("N", {"ground_truth": line.ground_truth})
        for k, value, low, high in zip(line.ks, line.values, line.low, line.high, strict=True):
            assert low <= value + 1e-9 and value - 1e-9 <= high
            if k in HEADLINES:
                assert value == pytest.approx(scored.value(f"{short}@{k}", line.direction, **variant), abs=1e-9)


def test_an_interval_is_that_of_means_of_drawn_images(report, shipped):
    """A bootstrap of its own: images are drawn with their captions."""
    hits = (report.answers["first"]["t2i"].rank <= 5).reshape(200, 5).mean(axis=1)
    drawn = np.random.default_rng(9).integers(200, size=(4000, 200))
    low, high = np.quantile(100 * hits[drawn].mean(axis=1), [0.025, 0.975])
    line = next(one for one in report.lines("first") if (one.metric, one.direction) == ("R", "t2i"))
    at = line.ks.index(5)
    assert line.low[at] == pytest.approx(low, abs=0.6) and line.high[at] == pytest.approx(high, abs=0.6)


@pytest.mark.slow
def test_tests_of_two_models_are_those_of_compare(report, shipped):
    captions = (shipped / "captions.txt").read_text("utf-8").splitlines()
    matrices = [np.load(shipped / name) for name in ("hardest.npy", "sims.npy")]
    known = compare(*matrices, {"cider": cider_matrix(captions)}, asp_ties=(), ms=(), ks=HEADLINES)
    wanted = {(row.metric, row.direction, row.ground_truth): row for row in known.itertuples()}
    assert len(report.tests) == 12
    for row in report.tests.itertuples():
        of = wanted[row.metric, row.direction, row.ground_truth]
        assert (row.model, row.against) == ("second", "first")
        assert (row.difference, row.low, row.high) == pytest.approx((of.difference, of.low, of.high))
        assert row.p == pytest.approx(of.p)


def test_what_is_said_of_queries_is_counted(report):
    answers = report.answers["second"]["t2i"]
    missed = answers.rank > 5
    said = next(one for one in report.summary() if one.startswith("second") and "captions find" in one)
    assert f"{1000 - missed.sum():,} of 1,000" in said
    assert f"Of the {missed.sum()} that do not, {(missed & (answers.ncs >= 50)).sum()} are" in said


def test_two_models_with_the_same_items_in_another_order_tie():
    """Sums of phi differ in their last digits with the order of items, and by processor: neither model is better."""
    rng = np.random.default_rng(3)
    first = rng.random((60, 300))
    second = first.copy()
    for row, best in zip(second, np.argsort(-first, axis=1)[:, :10], strict=True):
        row[best] = row[best[::-1]]
    captions = [f"a {word} thing" for word in range(300)]
    report = look({"a": first, "b": second}, captions=captions, phis={"some": rng.random((300, 60))}, k=10)
    a, b = (report.answers[name]["i2t"] for name in ("a", "b"))
    assert (a.items != b.items).any(axis=1).all()
    assert (np.sort(a.phi) == np.sort(b.phi)).all() and (a.phi.sum(axis=1) != b.phi.sum(axis=1)).any()
    assert (a.ncs == b.ncs).all()


def test_a_page_with_fewer_queries_has_those_that_stand_out(report):
    chosen = report.chosen("t2i", 100)
    assert len(chosen) == 100 and chosen == sorted(set(chosen)) and chosen == report.chosen("t2i", 100)
    answers = report.answers["first"]["t2i"]
    missed = np.flatnonzero(answers.rank > 5)
    assert int(missed[np.argmax(answers.ncs[missed])]) in chosen
    assert int(np.argmax(answers.rank)) in chosen
    other = report.answers["second"]["t2i"]
    assert int(np.argmax(np.abs(answers.ncs - other.ncs))) in chosen
    assert report.chosen("i2t", 1000) == list(range(200))


def test_phi_of_answers_is_that_of_the_matrix(report, shipped):
    captions = (shipped / "captions.txt").read_text("utf-8").splitlines()
    phi, answers = cider_matrix(captions), report.answers["first"]["i2t"]
    np.testing.assert_allclose(answers.phi, phi[answers.items, np.arange(200)[:, None]], atol=1e-6)
    others = np.where(np.arange(1000)[:, None] // 5 == np.arange(200), -1, phi).max(axis=0)
    np.testing.assert_allclose(report.best_other("i2t", [0, 7, 199]), others[[0, 7, 199]], atol=1e-6)


@pytest.mark.slow
def test_a_notebook_shows_tables_with_text_as_text(small):
    report = fivesentences.look({"<b>a": np.load("sims.npy")}, captions="captions.txt")
    html = report._repr_html_()
    assert "&lt;b&gt;a" in html and "<b>a" not in html and "chance" in html
    assert html.count('src="data:image/png;base64,') == 1
    assert "8 images, 40 captions" in repr(report)


def test_embeddings_are_scored_by_their_cosine(shipped, report):
    embedded = look(np.load(shipped / "images.npy"), np.load(shipped / "texts.npy"), captions=shipped / "captions.txt")
    found = embedded.evaluations["model"].value("R@5", "t2i")
    assert found == pytest.approx(report.evaluations["first"].value("R@5", "t2i"), abs=0.3)


@pytest.mark.parametrize(("query", "found"), [(17, ("t2i", 17)), ("t2i-0", ("t2i", 0)), ("#i2t-199", ("i2t", 199))])
def test_a_query_has_the_name_that_the_page_gives_it(report, query, found):
    assert report.query_named(query) == found


@pytest.mark.parametrize("query", [-1, 1000, "i2t-200", "x2t-3", "dog", ""])
def test_no_such_query(report, query):
    with pytest.raises(InputError, match="quer"):
        report.query_named(query)


def test_captions_of_something_else(small):
    with pytest.raises(InputError, match="there are 39 captions, but the similarity has 40 columns"):
        look(np.load("sims.npy"), captions=["a dog"] * 39)
    with pytest.raises(InputError, match="similarity is empty"):
        look({}, captions="captions.txt")


def test_without_matplotlib_a_notebook_has_the_table_alone(report, monkeypatch):
    def missing(*_):
        raise InputError("a figure needs matplotlib, which is not installed.")

    monkeypatch.setattr("fivesentences.pages.figures.need", missing)
    assert "<table>" in report._repr_html_() and "<img" not in report._repr_html_()
    with pytest.raises(InputError, match="matplotlib"):
        report.figures  # noqa: B018
