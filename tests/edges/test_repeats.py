"""A value said twice: what is reported is a set in order, and where a repeat must be a mistake, it is named."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from edge_cases import refused, right
from fivesentences import evaluate
from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.metrics import Evaluator, nsum, pmrp, rsum
from fivesentences.reproduction.plan.plan import scale_of
from fivesentences.reproduction.study.study import Claims, Study
from fivesentences.semantics.names import check_phi
from fivesentences.training.spec import RunSpec

CONFIG = Path(__file__).parents[2] / "config"
GALLERY = np.random.default_rng(3)
SIMILARITY, PHI = GALLERY.normal(size=(12, 60)), GALLERY.random((60, 12))
TEXTS = [f"a {['red', 'blue'][i % 2]} dog {i} runs {j}" for i in range(12) for j in range(5)]


def write_files(folder: Path) -> None:
    """What the cases read."""
    np.save(folder / "s.npy", SIMILARITY)
    np.save(folder / "phi.npy", PHI)
    (folder / "c.txt").write_text("\n".join(TEXTS) + "\n")
    (folder / "one.txt").write_text("\n".join(TEXTS[::5]) + "\n")
    (folder / "t.csv").write_text("image,caption,other\na,one dog,x\nb,two cats,y\n")
    run = {"dataset": "d", "features": {"extractor": "e"}, "model": {"name": "vsepp"}}
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    np.save(folder / "features.npy", np.ones((2, 3), dtype=np.float32))


def brute_rsum(ks: tuple[int, ...]) -> float:
    total = 0.0
    for k in ks:
        rows, columns = np.argsort(-SIMILARITY, kind="stable"), np.argsort(-SIMILARITY.T, kind="stable")
        total += 100 * np.mean([(row[:k] // 5 == image).any() for image, row in enumerate(rows)])
        total += 100 * np.mean([(row[:k] == caption // 5).any() for caption, row in enumerate(columns)])
    return float(total)


@pytest.mark.parametrize("ks", [(1, 1), (1, 5, 5, 10), (10, 1, 10, 1), np.array([5, 5]), [True + 0, np.int64(1)]])
def test_a_cutoff_said_twice_is_summed_once(ks):
    alone = tuple(dict.fromkeys(map(int, ks)))
    expected = pytest.approx(brute_rsum(alone), abs=1e-9)
    found = evaluate(SIMILARITY, {"phi": PHI}, ks=ks)
    assert found["Rsum"] == expected
    assert found["mR"] == pytest.approx(brute_rsum(alone) / (2 * len(alone)), abs=1e-9)
    assert rsum(SIMILARITY, ks) == expected
    assert found["Nsum", {"ground_truth": "kept"}] == pytest.approx(nsum(SIMILARITY, PHI, alone), abs=1e-9)


TWICE = {
    "ks": (1, 5), "ms": (1, 3), "ground_truth": ("kept", "removed"), "formulas": ("released", "paper"),
    "styles": ("recall", "vse_recall"), "weightings": ("hard", "soft"), "discounts": (None, "log"),
    "ncs_ms": (None, 5), "asp_ties": ("index", "average"), "hub_ks": (1, 3), "category_cutoffs": (None, "R", 5),
}  # fmt: skip


@pytest.mark.parametrize("argument", TWICE)
def test_each_list_of_the_evaluator_is_a_set_in_order(argument):
    given: dict[str, Any] = {**TWICE, "hubness": True, "categories": np.arange(12) % 4}
    once = Evaluator({"phi": PHI}, **given)(SIMILARITY)
    twice = Evaluator({"phi": PHI}, **given | {argument: (*TWICE[argument], *TWICE[argument])})(SIMILARITY)
    assert twice.values == once.values
    assert twice.about == once.about


def test_directions_and_zetas_said_twice_count_once():
    scorer = Evaluator({"phi": PHI})
    assert scorer(SIMILARITY, ("i2t", "t2i", "i2t")).values == scorer(SIMILARITY).values
    labels = np.eye(12, 5) + np.roll(np.eye(12, 5), 3, axis=0)
    labels[labels.sum(axis=1) == 0, 0] = 1
    assert pmrp(SIMILARITY, labels, zetas=(0, 2, 2, 2)) == pmrp(SIMILARITY, labels, zetas=(0, 2))


OPTIONS = {
    "evaluate s.npy --ks 1,5": "--ks 1,5,1,05",
    "evaluate s.npy --phi phi.npy --ms 1,3": "--phi phi.npy --ms 1,3,1",
    "evaluate s.npy --phi phi.npy --ncs-ms k,3": "--phi phi.npy --ncs-ms k,3,k",
    "evaluate s.npy --hubs --hub-ks 1,5": "--hubs --hub-ks 1,5,5",
    "evaluate s.npy --captions c.txt --metric cider": "--captions c.txt --metric cider --metric cider-whitespace",
    "captioning one.txt c.txt --metric cider,bleu4": "--metric cider,BLEU-4 --metric bleu4,cider",
}


@pytest.mark.parametrize(("line", "twice"), OPTIONS.items())
def test_each_list_of_the_command_line_is_a_set_in_order(line, twice, prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    once = run(*line.split(), "--json", "-")
    again = run(*line.partition(" --")[0].split(), *twice.split(), "--json", "-")
    assert (once.code, again.code) == (0, 0), again.err
    now = {"command": "", "date": ""}
    assert json.loads(again.out) | now == json.loads(once.out) | now


def test_columns_of_a_table_of_models_stand_once(run, prepared, monkeypatch):
    monkeypatch.chdir(prepared)
    once = run("evaluate", "s.npy", "--phi", "phi.npy", "--metrics", "R,Rsum,NCS")
    twice = run("evaluate", "s.npy", "--phi", "phi.npy", "--metrics", "R,r,R@1,Rsum,rsum,NCS,n,NCS@5")
    assert (once.code, once.out) == (0, twice.out)


CASES = [
    right("captions t.csv --column caption --column caption -o out.txt", "2 captions of 2 images", makes=["out.txt"]),
    refused("evaluate s.npy --inference csls,k=3,k=5", "'k'", "k=3", "k=5"),
    refused("evaluate s.npy --phi a=phi.npy --phi a=phi.npy", "'a'"),
    refused("evaluate s.npy a=s.npy a=s.npy", "'a'"),
    refused("train run.yaml --phi spice=phi.npy --phi spice=s.npy", "'spice'", "phi.npy", "s.npy"),
    refused("checkpoint import s.npy -o o --model scan --option dim=1 --option dim=2", "'dim'", "dim=2"),
]


CASES += [
    refused(
        f"{command} {option} {first} {option} {second}", option, "twice", name=f"{command.split()[0]} {option} twice"
    )
    for command, option, first, second in (
        ("evaluate s.npy", "--ks", "1", "5"),
        ("evaluate s.npy", "--json", "a.json", "b.json"),
        ("evaluate s.npy", "--inference", "csls", "naive"),
        ("evaluate s.npy", "--captions", "c.txt", "one.txt"),
        ("phi cider c.txt", "-o", "a.npy", "b.npy"),
        ("phi cider c.txt -o a.npy", "--per-image", "5", "5"),
        ("features extract s --network grid_descriptors -o o.npy", "--part", "1/2", "2/2"),
        ("captioning one.txt c.txt", "--tokens", "whitespace", "ptb"),
        ("report", "--only", "a", "b"),
        ("report", "--format", "svg", "pdf"),
    )
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_repeat(case, carry_out):
    carry_out(case)


def test_formats_and_exhibits_said_twice_are_written_once(run, tmp_path, monkeypatch):
    monkeypatch.chdir(CONFIG.parent)
    scale = "config/flickr8k_evidence.yaml"
    names = "noise,evidence_noise/noise,noise"
    said = run("report", scale, "--only", names, "--format", "tex,.TEX,csv,tex", "--out", tmp_path)
    assert said.code == 0 and len(said.out.split()) == 2, said
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["noise.csv", "noise.tex"]


# --- configuration: a repeat is refused wherever it stands ---------------------------------------------------------

# Told apart by their places: members of an ensemble have two seeds, losses of a claim are paired with others.
MAY_REPEAT = ("ensembles", "loss_weights", "test.a", "test.b")
READ: dict[str, Any] = {
    "*.yaml": lambda content, path: scale_of(content, path), "studies/*.yaml": Study, "claims/*.yaml": Claims,
    "datasets.yaml": Catalogue,
}  # fmt: skip


def lists_in(content: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all lists of plain data."""
    if isinstance(content, list) and content:
        yield keys
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield from lists_in(value, (*keys, key))


def every_list() -> list[Any]:
    """One list of each kind, told by its keys, of all files of the configuration."""
    found: dict[str, Any] = {}
    for pattern, kind in READ.items():
        for path in sorted(CONFIG.glob(pattern)):
            if pattern == "*.yaml" and path.name == "datasets.yaml":
                continue
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            for keys in lists_in(content):
                name = f"{pattern}: {'.'.join(key for key in keys if isinstance(key, str))}"
                if not any(part in name for part in MAY_REPEAT):
                    found.setdefault(name, (path, keys, kind))
    return [pytest.param(*place, id=name) for name, place in found.items()]


@pytest.mark.parametrize(("path", "keys", "kind"), every_list())
def test_a_list_of_the_configuration_that_holds_a_value_twice_is_refused(path, keys, kind):
    content = copy.deepcopy(yaml.safe_load(path.read_text(encoding="utf-8")))
    block = content
    for key in keys[:-1]:
        block = block[key]
    block[keys[-1]] = [*block[keys[-1]], block[keys[-1]][0]]
    with pytest.raises(InputError, match=r"twice|two|once|at most"):
        kind(content, path) if not isinstance(kind, type) else check(kind, content, path.name)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([{"model": ["vsepp", "scan"]}, {"model": "scan"}], "scan"),
        ([{"fraction": [0.1, 1.0]}, {"fraction": 1}], "1"),
        ([{"inference": "csls", "folds": [None, 5]}, {"inference": ["csls"]}], "csls"),
    ],
)
def test_a_row_that_two_entries_multiply_out_to_is_refused(rows, named):
    rows = [{"role": "r", "loss": "hardest"} | row for row in rows]
    table = {"name": "t", "kind": "runs", "title": "t", "caption": "c", "rows": rows, "columns": [{"metric": "Rsum"}]}
    with pytest.raises(InputError, match=f"{named}.* twice"):
        check(Study, {"paper": "p", "losses": {"hardest": {}}, "tables": [table]}, "study.yaml")
    assert check(Study, {"paper": "p", "losses": {"hardest": {}}, "tables": [table | {"rows": rows[:1]}]}, "study.yaml")


def test_a_contrast_that_two_entries_multiply_out_to_is_refused():
    contrasts = [{"role": "r", "a": ["x", "y"], "b": "hardest"}, {"role": "r", "a": "y", "b": "hardest"}]
    table = {"name": "t", "kind": "paired", "title": "t", "caption": "c", "contrasts": contrasts}
    losses = {"hardest": {}, "x": {}, "y": {}}
    with pytest.raises(InputError, match=r"contrasts .* \(numbers 2 and 3\)"):
        check(Study, {"paper": "p", "losses": losses, "tables": [table]}, "study.yaml")


def test_a_phi_that_a_mean_holds_twice_is_refused():
    check_phi("tfidf+bleu_daa", "evaluation_phis")
    with pytest.raises(ValueError, match=r"evaluation_phis.*'tfidf' twice"):
        check_phi("tfidf+bleu_daa+tfidf", "evaluation_phis")


def test_weights_of_a_loss_may_be_equal():
    model = {"name": "cvse", "loss_weights": [1.0, 1.0, 1.0, 1.0]}
    assert check(RunSpec, {"dataset": "d", "features": {"extractor": "e"}, "model": model}, "run.yaml")
