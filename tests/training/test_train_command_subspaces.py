"""`fivesentences train` of a scale with category retrieval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import TypeAdapter

from fivesentences.config.reading import read
from fivesentences.reproduction.categories.config import AnyDocuments
from fivesentences.reproduction.categories.corpus.divisions import divide, write_division
from fivesentences.reproduction.categories.corpus.loading import load_documents
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.places import Places

pytestmark = pytest.mark.slow

METHODS = {
    "random": {"method": "random"},
    "cfa": {"method": "cfa", "dimensions": 3},
    "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
}
Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run `fivesentences train` in a folder with a scale and its vectors; return its exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    lines = [f"d{number},{'abc'[number % 3]}" for number in range(60)]
    Path("table.csv").write_text("\n".join(["document,category", *lines]) + "\n")
    for modality, size in (("images", 7), ("texts", 5)):
        np.save(f"{modality}.npy", rng.standard_normal((60, size)).astype(np.float32))
    documents = {"loader": "descriptors", "table": "table.csv", "images": "images.npy", "texts": "texts.npy"}
    divisions = {"printed": {"validation": 12, "test": 18}}
    scale = {
        "scale": "s",
        "title": "S",
        "studies": ["p"],
        "categories": {
            "roles": {"mine": "own"},
            "documents": {"own": documents | {"divisions": divisions, "image": "standardise", "text": "standardise"}},
            "seeds": [0, 1],
            "training": {"epochs": 2, "batch_size": 10, "hidden": 6, "output": 4},
        },
    }
    rows = [{"role": "mine", "method": list(METHODS)}]
    columns = [{"metric": "mAP", "direction": "mean"}]
    table = {"name": "t", "kind": "subspaces", "title": "T", "caption": "C", "rows": rows, "columns": columns}
    Path("config/studies").mkdir(parents=True)
    Path("config/s.yaml").write_text(yaml.safe_dump(scale))
    Path("config/studies/p.yaml").write_text(yaml.safe_dump({"paper": "P", "methods": METHODS, "tables": [table]}))

    def train(*arguments: Any) -> tuple[int, str]:
        said = run("train", *arguments)
        return said.code, said.out + said.err

    return train


def write_inputs(places: Places) -> None:
    """What the workflow makes of the documents before it trains."""
    categories = read(Scale, "config/s.yaml").categories
    assert categories is not None
    spec = TypeAdapter(AnyDocuments).validate_python(categories.documents["own"])
    loaded = load_documents(
        spec, {"table": Path("table.csv"), "images": Path("images.npy"), "texts": Path("texts.npy")}
    )
    vectors = [places.document_vectors("own", "image"), places.document_vectors("own", "text")]
    for path in (places.documents("own"), *vectors, places.division("own", "printed", 0)):
        path.parent.mkdir(parents=True, exist_ok=True)
    loaded.write(places.documents("own"), *vectors)
    for seed in (0, 1):
        division = divide(loaded.documents, spec.divisions["printed"], seed)
        write_division(places.division("own", "printed", seed), loaded.documents, division)


def test_runs_of_category_retrieval_go_where_the_workflow_expects_them(command: Command) -> None:
    code, said = command("config/s.yaml", "--list")
    names = said.splitlines()
    assert code == 0
    assert names == [
        f"own/printed/{method}/seed={seed}"
        for method in ("random", "cfa,dimensions=3", "triplets,toward=nothing")
        for seed in (0, 1)
    ]
    places = Places()
    write_inputs(places)
    chosen = [name for name in names if "cfa" not in name]
    assert command("config/s.yaml", "--only", "*/random/*", "--only", "*/triplets*")[0] == 0
    trained = {path.parent.relative_to("results/training/subspaces").as_posix() for path in Path().rglob("vectors.npz")}
    assert trained == set(chosen)

    code, said = command("config/s.yaml", "--only", "*/random/*")
    assert code == 0 and said.count("was finished before") == 2
