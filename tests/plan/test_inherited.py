"""A scale that extends another one, with studies of its own: the inherited needs no edit, what it states is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fivesentences.errors import InputError
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of

CONFIG = Path(__file__).parents[2] / "config"
BROAD = Path(__file__).parent / "broad.yaml"
ROW = {"role": "flickr30k", "model": "vsepp", "loss": ["hardest", "mine"]}
TABLE = {"name": "t", "kind": "runs", "title": "T", "caption": "C.", "rows": [ROW], "columns": [{"metric": "Rsum"}]}
MINE = {"paper": "Mine", "losses": {"hardest": {}, "mine": {"triplet": 7}}, "tables": [TABLE]}


@pytest.fixture
def plan_for(tmp_path):
    """The plan of a scale that extends a broad one, with one study."""

    def made(study: dict[str, Any] | str = MINE, **stated: Any) -> Plan:
        if isinstance(study, dict):
            (tmp_path / "studies").mkdir(exist_ok=True)
            (tmp_path / "studies" / "own.yaml").write_text(yaml.safe_dump(study))
            study = "own"
        content = {"extends": str(BROAD), "scale": "s", "title": "S", "studies": [study]} | stated
        return plan_of(scale_of(content, tmp_path / "s.yaml"), tmp_path)

    return made


def test_rows_of_a_study_of_ones_own_are_made_though_the_other_scale_keeps_rows_of_its_studies(plan_for):
    plan = plan_for(keep=None)
    assert len(plan.runs) == 3  # two seeds of the loss that its other_seeds know
    assert plan.phi.judged == []  # its judges are asked of nothing
    renamed = {"losses": {"a": {}, "b": {"triplet": 7}}, "tables": [TABLE | {"rows": [ROW | {"loss": ["a", "b"]}]}]}
    assert len(plan_for(MINE | renamed).runs) == 2  # `keep` picks none of them, so it is ignored
    assert list(plan_for().runs) == [name for name in plan.runs if "triplet=hardest" in name]  # and where it picks some


def test_a_table_is_chosen_by_its_name_alone_or_behind_that_of_its_study(plan_for):
    both = plan_for(studies=["own", "five_sentences"], only=["t", "figure3"])
    one = plan_for(studies=["own", "five_sentences"], only=["own/t", "five_sentences/figure3"])
    assert [*both.exhibits] == [*one.exhibits] == ["own/t", "five_sentences/figure3"]
    # What another scale chooses is not asked of studies that do not have it.
    assert [*plan_for(extends=str(CONFIG / "demo.yaml")).exhibits] == ["own/t"]


def test_a_scale_without_photographs_makes_all_but_what_shows_them(plan_for):
    shown, rest = plan_for("five_sentences"), plan_for("five_sentences", photographs=False)
    assert shown.comparisons.gallery("s") and rest.comparisons.gallery("s") is None
    assert (
        shown.features.pictured_datasets == ["scenes"]
        and rest.features.pictured_datasets == rest.features.pictured_features == []
    )
    pictured = {name for name, figure in shown.figures.items() if figure.shows_photographs}
    assert pictured and {*shown.exhibits} - {*rest.exhibits} == pictured


def test_weights_of_a_network_whose_features_are_replaced_are_not_inherited(plan_for, tmp_path):
    network = {"extractor": "mobilenetv2_100", "weights": None}
    (tmp_path / "base.yaml").write_text(
        yaml.safe_dump({"extends": str(BROAD), "features": network, "weights": {"mobilenetv2_100": "a.pt"}})
    )
    base = {"extends": str(tmp_path / "base.yaml")}
    assert plan_for(**base).scale.weights == {"mobilenetv2_100": Path("a.pt")}
    assert plan_for(**base, features={"extractor": "resnet152"}).scale.weights == {}
    with pytest.raises(InputError, match=r"weights\.vgg19"):  # what a scale states itself is checked
        plan_for(**base, features={"extractor": "resnet152"}, weights={"vgg19": "b.pt"})


@pytest.mark.slow
@pytest.mark.parametrize("study", sorted(path.stem for path in (CONFIG / "studies").glob("*.yaml")))
def test_every_study_can_be_the_only_one_of_a_scale_that_extends_another(plan_for, study):
    # One has contrasts by a phi that the broad scale does not evaluate by.
    more = {"evaluation_phis": ["embedding"]} if study == "evidence_inference" else {}
    plan = plan_for(study, **more)
    assert plan.files_no_rule_makes("s") and plan.exhibits
    assert plan.settings("s-complete")["studies"] == [study]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"keep": [{"loss": ["hardest", "mnie"]}]}, r"keep\[0\].loss names 'mnie'.*'mine'"),
        ({"keep": [{"model": "sgr"}]}, "keep picks none of the 2 rows"),
        ({"keep+": [{"loss": "max"}]}, r"keep\[\d\].loss names 'max', which is no loss"),
        ({"other_seeds": [{"loss": "max", "seeds": [1]}]}, r"other_seeds\[0\].loss names 'max'"),
        ({"roles": {"coco": "scenes"}}, "roles names 'coco'"),
        ({"only": ["table3"]}, "only names 'table3'"),
        ({"only": ["five_sentences/t"]}, "only names 'five_sentences/t'"),
        ({"leave_out": {"losses": ["max"]}}, "leave_out.losses names 'max'"),
        ({"training": {"exceptions+": [{"loss": "max", "epochs": 3}]}}, r"exceptions\[\d\].loss names 'max'"),
    ],
)
def test_what_the_scale_states_itself_must_be_in_its_studies(plan_for, stated, said):
    with pytest.raises(InputError, match=said):
        plan_for(**stated)


FINDING: dict[str, Any] = {
    **{"kicker": "k", "headline": "h", "lead": "{r}", "not_shown": ["n"]},
    "tiles": [{"value": "r", "text": "t", "bad": True}],
    "values": {"own/t": {"r": {"metric": "Rsum", "show": "{mean}"}}},
}


def test_a_finding_is_not_inherited_and_changes_nothing_but_pages(plan_for, tmp_path):
    plan = plan_for(finding=FINDING)
    assert "finding" not in plan.settings("s") and plan.settings("s", finding=True)["finding"]["lead"] == "{r}"
    (tmp_path / "first.yaml").write_text(
        yaml.safe_dump({"extends": str(BROAD), "studies": ["own"], "finding": FINDING})
    )
    assert plan_for(extends="first.yaml").scale.finding is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"figure": "own/t"}, "finding.figure names 'own/t', which is no figure"),
        ({"values": {"own/u": FINDING["values"]["own/t"]}}, "finding.values names 'own/u'.*did you mean 'own/t'"),
        ({"studies": {"mine": "m"}}, "finding.studies names 'mine'"),
        ({"headline": "{s}"}, "finding.headline names 's'.*there are: r"),
        ({"lead": "l {x"}, "'{'|expected '}'"),
        ({"tiles": [{"value": "q", "text": "t", "bad": True}]}, r"finding.tiles\[0\].value names 'q'"),
        ({"tiles": [{"value": "r", "text": "t"}]}, "bad: true"),
        ({"values": {"own/t": {"r": {"metric": "Rsum"}}}}, "finding.values.own/t.r has no show"),
        ({"lead": "l", "tiles": [{"value": "s", "text": "t", "bad": True}]}, "names 's'"),
        ({"studies": {"other": "{r}"}}, "names 'r' of own/t; take a number of other"),
    ],
)
def test_a_mistake_in_a_finding_is_named(plan_for, changed, said):
    with pytest.raises(InputError, match=said):
        plan_for(finding=FINDING | changed)


@pytest.mark.slow
def test_what_a_judge_says_of_a_scale_is_not_in_the_folder_of_another(plan_for):
    judged = {name: plan_for("five_sentences", scale=name).report.numbers_of_claims(name)["judged"] for name in "st"}
    assert judged["s"] and not set(judged["s"]) & set(judged["t"])
