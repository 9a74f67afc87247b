"""One pass gives what the single functions give."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import (
    Evaluator,
    Positives,
    as_frame,
    asp,
    category_map,
    evaluate_frame,
    map_at_r,
    ncs,
    nsum,
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
from fivesentences.metrics import ranking as ranking_module
from fivesentences.metrics import relevance as relevance_module
from fivesentences.metrics.evaluator import KEPT_BYTES
from fivesentences.retrieval.hubness import hubness

PHI = np.eye(34, 9)
PAIRING = np.repeat(np.arange(9), [1, 7, 3, 5, 5, 2, 1, 4, 6])


@pytest.fixture
def matrices():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 34)).astype(np.float32), np.maximum(0, rng.normal(size=(34, 9)))


def everything(phi):
    """Arguments of an Evaluator that reports every metric, of two phi."""
    rng = np.random.default_rng(1)
    labels = rng.random((9, 4)) < 0.4
    labels[[0, 5]] = [[False] * 4, [True] * 4]  # one image without a label
    pairs = rng.random((9, 34)) < 0.1
    pairs[3], pairs[:, 7] = False, False  # queries without a positive
    return {
        "phi": {"sharp": phi, "blunt": np.round(phi)},
        "image_of_caption": PAIRING,
        "asp_ties": ("index", "average"),
        "hubness": True,
        "labels": labels,
        "categories": ["a", "b", "c", "a", "b", None, "c", "d", "a"],
        "positives": {
            "CxC": Positives.symmetric(pairs),
            "ECCV": Positives(pairs, np.roll(pairs, 3, axis=1), outside_i2t=np.arange(9) % 2),
        },
    }


def single(row, similarity, options, per_query=False):
    """What the single function gives for a row of the tidy table."""
    name, at, k = row["metric"].rpartition("@")
    name, k = (name, int(k)) if at and k.isdigit() else (row["metric"], 0)
    direction, keep = row["direction"], row["ground_truth"] == "kept"
    phi = options["phi"].get(row["phi"])
    pairing, categories, labels = (options[n] for n in ("image_of_caption", "categories", "labels"))
    given = {"direction": direction, "image_of_caption": pairing}
    each = {"per_query": per_query}
    if name in ("R", "true R"):
        return (recall_at_k if name == "R" else true_recall_at_k)(similarity, (k,), **given, **each)[k]
    if name in ("Med r", "Mean r"):
        found = rank_statistics(similarity, **given, **each)
        return found if per_query else found[name == "Mean r"]
    if name == "N":
        more = {"m": row["m"] or None, "discount": row["discount"] or None, "image_of_caption": pairing}
        return ncs(similarity, phi, (k,), direction, keep, row["formula"], **more, **each)[k]
    if name == "SR":
        variant = (row["m"], keep, row["formula"], row["style"] or "recall", row["weighting"])
        return semantic_recall(similarity, phi, (k,), direction, *variant, image_of_caption=pairing, **each)[k]
    if name == "ASP":
        return asp(similarity, phi, ties=row["formula"], **given, **each)
    if name == "PMRP":
        return pmrp(similarity, labels, **given, **each)
    if name in ("mAP", "mAP@R"):
        return category_map(similarity, categories, cutoff=k or ("R" if at else None), **given, **each)
    if name == "R-P":
        return r_precision(similarity, categories, **given, **each)
    if name in ("CxC R", "ECCV R"):
        return recall_of_positives(similarity, options["positives"][name[:-2]], (k,), direction, **each)[k]
    if name in ("ECCV R-P", "ECCV mAP@R"):
        function = map_at_r if at else r_precision_of
        return function(similarity, options["positives"]["ECCV"], direction, **each)
    if name in ("Rsum", "mR"):
        return rsum(similarity, image_of_caption=pairing) / (6 if name == "mR" else 1)
    if name == "Nsum":
        more = {"m": row["m"] or None, "discount": row["discount"] or None, "image_of_caption": pairing}
        return nsum(similarity, phi, keep_ground_truth=keep, formula=row["formula"], **more)
    hubs = hubness(similarity, direction, k or 1)
    statistics = {"max": hubs.maximum, "skewness": hubs.skewness, "Gini": hubs.gini, **hubs.shares}
    return statistics[name.removeprefix("hubs ")]


FAMILIES = {"R", "true R", "Med r", "Mean r", "N", "SR", "ASP", "PMRP", "mAP", "R-P", "CxC R", "ECCV R", "ECCV R-P"}
FAMILIES |= {"ECCV mAP", "Rsum", "mR", "Nsum", "hubs 0", "hubs 1", "hubs >=2", "hubs >=5", "hubs >=10", "hubs max"}
FAMILIES |= {"hubs skewness", "hubs Gini"}
PARTS_OF_HUBS = {name for name in FAMILIES if name.startswith("hubs")}


@pytest.fixture(params=["one block", "small blocks"])
def block_size(request, monkeypatch):
    """Small blocks, so that several threads work on one matrix."""
    if request.param == "small blocks":
        monkeypatch.setattr(ranking_module, "ELEMENTS_PER_BLOCK", 1)
        monkeypatch.setattr(ranking_module, "QUERIES_PER_BLOCK", 2)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("kind", ["random", "ties", "float64"])
def test_every_value_equals_the_single_function(matrices, kind):
    similarity, phi = matrices
    similarity = np.round(similarity) if kind == "ties" else similarity.astype("f8" if kind == "float64" else "f4")
    options = everything(phi)
    values = Evaluator(**options)(similarity)
    keys = [tuple(value for name, value in row.items() if name != "value") for row in values]
    assert len(keys) == len(set(keys))
    assert {row["metric"].rpartition("@")[0] or row["metric"] for row in values} == FAMILIES
    for row in values:
        assert row["value"] == pytest.approx(single(row, similarity, options), abs=1e-9), row
    for row in values:
        assert bool(row["phi"]) == (row["metric"].startswith(("N@", "Nsum", "SR@", "ASP")))


@pytest.mark.usefixtures("block_size")
def test_every_querys_value_equals_the_single_function(matrices):
    similarity, phi = matrices
    options = everything(phi)
    evaluator = Evaluator(**options)
    rows = evaluator.per_query(similarity)
    families = {row["metric"].rpartition("@")[0] or row["metric"] for row in rows}
    assert families == FAMILIES - PARTS_OF_HUBS - {"Med r", "Rsum", "mR", "Nsum"}
    numbers = {tuple(v for k, v in row.items() if k != "value"): row["value"] for row in evaluator(similarity)}
    for row in rows:
        assert len(row["values"]) == (9 if row["direction"] == "i2t" else 34)
        np.testing.assert_allclose(row["values"], single(row, similarity, options, per_query=True), atol=1e-9)
        mean = np.nanmean(row["values"])
        assert mean == pytest.approx(numbers[tuple(v for k, v in row.items() if k != "values")], abs=1e-9)


def test_one_direction_can_be_asked_for(matrices):
    similarity, phi = matrices
    evaluator = Evaluator(**everything(phi))
    both = evaluator(similarity)
    for direction in ("i2t", "t2i"):
        assert evaluator(similarity, (direction,)) == [row for row in both if row["direction"] == direction]
    with pytest.raises(InputError, match="give a list"):
        evaluator(similarity, "i2t")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_tensors_are_taken_as_they_are(matrices, dtype):
    torch = pytest.importorskip("torch")
    similarity, phi = (torch.tensor(matrix).to(getattr(torch, dtype)) for matrix in matrices)
    evaluator = Evaluator({"phi": phi}, torch.tensor(PAIRING), asp_ties=("index",))
    arrays = [tensor.float().numpy() if dtype == "bfloat16" else tensor.numpy() for tensor in (similarity, phi)]
    wanted = Evaluator(arrays[1], PAIRING, asp_ties=("index",))(arrays[0])
    assert evaluator(similarity.requires_grad_()) == wanted
    devices = [name for name in ("cuda", "mps") if getattr(torch, name).is_available()]
    for device in devices:
        on_device = Evaluator({"phi": phi.to(device)}, PAIRING, asp_ties=("index",))
        assert on_device(similarity.to(device)) == wanted


def test_a_tensor_on_a_device_is_fetched(matrices):
    class Tensor:  # as one of CUDA: numpy may not read it before it is detached and fetched
        def __init__(self, values, steps=("detach", "cpu")):
            self.values, self.steps, self.dtype = values, steps, values.dtype

        def __array__(self, *_, **__):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

        def _next(self, step):
            assert self.steps[0] == step
            return Tensor(self.values, self.steps[1:])

        def detach(self):
            return self._next("detach")

        def cpu(self):
            return self._next("cpu")

        def numpy(self):
            assert not self.steps
            return self.values

    similarity, phi = matrices
    options = everything(phi)
    wanted = Evaluator(**options)(similarity)
    options |= {
        "phi": {name: Tensor(values) for name, values in options["phi"].items()},
        "image_of_caption": Tensor(PAIRING),
        "labels": Tensor(options["labels"]),
    }
    assert Evaluator(**options)(Tensor(similarity)) == wanted


def test_metrics_need_no_torch():
    code = "import sys, fivesentences.metrics; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ranks_by_phi_are_made_once(matrices, monkeypatch):
    similarity, phi = matrices
    evaluator = Evaluator(phi, PAIRING, asp_ties=("index", "average"))
    first, every_query = evaluator(similarity), evaluator.per_query(-similarity)

    def refuse(*_):
        raise AssertionError("phi was read again")

    for name in ("block_of_queries", "stable_order"):
        monkeypatch.setattr(sys.modules["fivesentences.metrics.asp"], name, refuse)
    monkeypatch.setattr(relevance_module, "rank", refuse)
    monkeypatch.setattr(relevance_module.Relevance, "_find_neighbours", refuse)
    assert evaluator(similarity) == first
    for row, again in zip(every_query, evaluator.per_query(-similarity), strict=True):
        np.testing.assert_array_equal(row["values"], again["values"])
    assert KEPT_BYTES >= 2 * 2 * 2 * 5000 * 25000  # two phi of COCO 5K under one rule


def test_a_change_of_gallery_starts_anew(matrices):
    similarity, phi = matrices
    evaluator = Evaluator(phi[:18, :6], asp_ties=("index",))
    evaluator(similarity[:6, :18])
    with pytest.raises(InputError, match="the caption file differs"):
        evaluator(similarity[:3, :18])
    assert evaluator(similarity[:6, 5:23]) == Evaluator(phi[:18, :6], asp_ties=("index",))(similarity[:6, 5:23])


def test_the_tidy_table_holds_every_number(matrices):
    similarity, phi = matrices
    evaluator = Evaluator(**everything(phi))
    values = evaluator(similarity)
    tidy = evaluator.frame(similarity)
    assert tidy.to_dict("records") == values
    pd.testing.assert_frame_equal(tidy, as_frame(values), check_frame_type=False)


def test_the_wide_table_holds_every_number_at_its_place(matrices):
    similarity, phi = matrices
    options = everything(phi)
    values = Evaluator(**options)(similarity)
    wide = evaluate_frame(similarity, options.pop("phi"), options.pop("image_of_caption"), **options)
    assert wide.index.names == ["metric", "phi", "formula", "ground_truth", "m", "style"]
    assert wide.index.is_unique
    assert wide.notna().to_numpy().sum() == len(values)
    assert wide.loc[("SR@k", "blunt", "paper", "removed", "2", "vse_recall"), ("t2i", "@5")] == next(
        row["value"]
        for row in values
        if row["metric"] == "SR@5"
        and (row["phi"], row["formula"], row["ground_truth"]) == ("blunt", "paper", "removed")
        and (row["m"], row["style"], row["direction"]) == (2, "vse_recall", "t2i")
    )
    sums = wide[("both", "")].dropna()
    assert sums.index.get_level_values("metric").tolist() == ["Rsum", "mR"] + ["Nsum"] * 8
    assert wide.columns.tolist()[:4] == [("i2t", "@1"), ("i2t", "@5"), ("i2t", "@10"), ("i2t", "")]


def test_tables_print_whole_and_without_holes(matrices):
    similarity, phi = matrices
    wide = evaluate_frame(similarity, **everything(phi))
    for text in (repr(wide), wide._repr_html_()):
        assert "NaN" not in text and "..." not in text
        assert all(family in text for family in ("mAP@R", "hubs skewness", "ECCV R-P", "vse_recall"))
    alone = evaluate_frame(similarity, None, PAIRING)
    assert alone.index.tolist() == ["R@k", "true R@k", "Med r", "Mean r", "Rsum", "mR"]
    assert "..." not in str(wide.head(3)) and "@10" in str(wide.head(3))  # what is taken out of it too
    with pytest.raises(InputError, match="'tidy' or 'wide'"):
        evaluate_frame(similarity, None, PAIRING, form="long")


def test_an_empty_ideal_follows_the_policy(matrices):
    similarity, phi = matrices
    phi = phi * (np.arange(9) != 4)  # image 4 is unlike everything
    values = {empty: Evaluator(phi, PAIRING, empty=empty).per_query(similarity) for empty in ("zero", "skip")}
    for zero, skip in zip(values["zero"], values["skip"], strict=True):
        np.testing.assert_array_equal(np.nan_to_num(skip["values"]), zero["values"])
    assert any(np.isnan(row["values"]).any() for row in values["skip"])
    with pytest.raises(InputError, match="image 4"):
        Evaluator(phi, PAIRING, empty="error")(similarity)


def test_one_evaluator_serves_several_similarities(matrices):
    similarity, phi = matrices
    evaluator = Evaluator(phi, PAIRING)
    first = evaluator(similarity)
    other = evaluator(-similarity)
    assert first == evaluator(similarity) == Evaluator(phi, PAIRING)(similarity)
    assert other == Evaluator(phi, PAIRING)(-similarity)


def test_without_phi_only_instance_recall_is_given(matrices):
    names = {value["metric"].partition("@")[0] for value in Evaluator(None, PAIRING)(matrices[0])}
    assert names == {"R", "true R", "Med r", "Mean r", "Rsum", "mR"}


def test_only_what_is_asked_for_is_given(matrices):
    similarity, phi = matrices
    values = Evaluator(
        phi, PAIRING, ks=(5,), ms=(2,), ground_truth=("removed",), formulas=("released",), styles=("recall",)
    )(similarity)
    semantic = [v for v in values if v["formula"]]
    assert {(v["ground_truth"], v["formula"]) for v in semantic} == {("removed", "released")}
    assert {(v["metric"], v["m"], v["style"]) for v in semantic} == {
        ("N@5", 0, ""),
        ("SR@5", 2, "recall"),
        ("Nsum", 0, ""),
    }
    assert not any(v["metric"].startswith("SR") for v in Evaluator(phi, PAIRING, ms=())(similarity))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ground_truth": ("own",)}, "'kept' or 'removed'"),
        ({"formulas": "released"}, "give a list"),
        ({"styles": ("any",)}, "'recall' or 'vse_recall'"),
        ({"ms": (0,)}, "ms holds 0"),
        ({"empty": "drop"}, "'zero' or 'skip' or 'error'"),
        ({"asp_ties": ("first",)}, "'index' or 'average'"),
        ({"asp_ties": "index"}, "give a list"),
        ({"weightings": ("weak",)}, "'hard' or 'soft'"),
        ({"discounts": ("linear",)}, "None or 'log'"),
        ({"discounts": ("log",), "formulas": ("paper",)}, "belongs to the released formula"),
        ({"ncs_ms": (3,), "formulas": ("released",)}, "belong to the paper's formula"),
        ({"ncs_ms": (0, None)}, "ncs_ms holds 0"),
        ({"ideal_pool": "all"}, "'gallery' or 'given_rows'"),
        ({"hub_ks": ()}, "hub_ks is"),
        ({"category_cutoffs": "R"}, "give a list"),
        ({"category_cutoffs": (0,)}, "cutoff holds 0"),
        ({"phi": None, "asp_ties": ("index",)}, "pass phi"),
        ({"phi": {"": PHI}}, "a phi is named ''"),
        ({"phi": {1: PHI}}, "a phi is named 1"),
        ({"caption_categories": [1] * 34}, "caption_categories need categories"),
    ],
)
def test_an_unknown_choice_is_refused(matrices, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        Evaluator(**{"phi": matrices[1], "image_of_caption": PAIRING, **arguments})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"labels": np.ones((8, 3))}, "8 rows but there are 9 images"),
        ({"categories": ["a"] * 8}, "8 values but there are 9 images"),
        ({"categories": ["a"] * 9, "caption_categories": ["a"] * 33}, "33 values but there are 34 captions"),
        ({"positives": {"ECCV": Positives.symmetric(np.ones((9, 33)))}}, "the positives ECCV are of 9 images and 33"),
        ({"phi": {"good": PHI, "short": PHI[:-1]}}, r"phi short is \[33, 9\]"),
    ],
)
def test_what_does_not_fit_the_similarity_is_refused(matrices, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        Evaluator(**{"phi": matrices[1], "image_of_caption": PAIRING, **arguments})(matrices[0])


def test_a_perfect_model_reaches_a_hundred():
    similarity = np.kron(np.eye(6), np.ones(5))
    phi = similarity.T * 2.0
    values = {
        (v["metric"], v["direction"], v["formula"], v["ground_truth"]): v["value"] for v in Evaluator(phi)(similarity)
    }
    assert values["Rsum", "", "", ""] == pytest.approx(600)
    assert values["Nsum", "", "released", "kept"] == pytest.approx(600, abs=1e-6)
    assert values["Nsum", "", "paper", "kept"] == pytest.approx(600)
    assert values["true R@1", "i2t", "", ""] == pytest.approx(20)


@pytest.mark.usefixtures("block_size")
def test_every_variant_equals_the_single_function(matrices):
    similarity, phi = matrices
    options = everything(phi) | {
        "ms": (3, 1),
        "weightings": ("hard", "soft"),
        "discounts": (None, "log"),
        "ncs_ms": (None, 4),
        "hub_ks": (1, 3, 50),
        "category_cutoffs": (None, "R", 5, 100),
    }
    evaluator = Evaluator(**options)
    values = evaluator(similarity)
    keys = [tuple(value for name, value in row.items() if name != "value") for row in values]
    assert len(keys) == len(set(keys))
    for row in values:
        assert row["value"] == pytest.approx(single(row, similarity, options), abs=1e-9), row
    for row in evaluator.per_query(similarity):
        np.testing.assert_allclose(row["values"], single(row, similarity, options, per_query=True), atol=1e-9)
    assert {(v["weighting"], v["style"]) for v in values if v["metric"].startswith("SR")} == {
        ("hard", "recall"),
        ("hard", "vse_recall"),
        ("soft", ""),
    }
    assert {(v["formula"], v["m"], v["discount"]) for v in values if v["metric"] == "Nsum"} == {
        ("released", 0, ""),
        ("released", 0, "log"),
        ("paper", 0, ""),
        ("paper", 4, ""),
    }
    assert [v["m"] for v in values if v["metric"] == "SR@1"][::3][:2] == [3, 1]  # as asked for
    wide = as_frame(values, "wide")
    assert wide.index.is_unique and {"weighting", "discount"} <= set(wide.index.names)
    assert wide.notna().to_numpy().sum() == len(values)


def test_an_ideal_over_given_rows_touches_ncs_of_images_alone(matrices):
    similarity, phi = matrices
    more = np.vstack([phi, 9.0 + phi[:6]])
    given = {"image_of_caption": PAIRING, "asp_ties": ("index",), "formulas": ("released", "paper")}
    wanted = Evaluator(phi, **given)(similarity)
    values = Evaluator(more, **given, ideal_pool="given_rows")(similarity)
    assert Evaluator(phi, **given, ideal_pool="given_rows")(similarity) == wanted
    for row, other in zip(values, wanted, strict=True):
        if row["metric"].startswith("N@"):
            k, kept = int(row["metric"][2:]), row["ground_truth"] == "kept"
            rest = {"ideal_pool": "given_rows", "image_of_caption": PAIRING}
            assert row["value"] == ncs(similarity, more, (k,), row["direction"], kept, row["formula"], **rest)[k]
            assert (row["value"] < other["value"]) == (row["direction"] == "i2t")
        elif row["metric"] != "Nsum":
            assert row == other
    with pytest.raises(InputError, match="keep its first 34 rows, or choose the ideal pool 'given_rows'"):
        Evaluator(more, PAIRING)(similarity)


def test_repeated_rows_of_a_square_similarity_are_refused_by_every_metric():
    similarity = np.repeat(np.random.default_rng(3).normal(size=(6, 30)), 5, axis=0)
    for score in (recall_at_k, Evaluator(), lambda matrix: asp(matrix, matrix.T)):
        with pytest.raises(InputError, match=r"repeat 6 images 5 times each.*keep one row per image, every 5th"):
            score(similarity)


def test_more_images_than_captions_are_turned_round():
    with pytest.raises(InputError, match=r"\[997, 200\] and looks transposed"):
        recall_at_k(np.zeros((997, 200)))


def test_a_phi_that_is_not_finite_is_named(matrices):
    similarity, phi = matrices
    broken = phi.copy()
    broken[3, 4] = np.nan
    for options in ({}, {"asp_ties": ("index",), "ms": ()}):
        with pytest.raises(InputError, match=r"^SPICE: phi\[3, 4\] is nan \(image 4, caption 3\).*make it again"):
            Evaluator({"CIDEr": phi, "SPICE": broken}, PAIRING, **options)(similarity)
    with pytest.raises(InputError, match=r"^phi\[3, 4\]"):
        Evaluator(broken, PAIRING)(similarity)


def test_tables_say_the_rule_for_ties_and_have_equal_decimals_in_a_column(matrices):
    similarity, phi = matrices
    for form in ("tidy", "wide"):
        assert str(evaluate_frame(similarity, phi, PAIRING, form=form)).endswith("ordered by index, lower first.")
    frame = evaluate_frame(similarity, None, PAIRING)
    frame.iloc[0, 0] = 0.5
    shown = str(frame)
    assert "0.50 " in shown and "0.500" not in shown and "lower first" in frame._repr_html_()
    with_fractions = str(evaluate_frame(similarity, None, PAIRING, categories=list("abcabcabc"))).splitlines()
    assert all(line.count(".") == sum(len(cell.partition(".")[2]) in (2, 3) for cell in line.split()) for line in
               with_fractions[2:-1])  # fmt: skip
