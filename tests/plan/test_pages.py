"""Which pages a scale's site has, and what they are made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from fivesentences.config.reading import read
from fivesentences.config.scales import Scale
from fivesentences.plan.pages import PageRules, every_output
from fivesentences.plan.plan import plan_of

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture(scope="module", params=["demo", "flickr8k_evidence", "paper"])
def rules(request) -> PageRules:
    return PageRules(plan_of(read(Scale, CONFIG / f"{request.param}.yaml"), CONFIG))


def test_navigation_names_exactly_the_pages_that_rules_make(rules):
    scale = rules.plan.scale.scale
    paths = [page["path"] for page in rules.site(scale)["pages"]]
    made = [study for study, one in rules.plan.studies.items() if one.made_at(rules.plan.scale)]
    assert paths[0] == "index.html" and "claims/claims.html" in paths and len(paths) == len(set(paths))
    assert {path.partition("/")[0] for path in paths} >= set(made)
    written = {str(path) for files in every_output(rules.plan.places).values() for path in files.values()}
    folder = rules.plan.places.page("{scale}").parent
    for path in paths:
        study, _, rest = path.partition("/")
        assert {str(folder / path), str(folder / "{study}" / rest) if study in made else ""} & written, path


def test_papers_with_claims_stand_before_our_own_questions(rules):
    pages = rules.site(rules.plan.scale.scale)["pages"]
    parts = list(dict.fromkeys(page["part"] for page in pages))
    assert parts == [part for part in ("", "Papers", "Our own questions", "Evidence") if part in parts]
    claimed = {paper.name for paper in rules.plan.claims}
    of_papers = {page["path"].partition("/")[0] for page in pages if page["part"] == "Papers"}
    assert of_papers <= claimed


def test_the_page_of_a_study_is_made_from_its_own_tables_and_figures(rules):
    scale = rules.plan.scale.scale
    for study, one in rules.plan.studies.items():
        inputs = rules.make_study_page(scale, study).inputs
        shown = {Path(path).stem for name in ("tables", "figures") for path in inputs[name]}
        assert shown == {exhibit.name for exhibit in one.made_at(rules.plan.scale)}
    pages = rules.make_page(scale).inputs["papers"]
    assert len(pages) == sum(bool(one.made_at(rules.plan.scale)) for one in rules.plan.studies.values())
