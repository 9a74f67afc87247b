"""Tables and figures of contrasts show what was measured, and say what is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.evaluation.contrasts import read_contrasts
from fivesentences.evaluation.tidy import read_per_image
from fivesentences.paper import rendering
from fivesentences.paper.context import Context
from fivesentences.paper.text.contrast_notes import contrast_in_words, setting_in_words
from fivesentences.storage import write_json
from fivesentences.study.expand import contrasts_of
from fivesentences.study.study import Study

CONTRAST = {"role": "flickr30k", "fraction": 0.1, "a": ["all", "knn3"], "b": "hardest"}


def study_of(*contrasts, **figure) -> Study:
    texts = {"title": "T", "caption": "C", "contrasts": list(contrasts)}
    content = {
        "paper": "P",
        "losses": {"hardest": {}, "all": {"triplet": "all"}, "knn3": {"triplet": 3}},
        "labels": {"flickr30k": "Flickr30K"},
        "tables": [{"name": "t", "kind": "paired", **texts}],
        "figures": [{"name": "f", "kind": "forest", **texts, **figure}],
    }
    return check(Study, content, "toy")


@pytest.fixture(scope="session")
def made(make_scale, make_up):
    """Everything that is measured for some contrasts at a scale of three seeds."""

    def build(*contrasts, figure=(), **changes):
        scale = make_scale(**{"keep": None, "studies": ["toy"]} | changes)
        return make_up(scale, toy=study_of(*contrasts, **dict(figure)))

    return build


def table_of(made_up):
    return rendering.table_of(made_up.plan.tables["toy/t"], made_up.contexts["toy/t"], made_up.numbers("toy/t"))


def test_a_table_shows_means_difference_intervals_seeds_and_bounds_of_every_metric(made):
    made_up = made(CONTRAST)
    table = table_of(made_up)
    (file,) = made_up.numbers("toy/t")
    measured = read_contrasts(file)["contrasts"]
    tidy = table.tidy().set_index(["a", "metric", "statistic"]).sort_index()
    assert len(tidy) == 2 * 3 * 9
    for contrast, a in zip(measured, ("all", "knn3"), strict=True):
        for metric in ("Rsum", "Nsum", "Nsum_own_removed"):  # those that a table shows without being asked
            cells, numbers = tidy.loc[a, metric], contrast["metrics"][metric]
            assert cells["seeds"].unique() == [3]
            names = {"mean_a", "mean_b", "bootstrap_low", "bootstrap_high", "spread", "equivalence", "detectable"}
            assert cells.loc[list(names), "value"].to_dict() == {name: numbers[name] for name in names}
            shown = cells.loc["difference", ["value", "low", "high"]].tolist()
            assert shown == [numbers["mean"], numbers["low"], numbers["high"]]
            assert cells.loc["seeds", "value"] == 3
    assert [row.labels for group in table.groups for row in group.rows][:3] == [
        ("all negatives", "Rsum"), ("− hardest negative", "Nsum"), ("", "Nsum, own removed"),
    ]  # fmt: skip
    # What a table of runs would show as means is what images contribute on average.
    run = measured[0]["a"]
    values = read_per_image([file.with_suffix(".parquet")], run)
    mean = np.mean([values[name]["Rsum"].astype(float).mean() for name in run])
    assert tidy.loc[("all", "Rsum", "mean_a"), "value"] == pytest.approx(mean)


def test_a_single_seed_has_a_difference_without_interval_and_a_note_says_why(made):
    made_up = made(CONTRAST, seeds=[4])
    table, drawing = table_of(made_up), made_up.drawing("toy/f")
    tidy = table.tidy()
    assert tidy.query("statistic == 'difference'")["value"].notna().all()
    assert tidy[["low", "high"]].isna().all(axis=None)
    assert tidy.query("statistic in ('spread', 'equivalence', 'detectable', 'bootstrap_low')")["value"].isna().all()
    note = "One pair of runs each (seed 4): no interval, since one seed says nothing of other trainings."
    assert note in table.notes and note in drawing.notes
    assert not any("Within" in note or "Hillis" in note for note in (*table.notes, *drawing.notes))
    assert drawing.data[["low", "high"]].isna().all(axis=None) and drawing.draw is not None


def test_sides_with_different_seeds_are_compared_by_those_that_both_have(made):
    made_up = made(CONTRAST, other_seeds=[{"model": "vsepp", "loss": "all", "seeds": [1, 2, 9]}])
    table, drawing = table_of(made_up), made_up.drawing("toy/f")
    counts = table.tidy().query("statistic == 'seeds' and metric == 'Rsum'").set_index("a")["value"].to_dict()
    assert counts == {"all": 2, "knn3": 3}
    shown = drawing.data.query("metric == 'Rsum'").groupby("contrast", sort=False)["seed"].agg(list).tolist()
    assert shown == [["mean", "1", "2"], ["mean", "0", "1", "2"]]
    assert "Where the two sides have different seeds, those that both have are compared." in table.notes


def test_what_the_scale_leaves_out_is_said(made):
    made_up = made(CONTRAST, CONTRAST | {"role": "coco"}, leave_out={"losses": ["knn3"]})
    notes = "\n".join(table_of(made_up).notes)
    assert "3 of 4 contrasts are left out at the scale tiny: kNN margin, k = 3 − hardest negative" in notes
    assert "No dataset plays the role of coco at the scale tiny" in notes
    one_sided = made(CONTRAST, leave_out={"losses": ["hardest"]})
    table = table_of(one_sided)
    assert table.groups == () and "contrasts are left out at the scale tiny, of which only one side" in table.notes[0]
    assert one_sided.drawing("toy/f").draw is None
    apart = made(CONTRAST | {"a": "all"}, other_seeds=[{"model": "vsepp", "loss": "all", "seeds": [9]}])
    assert "have no seed in common: all negatives − hardest negative." in table_of(apart).notes[0]


SCENES = "scenes in the role of Flickr30K"
ONE = "one caption per image in a batch"


@pytest.mark.parametrize(
    ("contrast", "group", "name"),
    [
        ({"b": "hardest"}, f"VSE++, {SCENES}, all training captions", "all negatives − hardest negative"),
        (
            {"epochs": 4, "against": {"epochs": 6}},
            f"VSE++, {SCENES}, all training captions",
            "all negatives: 4 epochs − 6 epochs",
        ),
        (
            {"b": "hardest", "epochs": 4, "one_caption_per_image": True},
            f"VSE++, {SCENES}, all training captions, 4 epochs, {ONE}",
            "all negatives − hardest negative",
        ),
        (
            {"against": {"fraction": 0.1}},
            f"VSE++, {SCENES}",
            "all negatives: all training captions − 10% of the training captions",
        ),
        ({"against": {"model": "cvse"}}, f"{SCENES}, all training captions", "all negatives: VSE++ − CVSE"),
        (
            {"fraction": 0.1, "captions_per_image": 2, "against": {"captions_per_image": 1}},
            f"VSE++, {SCENES}",
            "all negatives: 10% of the training captions, 2 captions per training image "
            "− 10% of the training captions, 1 caption per training image",
        ),
        (
            {"b": "hardest", "against": {"one_caption_per_image": True}},
            f"VSE++, {SCENES}, all training captions",
            f"all negatives, batches as the scale says − hardest negative, {ONE}",
        ),
    ],
)
def test_what_both_sides_share_stands_above_and_what_differs_in_the_name(make_scale, contrast, group, name):
    study = study_of({"role": "flickr30k", "a": "all", **contrast})
    (found,) = contrasts_of(study.exhibit("t").contrast_specs(), study, make_scale(keep=None, studies=["toy"]))
    words = (setting_in_words(found, study), contrast_in_words(found, study))
    assert words == (group, name.replace("−", "\N{MINUS SIGN}"))


def test_a_question_stands_before_its_contrasts_once(made):
    table = table_of(made(CONTRAST | {"question": "why"}, CONTRAST | {"a": "all", "b": "knn3", "question": "who"}))
    assert table.stub == ("Question", "A − B", "Metric")
    asked = [row.labels[0] for row in table.groups[0].rows]
    assert asked == ["why", *[""] * 5, "who", *[""] * 2]


def test_a_figure_marks_the_band_of_equivalence_and_draws_every_seed(made, tmp_path):
    made_up = made(CONTRAST, figure=(("equivalent_within", {"Rsum": 1.5, "Nsum_own_removed": 2}),))
    drawing = made_up.drawing("toy/f")
    assert "Grey: within ± 1.5 Rsum of no difference." in drawing.notes  # the other metric has no panel
    means = drawing.data.query("seed == 'mean'").set_index(["contrast", "metric"])["value"]
    seeds = drawing.data.query("seed != 'mean'").groupby(["contrast", "metric"])["value"].mean()
    pd.testing.assert_series_equal(means.sort_index(), seeds.sort_index(), check_names=False)


def test_a_file_of_other_contrasts_is_refused(made, tmp_path):
    made_up = made(CONTRAST)
    (file,) = made_up.numbers("toy/t")
    content = read_contrasts(file)
    content["contrasts"] = content["contrasts"][:1]
    write_json(tmp_path / "c.json", content)
    context: Context = made_up.contexts["toy/t"]
    with pytest.raises(InputError, match=r"c\.json: the contrast of '.*' with '.*' of toy: t is not in it"):
        rendering.table_of(made_up.plan.tables["toy/t"], context, [tmp_path / "c.json"])
