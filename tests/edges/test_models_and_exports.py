"""Edges of several models in one table, and of what is written beside it: values of queries, runs, and JSON."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edge_cases import refused, right
from fivesentences.evaluation import evaluate
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.evaluation.query_tests import compare_all
from fivesentences.metrics import holm
from fivesentences.retrieval import Gallery
from fivesentences.semantics import write_phi

pytestmark = pytest.mark.slow


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    (folder / "sub").mkdir()
    shapes = dict.fromkeys(("a", "b", "c", "sub/a", "nan"), (20, 100)) | dict.fromkeys(("three", "four"), (20, 60))
    shapes |= {"small": (10, 50), "turned": (100, 20), "images": (20, 16), "tiny_images": (10, 16)}
    shapes |= {"texts": (100, 16), "texts8": (100, 8)}
    arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    arrays["nan"][3, 7] = np.nan
    arrays |= {"repeated": np.repeat(arrays["images"], 5, axis=0), "phi3": rng.random(size=(60, 20))}
    arrays |= {"labels7": np.zeros((7, 3)), "twos": np.full((20, 3), 2.0)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "text.txt").write_text("no matrix\n")
    for name, line in {"ids": "image{0}\n", "spaces": "image {0}\n", "twice": "image{1}\n"}.items():
        (folder / f"{name}.txt").write_text("".join(line.format(number, number // 2) for number in range(20)))
    (folder / "folder.csv").mkdir()
    captions = [f"a dog {number}" for number in range(100)]
    (folder / "captions.txt").write_text("".join(f"{caption}\n" for caption in captions))
    (folder / "few.txt").write_text("".join(f"{caption}\n" for caption in captions[:10]))
    write_phi("cider", captions[:10], np.repeat(np.arange(2), 5), folder / "few.npy", captions_file="few.txt")


def number(*key):
    """Look up one number of a result by an expression."""
    return lambda folder: evaluate(np.load(folder / "a.npy"))[key[0] if len(key) == 1 else key]


def compared(models="ab", **options):
    """Compare one or two models in Python."""

    def call(folder: Path):
        scorer = ProtocolScorer(Gallery.of(np.load(folder / "a.npy")))
        found = {name: scorer(np.load(folder / f"{name}.npy"), queries=True) for name in models}
        return compare_all(found, scorer.whole.image_of_caption, resamples=9, **options)

    return call


def scored_again(folder: Path):
    return ProtocolScorer(Gallery.of(np.load(folder / "a.npy")))(np.load(folder / "small.npy"))


FEW = "--resamples 9"
INFERENCE = "evaluate a.npy --inference"
GIVEN = [
    refused("evaluate a.npy --dataset f30k", "a.npy", "[20, 100]", "1000"),
    refused("evaluate a.npy --phi few.npy", "few.txt", "10 captions", "2 images"),
    refused("evaluate a.npy --phi b.npy", "phi looks transposed"),
    refused("evaluate a.npy --phi texts.npy", "texts.npy", "[100, 16]", "a.npy"),
    refused("evaluate a.npy --captions few.txt", "few.txt", "10 captions", "100"),
    refused("evaluate a.npy --captions captions.txt --metric spice", "fivesentences phi spice"),
    refused("evaluate a.npy --captions captions.txt --metric cidre", "expected one of"),
    refused("evaluate a.npy --metric cider", "give --captions FILE"),
    refused("evaluate a.npy --mean --captions captions.txt --metric cider", "at least two"),
    refused("evaluate a.npy --labels twos.npy --instances x.json", "--labels", "--instances"),
    refused("evaluate a.npy --labels labels7.npy", "[7, 3]", "20 images"),
    refused("evaluate a.npy --labels twos.npy", "labels[0, 0]", "2.0", "1"),
    refused("evaluate a.npy --categories few.txt", "few.txt", "10 categories", "20 images"),
    refused("evaluate a.npy --dataset coco-1k-5fold --cxc x.csv", "--dataset coco-1k-5fold"),
    refused(f"{INFERENCE} csls,beta=3", "'beta'"),
    refused(f"{INFERENCE} bogus", "'bogus'", "naive"),
    refused(f"{INFERENCE} csls,k=0", "k is 0"),
    refused(f"{INFERENCE} csls,k=x", "k is 'x'"),
    refused(f"{INFERENCE} assignment,captions_per_image=2", "captions_per_image is 2"),
    refused("similarity nowhere -o s.npy --captions folder.csv", "folder.csv"),
    refused("doctor --json folder.csv", "folder.csv"),
]
CASES = [
    *GIVEN,
    right(f"evaluate a.npy b.npy c.npy {FEW}", "3 models: 20 images, 100 captions", "raise --resamples"),
    right("evaluate a.npy b.npy c.npy --no-compare", "Bold: the best"),
    refused(f"evaluate a.npy sub/a.npy c.npy {FEW}", "'a'", "a.npy", "sub/a.npy", "A=a.npy"),
    right(f"evaluate A=a.npy B=a.npy {FEW}", "A - B", "1.0000"),
    right(f"evaluate three.npy four.npy --phi phi3.npy {FEW}", "2 models"),
    right(f"evaluate M=three.npy four.npy {FEW}", "2 models"),
    right("evaluate three.npy,four.npy", "20 images, 20 captions", "60 dimensions"),
    right("evaluate images.npy,texts.npy", "Cosine similarity of embeddings of 16 dimensions"),
    right("evaluate repeated.npy,texts.npy", "every image 5 times"),
    right(f"evaluate a.npy repeated.npy,texts.npy {FEW}", "every image 5 times", "2 models"),
    right(f"evaluate turned.npy T=turned.npy --transposed {FEW}", "2 models: 20 images"),
    refused("evaluate a.npy small.npy", "a.npy is [20, 100]", "small.npy is [10, 50]"),
    refused("evaluate a.npy b.npy small.npy", "small.npy is [10, 50]", "a.npy is [20, 100]", "the same images"),
    refused("evaluate a.npy b.npy turned.npy", "turned.npy", "[100, 20]", "20 images", "--transposed"),
    refused("evaluate images.npy,texts.npy turned.npy", "turned.npy is [100, 20]", "--transposed"),
    refused("evaluate four.npy images.npy,texts.npy", "four.npy is [20, 60]", "[20, 100]"),
    refused("evaluate T=texts.npy images.npy,texts.npy", "texts.npy is [100, 16]"),
    refused("evaluate a.npy nan.npy", "nan.npy", "similarity[3, 7]"),
    refused("evaluate a.npy nowhere.npy", "nowhere.npy"),
    refused("evaluate a.npy b.npy nowhere.npy", "nowhere.npy"),
    refused("evaluate a.npy b.npy text.txt", "text.txt"),
    refused("evaluate a.npy b.npy a.npy", "'a'", "a.npy"),
    refused("evaluate A=a.npy A=b.npy", "'A'"),
    refused("evaluate =a.npy", "'=a.npy'", "NAME=FILE"),
    refused("evaluate A= b.npy", "'A='", "NAME=FILE"),
    refused("evaluate a.npy,", "'a.npy,'", "IMAGES,TEXTS"),
    refused("evaluate a.npy,b.npy,c.npy", "separate"),
    refused("evaluate images.npy,texts8.npy", "columns"),
    refused("evaluate a.npy tiny_images.npy,texts.npy", "[10, 100]", "a.npy", "[20, 100]"),
    refused("evaluate a.npy repeated.npy,texts.npy --transposed", "--transposed"),
    refused("evaluate a.npy b.npy --against d", "--against", "'d'"),
    refused("evaluate a.npy --against a", "--against"),
    refused("evaluate a.npy b.npy --against a --no-compare", "--against"),
    refused("evaluate a.npy b.npy --resamples 0", "--resamples"),
    right("evaluate a.npy --per-query q.csv", "20 images", makes=["q.csv"]),
    right(f"evaluate a.npy b.npy {FEW} --per-query q.parquet", "2 models", makes=["q.parquet"]),
    refused(f"evaluate a.npy b.npy {FEW} --per-query new/q.parquet", "new", "does not exist"),
    refused("evaluate a.npy --per-query q.xlsx", "q.xlsx", "--per-query"),
    refused("evaluate a.npy --per-query -", "--per-query", ".parquet"),
    refused("evaluate a.npy --per-query folder.csv", "folder.csv"),
    refused("evaluate a.npy --csv q.csv --per-query q.csv", "--per-query", "--csv"),
    right("evaluate a.npy --trec runs", "Success@k", makes=["runs"]),
    right("evaluate a.npy --trec runs --trec-depth all --image-ids ids.txt", "all items", makes=["runs"]),
    refused("evaluate a.npy --trec ids.txt", "ids.txt"),
    refused("evaluate a.npy --trec-grades", "--trec-grades", "--trec FOLDER"),
    refused("evaluate a.npy --trec runs --trec-depth 0", "--trec-depth", "or 'all'"),
    refused("evaluate a.npy --trec runs --image-ids twice.txt", "twice.txt", "ids 0", "1 are"),
    refused("evaluate a.npy --trec runs --image-ids spaces.txt", "spaces.txt", "id 0", "'image 0'", "without spaces"),
    refused("evaluate a.npy --trec runs --caption-ids ids.txt", "ids.txt", "20 ids", "100"),
    refused("evaluate a.npy --trec runs --csv runs/i2t.run", "i2t.run", "--trec", "--csv"),
    refused("evaluate a.npy nan.npy --trec runs --per-query q.csv --csv o.csv", "nan.npy", "similarity[3, 7]"),
    right(number("R@1", "i2t")),
    right(number("Rsum")),
    refused(number("R@1"), "R@1", "'i2t'", "'t2i'"),
    refused(number("R@2", "i2t"), "'R@1'", "'R@5'", "did you mean"),
    refused(number("N@1", "i2t", {"phi": "cider"}), "metric"),
    refused(number("R@1", "i2t", {"colour": "red"}), "'colour'"),
    refused(number(0), "0 names no number"),
    right(compared(), "p_holm"),
    refused(compared(models="a"), "1 model"),
    refused(compared(against="z"), "'z'"),
    refused(scored_again, "[10, 50]", "[20, 100]"),
    refused(lambda _: holm([0.5, 2.0]), "p is"),
    refused(lambda _: holm(0.5), "p is"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_models_and_exports(case, carry_out):
    carry_out(case)


NAMES = ["=HYPERLINK(1)", "+1+1", "-1", "@SUM(A1)", 'a "b", c', "a|b"]


@pytest.mark.parametrize("extra", [[], ["--per-query", "q.csv"]], ids=["values", "queries"])
def test_names_that_a_spreadsheet_takes_for_formulas_come_back_from_csv(prepared, run, monkeypatch, tmp_path, extra):
    monkeypatch.chdir(tmp_path)
    names = [f"{name}.npy" for name in NAMES]
    for name in names:
        shutil.copy(prepared / "a.npy", name)
    said = run("evaluate", *(f"./{name}" for name in names), "--no-compare", "--csv", "o.csv", *extra)
    assert said.code == 0, said.err
    found = pd.read_csv("o.csv")
    assert list(dict.fromkeys(found["model"])) == [name.removesuffix(".npy") for name in names]
    assert found["value"].dtype == np.float64
    for path in extra[1:]:
        assert set(pd.read_csv(path)["file"]) == set(names)
