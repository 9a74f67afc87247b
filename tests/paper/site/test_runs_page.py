"""The page of runs shows every run of a scale with its numbers, and its anchors are where links lead."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote

import pandas as pd
import pytest
import yaml

from fivesentences.evaluation.tidy import read_tidy
from fivesentences.paper.site.runs_page import duration, write_runs_page
from fivesentences.paper.site.shown_runs import anchor_of, kinds_of, read_recorded_runs
from fivesentences.study.runs import RunSpec


@pytest.fixture(scope="module")
def plan(everything):
    return everything.plan


@pytest.fixture(scope="module")
def recorded(recorded_files):
    return read_recorded_runs(**recorded_files)


@pytest.fixture(scope="module")
def kinds(plan, recorded):
    return kinds_of(plan, plan.scale.scale, recorded)


@pytest.fixture(scope="module")
def page(site, kinds, recorded, tmp_path_factory):
    return write_runs_page(site, kinds, recorded, "cider", tmp_path_factory.mktemp("runs"))


def number_of(recorded_files, run, metric, direction, **further):
    tidy = read_tidy(recorded_files["tidy"][0])
    lines = tidy[tidy["run"].eq(run) & tidy["metric"].eq(metric) & tidy["direction"].eq(direction)]
    lines = lines[lines["inference"].eq("naive")]
    for column, value in further.items():
        lines = lines[lines[column].eq(value)]
    return lines["value"].item()


def test_every_run_is_shown_once_below_its_kind_and_by_its_seed(plan, kinds):
    shown = [run.name for kind in kinds for run in kind.runs]
    assert sorted(shown) == sorted([*plan.runs, *plan.ensembles, *plan.encoded, *plan.subspaces.runs])
    assert plan.runs and plan.subspaces.runs
    for kind in kinds:
        assert {run.name.rpartition("/seed=")[0] for run in kind.runs} == {kind.name}
        assert [run.seed for run in kind.runs] == sorted(run.seed for run in kind.runs)


def test_numbers_are_those_of_the_test_split_by_the_main_phi(kinds, recorded_files):
    (kind,) = (kind for kind in kinds if kind.name == "scenes/vsepp/triplet=hardest,margin=0.2/fraction=0.1")
    run = kind.runs[1]
    asked = {
        "Rsum": ("Rsum", "", {}),
        "R@1 t2i": ("R@1", "t2i", {}),
        "NCS@1 i2t": ("N@1", "i2t", {"formula": "released", "ground_truth": "removed", "phi": "cider"}),
    }
    for name, (metric, direction, further) in asked.items():
        assert run.values[name] == number_of(recorded_files, run.name, metric, direction, **further), name
    assert kind.mean("Rsum") == pytest.approx(sum(one.values["Rsum"] for one in kind.runs) / 3)


def test_epochs_settings_and_where_it_is_shown_are_those_of_the_run(plan, kinds):
    (kind,) = (kind for kind in kinds if kind.name == "scenes/vsepp/triplet=hardest,margin=0.2/fraction=0.1")
    run = kind.runs[2]
    assert run.kept == {"": 5} and kind.epochs == 5
    assert run.series["loss"].values[0] == 3.0 + run.seed and run.series["score"].epochs == (2, 4, 5)
    spec = RunSpec.model_validate(yaml.safe_load(kind.settings) | {"seed": run.seed})
    assert spec == plan.runs[run.name]  # the settings are complete: they make the same run
    assert {"five_sentences/table2"} <= set(dict(kind.shown_in))
    assert (run.device, run.torch) == ("cpu x86_64", "2.15.0")


def test_the_time_of_a_run_is_its_share_of_its_job(plan, kinds):
    first = next(iter(plan.jobs.values()))
    known = {kind.name: kind.seconds for kind in kinds if kind.seconds is not None}
    assert set(known) == {run.rpartition("/seed=")[0] for run in first.runs} and set(known.values()) == {30.0}


def test_category_retrieval_says_which_epoch_each_number_belongs_to(kinds):
    iterative = [kind for kind in kinds if kind.part == "categories" and kind.epochs]
    closed = [kind for kind in kinds if kind.part == "categories" and not kind.epochs]
    assert iterative and closed
    assert {"mAP", "mAP i2t", "mAP, best validation mAP"} <= set(iterative[0].runs[0].values)
    assert set(closed[0].runs[0].values) == {"mAP", "mAP i2t", "mAP t2i"}


class Ids(HTMLParser):
    """Every id of a page, and every link within it."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        of_tag = dict(attrs)
        self.ids += [of_tag["id"]] if "id" in of_tag else []
        self.links += [of_tag["href"]] if of_tag.get("href", "").startswith("#") else []


def test_every_run_and_kind_has_an_anchor_of_its_own_and_every_link_leads_to_one(page, kinds):
    found = Ids(page.read_text(encoding="utf-8"))
    assert len(found.ids) == len(set(found.ids))
    names = {kind.name for kind in kinds} | {run.name for kind in kinds for run in kind.runs}
    assert names <= set(found.ids)
    assert {unquote(link[1:]) for link in found.links} <= set(found.ids)
    assert {f"#{anchor_of(kind.name)}" for kind in kinds} <= set(found.links)


def test_the_page_shows_means_over_seeds_and_every_seed(page, kinds):
    text = page.read_text(encoding="utf-8")
    (kind,) = (kind for kind in kinds if kind.name == "scenes/vsepp/triplet=hardest,margin=0.2/fraction=0.1")
    (line,) = re.findall(rf'<tr class="kind"[^>]*data-text="[^"]*{re.escape(kind.name)}".*?</tr>', text)
    assert f">{kind.mean('Rsum'):.1f}</td>" in line and ">3</td>" in line and ">5</td>" in line
    timed = next(one for one in kinds if one.seconds is not None)
    assert re.search(rf'<tr class="kind"[^>]*data-text="[^"]*{re.escape(timed.name)}".*>30 s</td></tr>', text)
    for run in kind.runs:
        (of_seed,) = re.findall(rf'<tr id="{re.escape(run.name)}">(.*?)</tr>', text)
        assert f'data-sort="{run.values["Rsum"]:.12g}">{run.values["Rsum"]:.1f}<' in of_seed
    assert "NCS is by CIDEr, released formula, own items removed." in unescape(text)


def test_the_data_beside_the_page_have_every_run_and_epoch(page, kinds, recorded):
    runs, curves = (pd.read_csv(page.with_name(name)) for name in ("runs.csv", "curves.csv"))
    names = [run.name for kind in kinds for run in kind.runs]
    assert runs["run"].tolist() == names
    assert len(curves) == len(recorded.histories) + len(recorded.subspace_histories)
    one = curves[curves["run"].eq("scenes/vsepp/triplet=hardest,margin=0.2/fraction=0.1/seed=1")]
    assert one["loss"].tolist() == pytest.approx([3 / epoch + 1 for epoch in range(1, 6)])
    known = runs.set_index("run")["Rsum"].dropna()
    assert known.to_dict() == pytest.approx(
        {run.name: run.values["Rsum"] for k in kinds for run in k.runs if run.values.get("Rsum")}
    )


def test_what_shared_results_lack_is_said(site, plan, recorded_files, tmp_path):
    without = recorded_files | {"manifest": {}, "histories": []}
    recorded = read_recorded_runs(**without)
    kinds = kinds_of(plan, plan.scale.scale, recorded)
    text = write_runs_page(site, kinds, recorded, "cider", tmp_path).read_text(encoding="utf-8")
    assert "The time of training is not known" in text and f"No epochs were recorded of {len(plan.runs):,}" in text
    assert "time per run" not in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.994, "0.99 s"), (27.4, "27 s"), (270, "4.5 min"), (7560, "2.1 h"), (99.4, "99 s")],
)
def test_durations_are_short(seconds, text):
    assert duration(seconds) == text
