"""From measured runs to verdicts and pages."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.reading import read
from fivesentences.config.scales import Scale
from fivesentences.errors import InputError
from fivesentences.evaluation.categories import PER_QUERY
from fivesentences.paper.claims.ledger import Judged, Numbers, judge_claims
from fivesentences.paper.claims.writing import counted, counts_of, read_claims, words_for, write_claims
from fivesentences.paper.site.shell import Site
from fivesentences.plan.plan import Plan, plan_of
from fivesentences.study.runs import RunSpec
from made_up_claims import is_sam, noise, numbers_of

CONFIG = Path(__file__).parents[3] / "config"


def judged_of(plan: Plan, numbers: Numbers) -> dict[str, Judged]:
    return {f"{one.paper}/{one.claim.name}": one for one in judge_claims(plan, plan.scale.scale, numbers)}


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (lambda run: 40.0 if is_sam(run) else 0.0, "holds"),
        (lambda run: -40.0 if is_sam(run) else 0.0, "does not"),
        (lambda run: 0.0, "does not"),  # an effect of 3 would have been seen
        (lambda run: 40.0 if is_sam(run) and run.loss.sam.variant == "paper" else 0.0, "partly"),
    ],
)
def test_what_was_put_into_the_numbers_is_the_verdict(planned, make_scale, gain, verdict):
    plan = planned(make_scale())
    found = judged_of(plan, numbers_of(plan, gain))["five_sentences/sam_recall_10"]
    assert found.verdict == verdict and len(found.cells) == 3
    assert {cell.effect.over for cell in found.cells} == {"seeds and queries"}
    assert {cell.effect.seeds for cell in found.cells} == {3}
    for cell in found.cells:
        assert cell.effect.a - cell.effect.b == pytest.approx(cell.effect.value)


def test_training_that_varies_too_much_leaves_it_open_and_says_what_would_have_been_seen(planned, make_scale):
    plan = planned(make_scale())
    found = judged_of(plan, numbers_of(plan, lambda run: 0.0, wild=20))["five_sentences/sam_recall_10"]
    assert found.verdict == "not testable" and found.why == "too uncertain"
    assert all(cell.effect.detectable > 10 for cell in found.cells)


def test_one_seed_has_effects_over_its_queries_and_settles_nothing(planned, make_scale):
    plan = planned(make_scale(seeds=[0]))
    found = judged_of(plan, numbers_of(plan, lambda run: 40.0 if is_sam(run) else 0.0))
    one = found["five_sentences/sam_recall_10"]
    assert (one.verdict, one.why) == ("not testable", "too few seeds")
    assert {cell.effect.over for cell in one.cells} == {"queries"}
    assert all(cell.effect.low > 35 for cell in one.cells)
    verdicts = {one.verdict for one in found.values() if one.claim.test.kind in ("runs", "level", "methods")}
    assert verdicts == {"not testable"}


def test_an_effect_less_the_same_elsewhere_is_the_difference_of_both(planned, make_scale):
    plan = planned(make_scale())

    def gain(run: RunSpec) -> float:
        return (40.0 if run.fraction == 0.1 else 10.0) if is_sam(run) else 0.0

    found = judged_of(plan, numbers_of(plan, gain))
    one = found["five_sentences/gain_shrinks_100"]
    assert one.verdict == "holds"
    assert all(cell.effect.value == pytest.approx(30, abs=1) for cell in one.cells)


def test_two_readings_of_the_same_runs_are_compared_over_seeds(planned, make_scale):
    plan = planned(make_scale())
    found = judged_of(plan, numbers_of(plan, lambda run: 0.0))
    one = found["knn_margin/is_raises_recall"]
    assert one.cells and {cell.effect.over for cell in one.cells} == {"seeds"}
    assert all(cell.effect.value == pytest.approx(2, abs=0.1) for cell in one.cells)
    assert found["five_sentences/any_recall_rises"].verdict == "holds"
    assert found["five_sentences/semantic_recall_falls"].verdict == "does not"  # it rises by m


def test_a_claim_that_no_run_tests_says_so(planned, make_scale):
    plan = planned(make_scale())
    found = judged_of(plan, numbers_of(plan, lambda run: 0.0))
    for name in ("five_sentences/sam_recall_coco", "sched_sam/beats_cca"):
        assert (found[name].verdict, found[name].why) == ("not testable", "the scale has no runs that test it")
    assert found["five_sentences/spice_closer_to_people"].why == "the scale has no people who rated such pairs"


def test_people_are_asked_over_the_pairs_that_print_means(planned, make_scale):
    draw = np.random.default_rng(0)
    own = np.arange(900) % 3 == 0
    people = draw.normal(size=900) + 2 * own
    pairs = pd.DataFrame(
        {
            "image_id": [f"i{place // 6}" for place in range(900)],
            "human": people,
            "own": own,
            "binary": own.astype(float),
            "spice": people + 0.5 * draw.normal(size=900),
            "cider-reattached": people + 3 * draw.normal(size=900),
            "spice|own_left_out": -people,
        }
    )
    plan = planned(make_scale())
    found = judged_of(plan, numbers_of(plan, lambda run: 0.0, judged={"some_judge": pairs}))
    closer = found["five_sentences/spice_closer_to_people"]
    assert closer.verdict == "holds" and "some judge, 600 pairs" in closer.cells[0].label
    assert found["five_sentences/spice_beats_binary"].cells[0].label == "some judge, 900 pairs"
    drawn = judged_of(plan, numbers_of(plan, lambda run: 0.0, judged={"scenes_truth": pairs}))
    assert drawn["five_sentences/spice_closer_to_people"].cells == ()  # a program is not people
    others = pairs[~own]
    assert closer.cells[0].effect.value == pytest.approx(
        others["spice"].corr(others["human"]) - others["cider-reattached"].corr(others["human"])
    )


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "holds"), (-1.0, "does not"), (0.0, "does not")])
def test_pairs_that_labels_take_along_are_a_power_of_ten(planned, make_scale, power, verdict):
    plan, draw = planned(make_scale()), np.random.default_rng(0)
    pairs = pd.DataFrame({"caption_id": np.arange(600), "image_id": np.arange(600) // 6})
    taken = {"tfidf": draw.uniform(2, 3, 600)}
    taken["labels"] = taken["tfidf"] + power + 0.01 * draw.normal(size=600)
    found = pd.concat([pairs.assign(order=order, searched=10**values) for order, values in taken.items()])
    numbers = numbers_of(plan, lambda run: 0.0, found={"some_judge": found})
    imprecise = judged_of(plan, numbers)["daa_supp/pmrp_imprecise"]
    assert imprecise.verdict == verdict and "600 right pairs" in imprecise.cells[0].label
    assert imprecise.cells[0].effect.value == pytest.approx((taken["labels"] - taken["tfidf"]).mean())


def test_documents_of_category_retrieval_are_compared_by_mean_average_precision(planned, make_scale):
    plan = plan_of(read(Scale, CONFIG / "wikipedia.yaml"), CONFIG)
    columns = pd.MultiIndex.from_product([PER_QUERY, ("i2t", "t2i", "mean")])
    precisions = {}
    for name, run in plan.subspaces.runs.items():
        better = 0.1 if run.method.folder == plan.studies["sched_sam"].methods["sam"].folder else 0.0
        values = 0.4 + better + 0.001 * noise(name, 40)[:, None] + 0.1 * noise("hard documents", 40)[:, None]
        frame = pd.DataFrame(np.repeat(values, len(columns), axis=1), columns=columns)
        frame.index = pd.Index([f"d{place}" for place in range(40)])
        precisions |= {(name, selection): frame for selection in ("map", "last")}
    found = judged_of(plan, Numbers({}, None, precisions, {}))
    for name in ("both_parts", "beats_cca", "beats_fixed"):
        one = found[f"sched_sam/{name}"]
        assert one.verdict == "holds" and one.unit == "fraction"
        assert all(cell.effect.value == pytest.approx(0.1, abs=0.01) for cell in one.cells)
    assert found["sched_sam/both_active"].verdict != "holds"
    with pytest.raises(InputError, match="has no values of the epoch by"):
        judged_of(plan, Numbers({}, None, {}, {}))


def test_a_method_is_compared_between_directions_query_by_query_and_between_documents_seed_by_seed():
    plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)
    columns = pd.MultiIndex.from_product([PER_QUERY, ("i2t", "t2i", "mean")])
    precisions = {}
    for name, run in plan.subspaces.runs.items():
        # The whole has more documents, other ones, and a precision that is 0.2 higher.
        count, level = (60, 0.6) if run.documents == "nus_wide" else (40, 0.4)
        values = level + 0.001 * noise(name, count)[:, None] + np.tile([0.0, 0.1, 0.05], len(columns) // 3)[None]
        index = pd.Index([f"{run.documents} {place}" for place in range(count)])
        frame = pd.DataFrame(values, columns=columns, index=index)
        precisions |= {(name, selection): frame for selection in ("map", "last")}
    found = {
        cell.label: cell.effect
        for name in ("texts_find_more", "larger_data_help_all")
        for cell in _judge_one(plan, name, precisions)
    }
    texts = [effect for label, effect in found.items() if label.endswith("t2i against i2t")]
    assert len(texts) == 2 and all(one.value == pytest.approx(0.1) for one in texts)
    assert {one.over for one in texts} == {"seeds and queries"}
    larger = [effect for label, effect in found.items() if label.endswith("the same on nus_wide_10k")]
    assert len(larger) == 6 and {one.over for one in larger} == {"seeds"}
    for one in larger:
        assert one.value == pytest.approx(0.2, abs=0.002) and one.low > 0.19
        assert (one.a - one.b) == pytest.approx(one.value)


def _judge_one(plan, name, precisions):
    (paper,) = [paper for paper in plan.claims if paper.name == "sched_sam"]
    (claim,) = [one for one in paper.claims.claims if one.name == name]
    only = replace(paper, claims=paper.claims.model_copy(update={"claims": [claim]}))
    alone = Plan(plan.scale, plan.studies, plan.catalogue, config=CONFIG, claims=[only])
    return judged_of(alone, Numbers({}, None, precisions, {}))[f"sched_sam/{name}"].cells


def test_runs_without_values_or_on_other_images_are_refused(planned, make_scale):
    plan = planned(make_scale())
    numbers = numbers_of(plan, lambda run: 0.0)
    name = next(run for run in plan.runs if is_sam(plan.all_runs[run]))
    frames = dict(numbers.per_image)
    frames[name] = frames[name].iloc[::-1]
    with pytest.raises(InputError, match="were tested on different images"):
        judged_of(plan, Numbers(frames, numbers.results, {}, {}))
    del frames[name]
    with pytest.raises(InputError, match="has no values per image; evaluate it again"):
        judged_of(plan, Numbers(frames, numbers.results, {}, {}))


# --- what is written --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(planned, make_scale, tmp_path_factory) -> tuple[Plan, Sequence[Judged], Path]:
    plan = planned(make_scale())
    folder = tmp_path_factory.mktemp("claims")
    found = judge_claims(plan, "tiny", numbers_of(plan, lambda run: 40.0 if is_sam(run) else 0.0, wild=1))
    write_claims(found, plan.scale, Site.of(plan.site("tiny")), folder / "claims")
    return plan, found, folder / "claims"


def test_every_claim_is_in_every_file(written):
    plan, found, stem = written
    asked = [(paper.name, one.name) for paper in plan.claims for one in paper.claims.claims]
    content = read_claims(stem.with_suffix(".json"))
    assert [(one["paper"], one["name"]) for one in content["claims"]] == asked
    with stem.with_suffix(".csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == sum(max(1, len(one.cells)) for one in found)
    assert list(dict.fromkeys((line["paper"], line["name"]) for line in lines)) == asked
    texts = [stem.with_suffix(suffix).read_text(encoding="utf-8") for suffix in (".md", ".html")]
    for one in found:
        assert one.claim.claim in texts[0] and one.claim.claim in html.unescape(texts[1])
    tested = [one for one in found if one.cells]
    assert texts[0].count("\n| ") == 2 + len({one.paper for one in tested}) + len(tested)


def test_verdicts_are_counted(written):
    _, found, stem = written
    claims = read_claims(stem.with_suffix(".json"))["claims"]
    counts = counts_of(claims)
    assert sum(counts.values()) == len(found) and counts["holds"] > 3 and counts["not testable"] > 10
    short = counted(claims)
    assert short.startswith(f"{counts['holds']} hold, ")
    assert all(f"{count} {words_for(verdict, count)}" in short for verdict, count in counts.items() if count)


def test_a_cell_says_its_effect_interval_and_where_it_is_shown(written):
    plan, found, stem = written
    with stem.with_suffix(".csv").open(encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["name"] == "sam_recall_10"]
    assert all(float(line["low"]) < float(line["value"]) < float(line["high"]) for line in lines)
    assert {line["over"] for line in lines} == {"seeds and queries"} and {line["seeds"] for line in lines} == {"3"}
    page = stem.with_suffix(".html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="\.\./([^"]+#[^"]+)"', page))
    exhibits = {"{}/index.html#{}".format(*name.split("/")) for name in plan.exhibits}
    kinds = {f"runs/index.html#{run.rpartition('/seed=')[0]}" for run in [*plan.runs, *plan.subspaces.runs]}
    assert links & exhibits and links & kinds and links <= exhibits | kinds
    ours = {cell.link for one in found for cell in one.cells if one.claim.name == "sam_recall_10"}
    assert ours == {"../five_sentences/index.html#table2"}
    values = {cell.link for one in found for cell in one.cells if one.claim.name == "any_recall_rises"}
    assert values and not [link for link in values if "differences" in link]


def test_the_page_is_self_contained_and_every_claim_has_an_address(written):
    _, found, stem = written
    page = stem.with_suffix(".html").read_text(encoding="utf-8")
    assert not re.search(r"<script [^>]*src|<link|@import|url\(|src=", page)
    names = re.findall(r'<article class="claim" id="([^"]+)"', page)
    assert names == [f"{one.paper}-{one.claim.name}" for one in found]
    for address in re.findall(r'href="(claims\.[a-z]+)"', page):
        assert (stem.parent / address).is_file()


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "claims.json").write_text("{}")
    with pytest.raises(InputError, match="these are not claims of this version"):
        read_claims(tmp_path / "claims.json")


def test_a_scale_without_runs_has_a_page(planned, make_scale, tmp_path):
    plan = planned(make_scale(roles={}, features=None, only=["judged"]))
    found = judge_claims(plan, "tiny", Numbers({}, None, {}, {}))
    write_claims(found, plan.scale, Site.of(plan.site("tiny")), tmp_path / "claims")
    assert {one.verdict for one in found} == {"not testable"}
    assert all(not line.endswith("| 0 |") for line in (tmp_path / "claims.md").read_text().splitlines())
