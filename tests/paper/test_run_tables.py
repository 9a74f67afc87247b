from __future__ import annotations

import csv

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.paper.numbers.results import Measure
from fivesentences.paper.tables.table import Table

PHIS = ["tfidf", "bleu_daa", "rouge_daa", "tfidf+bleu_daa+rouge_daa"]
# The data of the papers: a difference may be taken there, with the right features.
PAPER = {
    "roles": {"flickr30k": "flickr30k", "coco": "coco"},
    "datasets": {name: {"loader": "karpathy"} for name in ("flickr30k", "coco")},
    "features": {"extractor": "vgg19", "weights": "vgg19.tv_in1k"},
    "training": {"epochs": 3},
}


@pytest.fixture(scope="module")
def table2(build, scale) -> Table:
    return build("five_sentences/table2", scale)


@pytest.fixture(scope="module")
def knn_at_paper(build, make_scale) -> Table:
    return build("knn_margin/table1", make_scale(**PAPER))


def rows_of(table, kind="ours"):
    return [row for group in table.groups for row in group.rows if row.kind == kind]


def cells_of(table):
    return [cell for row in rows_of(table) for cell in row.cells]


def notes_of(table, word=""):
    return "\n".join(note for note in table.notes if word in note)


def test_mean_and_spread_are_numpys_over_seeds(table2, build, scale):
    frames = []
    build("five_sentences/table2", scale, lambda frame: frames.append(frame) or frame)
    frame = frames[0]
    runs = frame[frame["loss"].eq("triplet=hardest,margin=0.2") & frame["fraction"].eq(0.1)]
    runs = runs[runs["inference"] == "naive"]
    for column, cell in zip(table2.columns, table2.groups[0].rows[0].cells, strict=True):
        measure = Measure(**column.keys)
        chosen = runs[(runs["metric"] == measure.metric) & (runs["direction"] == measure.direction)]
        chosen = chosen[(chosen["formula"] == measure.formula) & (chosen["ground_truth"] == measure.ground_truth)]
        assert len(chosen) == cell.count == 3
        assert cell.value == pytest.approx(np.mean(chosen["value"]), abs=1e-12)
        assert cell.spread == pytest.approx(np.std(chosen["value"], ddof=1), abs=1e-12)


def test_one_seed_has_no_spread_and_the_notes_say_so(build, make_scale):
    table = build("five_sentences/table2", make_scale(seeds=[1]))
    assert all(cell.spread is None for cell in cells_of(table)) and not any(table.widest_beside)
    assert "One seed (1)" in notes_of(table)


def test_the_published_number_stands_beside_ours(knn_at_paper, root):
    lines = (root / "config/published/knn_margin_table1.csv").read_text(encoding="utf-8").splitlines()
    for fields in (line.split(",") for line in lines[1:]):
        row = next(row for row in rows_of(knn_at_paper) if row.published_row == fields[2])
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
        ({"roles": {"flickr30k": "coco"}}, 1000, "dataset"),
        ({"features": {"extractor": "vgg19"}}, 1000, "features"),
        ({}, 999, "gallery size"),
        ({"roles": {"flickr30k": "coco"}, "features": {"extractor": "r"}}, 7, "dataset, features and gallery size"),
    ],
)
def test_no_difference_is_taken_on_other_data(build, make_scale, changes, images, differs):
    table = build("knn_margin/table1", make_scale(**(PAPER | changes)), images=images)
    assert all(cell.published is not None and cell.difference is None for cell in cells_of(table))
    assert not any(row.same_data for row in rows_of(table))
    assert f"other {differs}" in notes_of(table)


@pytest.mark.parametrize(
    ("phi", "columns", "published", "compared"),
    [
        ("spice", None, lambda keys: keys["ground_truth"] != "removed", lambda keys: not keys["phi"]),
        ("cider", None, lambda keys: keys["ground_truth"] != "removed", lambda keys: True),
        ("cider", [{"metric": "Nsum", "formula": "paper"}], lambda keys: False, None),
        ("cider", [{"metric": "Nsum", "published": False}], lambda keys: False, None),
    ],
)
def test_a_published_number_is_never_taken_for_another_phi_or_formula(
    build, edited, make_scale, phi, columns, published, compared
):
    # Table 2 with one row of ours, as if it were CVSE, beside a published one.
    rows = [{"role": "flickr30k", "fraction": 0.1, "loss": "hardest", "published": "1"}]
    setting = {"dataset": "flickr30k", "features": "vgg19.tv_in1k-global", "images": 1000, "phi": phi}
    more = {} if columns is None else {"columns": columns}
    study = edited("five_sentences/table2", rows=rows, published_setting=setting, **more)
    table = build("five_sentences/table2", make_scale(**PAPER), study=study)
    for column, cell in zip(table.columns, table.groups[0].rows[0].cells, strict=True):
        assert (cell.published is not None) == published(column.keys)
        assert (cell.difference is not None) == (published(column.keys) and compared(column.keys))


def test_published_rows_join_the_group_of_their_role_and_fraction(table2):
    keys = [(group.keys["role"], group.keys["fraction"]) for group in table2.groups]
    assert keys == [("flickr30k", 0.1), ("flickr30k", 0.25)]
    published = [[row.published_row for row in group.rows if row.kind == "published"] for group in table2.groups]
    assert published == [["1", "2", "3", "4"], ["5", "6", "7", "8"]]
    first = rows_of(table2, "published")[0]
    assert [cell.published for cell in first.cells[:7]] == [13.0, 16.2, 23.9, 12.5, 30.9, 42.2, 138.7]
    assert all(cell.value is None and cell.difference is None for cell in first.cells)


def test_notes_say_what_is_missing_and_what_was_used(build, make_scale):
    scale = make_scale(leave_out={"losses": ["sam_released_random"], "fractions": [0.25]})
    table = build("five_sentences/table2", scale)
    for part in (
        "the role of MS-COCO at the scale tiny: its 136 rows",
        "tiny to save time: SAM τ = 10, random, released",
        "tiny to save time: 25%",
        "3 seeds (0, 1, 2).",
        "by index, lower first",
        "CIDEr as φ, released formula; the paper evaluates with SPICE",
        "the role of Flickr30K, with 1,000 test images and 5,000 captions",
        "(CVSE, CVSE+SAM, SGR, SGR+SAM) are the paper’s (Flickr30K 1K test, bottom_up-grid",
    ):
        assert part in notes_of(table)
    assert len(table.groups) == 1


def test_a_missing_value_names_run_and_metric(build, scale):
    def lose(frame):
        return frame[~((frame["metric"] == "Med r") & (frame["seed"] == 2) & frame["loss"].str.contains("triplet=5"))]

    with pytest.raises(InputError, match=r"'scenes/vsepp/triplet=5,.*seed=2'.* Med r i2t"):
        build("knn_margin/table1", scale, lose)


@pytest.mark.parametrize(
    "settings", [{"rows": [{"role": "flickr30k", "loss": "sum", "published": "7.7"}]}, {"also_published": ["7.7"]}]
)
def test_an_unknown_published_row_names_the_study(build, edited, scale, settings):
    with pytest.raises(InputError, match=r"knn_margin: table1 .*'7\.7'"):
        build("knn_margin/table1", scale, study=edited("knn_margin/table1", **settings))


@pytest.mark.parametrize(
    ("study", "table"),
    [
        *(("five_sentences", f"table{number}") for number in (2, 3, 4, 5)),
        *(("knn_margin", f"table{number}") for number in (1, 2)),
        *(("daa_supp", f"table{number}") for number in (1, 2)),
    ],
)
def test_every_published_number_stands_in_its_table(build, edited, make_scale, root, studies, study, table):
    # Every published row can have one of ours at this scale; other rows of ours take time only.
    further = {"further_features": {"resnet152": {"extractor": "resnet152"}}, "evaluation_phis": PHIS}
    rows = [row.model_dump() for row in studies[study].exhibit(table).rows if row.published]
    scale = make_scale(**PAPER, **further, seeds=[0], keep=None)
    built = build(f"{study}/{table}", scale, study=edited(f"{study}/{table}", rows=rows))
    shown = {
        (row.published_row.split(" ")[0], column.keys["direction"], cell.published)
        for group in built.groups
        for row in group.rows
        for column, cell in zip(built.columns, row.cells, strict=True)
    }
    file = root / "config/published" / f"{studies[study].exhibit(table).published}.csv"
    # daa_supp's Table 2 gives each row for two galleries, of which each of our roles has one.
    for line in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        if line["value"]:
            assert (line["row"], line["direction"], float(line["value"])) in shown, line


def test_published_rows_stand_in_place_of_rows_that_the_scale_does_not_make(build, make_scale):
    keep = [{"model": "cvse", "loss": "hardest"}, {"model": "vsepp", "fraction": 0.1, "loss": "hardest"}]
    table = build("five_sentences/table2", make_scale(keep=keep))
    rows = [[(row.kind, row.published_row) for row in group.rows] for group in table.groups]
    assert rows[0] == [("ours", "1"), ("ours", ""), ("published", "2"), ("published", "3"), ("published", "4")]
    assert rows[1] == [("ours", "5"), ("published", "6"), ("published", "7"), ("published", "8")]
    note = notes_of(table, "complete")
    assert note.startswith("3 of 176 rows") and "CVSE: 30, SGR: 32" in note


def test_an_ensemble_is_a_row_and_the_notes_say_of_what(build, make_scale):
    keep = [{"model": ["sgraf", "vsrn_two", "saf"], "loss": "hardest"}]
    table = build("five_sentences/table3", make_scale(keep=keep))
    assert [row.labels[0] for row in rows_of(table)] == ["SAF", "SGRAF", "VSRN (two)"]
    assert "SGR and SAF" in notes_of(table, "SGRAF") and "different seeds" in notes_of(table, "VSRN and VSRN")


def test_captions_per_image_make_groups_and_published_rows_join_their_own(build, make_scale):
    keep = [{"model": "sgr", "loss": ["hardest", "daa10_released_tfidf"], "captions_per_image": [2, "all"]}]
    table = build("daa_supp/table2", make_scale(keep=keep, evaluation_phi="tfidf"))
    parts = [group.title.split(", ")[1] for group in table.groups]
    assert parts == ["2 captions of each training image", "all training captions"]
    # The paper's rows are of MS-COCO, which nobody plays here: each stands below ours with as many captions.
    published = [row.published_row for group in table.groups for row in group.rows if row.published_row]
    assert published == ["3 1K test", "4 1K test", "9 1K test", "10 1K test"]


@pytest.mark.parametrize(
    ("cells", "where"),
    [
        ({"fraction": 0.1}, ["for 10%", "for 25%"]),
        ({"model": "sgr"}, ["in 4 of 8 rows", "in 4 of 8 rows"]),
        ({"model": "sgr", "fraction": 0.1}, ["in 2 of 8 rows", "in 6 of 8 rows"]),
    ],
)
def test_notes_say_which_rows_have_which_seeds(build, make_scale, cells, where):
    keep = [{"model": ["vsepp", "sgr"], "loss": ["hardest", "averaged_random"]}]
    scale = make_scale(seeds=[0], other_seeds=[cells | {"seeds": [0, 1]}], keep=keep, training={"epochs": 1})
    notes = notes_of(build("five_sentences/table2", scale), " seed")
    assert f"2 seeds (0, 1) {where[0]}" in notes and f"One seed (0) {where[1]}" in notes


def test_a_stored_table_is_read_back_equal(table2, tmp_path):
    table2.write(tmp_path / "t.json")
    assert Table.read(tmp_path / "t.json") == table2


# --- inference methods, hubs, several phi and labels ------------------------------------------------------------------


def test_every_inference_method_is_a_line_with_its_own_numbers(build, make_scale):
    table = build("knn_margin/table4", make_scale(leave_out={"inferences": ["assignment"]}))
    rows = table.groups[0].rows
    assert [row.keys["inference"] for row in rows if row.kind == "ours"] == ["naive", "inverted_softmax", "csls"] * 3
    assert len({row.cells[0].value for row in rows}) == len(rows)
    assert rows[1].labels == ("GRU + global image vector", "sum margin (all negatives)", "inverted softmax")
    assert [(row.published_row, row.cells[0].published) for row in rows[6:8]] == [("3.1", 34.1), ("3.2", 36.0)]
    assert "Inverted softmax and CSLS" in notes_of(table) and "to save time: assignment" in notes_of(table)


def test_published_features_may_differ_by_row(build, make_scale):
    table = build("knn_margin/table4", make_scale(**PAPER, further_features={"resnet152": {"extractor": "resnet101"}}))
    differences = {
        group.keys["role"]: [cell.difference for row in group.rows for cell in row.cells if cell.published is not None]
        for group in table.groups
    }
    assert all(value is not None for value in differences["flickr30k"])  # VGG19, as in the paper
    assert differences["coco"] and all(value is None for value in differences["coco"])  # the paper has ResNet152 there
    assert "other features" in notes_of(table, "resnet152.tv_in1k-global") != notes_of(table, "vgg19.tv_in1k-global")


def test_of_hubs_the_smaller_are_the_better_of_classes_between_none_and_published_rows_are_columns(build, scale):
    table = build("knn_margin/table5", scale)
    rows = table.groups[0].rows
    assert [cell.published for cell in rows[0].cells] == [
        79.2,
        4.1,
        16.7,
        12.0,
        2.0,
        *[None] * (len(table.columns) - 5),
    ]
    shown = table.lines(rows[0])[0].cells
    for index, metric in enumerate(column.keys["metric"].removeprefix("hubs ") for column in table.columns):
        digits = 2 if metric in ("skewness", "Gini") else 1
        assert len(shown[index].text.partition(".")[2]) == len(shown[index].beside.partition(".")[2]) == digits
        values = [round(row.cells[index].value, digits) for row in rows]
        best = [value == min(values) and metric in ("0", "max", "skewness", "Gini") for value in values]
        assert [row.cells[index].best for row in rows] == best, metric


def test_every_phi_is_a_column_beside_what_the_paper_calls_it(build, make_scale):
    table = build("daa_supp/table1", make_scale(evaluation_phis=PHIS))
    asp = [column.keys for column in table.columns if column.keys["metric"] == "ASP"]
    assert {keys["phi"] for keys in asp} == {"cider", *PHIS} and {keys["formula"] for keys in asp} == {"index"}
    published = rows_of(table, "published")
    assert [cell.published for cell in published[0].cells] == [
        77.2, 53.9, 53.0, 52.6, 53.3, None, None, 61.9, 54.6, 53.5, 52.6, 53.3, None, None,
    ]  # fmt: skip
    assert not published[0].same_data  # Scenes in the role of Flickr30K, MS-COCO in the paper
    labels = [row.labels[0] for row in published]  # this scale trains VSE++ only
    assert labels == ["SGR", *(f"SGR+DAA ({phi})" for phi in ("CIDEr", "BLEU", "ROUGE"))]
    table = build("daa_supp/table1", make_scale(evaluation_phis=["tfidf"]))
    assert {column.keys["phi"] for column in table.columns if column.keys["metric"] == "ASP"} == {"cider", "tfidf"}
    assert ": BLEU, ROUGE, mean" in notes_of(table)


@pytest.mark.parametrize("labels", [True, False])
def test_without_labels_pmrp_is_a_dash_and_the_notes_say_so(build, make_scale, labels):
    table = build("daa_supp/table1", make_scale(evaluation_phis=PHIS), labels=labels)
    place = next(index for index, column in enumerate(table.columns) if column.keys["metric"] == "PMRP")
    for row in rows_of(table):
        assert (row.cells[place].value is not None) == (table.lines(row)[0].cells[place].text != "–") == labels
    assert ("No PMRP for Scenes" in notes_of(table)) != labels
