"""Rows of studies at a scale: which runs stand behind them, and why some have none."""

from __future__ import annotations

import functools

import pytest

from fivesentences.config.datasets import Catalogue
from fivesentences.config.scales import Scale
from fivesentences.errors import InputError
from fivesentences.plan.plan import Plan
from fivesentences.study.expand import Row, expand_rows, made_of
from fivesentences.study.runs import RunSpec
from fivesentences.study.study import Study as Study
from golden.golden import plan_named


@pytest.fixture
def make_scale(make_scale):
    """A tiny scale that makes every row."""
    return functools.partial(make_scale, keep=None)


@pytest.fixture
def scale(make_scale) -> Scale:
    return make_scale()


TABLE = {
    "name": "t",
    "kind": "runs",
    "title": "T",
    "caption": "C",
    "columns": [{"metric": "Rsum"}],
    "rows": [{"role": "flickr30k", "model": "i2t", "loss": "a"}],
}


def small_study(losses: dict, rows: list[dict]) -> Study:
    table = {"name": "t", "kind": "runs", "title": "T", "caption": "C", "columns": [{"metric": "Rsum"}], "rows": rows}
    return Study.model_validate({"paper": "P", "losses": losses, "tables": [table]})


def runs_of(studies: dict[str, Study], scale: Scale) -> dict[str, RunSpec]:
    """All runs of a scale, by name."""
    return Plan(scale, studies, Catalogue(datasets={})).runs


def rows_of(study: Study, scale: Scale, exhibit: str = "t") -> list[Row]:
    return expand_rows(study.exhibit(exhibit).row_specs(), study, scale)


def test_the_gpu_scale_of_flickr8k_has_the_runs_of_the_other_one_and_differs_in_precision_alone():
    laptop, gpu = (plan_named(name).runs for name in ("flickr8k", "flickr8k_gpu"))
    reference = {"training": next(iter(laptop.values())).training}
    for name, run in laptop.items():
        assert gpu[name].training == run.training.model_copy(update={"precision": "tf32"})
        assert gpu[name].model_copy(update=reference) == run.model_copy(update=reference)
    settings = {name.rpartition("=")[0] for name in gpu}
    assert {f"{name}={seed}" for name in settings for seed in range(3)} <= set(gpu)
    assert len(settings) > len({name.rpartition("=")[0] for name in laptop})


def test_the_first_page_of_flickr30k_has_runs_of_the_papers_scale_with_the_same_settings():
    first, papers = (plan_named(name).runs for name in ("flickr30k", "paper"))
    assert first and {name: papers.get(name) for name in first} == first


def test_rows_are_multiplied_out_with_the_loss_fastest(scale):
    study = small_study(
        {"a": {}, "b": {"triplet": "all"}}, [{"role": "flickr30k", "fraction": [0.1, 0.25], "loss": ["a", "b"]}]
    )
    rows = rows_of(study, scale)
    assert [(row.fraction, row.loss) for row in rows] == [(0.1, "a"), (0.1, "b"), (0.25, "a"), (0.25, "b")]
    assert [run.seed for run in rows[0].runs] == [0, 1, 2]
    assert [row.runs[0].training.epochs for row in rows] == [5, 5, 4, 4]


def test_a_run_that_two_tables_share_appears_once(studies, scale):
    # hardest, all negatives and kNN 3 on all data stand in knn_margin's table 1 and in five_sentences' figure 3.
    table = made_of(rows_of(studies["knn_margin"], scale, "table1")).runs
    figure = made_of(rows_of(studies["five_sentences"], scale, "figure3")).runs
    shared = set(table) & set(figure)
    assert len(shared) == 3 * len(scale.seeds)
    two = {name: studies[name] for name in ("five_sentences", "knn_margin")}
    every = runs_of(two, scale)
    separate = sum(len(runs_of({name: study}, scale)) for name, study in two.items())
    assert len(every) == separate - len(shared)


def test_a_role_nobody_plays_and_what_has_no_time_make_no_runs(studies, make_scale):
    scale = make_scale(leave_out={"losses": ["sam_paper_random"], "fractions": [0.25]})
    rows = rows_of(studies["five_sentences"], scale, "table2")
    assert {row.left_out for row in rows if row.role == "coco"} == {"role"}
    assert {row.left_out for row in rows if row.role == "flickr30k" and row.fraction == 0.25} <= {"fraction", "loss"}
    assert all(bool(row.runs) == (row.left_out is None) for row in rows)
    assert {row.loss for row in rows if row.left_out == "loss"} == {"sam_paper_random"}
    assert all(row.runs[0].fraction == 0.1 for row in rows if row.runs)


def test_inference_methods_are_rows_of_the_same_runs(scale):
    row = {"role": "flickr30k", "loss": ["a", "b"], "inference": ["naive", "csls"]}
    study = small_study({"a": {}, "b": {"triplet": "all"}}, [row])
    rows = rows_of(study, scale)
    assert [(row.loss, row.inference) for row in rows] == [("a", "naive"), ("a", "csls"), ("b", "naive"), ("b", "csls")]
    assert rows[0].runs == rows[1].runs
    assert len(runs_of({"s": study}, scale)) == 2 * len(scale.seeds)


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


def with_training(scale: Scale, **settings) -> Scale:
    return Scale.model_validate(scale.model_dump() | {"training": scale.training.model_dump() | settings})


def test_an_exception_holds_for_its_models_losses_and_fractions_and_the_last_one_counts(scale):
    study = small_study(
        {"a": {}, "b": {"triplet": "all"}},
        [{"role": "flickr30k", "model": ["vsepp", "sgr"], "loss": ["a", "b"], "fraction": [0.1, 0.25]}],
    )
    exceptions = [
        {"model": "sgr", "learning_rate": 0.5, "widths": {"similarity_dim": 8}, "epochs": {0.1: 9, 0.25: 8}},
        {"model": ["sgr", "saf"], "loss": "b", "fraction": 0.1, "learning_rate": 0.25},
    ]
    rows = rows_of(study, with_training(scale, exceptions=exceptions))
    found = {(row.model, row.loss, row.fraction): row.runs[0].training for row in rows}
    rate = scale.training.learning_rate
    assert [found["vsepp", loss, 0.1].learning_rate for loss in "ab"] == [rate, rate]
    assert [found["sgr", loss, 0.1].learning_rate for loss in "ab"] == [0.5, 0.25]
    assert [found["sgr", loss, 0.25].learning_rate for loss in "ab"] == [0.5, 0.5]
    assert [found["sgr", "a", fraction].epochs for fraction in (0.1, 0.25)] == [9, 8]
    widths = {row.model: row.runs[0].model.model_dump() for row in rows}
    assert widths["sgr"]["similarity_dim"] == 8 and "similarity_dim" not in widths["vsepp"]


def test_an_exception_names_losses_by_a_pattern_and_rows_of_one_study(make_scale):
    losses = {"sam_a": {}, "sam_b": {"triplet": "all"}, "other": {"triplet": 3}}
    one, other = (small_study(losses, [{"role": "flickr30k", "loss": [*losses]}]) for _ in range(2))
    one._name = "one"
    exceptions = [
        {"loss": "sam_*", "learning_rate": 0.5},
        {"study": "one", "options": {"pooling": "mean"}},
    ]
    scale = make_scale(training={"epochs": 1, "exceptions": exceptions})
    for study, pooling in ((one, "mean"), (other, "last")):
        rows = rows_of(study, scale)
        usual = scale.training.learning_rate
        assert [row.runs[0].training.learning_rate for row in rows] == [0.5, 0.5, usual]
        assert [row.runs[0].model.pooling for row in rows] == [pooling] * 3
    assert len(runs_of({"one": one, "other": other}, scale)) == 6 * len(scale.seeds)
    for wrong, said in (
        ({"loss": "smm_*", "epochs": 2}, r"exceptions\[0\]\.loss names 'smm_\*', which is no loss"),
        ({"study": "two", "epochs": 2}, r"exceptions\[0\]\.study names 'two', which is no study"),
    ):
        with pytest.raises(InputError, match=said):
            runs_of({"one": one}, make_scale(training={"epochs": 1, "exceptions": [wrong]}))


def test_models_of_regions_read_the_grid_and_variants_show_in_the_name(scale):
    study = small_study(
        {"a": {}}, [{"role": "flickr30k", "model": ["vsepp", "i2t", "saf"], "loss": "a", "fraction": 0.1}]
    )
    variants = {"i2t": {"name": "scan", "direction": "i2t"}}
    study = Study.model_validate(study.model_dump() | {"models": variants})
    grid = {"extractor": "e", "layout": "grid", "regions": 36, "dimensions": 110}
    given = Scale.model_validate(scale.model_dump() | {"grid_features": grid})
    runs = [row.runs[0] for row in rows_of(study, given)]
    assert [run.features.stem for run in runs] == [scale.features.stem, *["e-grid-36regions-110d"] * 2]
    assert [run.name.split("/")[1] for run in runs] == ["vsepp", "scan,direction=i2t", "saf"]


def study_of(rows: list[dict], **more) -> Study:
    return Study.model_validate(small_study({"a": {}, "b": {"triplet": "all"}}, rows).model_dump() | more)


def test_an_ensemble_has_the_runs_of_its_models_and_a_model_that_stands_there_twice_has_other_seeds(scale):
    row = {"role": "flickr30k", "model": ["sgr", "sgraf", "two"], "loss": "a", "fraction": 0.1}
    study = study_of([row], ensembles={"sgraf": ["sgr", "saf"], "two": ["sgr", "sgr"]})
    single, sgraf, two = rows_of(study, scale)
    assert [[run.model.name for run in one.members] for one in sgraf.runs] == [["sgr", "saf"]] * 3
    assert [one.members[0] for one in sgraf.runs] == list(single.runs)
    assert [[run.seed for run in one.members] for one in two.runs] == [[0, 100], [1, 101], [2, 102]]
    assert [one.seed for one in sgraf.runs] == [0, 1, 2]
    # What is trained is the members, each once; what is evaluated for the table is the ensembles.
    assert len(runs_of({"s": study}, scale)) == 3 + 3 + 3
    names = [run.name for row in (sgraf, two) for run in row.runs]
    assert list(made_of([sgraf, two]).ensembles) == names
    assert names[0] == "scenes/sgraf,ensemble/triplet=hardest,margin=0.2/fraction=0.1/seed=0"


def test_runs_differ_by_captions_an_image_and_their_names_say_so(scale):
    row = {"role": "flickr30k", "loss": "a", "captions_per_image": [1, None]}
    study = study_of([row])
    rows = rows_of(study, scale)
    assert [row.runs[0].captions_per_image for row in rows] == [1, None]
    ends = [row.runs[0].name.split("/", 3)[3] for row in rows]
    assert ends == ["fraction=1,captions_per_image=1/seed=0", "fraction=1/seed=0"]


def test_rows_of_further_features_are_made_where_a_scale_has_them(make_scale):
    study = study_of([{"role": "flickr30k", "loss": "a", "features": [None, "resnet152"]}])
    for further in ({}, {"resnet152": {"extractor": "resnet152"}}):
        rows = rows_of(study, make_scale(further_features=further))
        assert [row.left_out for row in rows] == [None, None if further else "features"]
    assert rows[0].runs[0].name.split("/")[1] == "vsepp"
    assert rows[1].runs[0].name.split("/")[1] == "vsepp@resnet152-global"
    assert rows[1].runs[0].features.extractor == "resnet152"


def test_runs_do_not_depend_on_how_their_features_are_shared_out(make_scale):
    study = study_of([{"role": "flickr30k", "loss": "a", "features": [None, "resnet152"]}])
    made = [
        rows_of(study, make_scale(further_features={"resnet152": {"extractor": "resnet152"} | more}))[1].runs
        for more in ({}, {"parts": 4}, {"weights": "some/a.safetensors"}, {"weights": "else/a.safetensors"})
    ]
    assert made[0] == made[1] != made[2] == made[3]
    assert made[2][0].name.split("/")[1] == "vsepp@resnet152@a-global"


def test_a_scale_keeps_some_rows_and_its_complete_scale_makes_all(make_scale):
    row = {"role": "flickr30k", "model": ["sgr", "saf"], "loss": ["a", "b"], "captions_per_image": [1, None]}
    study = study_of([row])
    keep = [{"model": "sgr", "loss": "a"}, {"model": "saf", "captions_per_image": "all"}]
    scale = make_scale(keep=keep, leave_out={"losses": ["b"]})
    rows = rows_of(study, scale)
    made = {(row.model, row.loss, row.captions_per_image) for row in rows if row.runs}
    assert made == {("sgr", "a", 1), ("sgr", "a", None), ("saf", "a", None)}
    assert {row.left_out for row in rows if row.loss == "a"} == {None, "cell"}
    every = runs_of({"s": study}, scale.complete)
    assert len(every) == 4 * 3 and set(runs_of({"s": study}, scale)) < set(every)
    assert scale.complete.scale == "tiny-complete"
    both = study_of([{"role": "flickr30k", "loss": "a", "model": "both"}], ensembles={"both": ["sgr", "saf"]})
    assert runs_of({"s": both}, make_scale(keep=[{"model": "both"}]))


def test_some_models_or_fractions_may_have_other_seeds(scale):
    study = study_of([{"role": "flickr30k", "model": ["vsepp", "sgr"], "loss": "a", "fraction": [0.1, 0.25]}])
    other_seeds = [{"model": "sgr", "seeds": [0]}, {"fraction": 0.25, "seeds": [4, 5]}]
    given = Scale.model_validate(scale.model_dump() | {"other_seeds": other_seeds})
    rows = rows_of(study, given)
    seeds = {(row.model, row.fraction): [run.seed for run in row.runs] for row in rows}
    assert seeds == {("vsepp", 0.1): [0, 1, 2], ("vsepp", 0.25): [4, 5], ("sgr", 0.1): [0], ("sgr", 0.25): [4, 5]}


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
        ({"model": "scann"}, {}, {}, "'scann' is not a model; did you mean 'scan'"),
        ({}, {}, {"keep": [{"loss": "c"}]}, r"keep\[0\].*of its studies"),
        (
            {},
            {},
            {"other_seeds": [{"model": "sgrr", "seeds": [1]}]},
            r"other_seeds\[0\].model names 'sgrr', which is no model of its studies; did you mean 'sgr'",
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


def test_rows_name_their_epochs_and_their_runs_and_seeds_say_so(scale):
    row = {"role": "flickr30k", "loss": "a", "fraction": 0.1, "epochs": [2, 5]}
    study = study_of([row, {"role": "flickr30k", "loss": "a", "fraction": 0.1}])
    other_seeds = [{"epochs": 5, "seeds": [7, 8]}]
    rows = rows_of(study, Scale.model_validate(scale.model_dump() | {"other_seeds": other_seeds}))
    found = [(row.runs[0].name.split("/", 3)[3], row.runs[0].training.epochs, len(row.runs)) for row in rows]
    assert found == [
        ("fraction=0.1,epochs=2/seed=0", 2, 3),
        ("fraction=0.1,epochs=5/seed=7", 5, 2),
        ("fraction=0.1/seed=0", scale.training.epochs[0.1], 3),  # as the scale says
    ]


def test_an_exception_may_name_a_dataset_and_options_of_the_model(make_scale):
    study = Study.model_validate(
        {"paper": "P", "models": {"i2t": {"name": "scan", "direction": "i2t"}}, "losses": {"a": {}}, "tables": [TABLE]}
    )
    for dataset, wanted in (("scenes", 20.0), ("other", None)):
        datasets = {name: {"loader": "scenes"} for name in ("scenes", "other")}
        options = {"model": "scan", "dataset": dataset, "options": {"pooling_temperature": 20.0}, "epochs": 7}
        scale = make_scale(
            datasets=datasets,
            training={"exceptions": [options]},
        )
        (row,) = rows_of(study, scale)
        model, training = row.runs[0].model, row.runs[0].training
        assert model.model_dump().get("pooling_temperature") == wanted and model.direction == "i2t"
        assert (",pooling_temperature=20" in row.runs[0].name) == (wanted is not None)
        assert (training.epochs == 7) == (wanted is not None)
    wrong = [{"model": "scan", "options": {"pooling_temperatur": 20.0}}]
    with pytest.raises(InputError, match="pooling_temperature"):
        rows_of(study, make_scale(training={"exceptions": wrong}))
    with pytest.raises(ValueError, match="dataset is 'nowhere', but datasets has only: scenes"):
        make_scale(training={"exceptions": [{"dataset": "nowhere", "epochs": 3}]})


def test_a_row_may_be_read_in_folds_and_no_run_is_trained_for_it(scale):
    row = {"role": "flickr30k", "loss": "a", "folds": [None, 5], "inference": ["naive", "csls"]}
    rows = rows_of(small_study({"a": {}}, [row]), scale)
    assert [one.reading for one in rows] == ["naive", "naive, 5 folds", "csls", "csls, 5 folds"]
    assert len({one.runs for one in rows}) == 1
    (asked, *_) = made_of(rows).readings.values()
    assert asked == ["naive", "csls", "naive, 5 folds", "csls, 5 folds"]
