from __future__ import annotations

import csv

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.paper.results import Measure
from fivesentences.paper.tables.runs import build_table
from fivesentences.paper.tables.table import Table
from fivesentences.plan.rows import expand_rows, runs_of_scale
from fivesentences.plan.studies import Study


@pytest.fixture
def table2(studies, scale, frame, published):
    return build_table("five_sentences", "table2", studies["five_sentences"], scale, frame, published)


@pytest.fixture
def knn_at_paper(studies, paper_scale, made_up, published):
    frame = made_up(runs_of_scale(studies, paper_scale).values())
    return build_table("knn_margin", "table1", studies["knn_margin"], paper_scale, frame, published)


def test_mean_and_spread_are_numpys_over_seeds(studies, scale, frame, table2):
    row = table2.groups[0].rows[0]
    runs = frame[frame["loss"].eq("triplet=hardest,margin=0.2") & frame["fraction"].eq(0.1)]
    runs = runs[runs["inference"] == "naive"]
    for column, cell in zip(table2.columns, row.cells, strict=True):
        measure = Measure(**column.keys)
        chosen = runs[(runs["metric"] == measure.metric) & (runs["direction"] == measure.direction)]
        chosen = chosen[(chosen["formula"] == measure.formula) & (chosen["ground_truth"] == measure.ground_truth)]
        assert len(chosen) == cell.count == 3
        assert cell.value == pytest.approx(np.mean(chosen["value"]), abs=1e-12)
        assert cell.spread == pytest.approx(np.std(chosen["value"], ddof=1), abs=1e-12)


def test_one_seed_has_no_spread_and_the_notes_say_so(studies, make_scale, frame, published):
    table = build_table("f", "table2", studies["five_sentences"], make_scale(seeds=[1]), frame, published)
    assert all(cell.spread is None for group in table.groups for row in group.rows for cell in row.cells)
    assert not any(table.widest_beside)
    assert "One seed (1), so no spread is known." in table.notes


def test_the_printed_number_stands_beside_ours(knn_at_paper, published):
    lines = (published / "knn_margin_table1.csv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        fields = line.split(",")
        row = next(row for row in knn_at_paper.groups[0].rows if row.printed == fields[2])
        cell = next(
            cell
            for column, cell in zip(knn_at_paper.columns, row.cells, strict=True)
            if (column.keys["direction"], column.keys["metric"]) == (fields[7], fields[8])
        )
        assert cell.published == float(fields[9])
        assert cell.difference == pytest.approx(cell.value - float(fields[9]), abs=1e-12)


@pytest.mark.parametrize(
    ("changes", "images", "differs"),
    [
        ({"roles": {"flickr30k": "scenes"}}, 1000, "dataset"),
        ({"features": {"extractor": "resnet152"}}, 1000, "features"),
        ({}, 999, "gallery size"),
        (
            {"roles": {"flickr30k": "scenes"}, "features": {"extractor": "resnet152"}},
            7,
            "dataset, features and gallery size",
        ),
    ],
)
def test_no_difference_is_taken_on_other_data(studies, make_scale, made_up, published, changes, images, differs):
    paper = {"roles": {"flickr30k": "flickr30k"}, "features": {"extractor": "vgg19"}}
    scale = make_scale(**(paper | changes))
    frame = made_up(runs_of_scale(studies, scale).values(), images=images)
    table = build_table("knn_margin", "table1", studies["knn_margin"], scale, frame, published)
    cells = [cell for row in table.groups[0].rows for cell in row.cells]
    assert all(cell.published is not None and cell.difference is None for cell in cells)
    assert not any(row.same_data for row in table.groups[0].rows)
    assert any(f"Not comparable: other {differs}, so" in note for note in table.notes)


def with_print_beside_our_row(study: Study, phi: str) -> Study:
    """Table 2 with one row of ours (made believe to be CVSE) beside a printed one."""
    content = study.model_dump()
    table = content["tables"]["table2"]
    table["rows"] = [{"role": "flickr30k", "fraction": 0.1, "loss": "hardest", "published": "1"}]
    table["also_print"] = []
    table["published_setting"] |= {"features": "vgg19-global", "phi": phi}
    return Study.model_validate(content)


def test_another_phi_forbids_the_difference_in_semantic_columns_only(studies, make_scale, made_up, published):
    scale = make_scale(roles={"flickr30k": "flickr30k"}, features={"extractor": "vgg19"})
    frame = made_up(runs_of_scale(studies, scale).values())
    for phi in ("spice", "cider"):
        study = with_print_beside_our_row(studies["five_sentences"], phi)
        table = build_table("five_sentences", "table2", study, scale, frame, published)
        for column, cell in zip(table.columns, table.groups[0].rows[0].cells, strict=True):
            printed = column.keys["ground_truth"] != "removed"  # Table 2 does not print those
            assert (cell.published is not None) == printed
            assert (cell.difference is not None) == (printed and (phi == "cider" or not column.keys["phi"]))


def test_print_is_never_read_as_another_formula(studies, make_scale, made_up, published):
    scale = make_scale(roles={"flickr30k": "flickr30k"}, features={"extractor": "vgg19"})
    content = with_print_beside_our_row(studies["five_sentences"], "cider").model_dump()
    content["tables"]["table2"]["columns"] = [{"metric": "Nsum", "formula": "paper"}]
    frame = made_up(runs_of_scale(studies, scale).values())
    table = build_table("five_sentences", "table2", Study.model_validate(content), scale, frame, published)
    assert table.groups[0].rows[0].cells[0].published is None


def test_printed_rows_join_the_group_of_their_role_and_fraction(table2):
    assert [(group.keys["role"], group.keys["fraction"]) for group in table2.groups] == [
        ("flickr30k", 0.1),
        ("flickr30k", 0.25),
    ]
    printed = [[row.printed for row in group.rows if row.kind == "print"] for group in table2.groups]
    assert printed == [["1", "2", "3", "4"], ["5", "6", "7", "8"]]
    first = next(row for row in table2.groups[0].rows if row.kind == "print")
    assert [cell.published for cell in first.cells[:7]] == [13.0, 16.2, 23.9, 12.5, 30.9, 42.2, 138.7]
    assert all(cell.value is None and cell.difference is None for cell in first.cells)


def test_notes_say_what_is_missing_and_what_was_used(studies, make_scale, frame, published):
    scale = make_scale(leave_out={"losses": ["sam_released_random"], "fractions": [0.25]})
    table = build_table("five_sentences", "table2", studies["five_sentences"], scale, frame, published)
    notes = "\n".join(table.notes)
    for part in (
        "No dataset plays the role of MS-COCO at the scale tiny: its 128 rows are left out.",
        "to save time: SAM τ = 10, random, released.",
        "Training fractions left out at the scale tiny to save time: 25%.",
        "Mean ± sample standard deviation over 3 seeds (0, 1, 2).",
        "Equal scores are ordered by index, lower first.",
        "CIDEr as φ, released formula; print evaluates with SPICE",
        "Scenes plays the role of Flickr30K, with 1,000 test images and 5,000 captions",
        "unusually flat",
    ):
        assert part in notes
    assert len(table.groups) == 1


def test_headings_name_the_phi(table2):
    assert table2.columns[7].headings[0] == "Normalised cumulative semantic score (CIDEr)"
    assert table2.columns[7].label == "N@1 (CIDEr) i2t"
    assert table2.columns[-1].label == "Nsum (own removed) (CIDEr)"


def test_the_best_of_a_group_is_the_largest_mean_or_the_smallest_rank(knn_at_paper):
    rows = knn_at_paper.groups[0].rows
    for index, column in enumerate(knn_at_paper.columns):
        shown = [round(row.cells[index].value, 1) for row in rows]
        top = (min if "r" in column.keys["metric"].split() else max)(shown)
        assert [row.cells[index].best for row in rows] == [value == top for value in shown]


def test_a_scale_that_plays_no_role_gives_a_table_without_rows(studies, make_scale, frame, published):
    scale = make_scale(roles={})
    table = build_table("knn_margin", "table1", studies["knn_margin"], scale, frame, published)
    assert table.groups == ()
    assert any("No dataset plays the role of Flickr30K" in note for note in table.notes)


def test_a_missing_value_names_run_and_metric(studies, scale, frame, published):
    gone = frame[~((frame["metric"] == "Med r") & (frame["seed"] == 2) & frame["loss"].str.contains("triplet=5"))]
    with pytest.raises(InputError, match=r"the run 'scenes/vsepp/triplet=5,.*seed=2' has no value of Med r i2t"):
        build_table("knn_margin", "table1", studies["knn_margin"], scale, gone, published)


def test_an_unknown_printed_row_names_the_study(studies, scale, frame, published):
    content = studies["knn_margin"].model_dump()
    content["tables"]["table1"]["rows"][0]["published"] = "7.7"
    with pytest.raises(InputError, match=r"knn_margin: tables.table1 names the printed row '7.7'"):
        build_table("knn_margin", "table1", Study.model_validate(content), scale, frame, published)


def test_a_stored_table_is_read_back_equal(table2, tmp_path):
    table2.write(tmp_path / "t.json")
    assert Table.read(tmp_path / "t.json") == table2
    (tmp_path / "bad.json").write_text('{"study": "x"}', encoding="utf-8")
    with pytest.raises(InputError, match="not a table"):
        Table.read(tmp_path / "bad.json")


def test_the_tidy_form_has_one_line_a_cell(table2):
    cells = sum(len(row.cells) for group in table2.groups for row in group.rows)
    assert len(table2.tidy()) == cells


def paper_roles(make_scale, **changes):
    """A scale at which every printed row can have one of ours."""
    roles = {"flickr30k": "flickr30k", "coco": "coco"}
    further = {"resnet152": {"extractor": "resnet152"}}
    phis = ["tfidf", "bleu_daa", "rouge_daa", "tfidf+bleu_daa+rouge_daa"]
    one_seed = {"roles": roles, "further_features": further, "evaluation_phis": phis, "seeds": [0], "keep": None}
    return make_scale(**one_seed | {"training": {"epochs": 1}} | changes)


@pytest.mark.parametrize(
    ("study", "table"),
    [
        *(("five_sentences", f"table{number}") for number in (2, 3, 4, 5)),
        *(("knn_margin", f"table{number}") for number in (1, 2)),
        *(("daa_supp", f"table{number}") for number in (1, 2)),
    ],
)
def test_every_printed_number_stands_in_its_table(studies, make_scale, made_up, published, study, table):
    scale = paper_roles(make_scale)
    runs = [run for row in expand_rows(studies[study].tables[table].rows, studies[study], scale) for run in row.runs]
    built = build_table(
        study, table, studies[study], scale, made_up({run.name: run for run in runs}.values()), published
    )
    shown = {
        (row.printed, column.keys["direction"], cell.published)
        for group in built.groups
        for row in group.rows
        for column, cell in zip(built.columns, row.cells, strict=True)
        if cell.published is not None
    }
    file = published / f"{studies[study].tables[table].published}.csv"
    # daa_supp's Table 2 prints each row for two galleries, of which each of our roles has one.
    for line in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        if line["value"]:
            found = {key for key in shown if key[0].split(" ")[0] == line["row"]}
            assert (line["direction"], float(line["value"])) in {key[1:] for key in found}, line


def test_print_stands_in_place_of_a_row_that_the_scale_does_not_make(studies, make_scale, made_up, published):
    keep = [{"model": "cvse", "loss": "hardest"}, {"model": "vsepp", "fraction": 0.1, "loss": "hardest"}]
    scale = make_scale(keep=keep, training={"epochs": 1})
    frame = made_up(runs_of_scale({"five_sentences": studies["five_sentences"]}, scale).values())
    table = build_table("five_sentences", "table2", studies["five_sentences"], scale, frame, published)
    rows = [[(row.kind, row.printed) for row in group.rows] for group in table.groups]
    assert rows[0] == [("ours", "1"), ("ours", ""), ("print", "2"), ("print", "3"), ("print", "4")]
    assert rows[1] == [("ours", "5"), ("print", "6"), ("print", "7"), ("print", "8")]
    note = next(note for note in table.notes if "complete" in note)
    assert note.startswith(
        "3 of 176 rows are made at the scale tiny to save time; the target “complete” makes the others"
    )
    assert "CVSE: 15 of 16 rows at 10% and 25% · SGR: every row at 10% and 25%" in note


def test_an_ensemble_is_a_row_and_the_notes_say_of_what(studies, make_scale, made_up, published):
    keep = [{"model": ["sgraf", "vsrn_two", "saf"], "loss": "hardest"}]
    scale = make_scale(keep=keep, training={"epochs": 1})
    study = studies["five_sentences"]
    runs = {run.name: run for row in expand_rows(study.tables["table3"].rows, study, scale) for run in row.runs}
    table = build_table("five_sentences", "table3", study, scale, made_up(runs.values()), published)
    ours = [row.labels for row in table.groups[0].rows if row.kind == "ours"]
    assert [labels[0] for labels in ours] == ["SAF", "SGRAF", "VSRN (two)"]
    notes = "\n".join(table.notes)
    assert "SGRAF: the mean of the similarities of SGR and SAF, each trained by itself." in notes
    assert "VSRN and VSRN, each trained by itself, with different seeds." in notes


def test_captions_an_image_make_groups_and_print_joins_its_own(studies, make_scale, made_up, published):
    study = studies["daa_supp"]
    phis = {"evaluation_phi": "tfidf"}
    keep = [{"model": "sgr", "loss": ["hardest", "daa10_released_tfidf"], "captions_per_image": [2, "all"]}]
    scale = make_scale(keep=keep, training={"epochs": 1}, studies=["daa_supp"], **phis)
    frame = made_up(runs_of_scale({"daa_supp": study}, scale).values(), phi="cider")
    table = build_table("daa_supp", "table2", study, scale, frame, published)
    assert [group.title.split(", ")[1] for group in table.groups] == [
        "2 captions of each training image",
        "all training captions",
    ]
    printed = [row.printed for group in table.groups for row in group.rows if row.printed]
    assert printed == ["3 1K test", "4 1K test", "9 1K test", "10 1K test"]
    assert table.groups[0].keys["captions_per_image"] == 2


def test_notes_say_which_rows_have_which_seeds(studies, make_scale, made_up, published):
    def notes(keep, other_seeds):
        scale = make_scale(seeds=[0], other_seeds=other_seeds, keep=keep, training={"epochs": 1})
        frame = made_up(runs_of_scale({"f": studies["five_sentences"]}, scale).values())
        table = build_table("f", "table2", studies["five_sentences"], scale, frame, published)
        return [note for note in table.notes if "seed" in note]

    both = [{"model": ["vsepp", "sgr"], "loss": ["hardest", "fixed_random"]}]
    assert notes(both, [{"fraction": 0.1, "seeds": [0, 1]}]) == [
        "Mean ± sample standard deviation over 2 seeds (0, 1) at 10%.",
        "One seed (0) at 25%, so no spread is known.",
    ]
    assert notes(both, [{"model": "sgr", "seeds": [0, 1]}])[0].endswith("2 seeds (0, 1) for SGR.")
    mixed = notes(both, [{"model": "sgr", "fraction": 0.1, "seeds": [0, 1]}])
    assert mixed[0].endswith("2 seeds (0, 1) for SGR at 10%.")
    assert mixed[1] == "One seed (0) for all other rows, so no spread is known."
    by_loss = notes(both, [{"loss": "fixed_random", "seeds": [0, 1]}])
    assert by_loss[0].endswith("2 seeds (0, 1) where a spread is shown.")
    assert by_loss[1] == "One seed (0) in the other rows, so no spread is known."
