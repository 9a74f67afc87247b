"""Every table and figure of the papers is made, or a sentence says why it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fivesentences.config.reading import read
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.plan import Plan, plan_of

ROOT = Path(__file__).parents[2]
# As the papers number them.
PRINTED = {
    "Five Sentences": ("Table 1-5", "Figure 1-3"),
    "kNN margin": ("Table 1-5",),
    "DAA (supplement)": ("Table 1-2", "Figure 1-1"),
    "Scheduled margin": ("Table 1-2", "Figure 1-7"),
}


def in_print() -> list[tuple[str, str]]:
    found = []
    for paper, ranges in PRINTED.items():
        for kind, (first, last) in ((one.split()[0], one.split()[1].split("-")) for one in ranges):
            found += [(paper, f"{kind} {number}") for number in range(int(first), int(last) + 1)]
    return found


@pytest.fixture(scope="module")
def listed() -> dict[tuple[str, str], tuple[str, str]]:
    """What docs/paper_scale.md says of each: the exhibit, and what differs."""
    page = (ROOT / "docs" / "paper_scale.md").read_text(encoding="utf-8")
    section = page.partition("## What the papers print")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    return {(paper, item): (exhibit.strip("`"), text) for paper, item, exhibit, text in rows[2:]}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(read(Scale, ROOT / "config" / "paper.yaml"), ROOT / "config")


def test_the_page_lists_what_the_papers_print_and_nothing_else(listed):
    assert list(listed) == in_print()


@pytest.mark.parametrize("item", in_print(), ids=" ".join)
def test_it_is_made_at_the_papers_scale_or_a_sentence_says_why_not(item, listed, plan):
    exhibit, text = listed[item]
    if not exhibit:
        assert len(text.split()) > 4
        return
    made = plan.exhibits[exhibit]
    assert plan.scale.makes(*exhibit.split("/"))
    number = item[1].partition(" ")[2]
    assert re.search(rf"{item[1].partition(' ')[0]} {number}\b", made.title), made.title


def test_every_published_table_is_compared_with_something(plan):
    files = {path.stem for path in (ROOT / "config" / "published").glob("*.csv")}
    read_by = {exhibit.published_table() for exhibit in plan.exhibits.values()}
    # A release's README, beside the evidence on Flickr8k, and what docs/semantics.md sets beside our phi.
    assert files - read_by == {"daa_release_readme", "captioning_metrics"}
    assert "print.clipscore.expert" in (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
