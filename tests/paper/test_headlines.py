"""A headline says no more than the intervals of the rows that it rests on."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fivesentences.errors import InputError
from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.paper.numbers.selected import check_headline

ROOT = Path(__file__).parents[2]
# Headlines without an interval: a question, one seed or rows near chance, and numbers beside published ones.
WITHOUT = {"demo", "flickr8k", "evidence_models", "papers_captions"}
FILES = [*sorted((ROOT / "config").glob("*.yaml")), *sorted((ROOT / "config" / "studies").glob("*.yaml"))]
CONFIGS = {path.stem: yaml.safe_load(path.read_text()) for path in FILES}
FINDINGS = {name: one["finding"] for name, one in CONFIGS.items() if isinstance(one, dict) and "finding" in one}


@pytest.mark.parametrize("name", FINDINGS)
def test_every_kept_headline_is_carried_by_its_table(name):
    found = Finding(**FINDINGS[name])
    assert bool(found.rests_on) == (name not in WITHOUT)
    if found.rests_on:
        check_headline(found, ROOT / "results" / "paper" / (found.scale or name))


@pytest.mark.parametrize(
    ("verb", "intervals", "carried"),
    [
        ("raises", [(0.1, 2)], True), ("raises", [(-0.1, 2)], False), ("raises", [(0.1, 2), (-1, 3)], False),
        ("lowers", [(-2, -0.1)], True), ("lowers", [(-2, 0.1)], False),
        ("no_gain", [(-0.1, 5)], True), ("no_gain", [(-3, -1)], True), ("no_gain", [(0.1, 5)], False),
        ("no_difference", [(-1, 1)], True), ("no_difference", [(0.2, 1)], False), ("no_difference", [(-2, -1)], False),
        ("falling", [(5, 6), (3, 4)], True), ("falling", [(5, 6), (3, 5.1)], False),
        ("falling", [(3, 4), (5, 6)], False),
    ],
)  # fmt: skip
def test_a_verb_is_refused_where_an_interval_does_not_carry_it(tmp_path, verb, intervals, carried):
    (tmp_path / "study").mkdir()
    lines = [f"{name},{(low + high) / 2},{low},{high}\n" for name, (low, high) in zip("xy", intervals, strict=False)]
    (tmp_path / "study" / "table.csv").write_text("a,value,low,high\n" + "".join(lines))
    names = [f"one_{name}" for name, _ in zip("xy", intervals, strict=False)]
    found = Finding(
        kicker="k", headline="SAM helps.", lead="l", not_shown=["n"], rests_on={verb: names},
        tiles=[{"value": names[0], "text": "t", "bad": True}],
        values={"study/table": {name: {"a": name[-1], "show": "{low}"} for name in names}},
    )  # fmt: skip
    if carried:
        check_headline(found, tmp_path)
    else:
        with pytest.raises(InputError, match=names[-1]):
            check_headline(found, tmp_path)


def test_a_value_without_an_interval_carries_nothing(tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "table.csv").write_text("a,value,low,high\nx,1,,\n")
    found = Finding(
        kicker="k", headline="SAM helps.", lead="l", not_shown=["n"], rests_on={"raises": ["one"]},
        tiles=[{"value": "one", "text": "t", "bad": True}], values={"study/table": {"one": {"a": "x", "show": "{a}"}}},
    )  # fmt: skip
    with pytest.raises(InputError, match="one"):
        check_headline(found, tmp_path)
