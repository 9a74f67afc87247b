"""The gallery of a scale: which runs it shows, of which dataset, and what its rules read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import read
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.reproduction.plan.report import GALLERY
from fivesentences.reproduction.study.exhibits import GallerySpec
from fivesentences.reproduction.study.study import Study

CONFIG = Path(__file__).parents[2] / "config"
ROWS = [{"role": "flickr30k", "loss": ["hardest", "all", "knn3"]}, {"role": "coco", "loss": ["hardest", "all"]}]
PAIRS = [{"role": "flickr30k", "a": "all", "b": "hardest"}, {"role": "flickr30k", "a": "knn3", "b": "hardest"}]


def study(**gallery: Any) -> Study:
    """A study without tables, so that nothing but its gallery asks for runs."""
    losses = {"hardest": {"triplet": "hardest"}, "all": {"triplet": "all"}, "knn3": {"triplet": 3}}
    return Study.model_validate(
        {"paper": "P", "losses": losses, "gallery": {"rows": ROWS, "contrasts": PAIRS} | gallery}
    )


@pytest.fixture
def plan(make_scale):
    catalogue = read(Catalogue, CONFIG / "datasets.yaml")

    def made(one: Study | None = None, **changes: Any) -> Plan:
        # "both" has no gallery: the scale's is that of the first study that has one.
        studies = {"both": Study(paper="Q"), "mine": one or study(), "late": study(title="Late")}
        scale: Scale = make_scale(**{"studies": list(studies), "keep": None} | changes)
        return Plan(scale, studies, catalogue, config=CONFIG)

    return made


def losses_of(plan: Plan) -> list[str]:
    gallery = plan.comparisons.gallery("tiny")
    assert gallery is not None
    names = {loss.folder: name for name, loss in plan.study_of(gallery.study).losses.items()}
    return [names[plan.all_runs[run].loss.folder] for run in gallery.runs]


def test_what_a_scale_leaves_out_is_in_no_gallery_nor_in_its_contrasts(plan) -> None:
    made = plan(keep=[{"loss": ["hardest", "all"]}])
    assert losses_of(made) == ["hardest", "all"] and len(made.comparisons.gallery("tiny").options["contrasts"]) == 1
    assert len(made.comparisons.gallery("tiny-complete").runs) == 3


def test_only_queries_of_a_dataset_with_photographs_are_shown(plan, tmp_path: Path) -> None:
    precomp = {"loader": "precomp", "folder": str(tmp_path)}
    known = {"roles": {"flickr30k": "mine"}, "datasets": {"mine": precomp}}
    assert plan(**known).comparisons.gallery("tiny") is None
    datasets = {"mine": precomp, "coco": {"loader": "karpathy"}}
    both = {"roles": {"flickr30k": "mine", "coco": "coco"}, "datasets": datasets}
    gallery = plan(**both).comparisons.gallery("tiny")
    assert gallery.dataset == "coco" and len(gallery.runs) == 2
    assert gallery.options["contrasts"] == []


def test_a_scale_may_keep_the_gallery_alone_by_its_name(plan) -> None:
    assert losses_of(plan(only=["gallery"])) == ["hardest", "all", "knn3"]


def test_without_a_gallery_nothing_is_planned_and_navigation_does_not_lead_there(plan, studies, make_scale) -> None:
    def addresses(made: Plan) -> set[str]:
        return {page["path"] for page in made.report.site("tiny")["pages"]}

    assert GALLERY in addresses(plan())
    some = {"five_sentences": studies["five_sentences"]}
    catalogue = read(Catalogue, CONFIG / "datasets.yaml")
    without = Plan(make_scale(studies=list(some), only=["table3"], keep=None), some, catalogue, config=CONFIG)
    assert without.comparisons.gallery("tiny") is None and GALLERY not in addresses(without)


def test_the_phi_of_ncs_comes_first_and_those_of_the_paper_follow_where_the_scale_has_them(plan) -> None:
    assert plan().comparisons.gallery("tiny").phis == ["cider"]
    assert plan(evaluation_phi="tfidf", matrices=["spice"]).comparisons.gallery("tiny").phis == ["tfidf", "spice"]
    assert plan(matrices=["spice"]).comparisons.gallery("tiny").phis == ["cider", "spice"]


@pytest.mark.parametrize("row", [{"inference": "csls"}, {"folds": 5}])
def test_retrievals_are_those_of_the_whole_split(row: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="inference and folds"):
        GallerySpec(rows=[{"role": "flickr30k", "loss": "hardest"} | row])


def test_losses_of_a_gallery_are_declared() -> None:
    with pytest.raises(ValidationError, match=r"gallery .*'sam'.*hardest, all, knn3"):
        study(rows=[{"role": "flickr30k", "loss": "sam"}])
