from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.paper.tables.agreement import build_agreement_table
from fivesentences.paper.tables.table import Table
from fivesentences.paper.tables.writing import csv, latex, markdown
from fivesentences.plan.studies import Study


@pytest.fixture
def build(studies, published):
    def built(scale, frame, study=None):
        study = study or studies["five_sentences"]
        return build_agreement_table("five_sentences", "table1", study, scale, frame, published)

    return built


@pytest.fixture
def table1(build, judged_scale, agreement):
    return build(judged_scale, agreement)


def rows_of(table):
    return [(group, row) for group in table.groups for row in group.rows]


def test_every_cell_is_the_correlation_and_its_interval(table1, agreement, studies):
    spec = studies["five_sentences"].agreement_tables["table1"]
    assert len(rows_of(table1)) == len(spec.rows)
    for group, row in rows_of(table1):
        for column, cell in zip(table1.columns, row.cells, strict=True):
            wanted = {**group.keys, **row.keys, **column.keys}
            found = agreement[np.logical_and.reduce([agreement[key] == value for key, value in wanted.items()])]
            assert len(found) == 1
            one = found.iloc[0]
            assert cell.count == one["n_pairs"]
            shown = [cell.value, cell.low, cell.high]
            assert (
                shown == [None, None, None]
                if np.isnan(one["value"])
                else shown == one[["value", "low", "high"]].tolist()
            )


def test_print_stands_beside_its_rows_and_nowhere_else(table1):
    beside = {
        row.keys["phi"]: [cell.published for cell in row.cells]
        for group, row in rows_of(table1)
        if any(cell.published is not None for cell in row.cells)
    }
    nothing = [None] * 4
    assert beside == {
        "binary": [0.711, 0.0, *nothing],
        "spice": [0.729, 0.536, *nothing],
        "cider-reattached": [0.734, 0.453, *nothing],
    }


def test_a_difference_is_ours_minus_print_on_cxc(table1):
    for _, row in rows_of(table1):
        assert not row.printed or row.same_data
        for cell in row.cells:
            if cell.published is None or cell.value is None:
                assert cell.difference is None
            else:
                assert cell.difference == pytest.approx(cell.value - cell.published, abs=1e-12)
    assert any("as here; differences are ours minus print" in note for note in table1.notes)


@pytest.mark.parametrize(
    ("judge", "dataset", "loader"),
    [("flickr8k_expert", "flickr8k", "flickr8k"), ("scenes_truth", "scenes", "scenes"), ("cxc", "coco5k", "karpathy")],
)
def test_no_difference_is_taken_with_another_judge_or_dataset(
    build, make_scale, make_agreement, studies, judge, dataset, loader
):
    scale = make_scale(roles={}, datasets={dataset: {"loader": loader}}, judges=[{"judge": judge, "dataset": dataset}])
    table = build(scale, make_agreement(studies, scale)[0])
    cells = [cell for _, row in rows_of(table) for cell in row.cells]
    assert any(cell.published is not None for cell in cells)
    assert all(cell.difference is None for cell in cells)
    assert "print, other data" in markdown(table)
    assert any("Not comparable with" in note for note in table.notes)


def test_an_undefined_correlation_is_a_dash_with_a_note(table1):
    line = next(line for line in markdown(table1).splitlines() if line.startswith("| binary"))
    assert [cell.strip() for cell in line.split("|")[3:9]][1::2] == ["–"] * 3
    assert any(note.startswith("– marks a correlation that is not defined") for note in table1.notes)


def test_no_dash_no_note(build, judged_scale, agreement, studies):
    content = studies["five_sentences"].model_dump()
    table = content["agreement_tables"]["table1"]
    table["rows"] = [row for row in table["rows"] if row["phi"] != "binary"]
    without = build(judged_scale, agreement, Study.model_validate(content))
    assert "–" not in csv(without)
    assert not any(note.startswith("–") for note in without.notes)


def test_what_the_scale_leaves_out_makes_no_row_and_is_named(build, make_scale, make_agreement, studies):
    scale = make_scale(
        roles={},
        judges=[{"judge": "scenes_truth", "dataset": "scenes"}],
        leave_out={"phis": ["cider-ptb", "bleu4-ptb", "rouge_l-ptb", "meteor"]},
    )
    frame, _ = make_agreement(studies, scale, tuples="the generator of the scenes, not parsed")
    table = build(scale, frame)
    assert not {"cider-ptb", "meteor"} & {row.keys["phi"] for _, row in rows_of(table)}
    notes = "\n".join(table.notes)
    assert "Left out at the scale tiny: CIDEr (PTB tokens), BLEU-4 (PTB tokens), ROUGE-L (PTB tokens), METEOR." in notes
    assert "SPICE’s tuples: the generator of the scenes, not parsed." in notes
    assert "Truth of the drawn scenes (no people)" in table.groups[0].title


def test_notes_say_who_judged_how_many_pairs_and_how_intervals_were_made(table1):
    notes = "\n".join(table1.notes)
    assert (
        "on MS-COCO (test split): made-up judgements, 0 to 5; 400 pairs of captions with 50 images, 266 of them"
        in notes
    )
    assert (
        "In brackets, for Pearson’s r; Kendall’s τ-b; Kendall’s τ-c: 95% percentile interval of 1,000 bootstrap "
        "resamples of 50 images."
    ) in notes
    assert notes.count("In brackets") == 1
    assert "Counts behind idf: the captions of the 50 images of coco/test." in notes


def test_a_statistic_without_intervals_says_so(build, judged_scale, agreement):
    kendall = agreement["statistic"].str.startswith("kendall") & agreement["value"].notna()
    agreement.loc[kendall, ["low", "high"]] = np.nan
    agreement.loc[kendall, "interval"] = "none: not resampled beyond 100 pairs"
    table = build(judged_scale, agreement)
    assert "No interval for Kendall’s τ-b; Kendall’s τ-c: not resampled beyond 100 pairs." in table.notes
    cells = [cell for _, row in rows_of(table) for cell in row.cells[2:]]
    assert all(cell.low is None and cell.high is None for cell in cells)


def test_the_best_of_a_judge_and_kind_of_references_is_the_highest_as_shown(table1):
    for group in table1.groups:
        for index in range(len(table1.columns)):
            cells = [row.cells[index] for row in group.rows]
            top = max(round(cell.value, 3) for cell in cells if cell.value is not None)
            assert [cell.best for cell in cells] == [
                cell.value is not None and round(cell.value, 3) == top for cell in cells
            ]


def test_each_judge_and_kind_of_references_has_its_group(build, make_scale, make_agreement, studies):
    judges = [{"judge": judge, "dataset": "flickr8k"} for judge in ("flickr8k_expert", "flickr8k_crowdflower")]
    scale = make_scale(roles={}, datasets={"flickr8k": {"loader": "flickr8k"}}, judges=judges)
    table = build(scale, make_agreement(studies, scale)[0])
    assert [(group.keys["judge"], group.keys["references"]) for group in table.groups] == [
        ("flickr8k_expert", "kept"),
        ("flickr8k_expert", "own_left_out"),
        ("flickr8k_crowdflower", "kept"),
        ("flickr8k_crowdflower", "own_left_out"),
    ]


def test_a_scale_without_judges_gives_a_table_that_says_so(build, scale, agreement):
    table = build(scale, agreement.iloc[:0])
    assert table.groups == ()
    assert "Nobody judges at the scale tiny." in table.notes
    assert "None of its rows is made at the scale tiny." in latex(table)


def test_a_missing_or_double_correlation_and_an_unasked_judge_are_named(build, judged_scale, agreement):
    gone = (agreement["phi"] == "tfidf") & (agreement["references"] == "own_left_out")
    with pytest.raises(InputError, match=r"'cxc' has no pearson of tfidf, own caption left out over all pairs; ask"):
        build(judged_scale, agreement[~gone])
    with pytest.raises(InputError, match="'cxc' was not asked at all"):
        build(judged_scale, agreement.iloc[:0])
    with pytest.raises(InputError, match="cxc binary kept all pearson twice"):
        build(judged_scale, agreement.iloc[[0, 0]])
    with pytest.raises(InputError, match="no column 'human'"):
        build(judged_scale, agreement.drop(columns="human"))


def test_an_unknown_printed_row_names_the_study(build, judged_scale, agreement, studies):
    content = studies["five_sentences"].model_dump()
    content["agreement_tables"]["table1"]["rows"][1]["published"] = "9"
    with pytest.raises(
        InputError, match=r"five_sentences: agreement_tables.table1 names the printed row '9 pairs=All'"
    ):
        build(judged_scale, agreement, Study.model_validate(content))


def test_a_stored_table_is_read_back_equal(table1, tmp_path):
    table1.write(tmp_path / "t.json")
    assert Table.read(tmp_path / "t.json") == table1
    assert csv(Table.read(tmp_path / "t.json")) == csv(table1)
