"""`fivesentences evaluate` of several models: one table, comparisons, values of queries, and what JSON says of them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import fivesentences
from fivesentences.commands.model_inputs import ModelInputs
from fivesentences.commands.score_sheets import best_of
from fivesentences.evaluation import compare, evaluate
from fivesentences.metrics import holm

MODELS = ("sims.npy", "other.npy", "third.npy")


def content(path="o.json"):
    return json.loads(Path(path).read_text())


@pytest.mark.parametrize("protocol", [None, "coco-1k-5fold"])
def test_every_model_has_the_numbers_that_it_has_alone(run, folder, protocol):
    options = ["--dataset", protocol] if protocol else []
    said = run("evaluate", *MODELS, "--phi", "cider.npy", "--resamples", 99, "--json", "o.json", *options)
    assert said.code == 0, said.err
    for model, file in zip(content()["models"], MODELS, strict=True):
        assert (model["model"], model["similarity"]) == (Path(file).stem, file)
        alone = evaluate(np.load(file), {"cider": np.load("cider.npy")}, protocol)
        assert model["values"] == alone.rows
        run("evaluate", file, "--phi", "cider.npy", "--json", "one.json", *options)
        assert content("one.json")["values"] == model["values"]
        assert f"{alone['R@1', 'i2t']:.2f}" in said.out


@pytest.mark.parametrize(
    ("words", "options"),
    [("--seed 3", {"seed": 3}), ("--method bootstrap --confidence 0.8", {"method": "bootstrap", "confidence": 0.8})],
)
def test_every_pair_of_the_models_is_compared_as_the_library_compares_two(run, folder, words, options):
    said = run("evaluate", *MODELS, "--phi", "cider.npy", "--resamples", 200, *words.split(), "--json", "o.json")
    assert said.code == 0 and f"Paired {options.get('method', 'permutation')} tests, 200" in said.out
    similarities, phis = map(np.load, ("sims.npy", "third.npy")), {"cider": np.load("cider.npy")}
    theirs = compare(*similarities, phis, resamples=200, **options)
    ours = pd.DataFrame(content()["tests"])
    ours = ours[(ours.model == "sims") & (ours.against == "third")]
    columns = ["metric", "direction", "phi", "m", "a", "b", "difference", "low", "high", "p", "n", "clusters"]
    pd.testing.assert_frame_equal(ours[columns].reset_index(drop=True), pd.DataFrame(theirs[columns]))


def test_of_two_models_intervals_are_shown(run, folder):
    said = run("evaluate", "sims.npy", "other.npy", "--resamples", 99, "--json", "o.json")
    test = content()["tests"][0]
    (line,) = (line for line in said.out.splitlines() if line.split()[:2] == ["R@1", test["direction"]])
    numbers = f"{test['difference']:+.2f} {test['low']:+.2f}, {test['high']:+.2f} {test['p']:.4f}"
    assert line.split()[2:] == numbers.split()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["permutation", "bootstrap"])
def test_what_interval_and_p_disagree_about_is_named(run, folder, method):
    named = 0
    for confidence in (0.95, 0.9, 0.8, 0.7, 0.6):
        options = ("--confidence", confidence, "--resamples", 400, "--method", method, "--json", "o.json")
        said = run("evaluate", "third.npy", "sims.npy", "--phi", "cider.npy", *options)
        apart = [t for t in content()["tests"] if (t["low"] > 0 or t["high"] < 0) != (t["p"] < 1 - confidence)]
        (sentence,) = re.findall("disagree about 0 for (.*); report p", " ".join(said.out.split())) or [""]
        wanted = {f"{t['metric']} {t['direction'] or 'of both directions'} (p = {t['p']:.4f})" for t in apart}
        assert set(sentence.split(", ") if sentence else ()) == wanted
        named += len(wanted)
    assert named or method == "bootstrap"


# --- results from files -------------------------------------------------------------------------------------


@pytest.fixture
def results(run, folder):
    """Values of every query of three models, each scored by itself, and files that are damaged."""
    for name in ("sims", "other", "third"):
        run("evaluate", f"{name}.npy", "--phi", "cider.npy", "--no-asp", "--per-query", f"{name}.parquet")
    pq.write_table(pq.read_table("sims.parquet").slice(1), "cut.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("scored_now", [(), ("third", "sims")])
def test_results_from_files_have_the_values_and_tests_of_models_that_are_scored_now(run, results, scored_now):
    names, options = ("other", "third", "sims"), ["--against", "sims", "--resamples", "99"]
    scored = ["--phi", "cider.npy", "--no-asp"]
    models = [f"{name}.npy" if name in scored_now else f"{name}={name}.parquet" for name in names]
    said = run("evaluate", *models, *(scored if scored_now else ()), *options, "--csv", "a.csv")
    assert said.code == 0, said.err
    run("evaluate", *(f"{name}.npy" for name in names), *scored, *options, "--csv", "b.csv")
    found, wanted = (pd.read_csv(name, keep_default_na=False).drop(columns="file") for name in ("a.csv", "b.csv"))
    keys = ["model", "against", "metric", "direction", "phi", "ground_truth", "m"]
    numbers = ["value", "value_against", "difference", "low", "high", "p", "p_holm"]
    both = found.merge(wanted, on=keys, suffixes=("", "_now"))
    assert len(both) == len(found) and set(found["model"]) == set(names)
    assert set(wanted["metric"]) - set(found["metric"]) <= {"Med r"}  # which no query has a value of
    for column in numbers:
        ours, theirs = (pd.to_numeric(both[name]) for name in (column, f"{column}_now"))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.slow
def test_results_of_other_captions_phi_or_sizes_do_not_share_a_table(run, results):
    lines = Path("captions.txt").read_text().splitlines()
    Path("swapped.txt").write_text("".join(f"{line}\n" for line in [*lines[5:], *lines[:5]]))
    run("phi", "cider", "swapped.txt", "-o", "swapped.npy")
    np.save("small.npy", np.load("sims.npy")[:10, :50])
    np.savetxt("owner.txt", np.roll(np.repeat(np.arange(20), 5), 5), fmt="%d")
    for given, wrong in {
        "other.npy --phi cider=swapped.npy": "phi called cider",
        "small.npy": "galleries",
        "other.npy --image-of-caption owner.txt": "images of the captions",
    }.items():
        run("evaluate", *given.split(), "--no-asp", "--per-query", "another.parquet")
        said = run("evaluate", "sims.parquet", "another.parquet")
        assert said.code == 1 and wrong in said.err and said.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("sims.parquet sims.parquet", "'sims'"),
        ("sims.parquet other.parquet --against nobody", "'nobody'"),
        ("sims.parquet --phi cider.npy", "scored before"),
        ("cut.parquet", "cut.parquet"),
    ],
)
def test_results_that_cannot_be_read_are_named(run, results, given, named):
    found = run("evaluate", *given.split())
    assert found.code == 1 and named in found.err and found.err.count("\n") == 1


def test_p_is_adjusted_within_each_metric_and_over_all(run, folder):
    run("evaluate", *MODELS, "--resamples", 300, "--json", "o.json")
    tests = pd.DataFrame(content()["tests"])
    for _, of_metric in tests.groupby(["metric", "direction"]):
        assert of_metric.p_holm.tolist() == holm(of_metric.p).tolist() and len(of_metric) == 3
    assert tests.p_holm_all.tolist() == holm(tests.p).tolist()
    assert (tests.p_holm_all >= tests.p_holm).all()
    run("evaluate", *MODELS, "--resamples", 300, "--against", "other", "--json", "o.json")
    fewer = pd.DataFrame(content()["tests"])
    assert set(fewer.model) == {"sims", "third"} and set(fewer.against) == {"other"}
    assert fewer.p.tolist() == pytest.approx(
        [p for m, a, p in zip(tests.model, tests.against, tests.p, strict=True) if "other" in (m, a)]
    )
    assert "tests" not in (run("evaluate", *MODELS, "--no-compare", "--json", "o.json"), content())[1]


def test_the_best_is_bold(run, folder):
    said = run("evaluate", *MODELS, "--markdown", "o.md", "--json", "o.json")
    rows = [line.split("|")[1:-1] for line in Path("o.md").read_text().splitlines() if line.startswith("| R@k")][:3]
    assert [row[1].strip() for row in rows] == ["sims", "other", "third"]
    values = {m["model"]: {(v["metric"], v["direction"]): v["value"] for v in m["values"]} for m in content()["models"]}
    for column, key in zip(range(2, 9), [(f"R@{k}", s) for s in ("i2t", "t2i") for k in (1, 5, 10)] + [("Rsum", "")],
                           strict=True):  # fmt: skip
        best = max(of[key] for of in values.values())
        for row in rows:
            assert ("**" in row[column]) == (values[row[1].strip()][key] == best)
    assert "Bold: the best of the models" in said.out
    assert best_of({"a": 1.0, "b": 3.0, "c": 3.0}, "R@1") == {"b", "c"}
    assert best_of({"a": 1.0, "b": 3.0}, "Mean r") == {"a"}
    assert best_of({"a": 2.0, "b": 2.0}, "R@1") == best_of({"a": 1.0, "b": 2.0}, "hubs 1") == set()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("sims.npy other.npy c,d.npy", ["sims", "other", "c,d"]),
        ("mine=sims.npy other.npy x=y.npy", ["mine", "other", "x=y"]),
        ("A=sims.npy B=sims.npy m=image_emb.npy,text_emb.npy", ["A", "B", "m"]),
    ],
)
def test_names_are_those_of_files_or_given(folder, given, names):
    for name in ("a/sims.npy", "c,d.npy", "x=y.npy"):
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copy("sims.npy", name)
    assert [model.name for model in ModelInputs().given(given.split(), None).models] == names


@pytest.mark.parametrize(("suffix", "protocol"), [("csv", None), ("parquet", "coco-1k-first")])
def test_the_values_of_queries_average_to_the_table(run, folder, suffix, protocol):
    options = ["--phi", "cider.npy", "--no-compare", "--json", "o.json"] + (["--dataset", protocol] if protocol else [])
    assert run("evaluate", *MODELS, "--per-query", f"q.{suffix}", *options).code == 0
    frame = pd.read_csv("q.csv", keep_default_na=False) if suffix == "csv" else pd.read_parquet("q.parquet")
    keys = ["metric", "direction", "formula", "ground_truth", "m", "style", "weighting", "discount", "phi"]
    assert list(frame.columns) == ["file", "query", *keys, "value"]
    means = frame.groupby(["file", *keys])["value"].mean()
    for model in content()["models"]:
        wanted = {tuple(v[key] for key in keys): v["value"] for v in model["values"]}
        for key, mean in means[model["similarity"]].items():
            assert mean == pytest.approx(wanted[key])
    scored = 4 if protocol == "coco-1k-first" else 20
    for side, queries in (("i2t", scored), ("t2i", 5 * scored)):
        rank = frame[(frame["file"] == "other.npy") & (frame.metric == "Mean r") & (frame.direction == side)]
        assert rank["query"].tolist() == list(range(queries))
    if protocol is None:
        similarity = np.load("other.npy")
        ranks = rank.set_index("query")["value"]
        for caption in (0, 57, 99):
            assert ranks[caption] == 1 + (similarity[:, caption] > similarity[caption // 5, caption]).sum()


@pytest.mark.slow
def test_json_says_how_its_numbers_came_about(run, folder, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for line in ("evaluate sims.npy --phi mine=cider.npy --captions captions.txt --metric bleu2",
                 "evaluate sims.npy A=other.npy --resamples 9 --phi cider.npy"):  # fmt: skip
        assert run(*line.split(), "--json", "o.json").code == 0
        made = content()
        assert made["fivesentences"] == fivesentences.__version__ and made["date"] == "1970-01-02T00:00:00+00:00"
        assert made["command"] == f"fivesentences {line} --json o.json"
        assert {one["file"]: one["sha256"] for one in made["inputs"]} == {
            file: hashlib.sha256(Path(file).read_bytes()).hexdigest()
            for file in re.findall(r"[a-z]+\.(?:npy|txt)", line)
        }
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    run("evaluate", "sims.npy", "--json", "o.json")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(content()["date"])) < timedelta(minutes=1)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    said = run("evaluate", "sims.npy", "--json", "o.json")
    assert said.code == 1 and "SOURCE_DATE_EPOCH is 'soon'" in said.err


def test_runs_have_the_ids_of_files_and_the_names_of_models(run, folder):
    Path("images.txt").write_text("".join(f"image{number}\n" for number in range(20)))
    said = run("evaluate", *MODELS, "--trec", "runs", "--trec-depth", "7", "--image-ids", "images.txt", "--no-compare")
    assert said.code == 0 and "the first 7 items" in said.out
    assert sorted(path.name for path in Path("runs").iterdir()) == [
        "i2t.qrels", "other.i2t.run", "other.t2i.run", "sims.i2t.run", "sims.t2i.run", "t2i.qrels", "third.i2t.run",
        "third.t2i.run",
    ]  # fmt: skip
    first = Path("runs/other.t2i.run").read_text().splitlines()
    assert len(first) == 700 and re.fullmatch(r"c0 Q0 image\d+ 1 \S+ other", first[0])
    assert Path("runs/i2t.qrels").read_text().splitlines()[:6][-1] == "image1 0 c5 1"
    assert run("evaluate", "sims.npy", "--trec", "one", "--trec-grades", "--phi", "cider.npy").code == 0
    assert sorted(path.name for path in Path("one").iterdir()) == [
        "i2t.cider.qrels", "i2t.qrels", "i2t.run", "t2i.cider.qrels", "t2i.qrels", "t2i.run",
    ]  # fmt: skip
