"""From measured runs to the verdicts and the page of a scale."""

from __future__ import annotations

import copy
import csv
import html
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from fivesentences.config.reading import read
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.evaluation import PER_QUERY
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.claims.judging import Numbers, judge_claims
from fivesentences.reproduction.paper.claims.verdicts import DECIDED
from fivesentences.reproduction.paper.claims.writing import read_claims, write_claims
from fivesentences.reproduction.paper.numbers.results import Measure
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.plan.plan import Plan, plan_of
from fivesentences.reproduction.study.exhibits import ColumnSpec
from fivesentences.reproduction.study.study import PaperClaims
from fivesentences.training.spec import RunSpec
from made_up_claims import is_sam, noise, numbers_of

SAM_RECALL = "five_sentences/sam_recall_10"
CONFIG = Path(__file__).parents[3] / "config"
RSUM, NSUM = (Measure.of_column(ColumnSpec(metric=metric), "cider") for metric in ("Rsum", "Nsum"))
COLUMNS = pd.MultiIndex.from_product([PER_QUERY, ("i2t", "t2i", "mean")])


def only(plan: Plan, *names: str) -> tuple[PaperClaims, ...]:
    """The claims of these names."""
    return tuple(
        replace(paper, claims=paper.claims.model_copy(update={"claims": chosen}))
        for paper in plan.claims
        if (chosen := [one for one in paper.claims.claims if f"{paper.name}/{one.name}" in names])
    )


def judged_of(plan: Plan, numbers: Numbers, *names: str) -> dict[str, dict[str, Any]]:
    """The named claims, or all, as they are judged."""
    plan.report.cells_of_claims(plan.scale.scale)  # of all claims, which a plan may keep
    alone = copy.copy(plan)
    alone.claims = only(plan, *names) if names else plan.claims
    return {f"{one['paper']}/{one['name']}": one for one in judge_claims(alone, plan.scale.scale, numbers)}


def effects_of(claim: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell["effect"] for cell in claim["cells"]]


@pytest.fixture(scope="module")
def plan(planned, make_scale) -> Plan:
    return planned(make_scale())


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (lambda run: 40.0 if is_sam(run) else 0.0, "holds"),
        (lambda run: -40.0 if is_sam(run) else 0.0, "fails"),
        (lambda run: 0.0, "fails"),  # an effect of 3 would have been seen
        (lambda run: 40.0 if is_sam(run) and run.loss.sam.variant == "paper" else 0.0, "holds partly"),
    ],
)
def test_what_was_put_into_the_numbers_is_the_verdict(plan, gain, verdict):
    found = judged_of(plan, numbers_of(plan, gain), SAM_RECALL)[SAM_RECALL]
    assert (found["verdict"], len(found["cells"])) == (verdict, 3)
    for effect in effects_of(found):
        assert (effect["over"], effect["seeds"]) == ("seeds and queries", 3)
        assert effect["a"] - effect["b"] == pytest.approx(effect["value"])


def test_training_that_varies_too_much_leaves_it_open_and_says_what_would_have_been_seen(plan):
    found = judged_of(plan, numbers_of(plan, lambda run: 0.0, wild=20), SAM_RECALL)[SAM_RECALL]
    assert found["verdict"] == "open: interval too wide"
    assert all(effect["detectable"] > 10 for effect in effects_of(found))


def test_one_seed_has_effects_over_its_queries_and_settles_nothing(planned, make_scale):
    plan = planned(make_scale(seeds=[0]))
    found = judged_of(plan, numbers_of(plan, lambda run: 40.0 if is_sam(run) else 0.0))
    one = found[SAM_RECALL]
    assert one["verdict"] == "too few seeds"
    assert all(effect["over"] == "queries" and effect["low"] > 35 for effect in effects_of(one))
    of_runs = {one["verdict"] for one in found.values() if one["test"]["kind"] in ("runs", "level", "methods")}
    assert of_runs == {"too few seeds", "nobody has run it"}


def test_effects_less_the_same_elsewhere_and_of_two_readings_are_differences(plan):
    def gain(run: RunSpec) -> float:
        return (40.0 if run.fraction == 0.1 else 10.0) if is_sam(run) else 0.0

    names = ("gain_shrinks_100", "any_recall_rises", "semantic_recall_falls")
    names = ("knn_margin/is_raises_recall", *(f"five_sentences/{name}" for name in names))
    found = judged_of(plan, numbers_of(plan, gain), *names)
    shrinks = found["five_sentences/gain_shrinks_100"]
    assert shrinks["verdict"] == "holds"
    assert [effect["value"] for effect in effects_of(shrinks)] == pytest.approx([30.0] * len(shrinks["cells"]), abs=1)
    readings = effects_of(found["knn_margin/is_raises_recall"])
    assert readings and {effect["over"] for effect in readings} == {"seeds"}
    assert [effect["value"] for effect in readings] == pytest.approx([2.0] * len(readings), abs=0.1)
    assert found["five_sentences/any_recall_rises"]["verdict"] == "holds"
    assert found["five_sentences/semantic_recall_falls"]["verdict"] == "fails"  # it rises by m


@pytest.mark.parametrize("name", ["five_sentences/sam_recall_coco", "sched_sam/beats_cca", "daa_supp/pmrp_imprecise"])
def test_a_claim_that_nothing_tests_says_so(plan, name):
    assert judged_of(plan, numbers_of(plan, lambda run: 0.0), name)[name]["verdict"] == "nobody has run it"


def test_models_are_ranked_where_there_are_several(plan, planned, make_scale):
    name = "five_sentences/metrics_correlate"
    assert judged_of(plan, numbers_of(plan, lambda run: 0.0), name)[name]["cells"] == []  # losses of VSE++ alone
    losses = ["hardest", "sam_paper_random", "sam_released_random", "sam_released_closest", "averaged_random"]
    several = planned(make_scale(keep=[{"model": ["vsepp", "sgr"], "loss": losses}]))
    (cell,) = judged_of(several, numbers_of(several, lambda run: 0.0), name)[name]["cells"]
    runs = several.trained_at(several.scale.scale)
    settings = {run.rpartition("/")[0] for run in runs}
    assert cell["label"].startswith(f"scenes, {len(settings)} settings of 2 models; ")
    numbers = numbers_of(several, lambda run: 0.0).results[""]
    sums = [
        pd.Series({run: one(run) for run in runs}).groupby(lambda run: run.rpartition("/")[0]).mean()
        for one in (lambda run: numbers.over_directions(run, RSUM), lambda run: numbers.over_directions(run, NSUM))
    ]
    assert cell["effect"]["value"] == pytest.approx(kendalltau(*sums).statistic)
    pairs = [(a, b) for a, b in combinations(range(len(settings)), 2) if abs(sums[0].iloc[a] - sums[0].iloc[b]) < 10]
    alike = np.mean([np.prod([np.sign(side.iloc[a] - side.iloc[b]) for side in sums]) > 0 for a, b in pairs])
    assert f"; {alike:.0%} of {len(pairs)} pairs" in cell["label"]


@pytest.mark.slow
def test_people_are_asked_over_the_pairs_that_print_means(plan):
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
    names = ("five_sentences/spice_closer_to_people", "five_sentences/spice_beats_binary")
    found = judged_of(plan, numbers_of(plan, lambda run: 0.0, judged={"some_judge": pairs}), *names)
    closer = found[names[0]]
    assert closer["verdict"] == "holds" and "some judge, 600 pairs" in closer["cells"][0]["label"]
    assert found[names[1]]["cells"][0]["label"] == "some judge, 900 pairs"
    wanted = pairs[~own][["spice", "cider-reattached"]].corrwith(pairs[~own]["human"])
    assert effects_of(closer)[0]["value"] == pytest.approx(wanted.iloc[0] - wanted.iloc[1])
    drawn = judged_of(plan, numbers_of(plan, lambda run: 0.0, judged={"scenes_truth": pairs}), names[0])
    assert drawn[names[0]]["cells"] == []  # a program is not people


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "holds"), (-1.0, "fails"), (0.0, "fails")])
def test_pairs_that_labels_take_along_are_a_power_of_ten(plan, power, verdict):
    draw = np.random.default_rng(0)
    pairs = pd.DataFrame({"caption_id": np.arange(600), "image_id": np.arange(600) // 6})
    taken = {"tfidf": draw.uniform(2, 3, 600)}
    taken["labels"] = taken["tfidf"] + power + 0.01 * draw.normal(size=600)
    found = pd.concat([pairs.assign(order=order, searched=10**values) for order, values in taken.items()])
    numbers, name = numbers_of(plan, lambda run: 0.0, found={"some_judge": found}), "daa_supp/pmrp_imprecise"
    imprecise = judged_of(plan, numbers, name)[name]
    assert imprecise["verdict"] == verdict and "600 right pairs" in imprecise["cells"][0]["label"]
    assert effects_of(imprecise)[0]["value"] == pytest.approx((taken["labels"] - taken["tfidf"]).mean())


@pytest.mark.slow
def test_a_share_in_print_is_compared_as_closely_as_print_rounds_it(plan):
    # 15,000 own captions of 3,000 images, 15% of them below the bar; without themselves as references 60% are.
    own = pd.DataFrame({"image_id": np.arange(15_000) // 5, "own": True, "human": 4.0})
    own["tfidf"] = np.where(np.arange(15_000) % 20 < 3, 0.29, 0.31)
    own["tfidf|own_left_out"] = np.where(np.arange(15_000) % 5 < 3, 0.1, 0.3)  # the bar itself is not below it
    other = own.assign(own=False, tfidf=0.0)
    names = ("daa_supp/daa_few_below", "daa_supp/daa_few_below_left_out")
    judged = {"cxc": pd.concat([own, other]), "some_judge": other}
    found = judged_of(plan, numbers_of(plan, lambda run: 0.0, judged=judged), *names)
    kept, left_out = (found[name] for name in names)
    assert (kept["verdict"], left_out["verdict"]) == ("holds", "fails") and kept["unit"] == "points"
    assert effects_of(kept)[0]["value"] == pytest.approx(15.0)
    assert effects_of(left_out)[0]["value"] == pytest.approx(60.0)
    (cell,) = kept["cells"]
    assert cell["label"].startswith("15,000 captions") and cell["effect"]["queries"] == 3000
    bare = {"cxc": judged["cxc"].drop(columns="tfidf|own_left_out"), "some_judge": other}
    untested = judged_of(plan, numbers_of(plan, lambda run: 0.0, judged=bare), names[1])[names[1]]
    assert untested["verdict"] == "nobody has run it"


@pytest.mark.parametrize(("among", "verdict"), [(7000, "holds"), (6000, "fails"), (6500, "open: interval too wide")])
def test_right_pairs_among_the_first_are_counted(plan, among, verdict):
    place = np.random.default_rng(0).permutation(10_000)
    right = pd.DataFrame({"image_id": place % 4000, "caption_id": place, "order": "tfidf"})
    right["searched"] = np.where(place < among, 1_500_000, 1_500_001)
    far = right.assign(order="cider", searched=9e6)
    name = "daa_supp/daa_found_by_cider"
    numbers = numbers_of(plan, lambda run: 0.0, found={"cxc": pd.concat([right, far]), "some_judge": far})
    found = judged_of(plan, numbers, name)[name]
    assert found["verdict"] == verdict and effects_of(found)[0]["value"] == pytest.approx(among)
    assert found["cells"][0]["label"] == "of 10,000 right pairs, among the first 1,500,000"


@pytest.mark.slow
def test_documents_of_category_retrieval_are_compared_by_mean_average_precision():
    plan = plan_of(read(Scale, CONFIG / "wikipedia.yaml"), CONFIG)
    precisions = {}
    for name, run in plan.subspaces.runs.items():
        better = 0.1 if run.method.folder == plan.studies["sched_sam"].methods["sam"].folder else 0.0
        values = 0.4 + better + 0.001 * noise(name, 40)[:, None] + 0.1 * noise("hard documents", 40)[:, None]
        frame = pd.DataFrame(np.repeat(values, len(COLUMNS), axis=1), columns=COLUMNS)
        precisions |= {(name, selection): frame for selection in ("map", "last")}
    found = judged_of(plan, Numbers({}, {}, precisions, {}))
    for name in ("both_parts", "beats_cca", "beats_fixed"):
        one = found[f"sched_sam/{name}"]
        assert (one["verdict"], one["unit"]) == ("holds", "fraction")
        assert [effect["value"] for effect in effects_of(one)] == pytest.approx([0.1] * len(one["cells"]), abs=0.01)
    assert found["sched_sam/both_active"]["verdict"] != "holds"


@pytest.mark.slow
def test_a_method_is_compared_between_directions_query_by_query_and_between_documents_seed_by_seed():
    plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)
    plan.claims = only(plan, "sched_sam/texts_find_more", "sched_sam/larger_data_help_all")
    precisions = {}
    for name, run in plan.subspaces.runs.items():
        # The whole has more documents, other ones, and a precision that is 0.2 higher.
        count, level = (60, 0.6) if run.documents == "nus_wide" else (40, 0.4)
        values = level + 0.001 * noise(name, count)[:, None] + np.tile([0.0, 0.1, 0.05], len(COLUMNS) // 3)[None]
        index = pd.Index([f"{run.documents} {place}" for place in range(count)])
        frame = pd.DataFrame(values, columns=COLUMNS, index=index)
        precisions |= {(name, selection): frame for selection in ("map", "last")}
    judged = judged_of(plan, Numbers({}, {}, precisions, {}))
    found = {cell["label"]: cell["effect"] for one in judged.values() for cell in one["cells"]}
    texts = [effect for label, effect in found.items() if label.endswith("t2i against i2t")]
    assert [effect["value"] for effect in texts] == pytest.approx([0.1, 0.1])
    assert {effect["over"] for effect in texts} == {"seeds and queries"}
    larger = [effect for label, effect in found.items() if label.endswith("the same on nus_wide_10k")]
    assert len(larger) == 6 and {effect["over"] for effect in larger} == {"seeds"}
    for effect in larger:
        assert effect["value"] == pytest.approx(0.2, abs=0.002) and effect["low"] > 0.19
        assert effect["a"] - effect["b"] == pytest.approx(effect["value"])


def test_runs_on_other_images_are_refused(plan):
    numbers = numbers_of(plan, lambda run: 0.0)
    name = next(run for run in plan.runs if is_sam(plan.all_runs[run]))
    frames = {**numbers.per_image, name: numbers.per_image[name].iloc[::-1]}
    with pytest.raises(InputError, match="different images"):
        judged_of(plan, Numbers(frames, numbers.results, {}, {}), SAM_RECALL)


# --- what is written --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(plan, tmp_path_factory) -> tuple[list[dict[str, Any]], Path]:
    folder = tmp_path_factory.mktemp("site") / "claims"
    found = judge_claims(plan, "tiny", numbers_of(plan, lambda run: 40.0 if is_sam(run) else 0.0, wild=1))
    write_claims(found, plan.scale, Site.of(plan.report.site("tiny")), folder / "claims")
    return found, folder / "claims"


def test_files_hold_what_was_tested_and_the_page_shows_the_settings_of_what_was_decided(written):
    found, stem = written
    content = read_claims(stem.with_suffix(".json"))
    tested = [one for one in found if one["cells"]]
    assert content["claims"] == tested and sum(content["counts"].values()) == len(found) > len(tested)
    with stem.with_suffix(".csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["cell"] for line in lines] == [cell["label"] for one in tested for cell in one["cells"]]
    page = html.unescape(stem.with_suffix(".html").read_text(encoding="utf-8"))
    decided = {f"{one['paper']}-{one['name']}": one["verdict"] in DECIDED for one in tested}
    for form, shown in ((r'<article class="claim" id="([^"]+)"', True), (r'<tr id="([^"]+)"', False)):
        names = re.findall(form, page)
        assert names and names == [name for name in decided if decided[name] == shown]


def test_a_cell_says_its_effect_interval_and_where_it_is_shown(plan, written):
    found, stem = written
    lines = pd.read_csv(stem.with_suffix(".csv")).query("name == 'sam_recall_10'")
    assert (lines["low"] < lines["value"]).all() and (lines["value"] < lines["high"]).all()
    assert set(lines["over"]) == {"seeds and queries"} and set(lines["seeds"]) == {3}
    assert set(lines["link"]) == {"../five_sentences/index.html#table2"}
    links = set(re.findall(r'href="\.\./([^"]+#[^"]+)"', stem.with_suffix(".html").read_text(encoding="utf-8")))
    exhibits = {"{}/index.html#{}".format(*name.split("/")) for name in plan.exhibits}
    kinds = {f"runs/index.html#{run.rpartition('/seed=')[0]}" for run in [*plan.runs, *plan.subspaces.runs]}
    assert links & exhibits and links & kinds and links <= exhibits | kinds
    (rises,) = (one for one in found if one["name"] == "any_recall_rises")
    assert rises["cells"] and not any("differences" in cell["link"] for cell in rises["cells"])


def test_a_scale_without_runs_has_a_page_and_a_file_of_another_kind_is_refused(planned, make_scale, tmp_path):
    plan, folder = planned(make_scale(roles={}, features=None, only=["judged"])), tmp_path / "claims"
    found = judge_claims(plan, "tiny", Numbers({}, {}, {}, {}))
    write_claims(found, plan.scale, Site.of(plan.report.site("tiny")), folder / "claims")
    assert {one["verdict"] for one in found} == {"nobody has run it"}
    assert (folder / "claims.csv").read_text().startswith("paper,name,") and (folder / "claims.html").is_file()
    (folder / "claims.json").write_text("{}")
    with pytest.raises(InputError, match=r"claims\.json"):
        read_claims(folder / "claims.json")
