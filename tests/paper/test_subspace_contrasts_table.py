"""Tables of contrasts of category retrieval show what was measured, and how intervals were made."""

from __future__ import annotations

import pytest

from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.evaluation.contrasts import FORMAT_OF_CATEGORIES, read_contrasts
from fivesentences.paper import rendering
from fivesentences.storage import write_json
from fivesentences.study.study import Study

CONTRASTS = [
    {"role": "wikipedia", "a": "sam", "b": "fixed", "selection": ["map", "last"], "question": "Does it help?"},
    {"role": "wikipedia", "a": "sam", "b": "cca", "selection": "map", "question": "More than CCA?"},
    {"role": "wikipedia", "a": "fixed", "b": "fixed", "selection": "loss", "against": "map"},
    {"role": "wikipedia", "division": "whole_test", "a": "sam", "b": "fixed"},
]


@pytest.fixture(scope="session")
def made(make_scale, make_up, categories):
    """Everything that is measured for some contrasts at a scale of three seeds."""

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
        scale = make_scale(studies=["toy"], roles={}, features=None, keep=None, categories=given)
        return make_up(scale, toy=study)

    return build


def table_of(made_up):
    return rendering.table_of(made_up.plan.tables["toy/t"], made_up.contexts["toy/t"], made_up.numbers("toy/t"))


def test_every_statistic_is_that_of_the_file_by_measure_and_epoch(made):
    measures = [{"metric": "mAP", "direction": "mean"}, {"metric": "mAP@R", "direction": "t2i"}]
    made_up = made(*CONTRASTS, table={"measures": measures})
    table, (file,) = table_of(made_up), made_up.numbers("toy/t")
    tidy = (
        table.tidy().set_index(["division", "a", "a_selection", "b", "b_selection", "metric", "statistic"]).sort_index()
    )
    assert tidy.index.is_unique and len(tidy) == 5 * 2 * 9
    seen = 0
    for one in read_contrasts(file, FORMAT_OF_CATEGORIES)["contrasts"]:
        a, b = (
            "cca" if "/cca/" in run else "fixed" if "nothing" in run else "sam" for run in (one["a"][0], one["b"][0])
        )
        for measure in measures:
            numbers = one["metrics"][measure["metric"]][measure["direction"]]
            cells = tidy.loc[one["division"], a, one["a_selection"], b, one["b_selection"], measure["metric"]]
            assert cells["direction"].unique() == [measure["direction"]] and cells["seeds"].unique() == [3]
            names = ["mean_a", "mean_b", "bootstrap_low", "bootstrap_high", "spread", "equivalence", "detectable"]
            assert cells.loc[names, "value"].tolist() == [numbers[name] for name in names]
            shown = cells.loc["difference", ["value", "low", "high"]].tolist()
            assert shown == [numbers["mean"], numbers["low"], numbers["high"]]
            seen += 1
    assert seen == 10


def test_groups_say_division_and_epoch_and_sides_say_theirs_where_they_differ(made):
    table = table_of(made(*CONTRASTS))
    where = "made in the role of Wikipedia, printed"
    assert [(group.title, [row.labels for row in group.rows]) for group in table.groups] == [
        (
            f"{where}, best validation mAP",
            [
                ("Does it help?", "SAM − fixed margin", "mAP, mean"),
                ("More than CCA?", "SAM − CCA", "mAP, mean"),
            ],
        ),
        (f"{where}, last epoch", [("Does it help?", "SAM − fixed margin", "mAP, mean")]),
        (where, [("", "fixed margin: lowest validation loss − best validation mAP", "mAP, mean")]),
        (
            "made in the role of Wikipedia, whole_test, best validation mAP",
            [("", "SAM − fixed margin", "mAP, mean")],
        ),
    ]


def test_notes_say_how_seeds_and_documents_are_regarded(made):
    notes = table_of(made(*CONTRASTS)).notes
    (whole,) = (note for note in notes if note.startswith("All seeds have the same test documents"))
    assert "made in the role of Wikipedia, whole_test (36)" in whole and "crossed random samples" in whole
    (own,) = (note for note in notes if note.startswith("Each seed draws its own test documents"))
    assert "printed (24 of " in own and "partly crossed" in own
    assert any("100 bootstrap resamples of seeds and, independently, test documents" in note for note in notes)


def test_a_single_seed_has_a_difference_without_interval(made):
    table = table_of(made(CONTRASTS[0], seeds=[4]))
    tidy = table.tidy()
    assert tidy.query("statistic == 'difference'")["value"].notna().all() and tidy[["low", "high"]].isna().all(
        axis=None
    )
    assert "One pair of runs each (seed 4): no interval, since one seed says nothing of other trainings." in table.notes
    assert not any("Hillis" in note or "Owen" in note or "Within" in note for note in table.notes)
    other = [{"method": "sam", "seeds": [1, 2, 9]}]
    notes = table_of(made(CONTRASTS[0], other_seeds=other)).notes
    assert "Where the two sides have different seeds, those that both have are compared." in notes


def test_what_the_scale_leaves_out_is_said(made):
    table = table_of(made(*CONTRASTS, {"role": "pascal", "a": "sam", "b": "cca"}, methods=["sam", "fixed"]))
    notes = "\n".join(table.notes)
    assert "2 of 6 contrasts are left out at the scale tiny: SAM − CCA (made in the role of Wikipedia, printed" in notes
    assert "No documents play the role of pascal" in notes and "to save time: CCA" in notes
    nothing = table_of(made(CONTRASTS[1], methods=["sam"]))
    assert nothing.groups == () and nothing.notes[0].startswith("The contrast is left out at the scale tiny")


def test_a_file_that_lacks_a_contrast_is_refused(made, tmp_path):
    made_up = made(*CONTRASTS)
    content = read_contrasts(made_up.numbers("toy/t")[0], FORMAT_OF_CATEGORIES)
    write_json(tmp_path / "c.json", content | {"contrasts": content["contrasts"][1:]})
    with pytest.raises(InputError, match=r"the contrast of .* of toy: t is not in it; make it again"):
        rendering.table_of(made_up.plan.tables["toy/t"], made_up.contexts["toy/t"], [tmp_path / "c.json"])
