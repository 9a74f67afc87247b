from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.reproduction.paper.numbers.results import Measure
from fivesentences.reproduction.paper.tables.table import Table
from fivesentences.reproduction.study.expand import expand_rows

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


def rows_of(table, kind="ours"):
    return [row for group in table.groups for row in group.rows if row.kind == kind]


def cells_of(table):
    return [cell for row in rows_of(table) for cell in row.cells]


def notes_of(table, word=""):
    return "\n".join(note for note in table.notes if word in note)


@pytest.mark.slow
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


def scale_with_regions(make_scale, own, folder="data/f30k_precomp"):
    """SGR on Flickr30K, on released regions of a folder, or on others."""
    regions = {"folder": folder, "prefix": "f30k"} if folder else None
    changes = PAPER | {"roles": {"flickr30k": "flickr30k"}}
    changes["datasets"] = {"flickr30k": {"loader": "karpathy", "regions": regions}}
    changes["grid_features"] = {"extractor": "bottom_up", "layout": "grid", "prepare": "as_stored"}
    changes["own_grid_features"] = {"extractor": "bottom_up", "layout": "regions", "prepare": "as_stored"} | own
    return make_scale(**changes, keep=[{"model": "sgr", "loss": "hardest"}], seeds=[0], evaluation_phi="spice")


@pytest.mark.parametrize(
    ("own", "folder", "owner"),
    [
        ({"weights": "w.pkl"}, "data/f30k_precomp", "released with SCAN"),
        ({"weights": "w.pkl"}, None, "our own.*bottom_up@w-regions36"),
        ({"weights": "caffe.pth", "flavour": "caffe"}, None, "our own.*bottom_up@caffe-regions36-caffe"),
    ],
)
def test_the_papers_regions_are_the_released_ones_and_ours_of_the_same_network_and_rule(
    build, make_scale, own, folder, owner
):
    table = build("five_sentences/table3", scale_with_regions(make_scale, own, folder), images=1000, phi="spice")
    (row,) = rows_of(table)
    assert any(cell.difference is not None for cell in row.cells) and row.same_data
    assert re.search(f"Regions of Flickr30K are .*{owner}", notes_of(table))
    published = notes_of(table, "differences are ours minus published")
    assert ("as here" in published) == (folder is not None)


@pytest.mark.parametrize(
    "own",
    [
        {"weights": "w.pkl", "regions": 50},
        {"weights": "w.pkl", "selection": "class_agnostic"},
        {"extractor": "faster_rcnn"},
    ],
)
def test_regions_of_another_number_rule_or_network_are_other_features(build, make_scale, own):
    table = build("five_sentences/table3", scale_with_regions(make_scale, own, None), images=1000, phi="spice")
    (row,) = rows_of(table)
    assert all(cell.difference is None for cell in row.cells) and not row.same_data
    assert "other features" in notes_of(table) and "Regions of" not in notes_of(table)


@pytest.mark.parametrize("kinds", [["vgg19*-global", "resnet*"], {"flickr30k": ["other", "vgg*"]}])
def test_a_study_may_accept_several_kinds_of_features_by_pattern(build, edited, make_scale, kinds):
    setting = {"dataset": "flickr30k", "features": kinds, "images": 1000}
    for accepted, other in ((kinds, False), (["bottom_up*"], True)):
        study = edited("knn_margin/table1", published_setting=setting | {"features": accepted})
        table = build("knn_margin/table1", make_scale(**PAPER), study=study)
        assert ("other features" in notes_of(table)) == other


def matrix(**changes):
    """A matrix of others beside SGR in Table 3."""
    row = {"exhibit": "five_sentences/table3", "published": "5"}
    return {"name": "sgr_theirs", "title": "SGR", "role": "flickr30k", "similarity": "s.npy", "rows": [row]} | changes


@pytest.mark.parametrize(
    ("features", "differs"), [(None, False), ("bottom_up-grid", False), ("bottom_up@w-regions36", False), ("vit", True)]
)
def test_a_matrix_of_others_is_a_row_with_differences_unless_its_features_are_other_ones(
    build, make_scale, features, differs
):
    roles = {"roles": {"flickr30k": "flickr30k"}}
    scale = make_scale(
        **(PAPER | roles), matrices_of_others=[matrix(features=features)], keep=[], evaluation_phi="spice"
    )
    table = build("five_sentences/table3", scale, images=1000, phi="spice")
    (row,) = rows_of(table)
    assert row.labels[:2] == ("SGR (matrix of others)", "as given") and row.published_row == "5"
    assert all(cell.published is not None for cell in row.cells if cell.difference is not None)
    assert any(cell.difference is not None for cell in row.cells) != differs and row.same_data != differs
    assert ("other features" in notes_of(table)) == differs
    assert "SGR (matrix of others): its similarity is a file that was made elsewhere" in notes_of(table)
    # Nobody here chose a seed, or took features from a folder.
    assert "seed" not in notes_of(table) and "Regions of" not in notes_of(table)
    # The papers' own rows stay below it, and none of them is there twice.
    published = [row.published_row for row in rows_of(table, "published")]
    assert "1" in published and "5" not in published and len(published) == len(set(published))


def test_a_matrix_of_others_is_a_line_of_figure_3(build, make_scale):
    rows = [{"exhibit": "figure3"}]
    table = build("five_sentences/figure3", make_scale(matrices_of_others=[matrix(rows=rows)], keep=[]))
    assert set(table.data["model"]) == {"SGR (matrix of others)"} and table.data["mean"].notna().all()
    assert set(table.data["label"]) == {"SGR (matrix of others)"}


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


@pytest.mark.slow
def test_published_rows_stand_in_place_of_rows_whose_data_are_not_here_and_the_notes_say_what_brings_them(
    build, make_scale, studies
):
    grid = {"extractor": "grid_descriptors", "layout": "grid"}
    absent = {"part": "features", "name": "scenes", "features": "grid_descriptors-grid", "how": ["Fetch the regions."]}
    scale = make_scale(keep=None, grid_features=grid, absent_data=[absent])
    table = build("five_sentences/table2", scale)
    assert {row.labels[0] for row in rows_of(table)} == {"VSE++"}  # it reads no regions
    assert {"1", "2", "3", "4"} <= {row.published_row for row in rows_of(table, "published")}
    (note,) = (note for note in table.notes if "Fetch" in note)
    rows = expand_rows(studies["five_sentences"].exhibit("table2").row_specs(), studies["five_sentences"], scale)
    count = sum(row.left_out == "absent" for row in rows)
    assert note == f"{count} rows with features grid_descriptors-grid of Scenes are left out: Fetch the regions."


def test_a_role_without_data_is_noted_with_what_brings_them(build, make_scale):
    absent = {"part": "dataset", "name": "mine", "roles": ["coco"], "how": ["Fetch it."]}
    table = build("five_sentences/table2", make_scale(absent_data=[absent]))
    assert notes_of(table, "has no data for MS-COCO").endswith("All of mine is left out: Fetch it.")


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


def test_a_stored_table_is_read_back_equal(table2, tmp_path):
    table2.write(tmp_path / "t.json")
    assert Table.read(tmp_path / "t.json") == table2


# --- inference methods, hubs, several phi and labels ------------------------------------------------------------------


def test_published_features_may_differ_by_row(build, make_scale):
    table = build("knn_margin/table4", make_scale(**PAPER, further_features={"resnet152": {"extractor": "resnet101"}}))
    differences = {
        group.keys["role"]: [cell.difference for row in group.rows for cell in row.cells if cell.published is not None]
        for group in table.groups
    }
    assert all(value is not None for value in differences["flickr30k"])  # VGG19, as in the paper
    assert differences["coco"] and all(value is None for value in differences["coco"])  # the paper has ResNet152 there
    assert "other features" in notes_of(table, "resnet152.tv_in1k-global") != notes_of(table, "vgg19.tv_in1k-global")


@pytest.mark.parametrize("labels", [True, False])
def test_without_labels_pmrp_is_a_dash_and_the_notes_say_so(build, make_scale, labels):
    table = build("daa_supp/table1", make_scale(evaluation_phis=PHIS), labels=labels)
    place = next(index for index, column in enumerate(table.columns) if column.keys["metric"] == "PMRP")
    for row in rows_of(table):
        assert (row.cells[place].value is not None) == (table.lines(row)[0].cells[place] != "–") == labels
    assert ("No PMRP for Scenes" in notes_of(table)) != labels


def test_the_note_names_the_setting_that_dev_prefers_in_each_group(build, edited, make_scale):
    losses = ["sum", "max", "knn3"]
    rows = [{"role": "flickr30k", "model": "vsepp", "fraction": fraction, "loss": losses} for fraction in (0.1, 1.0)]
    study = edited("knn_margin/table1", rows=rows, chosen_on_dev=[losses], also_published=[], published=None)
    best = {0.1: "triplet=hardest,margin=0.2", 1.0: "triplet=3,margin=0.2"}

    def with_dev(frame):
        wanted = frame["fraction"].map(best)
        return frame.assign(dev_Rsum=np.where(frame["loss"].eq(wanted), 90.0, 80.0) + frame["seed"])

    notes = notes_of(build("knn_margin/table1", make_scale(), with_dev, study=study), "Chosen on dev")
    first, second = notes.splitlines()
    assert "10% of the training captions: max margin" in first and "91.0" in first  # seeds 0, 1 and 2
    assert "all training captions: kNN margin, k = 3" in second


def test_shares_of_wrong_pairs_make_groups(build, edited, make_scale):
    rows = [{"role": "flickr30k", "model": "vsepp", "noise": [0.0, 0.2], "loss": ["sum", "max"]}]
    study = edited("knn_margin/table1", rows=rows, also_published=[], published=None)
    table = build("knn_margin/table1", make_scale(), study=study)
    assert [group.title.rpartition(", ")[2] for group in table.groups] == ["0% wrong pairs", "20% wrong pairs"]
    assert [group.keys["noise"] for group in table.groups] == [0.0, 0.2]
