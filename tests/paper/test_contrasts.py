"""Tables and figures of contrasts, of runs and of category retrieval, show what was measured and what is missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from drawn_texts import drawn
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.seed_contrasts import FORMAT, FORMAT_OF_CATEGORIES, read_contrasts
from fivesentences.reproduction.evaluation.tidy import read_per_image
from fivesentences.reproduction.paper import rendering
from fivesentences.reproduction.study.study import Study
from fivesentences.storage import write_json

CONTRAST = {"role": "flickr30k", "fraction": 0.1, "a": ["all", "knn3"], "b": "hardest"}
OF_CATEGORIES = [
    {"role": "wikipedia", "a": "sam", "b": "fixed", "selection": ["map", "last"], "question": "Does it help?"},
    {"role": "wikipedia", "a": "sam", "b": "cca", "selection": "map", "question": "More than CCA?"},
    {"role": "wikipedia", "a": "fixed", "b": "fixed", "selection": "loss", "against": "map"},
    {"role": "wikipedia", "division": "whole_test", "a": "sam", "b": "fixed"},
]
STATISTICS = ["mean_a", "mean_b", "bootstrap_low", "bootstrap_high", "spread", "equivalence", "detectable"]


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
    """Everything that is measured for some contrasts of runs at a scale of three seeds."""

    def build(*contrasts, figure=(), **changes):
        scale = make_scale(**{"keep": None, "studies": ["toy"]} | changes)
        return make_up(scale, toy=study_of(*contrasts, **dict(figure)))

    return build


@pytest.fixture(scope="session")
def made_of_categories(make_scale, make_up, categories):
    """Everything that is measured for some contrasts of category retrieval at a scale of three seeds."""

    def build(*contrasts, table=(), **changes):
        texts = {"name": "t", "kind": "subspace_contrasts", "title": "T", "caption": "C"}
        content = {
            "paper": "P",
            "methods": {
                "cca": {"method": "cca"},
                "sam": {"method": "triplets"},
                "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
            },
            "labels": {"wikipedia": "Wikipedia", "sam": "SAM", "cca": "CCA", "fixed": "fixed margin"},
            "tables": [texts | {"contrasts": list(contrasts)} | dict(table)],
        }
        study = check(Study, content, "toy")
        given = categories(study, **{"methods": ["cca", "sam", "fixed"]} | changes)
        return make_up(make_scale(studies=["toy"], roles={}, features=None, keep=None, categories=given), toy=study)

    return build


def table_of(made_up, numbers=None):
    return rendering.make(made_up.plan.tables["toy/t"], made_up.contexts["toy/t"], numbers or made_up.numbers("toy/t"))


def check_statistics(cells, numbers):
    assert cells["seeds"].unique() == [3] and cells.loc["seeds", "value"] == 3
    assert cells.loc[STATISTICS, "value"].tolist() == [numbers[name] for name in STATISTICS]
    assert cells.loc["difference", ["value", "low", "high"]].tolist() == [numbers[x] for x in ("mean", "low", "high")]


def two_sided_p(found):
    """Two-sided p of a measured difference, by scipy."""
    return 2 * stats.t.sf(abs(found["mean"] / found["standard_error"]), found["degrees"])


def test_a_table_shows_means_difference_intervals_seeds_and_bounds_of_every_metric(made):
    made_up = made(CONTRAST)
    table, (file,) = table_of(made_up), made_up.numbers("toy/t")
    measured = read_contrasts(file)["contrasts"]
    tidy = table.tidy().set_index(["a", "metric", "statistic"]).sort_index()
    assert len(tidy) == 2 * 3 * 10
    of_rows = tidy.xs("difference", level="statistic").join(tidy.xs("p_holm", level="statistic")["value"], rsuffix="_p")
    alone = {(a, m): two_sided_p(one["metrics"][m]) for one, a in zip(measured, ("all", "knn3"), strict=True)
             for m in one["metrics"] if m in of_rows.index.levels[1]}  # fmt: skip
    largest = 0.0
    for place, (key, p) in enumerate(sorted(alone.items(), key=lambda item: item[1])):  # Holm 1979, step by step
        largest = max(largest, min(1.0, (len(alone) - place) * p))
        assert of_rows.loc[key, "value_p"] == pytest.approx(largest)
    for contrast, a in zip(measured, ("all", "knn3"), strict=True):
        for metric in ("Rsum", "Nsum", "Nsum_own_removed"):  # those that a table shows without being asked
            check_statistics(tidy.loc[a, metric], contrast["metrics"][metric])
    assert [row.labels for group in table.groups for row in group.rows][:3] == [
        ("all negatives", "Rsum"), ("− hardest negative", "Nsum"), ("", "Nsum, own removed"),
    ]  # fmt: skip
    # What a table of runs would show as means is what images contribute on average.
    run = measured[0]["a"]
    values = read_per_image([file.with_suffix(".parquet")], run)
    mean = np.mean([values[name]["Rsum"].astype(float).mean() for name in run])
    assert tidy.loc[("all", "Rsum", "mean_a"), "value"] == pytest.approx(mean)


def test_a_single_seed_has_a_difference_without_interval_and_a_note_says_why(made, made_of_categories):
    made_up = made(CONTRAST, seeds=[4])
    drawing = made_up.drawing("toy/f")
    for table in (table_of(made_up), table_of(made_of_categories(OF_CATEGORIES[0], seeds=[4]))):
        tidy = table.tidy()
        assert tidy.query("statistic == 'difference'")["value"].notna().all()
        assert tidy[["low", "high"]].isna().all(axis=None)
        assert tidy.query("statistic in ('spread', 'equivalence', 'detectable', 'bootstrap_low')")["value"].isna().all()
        assert any("seed 4" in note for note in table.notes) and not any("Hillis" in note for note in table.notes)
    assert drawing.data[["low", "high"]].isna().all(axis=None) and drawing.draw is not None


def test_sides_with_different_seeds_are_compared_by_those_that_both_have(made):
    made_up = made(CONTRAST, other_seeds=[{"model": "vsepp", "loss": "all", "seeds": [1, 2, 9]}])
    table, drawing = table_of(made_up), made_up.drawing("toy/f")
    counts = table.tidy().query("statistic == 'seeds' and metric == 'Rsum'").set_index("a")["value"].to_dict()
    assert counts == {"all": 2, "knn3": 3}
    shown = drawing.data.query("metric == 'Rsum'").groupby("contrast", sort=False)["seed"].agg(list).tolist()
    assert shown == [["mean", "1", "2"], ["mean", "0", "1", "2"]]
    alike = table_of(made(CONTRAST))
    assert {note for note in table.notes if "different seeds" in note} - set(alike.notes)


def test_lines_of_a_figure_may_be_named_by_what_they_ask(made):
    asked = CONTRAST | {"a": "all", "question": "Are all negatives better?"}
    made_up = made(asked, CONTRAST | {"a": "knn3"})
    drawing = made_up.drawing("toy/f")
    other = "kNN margin, k = 3"  # it asks nothing, and all are compared with the hardest negative
    assert drawing.data["contrast"].unique().tolist() == ["Are all negatives better?", other]
    named = {text.get_text().replace("\n", " ") for text in drawn(drawing.draw).axes[0].get_yticklabels()}
    assert named == {"Are all negatives better?", other}


@pytest.mark.parametrize("form", [FORMAT, FORMAT_OF_CATEGORIES])
def test_a_file_that_lacks_a_contrast_is_refused(made, made_of_categories, tmp_path, form):
    made_up = made(CONTRAST) if form == FORMAT else made_of_categories(*OF_CATEGORIES)
    content = read_contrasts(made_up.numbers("toy/t")[0], form)
    write_json(tmp_path / "c.json", content | {"contrasts": content["contrasts"][1:]})
    with pytest.raises(InputError, match=r"c\.json.* of toy: t"):
        table_of(made_up, [tmp_path / "c.json"])
