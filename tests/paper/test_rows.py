from __future__ import annotations

import pytest

from fivesentences.config import Scale, Study, read
from fivesentences.errors import InputError
from fivesentences.paper.rows import (
    expand_rows,
    inferences_of_runs,
    runs_of_figure,
    runs_of_scale,
    runs_of_study,
    runs_of_table,
)


def small_study(losses: dict, rows: list[dict]) -> Study:
    table = {"title": "T", "caption": "C", "columns": [{"metric": "Rsum"}], "rows": rows}
    return Study.model_validate({"paper": "P", "losses": losses, "tables": {"t": table}})


def test_the_repositorys_studies_and_scales_fit_together(root, studies):
    for path in sorted((root / "config").glob("*.yaml")):
        if path.name == "datasets.yaml":
            continue
        scale = read(Scale, path)
        runs = runs_of_scale({name: studies[name] for name in scale.studies}, scale)
        assert bool(runs) == bool(scale.roles) and all(run.name == name for name, run in runs.items())


def test_rows_are_multiplied_out_with_the_loss_fastest(scale):
    study = small_study(
        {"a": {}, "b": {"triplet": "all"}}, [{"role": "flickr30k", "fraction": [0.1, 0.25], "loss": ["a", "b"]}]
    )
    rows = expand_rows(study.tables["t"].rows, study, scale)
    assert [(row.fraction, row.loss) for row in rows] == [(0.1, "a"), (0.1, "b"), (0.25, "a"), (0.25, "b")]
    assert [run.seed for run in rows[0].runs] == [0, 1, 2]
    assert [row.runs[0].epochs for row in rows] == [5, 5, 4, 4]


def test_a_run_that_two_tables_share_appears_once(studies, scale):
    # hardest, all negatives and kNN 3 on all data stand in knn_margin's table 1 and in five_sentences' figure 3.
    table = runs_of_table(studies["knn_margin"], "table1", scale)
    figure = runs_of_figure(studies["five_sentences"], "figure3", scale)
    shared = set(table) & set(figure)
    assert len(shared) == 3 * len(scale.seeds)
    two = {name: studies[name] for name in ("five_sentences", "knn_margin")}
    every = runs_of_scale(two, scale)
    separate = sum(len(runs_of_study(study, scale)) for study in two.values())
    assert len(every) == separate - len(shared)


def test_two_different_runs_with_one_name_are_refused(scale):
    # The margin of the triplet does not count, nor show in the name, where there is no triplet.
    sam = {"triplet": None, "sam": {}}
    study = small_study({"a": sam, "b": sam | {"margin": 0.3}}, [{"role": "flickr30k", "loss": ["a", "b"]}])
    with pytest.raises(InputError, match=r"two different runs are both named.*loss is"):
        runs_of_scale({"s": study}, scale)


def test_a_role_nobody_plays_and_what_has_no_time_make_no_runs(studies, make_scale):
    scale = make_scale(leave_out={"losses": ["sam_paper_random"], "fractions": [0.25]})
    rows = expand_rows(studies["five_sentences"].tables["table2"].rows, studies["five_sentences"], scale)
    assert {row.left_out for row in rows if row.role == "coco"} == {"role"}
    assert {row.left_out for row in rows if row.role == "flickr30k" and row.fraction == 0.25} <= {"fraction", "loss"}
    assert all(bool(row.runs) == (row.left_out is None) for row in rows)
    assert {row.loss for row in rows if row.left_out == "loss"} == {"sam_paper_random"}
    assert all(row.runs[0].fraction == 0.1 for row in rows if row.runs)


def test_a_fraction_without_epochs_is_named(studies, make_scale):
    scale = make_scale(training={"epochs": {1.0: 3, 0.1: 2}})
    with pytest.raises(InputError, match=r"no entry for the fraction 0\.25 \(only 1, 0\.1\)"):
        runs_of_scale(studies, scale)


def test_an_unknown_model_is_named(scale):
    study = small_study({"a": {}}, [{"role": "flickr30k", "loss": "a", "model": "cvse99"}])
    with pytest.raises(InputError, match="cvse99"):
        runs_of_scale({"s": study}, scale)


def test_inference_methods_are_rows_of_the_same_runs(scale):
    row = {"role": "flickr30k", "loss": ["a", "b"], "inference": ["naive", "csls"]}
    study = small_study({"a": {}, "b": {"triplet": "all"}}, [row])
    rows = expand_rows(study.tables["t"].rows, study, scale)
    assert [(row.loss, row.inference) for row in rows] == [("a", "naive"), ("a", "csls"), ("b", "naive"), ("b", "csls")]
    assert rows[0].runs == rows[1].runs
    assert len(runs_of_scale({"s": study}, scale)) == 2 * len(scale.seeds)


def test_runs_are_evaluated_by_the_methods_that_rows_ask_for_and_as_they_are(studies, make_scale):
    losses = {"a": {}, "b": {"triplet": "all"}}
    rows = [
        {"role": "flickr30k", "loss": "a", "inference": ["assignment", "csls"]},
        {"role": "flickr30k", "loss": "b"},
        {"role": "flickr30k", "loss": "b", "inference": "inverted_softmax"},
    ]
    scale = make_scale(leave_out={"inferences": ["inverted_softmax"]})
    asked = inferences_of_runs({"s": small_study(losses, rows)}, scale)
    assert {tuple(methods) for run, methods in asked.items() if "hardest" in run} == {("naive", "csls", "assignment")}
    assert {tuple(methods) for run, methods in asked.items() if "all" in run} == {("naive",)}
    assert set(inferences_of_runs(studies, scale)) == set(runs_of_scale(studies, scale))


def test_a_method_that_is_left_out_makes_no_runs(make_scale):
    study = small_study({"a": {}}, [{"role": "flickr30k", "loss": "a", "inference": "csls"}])
    scale = make_scale(leave_out={"inferences": ["csls"]})
    assert [row.left_out for row in expand_rows(study.tables["t"].rows, study, scale)] == ["inference"]
    assert runs_of_scale({"s": study}, scale) == {}
