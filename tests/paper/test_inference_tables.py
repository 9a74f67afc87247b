"""Tables with inference methods, several phi, hubs and labels."""

from __future__ import annotations

import pytest

from fivesentences.paper.tables.runs import build_table
from fivesentences.paper.tables.writing import csv, latex, markdown
from fivesentences.plan.asked import labels_are_asked, matrices_of, single_phis
from fivesentences.plan.rows import runs_of_scale
from fivesentences.plan.studies import Study

PHIS = ["tfidf", "bleu_daa", "rouge_daa", "tfidf+bleu_daa+rouge_daa"]


@pytest.fixture
def build(studies, made_up, published):
    """Build a table of a study at a scale from made-up results."""

    def built(study, name, scale, **options):
        frame = made_up(runs_of_scale(studies, scale).values(), **options)
        return build_table(study, name, studies[study], scale, frame, published)

    return built


def test_every_inference_method_is_a_line_with_its_own_numbers(build, scale):
    table = build("knn_margin", "table4", scale)
    assert table.stub == ("Model", "Training", "Inference")
    rows = table.groups[0].rows
    assert [row.keys["inference"] for row in rows] == ["naive", "inverted_softmax", "csls", "assignment"] * 3
    assert len({row.cells[0].value for row in rows}) == len(rows)
    assert rows[1].labels == ("GRU + global image vector", "sum margin (all negatives)", "inverted softmax")
    assert [row.printed for row in rows[8:11]] == ["3.1", "3.2", "3.3"]
    assert rows[9].cells[0].published == 36.0 and rows[10].cells[5].published == 26.7
    assert "inference" in csv(table).splitlines()[0].split(",")


def test_notes_name_the_methods_that_need_all_queries(build, scale, make_scale):
    notes = " ".join(build("knn_margin", "table4", scale).notes)
    assert "Inverted softmax, CSLS and assignment: the similarities of the same trained runs, re-scored." in notes
    assert "Transductive" in notes and "β = 30" in notes
    assert "Transductive" not in " ".join(build("knn_margin", "table1", scale).notes)
    without = make_scale(leave_out={"inferences": ["assignment"]})
    notes = " ".join(build("knn_margin", "table4", without).notes)
    assert "Inference methods left out at the scale tiny to save time: assignment." in notes


def test_features_in_print_may_differ_by_row(build, make_scale):
    roles = {"roles": {"flickr30k": "flickr30k", "coco": "coco"}, "features": {"extractor": "vgg19"}}
    roles |= {"training": {"epochs": 3}, "further_features": {"resnet152": {"extractor": "resnet101"}}}
    table = build("knn_margin", "table4", make_scale(**roles))
    differences = {
        group.keys["role"]: [cell.difference for row in group.rows for cell in row.cells if cell.published is not None]
        for group in table.groups
    }
    assert all(value is not None for value in differences["flickr30k"])  # VGG19, as in print
    assert differences["coco"] and all(value is None for value in differences["coco"])  # print has ResNet152 there
    notes = " ".join(table.notes)
    assert "Flickr30K 1K test with vgg19-global features, as here" in notes
    assert "resnet152-global features. Not comparable: other features" in notes


def test_print_that_stands_the_other_way_round_is_found_by_column(build, scale):
    table = build("knn_margin", "table5", scale)
    first = table.groups[0].rows[0]
    assert [cell.published for cell in first.cells[:5]] == [79.2, 4.1, 16.7, 12.0, 2.0]
    assert all(cell.published is None for cell in first.cells[5:])
    assert not first.same_data and all(cell.difference is None for cell in first.cells)


def test_of_hubs_the_smaller_are_the_better_and_of_classes_between_none(build, scale):
    table = build("knn_margin", "table5", scale)
    marked = {
        column.keys["metric"]: [row.cells[index].value for row in table.groups[0].rows if row.cells[index].best]
        for index, column in enumerate(table.columns)
    }
    assert marked["hubs 1"] == marked["hubs >=2"] == marked["hubs >=5"] == marked["hubs >=10"] == []
    for index, column in enumerate(table.columns):
        if column.keys["metric"] in ("hubs 0", "hubs max"):
            values = [round(row.cells[index].value, 1) for row in table.groups[0].rows]
            assert [row.cells[index].best for row in table.groups[0].rows] == [value == min(values) for value in values]


def test_skewness_and_gini_have_two_decimals(build, scale):
    table = build("knn_margin", "table5", scale)
    shown = table.lines(table.groups[0].rows[0])[0].cells
    for column, cell in zip(table.columns, shown, strict=True):
        digits = 2 if column.keys["metric"] in ("hubs skewness", "hubs Gini") else 1
        assert len(cell.text.partition(".")[2]) == len(cell.beside.partition(".")[2]) == digits
    assert "N₁ skew t2i" in markdown(table) and "Gini" in latex(table)


def test_every_phi_is_a_column_beside_what_print_calls_it(build, make_scale):
    scale = make_scale(evaluation_phis=PHIS)
    table = build("daa_supp", "table1", scale)
    of_phi = {column.keys["phi"] for column in table.columns if column.keys["metric"] == "ASP"}
    assert of_phi == {"cider", *PHIS}
    assert all(column.keys["formula"] == "index" for column in table.columns if column.keys["metric"] == "ASP")
    printed = next(row for row in table.groups[0].rows if row.printed == "1")
    assert [cell.published for cell in printed.cells] == [
        77.2, 53.9, 53.0, 52.6, 53.3, None, None, 61.9, 54.6, 53.5, 52.6, 53.3, None, None,
    ]  # fmt: skip
    assert not printed.same_data  # Scenes in the role of Flickr30K, MS-COCO in print
    notes = " ".join(table.notes)
    assert "ordered by index" in notes and "missing transpose" in notes
    alone = [row.labels[0] for row in table.groups[0].rows if row.kind == "print"]
    assert alone == ["SGR", *(f"SGR+DAA ({phi})" for phi in ("CIDEr", "BLEU", "ROUGE"))]  # this scale trains VSE++ only


def test_columns_whose_phi_a_scale_does_not_use_are_left_out_and_said(build, make_scale):
    table = build("daa_supp", "table1", make_scale(evaluation_phis=["tfidf"]))
    assert {column.keys["phi"] for column in table.columns if column.keys["metric"] == "ASP"} == {"cider", "tfidf"}
    assert "does not evaluate with their φ: BLEU, ROUGE, mean." in " ".join(table.notes)


def test_without_labels_pmrp_is_a_dash_and_the_notes_say_so(build, make_scale):
    scale = make_scale(evaluation_phis=PHIS)
    with_labels = build("daa_supp", "table1", scale)
    table = build("daa_supp", "table1", scale, labels=False)
    place = next(index for index, column in enumerate(table.columns) if column.keys["metric"] == "PMRP")
    assert all(row.cells[place].value is not None for row in with_labels.groups[0].rows if row.kind == "ours")
    for row in table.groups[0].rows:
        if row.kind == "ours":
            assert row.cells[place].value is None and table.lines(row)[0].cells[place].text == "–"
    assert "No PMRP for Scenes, which has no labels." in table.notes


def test_matrices_are_made_of_every_part_of_a_mean(studies, make_scale):
    scale = make_scale(evaluation_phis=["tfidf+bleu_daa", "bleu_daa+rouge_daa", "cider"])
    assert single_phis(scale) == ["cider", "tfidf", "bleu_daa", "rouge_daa"]
    assert set(single_phis(scale)) <= set(matrices_of(studies, scale))


def test_labels_are_asked_only_where_a_table_shows_pmrp(studies, make_scale):
    assert labels_are_asked(studies, make_scale())
    assert not labels_are_asked(studies, make_scale(only=["table2", "figure3"]))
    assert labels_are_asked({"m": studies["metric_agreement"]}, make_scale())


def test_a_column_may_ask_for_a_further_phi_of_any_semantic_metric(studies, make_scale, made_up, published):
    content = studies["knn_margin"].model_dump()
    table = content["tables"]["table1"]
    table["columns"] = [{"metric": "Nsum"}, {"metric": "ASP", "direction": "i2t", "phi": "tfidf", "ties": "average"}]
    scale = make_scale(evaluation_phis=["tfidf"])
    frame = made_up(runs_of_scale(studies, scale).values())
    built = build_table("knn_margin", "table1", Study.model_validate(content), scale, frame, published)
    assert [column.keys["phi"] for column in built.columns] == ["cider", "tfidf"]
    assert "given the mean of their ranks" in " ".join(built.notes)
