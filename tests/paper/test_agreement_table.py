from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.paper.context import Context
from fivesentences.paper.numbers.agreements import Agreements
from fivesentences.paper.tables.agreement import table_of_agreements
from fivesentences.paper.tables.writing import csv, markdown


@pytest.fixture(scope="module")
def build(studies, root, agreement):
    """Table 1 at a scale, from made-up correlations that may be changed before."""

    def built(scale, change=lambda frame: frame, study=None, **options):
        context = Context("five_sentences", study or studies["five_sentences"], scale, root / "config" / "published")
        spec = context.study.exhibit("table1")
        return table_of_agreements(spec, context, Agreements(change(agreement(scale, spec.judged(), **options))))

    return built


@pytest.fixture(scope="module")
def cxc(judged_by):
    """The paper's own judge and dataset."""
    return judged_by("cxc")


@pytest.fixture(scope="module")
def table1(build, cxc):
    return build(cxc)


def rows_of(table):
    return [(group, row) for group in table.groups for row in group.rows]


def cells_of(table):
    return [cell for _, row in rows_of(table) for cell in row.cells]


def test_every_cell_is_the_correlation_and_its_interval(build, cxc, studies):
    frames = []
    table = build(cxc, lambda frame: frames.append(frame) or frame)
    assert len(rows_of(table)) == len(studies["five_sentences"].exhibit("table1").rows)
    for group, row in rows_of(table):
        for column, cell in zip(table.columns, row.cells, strict=True):
            wanted = {**group.keys, **row.keys, **column.keys}
            found = frames[0][np.logical_and.reduce([frames[0][key] == value for key, value in wanted.items()])]
            assert len(found) == 1
            assert cell.count == found["n_pairs"].item()
            for name in ("value", "low", "high"):
                value = found[name].item()
                assert getattr(cell, name) == (None if np.isnan(value) else value)


def test_published_values_stand_beside_their_rows_and_nowhere_else(table1):
    beside = {
        row.keys["phi"]: [cell.published for cell in row.cells]
        for _, row in rows_of(table1)
        if any(cell.published is not None for cell in row.cells)
    }
    nothing = [None] * 4
    assert beside == {
        "binary": [0.711, 0.0, *nothing],
        "spice": [0.729, 0.536, *nothing],
        "cider-reattached": [0.734, 0.453, *nothing],
    }


def test_a_difference_is_ours_minus_published_on_cxc(table1):
    for _, row in rows_of(table1):
        assert not row.published_row or row.same_data
        for cell in row.cells:
            if cell.published is None or cell.value is None:
                assert cell.difference is None
            else:
                assert cell.difference == pytest.approx(cell.value - cell.published, abs=1e-12)
    assert any("as here; differences are ours minus published" in note for note in table1.notes)


@pytest.mark.parametrize(
    ("judge", "dataset"), [("flickr8k_expert", "flickr8k"), ("scenes_truth", "scenes"), ("cxc", "coco5k")]
)
def test_no_difference_is_taken_with_another_judge_or_dataset(build, judged_by, judge, dataset):
    table = build(judged_by(judge, dataset=dataset))
    assert any(cell.published is not None for cell in cells_of(table))
    assert all(cell.difference is None for cell in cells_of(table))
    assert "published, other data" in markdown(table)
    assert any("Not comparable with" in note for note in table.notes)


def test_an_undefined_correlation_is_a_dash_with_a_note(table1, build, cxc, edited, studies):
    line = next(line for line in markdown(table1).splitlines() if line.startswith("| binary"))
    assert [cell.strip() for cell in line.split("|")[3:9]][1::2] == ["–"] * 3
    assert any(note.startswith("– marks a correlation that is not defined") for note in table1.notes)
    rows = [row.model_dump() for row in studies["five_sentences"].exhibit("table1").rows if row.phi != "binary"]
    without = build(cxc, study=edited("five_sentences/table1", rows=rows))
    assert "–" not in csv(without) and not any(note.startswith("–") for note in without.notes)


def test_what_the_scale_leaves_out_makes_no_row_and_is_named(build, judged_by):
    left_out = {"phis": ["cider-ptb", "bleu4-ptb", "rouge_l-ptb", "meteor"]}
    table = build(judged_by("scenes_truth", leave_out=left_out), tuples="the generator of the scenes, not parsed")
    assert not {"cider-ptb", "meteor"} & {row.keys["phi"] for _, row in rows_of(table)}
    notes = "\n".join(table.notes)
    assert "Left out at the scale tiny: CIDEr (PTB tokens), BLEU-4 (PTB tokens), ROUGE-L (PTB tokens), METEOR." in notes
    assert "SPICE’s tuples: the generator of the scenes, not parsed." in notes
    assert "Truth of the drawn scenes (no people)" in table.groups[0].title


def test_notes_say_who_judged_how_many_pairs_and_how_intervals_were_made(table1):
    notes = "\n".join(table1.notes)
    for part in (
        "on MS-COCO (test split): made-up scores, 0 to 5; 400 pairs of captions with 50 images, 266 of them with an "
        "image other than the caption's own.",
        "In brackets, for Pearson’s r; Kendall’s τ-b; Kendall’s τ-c: 95% percentile interval of 1,000 bootstrap "
        "resamples of 50 images.",
        "Counts behind idf: the captions of the 50 images of coco/test.",
    ):
        assert part in notes
    assert notes.count("In brackets") == 1


def test_a_statistic_without_intervals_says_so(build, cxc):
    def no_intervals(frame):
        kendall = frame["statistic"].str.startswith("kendall") & frame["value"].notna()
        frame.loc[kendall, ["low", "high"]] = np.nan
        frame.loc[kendall, "interval"] = "none: not resampled beyond 100 pairs"
        return frame

    table = build(cxc, no_intervals)
    assert "No interval for Kendall’s τ-b; Kendall’s τ-c: not resampled beyond 100 pairs." in table.notes
    assert all(cell.low is None and cell.high is None for _, row in rows_of(table) for cell in row.cells[2:])


def test_the_best_of_a_judge_and_kind_of_references_is_the_highest_as_shown(table1):
    for group in table1.groups:
        for index in range(len(table1.columns)):
            shown = [
                value if value is None else round(value, 3) for value in (row.cells[index].value for row in group.rows)
            ]
            top = max(value for value in shown if value is not None)
            assert [row.cells[index].best for row in group.rows] == [value == top for value in shown]


def test_each_judge_and_kind_of_references_has_its_group(build, judged_by):
    judges = ("flickr8k_expert", "flickr8k_crowdflower")
    table = build(judged_by(*judges))
    keys = [(group.keys["judge"], group.keys["references"]) for group in table.groups]
    assert keys == [(judge, references) for judge in judges for references in ("kept", "own_left_out")]


def test_a_scale_without_judges_says_so(build, judged_by):
    table = build(judged_by())
    assert table.groups == () and "Nobody judges at the scale tiny." in table.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame[(frame["phi"] != "tfidf") | (frame["references"] == "kept")],
            "'cxc' has no pearson of tfidf, own caption left out over all pairs; ask",
        ),
        (lambda frame: frame.iloc[:0], "'cxc' was not asked at all"),
        (lambda frame: frame.iloc[[0, 0]], "cxc binary kept all pearson twice"),
        (lambda frame: frame.drop(columns="human"), "no column 'human'"),
    ],
)
def test_a_missing_or_double_correlation_and_an_unasked_judge_are_named(build, cxc, change, message):
    with pytest.raises(InputError, match=message):
        build(cxc, change)


def test_an_unknown_published_row_names_the_study(build, cxc, edited):
    study = edited("five_sentences/table1", rows=[{"phi": "spice", "published": "9"}])
    with pytest.raises(InputError, match=r"five_sentences: table1 names the published row '9 pairs=All'"):
        build(cxc, study=study)
