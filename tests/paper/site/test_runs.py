"""The page of runs has every setting with means over its seeds, and every run beside it as CSV."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from fivesentences.paper.numbers.results import kind_of
from fivesentences.paper.site.runs import write_runs_page


@pytest.fixture(scope="module")
def page(site, files_of_runs, tmp_path_factory):
    return write_runs_page(site, **files_of_runs, folder=tmp_path_factory.mktemp("runs"))


def test_every_run_is_in_the_csv_and_every_setting_is_a_line_with_the_means_over_its_seeds(page, everything):
    plan, runs = everything.plan, pd.read_csv(page.with_name("runs.csv"))
    names = [*plan.runs, *plan.ensembles, *plan.encoded, *plan.subspaces.runs]
    assert set(runs["run"]) == set(names) and {"matching", "mean"} & set(runs.columns) == set()
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'<tr id="([^"]+)"', text) == list(dict.fromkeys(map(kind_of, runs["run"])))
    kind = "scenes/vsepp/triplet=hardest,margin=0.2/fraction=0.1"
    of_kind = runs[runs["run"].map(kind_of).eq(kind)]
    (line,) = re.findall(rf'<tr id="{re.escape(kind)}".*?</tr>', text)
    assert len(of_kind) == 3 and line.endswith(">3</td></tr>")
    assert f">{of_kind['Rsum'].mean():.1f}</td>" in line


def test_numbers_are_those_of_the_test_split_by_the_main_phi(page, files_of_runs):
    tidy, run = pd.read_parquet(files_of_runs["tidy"][0]), "scenes/vsepp/triplet=hardest,margin=0.2/fraction=0.1/seed=1"
    asked = "run == @run and metric == 'N@1' and direction == 'i2t' and inference == 'naive' and formula == 'released'"
    wanted = tidy.query(f"{asked} and ground_truth == 'removed' and phi == 'cider'")["value"].item()
    assert pd.read_csv(page.with_name("runs.csv")).set_index("run").loc[run, "NCS@1 i2t"] == wanted


def test_category_retrieval_says_which_epoch_its_numbers_belong_to(page):
    runs = pd.read_csv(page.with_name("runs.csv")).dropna(subset="mAP")
    selections = runs.groupby("run")["selection"].agg(set)
    assert {frozenset(one) for one in selections} == {frozenset({"last"}), frozenset({"map", "loss", "last"})}
