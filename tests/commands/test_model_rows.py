"""`evaluate --latex`, `--metrics` and `--beside`: one table with a row per model, and published rows below."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from fivesentences.commands.model_rows import rows_of
from fivesentences.config.metrics import choices_of
from fivesentences.errors import InputError
from fivesentences.evaluation.protocols import PROTOCOLS, Protocol
from fivesentences.metrics.sheet import Marked
from fivesentences.metrics.values import KEYS, key_of

MODELS = ("good=sims.npy", "a_b=noise.npy", "third.npy")
NAMES = ["good", r"a\_b", "third"]


@pytest.fixture
def models(folder):
    """A model that retrieves at random beside the others."""
    np.save("noise.npy", np.random.default_rng(7).normal(size=(20, 100)).astype(np.float32))


@pytest.fixture
def flickr30k(monkeypatch):
    """Flickr30K's protocol, in the size of the small model."""
    monkeypatch.setitem(PROTOCOLS, "f30k", Protocol("f30k", 20, 100, 20, 1, "Flickr30K, small", "flickr30k"))


def content(path="o.json"):
    return json.loads(Path(path).read_text())


def tabular(path="o.tex"):
    """Rows of the only table of a file: cells of each line, those of a spanning heading as often as it spans."""
    (body,) = re.findall(r"\\begin\{tabular\}\{@\{\}(?:l+r+)@\{\}\}(.*?)\\end\{tabular\}", Path(path).read_text(), re.S)
    rows = []
    for line in (line for line in body.splitlines() if r"\\" in line):
        cells = []
        for cell in line.partition(r" \\")[0].split(" & "):
            spanning = re.fullmatch(r"\\multicolumn\{(\d+)\}\{c\}\{(.*)\}", cell)
            cells += [spanning[2]] * int(spanning[1]) if spanning else [cell]
        rows.append(cells)
    return rows


def parsed(cell):
    """Number, whether it is bold, and the letters above it."""
    cell = re.sub(r"\\phantom\{\\textsuperscript\{.*?\}\}", "", cell)
    found = re.fullmatch(r"(\\textbf\{)?([\d.]*)\}?(?:\\textsuperscript\{(.*)\})?", cell)
    return found[2], bool(found[1]), found[3] or ""


def ranks(similarity):
    """Best rank of an own item, from 0, of images and of captions."""
    owner = np.arange(100) // 5
    of_images = [
        min((similarity[i] > similarity[i, c]).sum() for c in range(5 * i, 5 * i + 5)) for i in range(len(similarity))
    ]
    of_captions = [(similarity[:, c] > similarity[owner[c], c]).sum() for c in range(100)]
    return {"i2t": np.array(of_images), "t2i": np.array(of_captions)}


def test_latex_is_one_table_with_a_row_per_model(run, models):
    said = run("evaluate", *MODELS, "--phi", "cider.npy", "--latex", "o.tex", "--json", "o.json", "--resamples", 999)
    assert said.code == 0, said.err
    groups, headings, *rows, chance = tabular()
    assert [len(row) for row in (groups, headings, *rows, chance)] == [16] * 6
    assert chance[:2] == ["", "chance"] and [parsed(one)[0] for one in chance[5:8]] == [
        "5.0",
        "25.0",
        "50.0",
    ]  # 1, 5 and 10 of 20 images
    ks = ["@1", "@5", "@10"]
    assert headings[2:] == [*(f"R{k}" for k in ks * 2), "Rsum", *(f"NCS{k}" for k in ks * 2), "Nsum"]
    sides = ["image to text"] * 3 + ["text to image"] * 3
    assert groups[2:] == [*sides, "", *(f"{side}, CIDEr" for side in sides), "CIDEr"]
    assert [row[:2] for row in rows] == [list(pair) for pair in zip("abc", NAMES, strict=True)]
    for row, file in zip(rows, ("sims.npy", "noise.npy", "third.npy"), strict=True):
        of_recall = {side: [100 * np.mean(of < k) for k in (1, 5, 10)] for side, of in ranks(np.load(file)).items()}
        wanted = [*of_recall["i2t"], *of_recall["t2i"]]
        shown = [float(parsed(cell)[0]) for cell in row[2:]]
        np.testing.assert_allclose(shown[:7], [*wanted, sum(wanted)], atol=0.0501)
        assert abs(sum(shown[7:13]) - shown[13]) < 0.4
    numbers = {(v["metric"], v["direction"]): v["value"] for v in content()["models"][0]["values"]
               if v["ground_truth"] in ("", "kept")}  # fmt: skip
    keys = [(f"N{k}", side) for side in ("i2t", "t2i") for k in ks] + [("Nsum", "")]
    assert [parsed(cell)[0] for cell in rows[0][9:]] == [f"{numbers[key]:.1f}" for key in keys]
    text = Path("o.tex").read_text()
    assert re.search(
        "% Superscript: .*paired permutation test, 999 sign flips.*Holm's correction for the 3 pairs", text
    )


def test_letters_name_the_models_that_scipys_test_finds_worse(run, models):
    run("evaluate", *MODELS, "--latex", "o.tex", "--json", "o.json")
    _, headings, *rows, _ = tabular()
    cells = {
        letter: [parsed(cell) for cell in row] for letter, row in zip("abc", [row[2:] for row in rows], strict=True)
    }
    of_ranks = {letter: ranks(np.load(file)) for letter, file in
                zip("abc", ("sims.npy", "noise.npy", "third.npy"), strict=True)}  # fmt: skip
    pairs, compared = [("a", "b"), ("a", "c"), ("b", "c")], 0
    for column, heading in enumerate(headings[2:8]):
        side, k = ("i2t" if column < 3 else "t2i"), int(heading.partition("@")[2])
        p = []
        for one, other in pairs:
            difference = (of_ranks[one][side] < k).astype(float) - (of_ranks[other][side] < k)
            sums = difference.reshape(20, -1).sum(axis=1)  # of each image, or of its captions
            p.append(scipy.stats.permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=5000,
                                                  rng=np.random.default_rng(1)).pvalue)  # fmt: skip
        p_of = dict(zip(pairs, p, strict=True))
        order = sorted(pairs, key=p_of.get)
        adjusted, largest = {}, 0.0
        for at, pair in enumerate(order):
            largest = adjusted[pair] = min(1.0, max(largest, (3 - at) * p_of[pair]))
        for (one, other), value in adjusted.items():
            better, worse = (
                (one, other) if float(cells[one][column][0]) > float(cells[other][column][0]) else (other, one)
            )
            assert better not in cells[worse][column][2]  # never on the worse one
            if not 0.03 < value < 0.09:
                assert (worse in cells[better][column][2]) == (value < 0.05)
                compared += value < 0.05
        best = max(float(cells[letter][column][0]) for letter in "abc")
        assert [cells[letter][column][1] for letter in "abc"] == [float(cells[one][column][0]) == best for one in "abc"]
    assert compared > 4


def test_terminal_and_markdown_show_the_same_table_if_metrics_are_named(run, models):
    said = run("evaluate", *MODELS, "--metrics", "r@5,MEDR,Rsum", "--markdown", "o.md", "--latex", "o.tex")
    lines = [line.split() for line in said.out.splitlines()]
    assert ["model", "R@5", "R@5", "Med", "r", "Med", "r", "Rsum"] in lines
    _, headings, *rows, chance = tabular()
    assert headings[2:] == ["R@5", "R@5", "Med r", "Med r", "Rsum"]
    assert [parsed(one)[0] for one in chance[3:6]] == ["25.0", "", ""]
    in_markdown = [
        line.split(" | ") for line in Path("o.md").read_text().splitlines() if re.match(r"\| [abc] \|", line)
    ]
    for row, cells, letter in zip(rows, in_markdown, "abc", strict=True):
        (shown,) = (line for line in lines if line[:1] == [letter])
        wanted = [parsed(cell) for cell in row[2:]]
        flat = [part for number, _, over in wanted for part in (number, over) if part]
        assert shown[2:] == flat
        for cell, (number, bold, over) in zip(cells[2:], wanted, strict=True):
            mark = f"<sup>{over}</sup>" if over else ""
            assert cell.removesuffix(" |") == (f"**{number}**" if bold else number) + mark
    assert "Not tested: Med r." in said.out and "difference" not in said.out


def test_names_of_metrics_are_those_of_the_field(run, models):
    run("evaluate", "sims.npy", "--phi", "cider.npy", "--metrics", "NCS-GT,nsum,trueR@1,SR", "--ms", "2", "--latex",
        "o.tex", "--json", "o.json")  # fmt: skip
    groups, headings, row, _ = tabular()
    assert headings[1:] == [*[f"NCS@{k}" for k in (1, 5, 10)] * 2, "Nsum", *["true R@1"] * 2,
                            *[f"SR@{k}" for k in (1, 5, 10)] * 2]  # fmt: skip
    assert groups[1] == "image to text, CIDEr, without own items" and groups[-1] == "text to image, CIDEr, m = 2"
    removed = [v["value"] for v in content()["values"] if v["metric"] == "N@1" and v["ground_truth"] == "removed"]
    assert [row[1], row[4]] == [f"{value:.1f}" for value in removed]
    for wrong in ("R,NCZ", "R@x", "", "R,,Rsum", "R@0"):
        with pytest.raises(InputError, match=r"there is no metric .*: R, trueR, MedR, MeanR, Rsum, mR, NCS, Nsum"):
            choices_of(wrong)
    said = run("evaluate", "sims.npy", "--metrics", "R,NCS")
    assert said.code == 1 and "'NCS'; it needs phi" in said.err and said.err.count("\n") == 1
    assert "there is no metric 'x'" in run("evaluate", "missing.npy", "--metrics", "x").err  # before anything is read


def test_more_models_than_letters_have_two():
    key = tuple(key_of("R@1", "i2t")[name] for name in KEYS)
    models = {f"model {number}": {key: float(number)} for number in range(30)}
    frame = pytest.importorskip("pandas").DataFrame(
        [{**dict(zip(KEYS, key, strict=True)), "model": "model 29", "against": f"model {number}", "difference": 1.0,
          "p_holm": 0.001 if number in (2, 26) else 0.5} for number in range(29)]
    )  # fmt: skip
    frame.attrs.update(method="permutation", resamples=9999, pairs=29)
    table = rows_of(models, [], choices_of("R"), frame)
    assert [row[0] for row in table.rows][24:28] == ["y", "z", "aa", "ab"]
    last = table.rows[-1][-1]
    assert isinstance(last, Marked) and (last, last.bold, last.over) == ("29.0", True, "c,aa")


# --- published rows -----------------------------------------------------------------------------------------


def printed(root, number):
    with (root / "config" / "published" / f"five_sentences_table{number}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("phi", ["spice", "cider"])
def test_published_rows_stand_below_in_the_columns_of_their_phi(run, models, flickr30k, root, phi):
    options = ("--beside", "five-sentences:flickr30k", "--markdown", "o.md", "--latex", "o.tex")
    said = run("evaluate", "sims.npy", "--phi", f"{phi}=cider.npy", *options)
    assert said.code == 0, said.err
    groups, headings, ours, chance, *published = tabular()
    assert r"\midrule" in Path("o.tex").read_text().split(chance[0] + " &")[1]
    lines = [line for line in printed(root, 3) if line["dataset"] == "Flickr30K"]
    methods = list(dict.fromkeys(line["method"] for line in lines))
    assert [row[:2] for row in published] == [[method, "Five Sentences, Table 3"] for method in methods]
    assert ours[:2] == ["sims", ""]
    of = {(line["method"], line["direction"], line["metric"].replace("N@", "NCS@")): line["value"] for line in lines}
    sides = {"image to text": "i2t", "text to image": "t2i"}
    found = 0
    for at in range(2, len(headings)):
        side = sides.get(groups[at].partition(",")[0], "")
        is_theirs = "SPICE" in groups[at] or headings[at].startswith("R")
        for row in published:
            assert row[at] == (of[row[0], side, headings[at]] if is_theirs else "")
            found += row[at] != ""
        assert (ours[at] == "") == ("SPICE" in groups[at] and phi == "cider")
    assert found == len(lines) == 84
    assert len(headings) == 2 + (14 if phi == "spice" else 21)
    for row in published:
        assert f"| {row[0]} | Five Sentences, Table 3 |" in Path("o.md").read_text()
        assert f"{row[0]} Five Sentences, Table 3 {row[2]} {row[3]}" in " ".join(said.out.split())
    assert "phi is SPICE" in said.out and "387.9" in said.out and "add up to 369.0" in said.out


def test_rows_of_other_data_are_refused_in_a_sentence(run, models, flickr30k):
    for options, words in {
        "five-sentences:flickr": "five-sentences:coco-5k, five-sentences:coco-1k",
        "five-sentences:coco-5k": "5,000 images and 25,000 captions",
        "five-sentences:flickr30k --dataset coco-1k-5fold": "rows of coco-1k-5fold: five-sentences:coco-1k",
        "knn-margin:flickr30k --metrics R,NCS": "'NCS'; it needs phi",
    }.items():
        said = run("evaluate", "sims.npy", "--beside", *options.split())
        assert said.code == 1 and words in said.err and said.err.count("\n") == 1, said.err
    run("evaluate", "sims.npy", "--per-query", "q.parquet")
    said = run("evaluate", "q.parquet", "--beside", "five-sentences:coco-5k")
    assert said.code == 1 and "5,000 images and 25,000 captions" in said.err
    said = run("evaluate", "q.parquet", "--beside", "five-sentences:flickr30k")
    assert said.code == 0 and "SGR+SAM" in said.out


def test_every_number_of_five_sentences_is_published_once(run, folder, root):
    assert run("published", "--json", "o.json").code == 0
    rows = content()["published"]
    for number in (2, 3, 4, 5):
        ours = [row for row in rows if row["published_in"] == f"Five Sentences, Table {number}"]
        theirs = [float(line["value"]) for line in printed(root, number)]
        assert sorted(row["value"] for row in ours) == sorted(theirs)
    assert {row["phi"] for row in rows} == {"", "spice"}
    removed = {row["value"] for row in rows if row["ground_truth"] == "removed"}
    assert removed == {float(line["value"]) for number in (4, 5) for line in printed(root, number)
                       if line["metric"] == "Nsum_nonGT"}  # fmt: skip
