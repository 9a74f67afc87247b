"""`fivesentences evaluate`: its numbers, its forms of input and output, and what it refuses."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from fivesentences.evaluation.protocols import PROTOCOLS, Protocol
from fivesentences.semantics import cider_matrix


@pytest.fixture
def cider(folder, run):
    assert run("phi", "cider", "captions.txt", "-o", "cider.npy").code == 0


def values(path="out.json"):
    found = json.loads(Path(path).read_text())["values"]
    return {
        (v["metric"], v["direction"], v["phi"], v["formula"], v["ground_truth"], v["m"], variant_of(v)): v["value"]
        for v in found
    }


def variant_of(value):
    """Style of semantic recall, or what is unusual about its weights or about NCS."""
    return value["style"] or value["discount"] or value["weighting"].replace("hard", "")


def brute_recall(similarity, k, direction):
    """Share of queries with one of their own among the first k, by sorting each row."""
    hits = []
    n_images, n_captions = similarity.shape
    for query in range(n_images if direction == "i2t" else n_captions):
        scores = similarity[query] if direction == "i2t" else similarity[:, query]
        first = sorted(range(len(scores)), key=lambda item: (-scores[item], item))[:k]
        owner = [item // 5 for item in first] if direction == "i2t" else first
        hits.append((query if direction == "i2t" else query // 5) in owner)
    return 100 * np.mean(hits)


def test_the_numbers_are_those_of_a_slow_recall_and_of_ncs_by_hand(run, cider):
    said = run("evaluate", "sims.npy", "--phi", "cider.npy", "--json", "out.json")
    assert said.code == 0
    found, similarity = values(), np.load("sims.npy")
    for direction in ("i2t", "t2i"):
        for k in (1, 5, 10):
            wanted = brute_recall(similarity, k, direction)
            assert found[f"R@{k}", direction, "", "", "", 0, ""] == pytest.approx(wanted, abs=1e-9)
    phi = np.load("cider.npy").astype(float)
    best = similarity.argmax(axis=0)  # N@1 with captions as queries: phi of the first image over the largest phi
    ncs = 100 * np.mean(phi[np.arange(100), best] / phi.max(axis=1))
    assert found["N@1", "t2i", "cider", "released", "kept", 0, ""] == pytest.approx(ncs, abs=1e-6)
    assert ("ASP", "i2t", "cider", "index", "", 0, "") in found
    recalls = [value for key, value in found.items() if key[0].startswith("R@")]
    assert found["Rsum", "", "", "", "", 0, ""] == pytest.approx(sum(recalls), abs=1e-9)
    assert f"{found['R@1', 'i2t', '', '', '', 0, '']:.2f}" in said.out
    assert "equal scores are ordered by index, lower first" in said.out


def test_embeddings_with_repeated_images_and_captions_give_the_same_numbers(run, cider):
    run("evaluate", "sims.npy", "--phi", "cider.npy", "--json", "out.json")
    wanted = values()
    said = run("evaluate", "image_emb.npy", "text_emb.npy", "--captions", "captions.txt", "--json", "out.json")
    assert said.code == 0 and "every image 5 times" in said.out
    found = values()
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        assert found[key] == pytest.approx(value, abs=1e-4), key


def test_every_form_of_input_gives_the_same_numbers(run, cider, folder):
    torch = pytest.importorskip("torch")
    similarity = np.load("sims.npy")
    Path("sims.json").write_text(json.dumps(similarity.tolist()))
    np.savez("sims.npz", similarity)
    np.savez("several.npz", dev=similarity[:, :5], test=similarity)
    torch.save(torch.from_numpy(similarity), "sims.pt")
    torch.save({"epoch": 3, "sims": torch.from_numpy(similarity).double()}, "dict.pt")
    np.save("turned.npy", similarity.T)
    np.save("double.npy", similarity.astype(np.float64))
    run("evaluate", "sims.npy", "--json", "wanted.json")
    for given in (
        ["sims.json"], ["sims.npz"], ["several.npz:test"], ["sims.pt"], ["dict.pt"], ["double.npy"],
        ["turned.npy", "--transposed"],
    ):  # fmt: skip
        assert run("evaluate", *given, "--json", "out.json").code == 0
        assert values() == values("wanted.json"), given


def test_half_precision_is_scored_as_it_is(run, folder):
    half = np.load("sims.npy").astype(np.float16)
    np.save("half.npy", half)
    run("evaluate", "half.npy", "--json", "out.json")
    assert values()["R@5", "t2i", "", "", "", 0, ""] == pytest.approx(
        brute_recall(half.astype(float), 5, "t2i"), abs=1e-9
    )


def test_images_with_unequal_captions_are_named_by_a_file(run, folder):
    similarity = np.load("sims.npy")[:3, [0, 1, 5, 6, 7, 10, 2]]
    np.save("few.npy", similarity)
    Path("images.txt").write_text("0\n0\n1\n1\n1\n2\n0\n")
    assert run("evaluate", "few.npy", "--image-of-caption", "images.txt", "--json", "out.json").code == 0
    pairing = np.array([0, 0, 1, 1, 1, 2, 0])
    first = 100 * np.mean(pairing[similarity.argmax(axis=1)] == np.arange(3))
    assert values()["R@1", "i2t", "", "", "", 0, ""] == pytest.approx(first)
    assert run("evaluate", "few.npy").code == 1
    np.save("few.npy", similarity.T)
    said = run("evaluate", "few.npy", "--image-of-caption", "images.txt")
    assert said.code == 1 and "transposed" in said.err


def test_a_table_is_written_in_every_form(run, cider):
    said = run(
        "evaluate", "sims.npy", "--phi", "mine=cider.npy", "--csv", "o.csv", "--json", "o.json", "--markdown", "o.md",
        "--latex", "o.tex", "--quiet",
    )  # fmt: skip
    assert (said.code, said.out, said.err) == (0, "", "")
    with Path("o.csv").open() as file:
        rows = list(csv.DictReader(file))
    content = json.loads(Path("o.json").read_text())
    assert [float(row["value"]) for row in rows] == pytest.approx([v["value"] for v in content["values"]])
    assert {row["phi"] for row in rows} == {"", "mine"}
    assert content["images"] == 20 and content["captions"] == 100 and content["tie_rule"]
    recall = next(v["value"] for v in content["values"] if v["metric"] == "R@1" and v["direction"] == "i2t")
    markdown, latex = Path("o.md").read_text(), Path("o.tex").read_text()
    assert re.search(rf"\| R@k \|.*\| {recall:.2f} \|", markdown)
    widths = {line.count("|") for line in markdown.split("\n\n")[1].splitlines()}
    assert len(widths) == 1  # every line has as many cells
    body = [line for line in latex.split(r"\end{tabular}")[0].splitlines() if line.endswith(r"\\")]
    assert len({line.count(" & ") for line in body}) == 1 and f"& {recall:.2f} &" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2


def test_standard_output_takes_one_form_alone(run, folder):
    said = run("evaluate", "sims.npy", "--json", "-")
    assert said.code == 0 and json.loads(said.out)["images"] == 20
    said = run("evaluate", "sims.npy", "--json", "-", "--csv", "-")
    assert said.code == 2 and "standard output" in said.err
    assert run("evaluate", "sims.npy", "--quiet").out  # nothing else would say the numbers


def test_all_adds_variants_and_hubs(run, cider):
    run("evaluate", "sims.npy", "--phi", "cider.npy", "--json", "out.json")
    usual = values()
    run("evaluate", "sims.npy", "--phi", "cider.npy", "--json", "out.json", "--all")
    everything = values()
    assert usual.items() <= everything.items()
    assert {key[3] for key in everything} >= {"paper", "released", "average", "index"}
    assert "hubs max" in {key[0] for key in everything} and "vse_recall" in {key[6] for key in everything}


def test_folds_are_scored_by_themselves_and_averaged(run, folder, monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "coco-1k-5fold", Protocol("coco-1k-5fold", 20, 100, 4, 5, "five folds of four"))
    monkeypatch.setitem(PROTOCOLS, "coco-1k-first", Protocol("coco-1k-first", 20, 100, 4, 1, "the first four"))
    similarity = np.load("sims.npy")
    parts = [similarity[4 * fold : 4 * fold + 4, 20 * fold : 20 * fold + 20] for fold in range(5)]
    for name, folds in (("coco-1k-5fold", parts), ("coco-1k-first", parts[:1])):
        assert run("evaluate", "sims.npy", "--dataset", name, "--json", "out.json").code == 0
        for direction in ("i2t", "t2i"):
            wanted = np.mean([brute_recall(part, 1, direction) for part in folds])
            assert values()["R@1", direction, "", "", "", 0, ""] == pytest.approx(wanted, abs=1e-9)
    content = json.loads(Path("out.json").read_text())
    assert (content["protocol"], content["images"], content["captions"]) == ("coco-1k-first", 4, 20)
    assert (content["file_images"], content["file_captions"]) == (20, 100)


def test_phi_of_captions_equals_the_file(run, cider):
    phi = cider_matrix(Path("captions.txt").read_text().splitlines(), np.repeat(np.arange(20), 5))
    np.testing.assert_allclose(np.load("cider.npy"), phi, atol=1e-5)
    assert json.loads(Path("cider.json").read_text())["captions_file"] == "captions.txt"


def test_categories_labels_and_positives_of_files_are_scored(run, folder):
    similarity = np.load("sims.npy")
    category = np.arange(20) % 4
    Path("categories.txt").write_text("".join(f"kind {c}\n" for c in category))
    Path("images.txt").write_text("".join(f"{1000 + i}\n" for i in range(20)))
    Path("captions_ids.txt").write_text("".join(f"{5000 + c}\n" for c in range(100)))
    objects = [{"image_id": 1000 + i, "category_id": int(category[i]) + 1, "iscrowd": 0} for i in range(20)]
    images = [{"id": 1000 + i} for i in range(20)]
    kinds = [{"id": number} for number in range(1, 91)]
    Path("instances.json").write_text(json.dumps({"images": images, "annotations": objects, "categories": kinds}))
    pairs = [
        (5000 + c, 1000 + i, 4.0 if i in (c // 5, (c // 5 + 1) % 20) else 1.0) for c in range(100) for i in range(20)
    ]
    lines = "".join(f"COCO_val2014:sentid:{c},COCO_val2014_{i:012d}.jpg,{score},m\n" for c, i, score in pairs)
    Path("sits.csv").write_text("caption,image,agg_score,sampling_method\n" + lines)
    ids = ("--image-ids", "images.txt", "--caption-ids", "captions_ids.txt")
    given = ("--categories", "categories.txt", "--instances", "instances.json", "--cxc", "sits.csv", *ids)
    said = run("evaluate", "sims.npy", *given, "--json", "out.json")
    assert said.code == 0, said.err
    found = {(v["metric"], v["direction"]): v["value"] for v in json.loads(Path("out.json").read_text())["values"]}

    best = similarity.argmax(axis=0)
    owner = np.arange(100) // 5
    assert found["CxC R@1", "t2i"] == pytest.approx(100 * np.mean((best == owner) | (best == (owner + 1) % 20)))
    precisions = []
    for image in range(20):  # mAP of the category, images as queries
        order = np.argsort(-similarity[image], kind="stable")
        relevant = category[owner[order]] == category[image]
        precisions.append(np.mean((np.cumsum(relevant) / np.arange(1, 101))[relevant]))
    assert found["mAP", "i2t"] == pytest.approx(np.mean(precisions))
    assert ("PMRP", "i2t") in found

    np.save("labels.npy", np.eye(90, dtype=np.uint8)[category])
    run("evaluate", "sims.npy", "--labels", "labels.npy", "--json", "out.json")
    again = {(v["metric"], v["direction"]): v["value"] for v in json.loads(Path("out.json").read_text())["values"]}
    assert again["PMRP", "i2t"] == found["PMRP", "i2t"]


def test_eccv_is_refused_on_other_data(run, folder):
    pytest.importorskip("eccv_caption")
    said = run("evaluate", "sims.npy", "--eccv")
    assert said.code == 1 and "leave --eccv out" in said.err and said.err.count("\n") == 1


def test_the_mean_of_several_phi_is_scored_too(run, cider):
    given = ("--phi", "cider.npy", "--captions", "captions.txt", "--metric", "bleu2", "--mean")
    said = run("evaluate", "sims.npy", *given, "--json", "out.json")
    assert said.code == 0 and "the mean of cider, bleu2, not scaled" in said.out
    found = values()
    run("phi", "bleu2", "captions.txt", "-o", "bleu.npy")
    np.save("both.npy", (np.load("cider.npy").astype(float) + np.load("bleu.npy")) / 2)
    run("evaluate", "sims.npy", "--phi", "mean=both.npy", "--json", "out.json")
    asp = [key for key in values() if key[0] == "ASP"]
    assert len(asp) == 2
    for key in asp:
        assert found[key] == pytest.approx(values()[key], abs=1e-3)
