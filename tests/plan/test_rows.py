"""Rows of studies at a scale: which runs stand behind them, and why some have none."""

from __future__ import annotations

import functools

import pytest

from fivesentences.config.datasets import Catalogue
from fivesentences.errors import InputError
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.reproduction.study.expand import Row, expand_rows, made_of
from fivesentences.reproduction.study.study import Study as Study
from fivesentences.training.spec import RunSpec
from golden.golden import plan_named


@pytest.fixture
def make_scale(make_scale):
    """A tiny scale that makes every row."""
    return functools.partial(make_scale, keep=None)


@pytest.fixture
def scale(make_scale) -> Scale:
    return make_scale()


def small_study(losses: dict, rows: list[dict]) -> Study:
    table = {"name": "t", "kind": "runs", "title": "T", "caption": "C", "columns": [{"metric": "Rsum"}], "rows": rows}
    return Study.model_validate({"paper": "P", "losses": losses, "tables": [table]})


def runs_of(studies: dict[str, Study], scale: Scale) -> dict[str, RunSpec]:
    """All runs of a scale, by name."""
    return Plan(scale, studies, Catalogue(datasets={})).runs


def rows_of(study: Study, scale: Scale, exhibit: str = "t") -> list[Row]:
    return expand_rows(study.exhibit(exhibit).row_specs(), study, scale)


def test_a_role_nobody_plays_and_what_has_no_time_make_no_runs(studies, make_scale):
    scale = make_scale(leave_out={"losses": ["sam_paper_random"], "fractions": [0.25]})
    rows = rows_of(studies["five_sentences"], scale, "table2")
    assert {row.left_out for row in rows if row.role == "coco"} == {"role"}
    assert {row.left_out for row in rows if row.role == "flickr30k" and row.fraction == 0.25} <= {"fraction", "loss"}
    assert all(bool(row.runs) == (row.left_out is None) for row in rows)
    assert {row.loss for row in rows if row.left_out == "loss"} == {"sam_paper_random"}
    assert all(row.runs[0].fraction == 0.1 for row in rows if row.runs)


def test_runs_are_evaluated_by_the_methods_that_rows_ask_for_and_as_they_are(make_scale):
    losses = {"a": {}, "b": {"triplet": "all"}}
    rows = [
        {"role": "flickr30k", "loss": "a", "inference": ["assignment", "csls"]},
        {"role": "flickr30k", "loss": "b"},
        {"role": "flickr30k", "loss": "b", "inference": "inverted_softmax"},
    ]
    scale = make_scale(leave_out={"inferences": ["inverted_softmax"]})
    made = rows_of(small_study(losses, rows), scale)
    assert [(row.left_out, bool(row.runs)) for row in made] == [(None, True)] * 3 + [("inference", False)]
    asked = made_of(made).readings
    assert {tuple(methods) for run, methods in asked.items() if "hardest" in run} == {("naive", "csls", "assignment")}
    assert {tuple(methods) for run, methods in asked.items() if "all" in run} == {("naive",)}
    plan = plan_named("demo")
    assert set(plan.inferences) == {*plan.all_runs, *plan.all_ensembles}


def study_of(rows: list[dict], **more) -> Study:
    return Study.model_validate(small_study({"a": {}, "b": {"triplet": "all"}}, rows).model_dump() | more)


def test_runs_do_not_depend_on_how_their_features_are_shared_out(make_scale):
    study = study_of([{"role": "flickr30k", "loss": "a", "features": [None, "resnet152"]}])
    made = [
        rows_of(study, make_scale(further_features={"resnet152": {"extractor": "resnet152"} | more}))[1].runs
        for more in ({}, {"parts": 4}, {"weights": "some/a.safetensors"}, {"weights": "else/a.safetensors"})
    ]
    assert made[0] == made[1] != made[2] == made[3]
    assert made[2][0].name.split("/")[1] == "vsepp@resnet152@a-global"


def test_an_exception_may_give_another_width_or_null(make_scale):
    study = study_of([{"role": "flickr30k", "model": ["vsepp", "sgr"], "loss": "a", "fraction": 0.1}])
    training = {
        "widths": {"embedding": 64, "word": 32},
        "selection_images": 50,
        "exceptions": [{"model": "sgr", "widths": {"word": 8}, "selection_images": None}],
    }
    scale = make_scale(training=training)
    assert Scale.model_validate(scale.model_dump()) == scale
    vsepp, sgr = (row.runs[0] for row in rows_of(study, scale))
    assert (vsepp.model.embedding, vsepp.model.word, vsepp.training.selection_images) == (64, 32, 50)
    assert (sgr.model.embedding, sgr.model.word, sgr.training.selection_images) == (64, 8, None)


SAM = {"triplet": None, "sam": {}}  # the margin of the triplet counts for nothing, nor does it show in the name
SCAN = {"i2t": {"name": "scan", "direction": "i2t"}}


@pytest.mark.parametrize(
    ("row", "more", "scale", "said"),
    [
        ({"loss": ["a", "b"]}, {"losses": {"a": SAM, "b": SAM | {"margin": 0.3}}}, {}, "runs are both named.*loss is"),
        ({"fraction": 0.25}, {}, {"training": {"epochs": {1.0: 3, 0.1: 2}}}, r"fraction 0\.25 \(only 1, 0\.1\)"),
        ({"model": "scann"}, {}, {}, r"'scann'.*'scan'"),
        ({}, {}, {"keep": [{"loss": "c"}]}, r"keep\[0\].*of its studies"),
        (
            {},
            {},
            {"other_seeds": [{"model": "sgrr", "seeds": [1]}]},
            r"other_seeds.*\[0\].*'sgrr'.*'sgr'",
        ),
        *(
            ({}, {"models": SCAN}, {"training": {"epochs": 1} | training}, said)
            for training, said in (
                ({"exceptions": [{"model": "srg", "epochs": 3}]}, r"exceptions\[0\].*of its studies"),
                ({"exceptions": [{"loss": "c", "epochs": 3}]}, r"exceptions\[0\].*of its studies"),
                (
                    {"widths": {"embeding": 8}},
                    r"widths\.embeding is a width that no model has; did you mean 'embedding'\?",
                ),
                (
                    {"exceptions": [{"model": "vsepp", "widths": {"similarity_dim": 8}}]},
                    r"training\.exceptions\[0\]\.widths\.similarity_dim is a width that none of the models vsepp has; "
                    r"there are: embedding, word\.",
                ),
                (
                    {"exceptions": [{"model": ["i2t", "sgr"], "widths": {"caption_word": 8}}]},
                    r"exceptions\[0\]\.widths\.caption_word is a width that none of the models i2t, sgr has",
                ),
                (
                    {"exceptions": [{"loss": "a", "widths": {"height": 8}}]},
                    r"exceptions\[0\]\.widths\.height is a width that no model",
                ),
            )
        ),
    ],
)
def test_what_cannot_be_trained_or_names_nothing_of_the_studies_is_refused(make_scale, row, more, scale, said):
    study = study_of([{"role": "flickr30k", "loss": "a"} | row], **more)
    with pytest.raises(InputError, match=said):
        runs_of({"s": study}, make_scale(**scale))
