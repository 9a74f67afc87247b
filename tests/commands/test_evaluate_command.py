"""`fivesentences evaluate`: the numbers of the library, by every option and from every form of input and output."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from fivesentences.evaluation import evaluate
from fivesentences.metrics import Positives, mean_phi, pick
from fivesentences.semantics import bleu_matrix, prepare
from fivesentences.semantics.scoring import matrix_of

RELEASED, BOTH, STYLES = ("released",), ("released", "paper"), ("recall", "vse_recall")


def content(path="out.json"):
    return json.loads(Path(path).read_text())


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("", {}),
        ("--no-asp --ks 1,7 --ms 2", {"asp_ties": (), "ks": (1, 7), "ms": (2,)}),
        (
            "--all",
            {"formulas": BOTH, "styles": STYLES, "weightings": ("hard", "soft"), "discounts": (None, "log"),
             "asp_ties": ("index", "average"), "hubness": True},
        ),
        ("--soft --discounted --ncs-ms 3,k", {"weightings": ("hard", "soft"), "discounts": (None, "log"),
                                               "ncs_ms": (3, None), "formulas": BOTH}),
        ("--hub-ks 1,4", {"hubness": True, "hub_ks": (1, 4)}),
        ("--dataset coco-1k-5fold", {"protocol": "coco-1k-5fold"}),
        ("--dataset coco-1k-first --ideal-pool given_rows", {"protocol": "coco-1k-first", "ideal_pool": "given_rows"}),
        ("--categories kinds.txt --map-cutoffs all,R,9", {"categories": np.arange(20) % 4,
                                                         "category_cutoffs": (None, "R", 9)}),
        ("--labels labels.npy", {"labels": np.eye(4)[np.arange(20) % 4]}),
    ],
)  # fmt: skip
def test_the_command_reports_what_the_library_computes(run, folder, words, options):
    Path("kinds.txt").write_text("".join(f"kind {number % 4}\n" for number in range(20)))
    np.save("labels.npy", np.eye(4)[np.arange(20) % 4])
    said = run("evaluate", "sims.npy", "--phi", "cider.npy", *words.split(), "--json", "out.json")
    assert said.code == 0
    wanted = evaluate(np.load("sims.npy"), {"cider": np.load("cider.npy")}, **options)
    assert content()["values"] == wanted.rows
    assert wanted.about.items() <= content().items()
    assert f"{wanted.value('R@1', 'i2t'):.2f}" in said.out
    assert "equal scores are ordered by index, lower first" in said.out


def test_a_table_is_written_in_every_form(run, folder):
    said = run(
        "evaluate", "sims.npy", "--phi", "mine=cider.npy", "--csv", "o.csv", "--json", "o.json", "--markdown", "o.md",
        "--latex", "o.tex", "--quiet",
    )  # fmt: skip
    assert (said.code, said.out, said.err) == (0, "", "")
    with Path("o.csv").open() as file:
        rows = list(csv.DictReader(file))
    about = content("o.json")
    assert [float(row["value"]) for row in rows] == pytest.approx([v["value"] for v in about["values"]])
    assert {row["phi"] for row in rows} == {"", "mine"}
    assert about["images"] == 20 and about["captions"] == 100 and about["tie_rule"]
    recall = next(v["value"] for v in about["values"] if v["metric"] == "R@1" and v["direction"] == "i2t")
    markdown = Path("o.md").read_text()
    assert re.search(rf"\| R@k \|.*\| {recall:.2f} \|", markdown)
    widths = {line.count("|") for line in markdown.split("\n\n")[1].splitlines()}
    assert len(widths) == 1  # every line has as many cells


def test_instances_and_pairs_that_are_named_by_ids_are_scored(run, folder):
    kind, owner = np.arange(20) % 4, np.arange(100) // 5
    for name, first, number in (("images", 1000, 20), ("captions_ids", 5000, 100)):
        Path(f"{name}.txt").write_text("".join(f"{first + at}\n" for at in range(number)))
    objects = [{"image_id": 1000 + i, "category_id": int(kind[i]) + 1, "iscrowd": 0} for i in range(20)]
    images, kinds = [{"id": 1000 + i} for i in range(20)], [{"id": number} for number in range(1, 91)]
    Path("instances.json").write_text(json.dumps({"images": images, "annotations": objects, "categories": kinds}))
    positive = (owner == np.arange(20)[:, None]) | (owner == (np.arange(20)[:, None] - 1) % 20)  # [images, captions]
    line = "COCO_val2014:sentid:{},COCO_val2014_{:012d}.jpg,{},m\n".format
    rated = [line(5000 + c, 1000 + i, 4.0 if positive[i, c] else 1.0) for c in range(100) for i in range(20)]
    Path("sits.csv").write_text("caption,image,agg_score,sampling_method\n" + "".join(rated))
    ids = ("--image-ids", "images.txt", "--caption-ids", "captions_ids.txt")
    said = run("evaluate", "sims.npy", "--instances", "instances.json", "--cxc", "sits.csv", *ids, "--json", "out.json")
    assert said.code == 0, said.err
    options = {"labels": np.eye(90)[kind], "positives": {"CxC": Positives.symmetric(positive)}}
    assert content()["values"] == evaluate(np.load("sims.npy"), **options).rows


def test_the_mean_of_several_phi_is_scored_too(run, folder):
    given = ("--phi", "cider.npy", "--captions", "captions.txt", "--metric", "bleu2", "--mean")
    said = run("evaluate", "sims.npy", *given, "--json", "out.json")
    assert said.code == 0 and "the mean of cider, bleu2, not scaled" in said.out
    bleu = bleu_matrix(Path("captions.txt").read_text().splitlines(), np.repeat(np.arange(20), 5), 2).astype(np.float32)
    wanted = evaluate(np.load("sims.npy"), {"mean": mean_phi([np.load("cider.npy"), bleu])})
    for direction in ("i2t", "t2i"):
        assert pick(content()["values"], "ASP", direction, phi="mean")["value"] == wanted.value("ASP", direction)


def test_captions_are_compared_by_cider_and_by_word_vectors_each_with_its_chance_level(run, folder):
    pytest.importorskip("wordllama")
    captions = Path("captions.txt").read_text().splitlines()
    words = matrix_of(scorer := prepare("embedding:wordllama", captions, np.arange(100) // 5), np.empty(scorer.shape))
    wanted = evaluate(np.load("sims.npy"), {"cider": np.load("cider.npy"), "embedding:wordllama": words})
    said = run("evaluate", "sims.npy", "--captions", "captions.txt", "--json", "out.json")
    assert said.code == 0
    for phi in ("cider", "embedding:wordllama"):
        where = {"phi": phi, "ground_truth": "removed"}
        found = pick(content()["values"], "NCS@5", "t2i", **where)
        assert found["value"] == pytest.approx(wanted.value("NCS@5", "t2i", **where), abs=1e-4)
        assert found["chance"] == pytest.approx(wanted.chance.value("NCS@5", "t2i", **where), abs=1e-4)


def test_phi_that_is_chosen_is_scored_alone(run, folder):
    for chosen, found in (
        ("--phi cider.npy", {"cider"}),
        ("--phi mine=cider.npy", {"mine", "cider"}),
        ("--metric bleu2", {"bleu2"}),
    ):
        run("evaluate", "sims.npy", "--captions", "captions.txt", *chosen.split(), "--no-asp", "--json", "out.json")
        assert {row["phi"] for row in content()["values"]} - {""} == found


def test_without_word_vectors_one_line_says_how_to_get_them_and_cider_goes_on(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    said = run("evaluate", "sims.npy", "--captions", "captions.txt", "--json", "out.json")
    assert said.code == 0 and {row["phi"] for row in content()["values"]} - {""} == {"cider"}
    assert sum('pip install ".[words]"' in line for line in said.out.splitlines()) == 1


def test_fractions_have_four_decimals_and_a_note(folder, run):
    Path("categories.txt").write_text("".join(f"{n % 4}\n" for n in range(20)))
    said = run("evaluate", "sims.npy", "--categories", "categories.txt", "--map-cutoffs", "all,R,50")
    lines = [line.split() for line in said.out.splitlines() if line[:3] in ("mAP", "R-P", "R@k")]
    assert [line[1] == "chance" for line in lines] == [False, True] * 5
    assert {"mAP", "mAP@50", "mAP@R", "R-P", "R@k"} == {line[0] for line in lines}
    for name, *cells in lines:
        cells = [cell for cell in cells if cell != "chance"]
        assert {len(cell.partition(".")[2]) for cell in cells} == {2 if name == "R@k" else 4}
    assert "In percent, except Med r, Mean r: ranks from 1;" in said.out and "fractions of 1" in said.out
