"""The registry knows every number that is reported, and its page is up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.config.metrics import METRICS, metric_of, parse_metric, pattern_of
from fivesentences.errors import InputError

ROOT = Path(__file__).parents[2]
PLAIN = [name for name in METRICS if "@k" not in name and "<" not in name]
AT_K = [name for name in METRICS if name.endswith("@k")]


@pytest.mark.slow
@given(name=st.sampled_from(AT_K), k=st.integers(1, 10**6), positives=st.from_regex(r"[A-Za-z]+", fullmatch=True))
def test_a_name_at_a_cutoff_is_taken_apart(name, k, positives):
    written = name.replace("@k", f"@{k}").replace("<list>", positives)
    found = parse_metric(written)
    assert (found.metric.name, found.cutoff) == (name, k)
    assert found.positives == (positives if "<list>" in name else "")
    assert found.family.replace("@k", f"@{k}") == written
    assert parse_metric(found.family).metric == found.metric


@pytest.mark.parametrize("name", PLAIN)
def test_a_name_without_cutoff_is_its_own(name):
    assert parse_metric(name) == (METRICS[name], None, "")


@pytest.mark.parametrize(
    "name", ["R@0", "R@05", "R@-1", "R@", "ASP@3", "R-P@5", "CxC ASP", "CxC CxC R@1", "recall", ""]
)
def test_no_other_name_is_a_metric(name):
    with pytest.raises(InputError, match=re.escape(f"metric is {name!r}; expected one of R@k, ")):
        metric_of(name)


@given(st.sampled_from([*PLAIN, *AT_K]), st.text(max_size=2))
def test_a_pattern_fits_the_names_of_its_metrics_alone(name, more):
    pattern = pattern_of([METRICS[name]])
    written = name.replace("@k", "@5")
    assert re.match(pattern, written)
    assert bool(re.match(pattern, written + more)) == (
        not more.strip("\n") or ("@k" in name and more.isascii() and more.isdigit())
    )


def test_a_study_may_have_columns_of_what_runs_are_evaluated_by():
    of_runs = pattern_of(metric for metric in METRICS.values() if metric.of_runs)
    for name in ("R@1", "true R@10", "Med r", "Rsum", "N@5", "Nsum", "SR@5", "ASP", "PMRP", "hubs >=10", "hubs Gini"):
        assert re.match(of_runs, name)
    for name in ("mR", "mAP", "CxC R@1", "hubs max@5"):
        assert not re.match(of_runs, name)


def test_the_list_names_ncs_as_people_read_it_and_its_csv_as_files_do(run):
    assert "NCS@k" in (shown := run("metrics").out) and "N@k" not in shown.replace("NCS@k", "")
    assert "\nN@k," in run("metrics", "--csv", "-").out
