"""t-SNE of a subspace puts categories apart, and equal bits come out each time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from fivesentences.config.documents import SubspaceTraining
from fivesentences.corpus.divisions import write_division
from fivesentences.corpus.documents import Division, Documents, write_documents
from fivesentences.evaluation.categories import projected, write_projection
from fivesentences.models.subspaces.specs import CCA
from fivesentences.study.runs import PlacedRun, SubspaceRun

CATEGORIES = np.arange(60) % 3
DRAW = np.random.default_rng(0)
IMAGES, TEXTS = (10 * np.eye(3)[CATEGORIES] + DRAW.normal(size=(60, 3)) for _ in range(2))


@pytest.mark.slow
def test_neighbours_in_the_plane_are_of_one_category_and_lengths_do_not_count():
    places = projected(IMAGES)
    nearest = KNeighborsClassifier(5).fit(places[::2], CATEGORIES[::2])
    assert nearest.score(places[1::2], CATEGORIES[1::2]) == 1
    stretched = IMAGES * 2.0 ** DRAW.integers(-3, 4, size=(60, 1))
    np.testing.assert_array_equal(projected(stretched), places)
    assert not np.array_equal(projected(DRAW.permuted(IMAGES, axis=1)), places)


@pytest.mark.slow
def test_the_file_has_the_image_and_the_text_of_every_test_document(tmp_path):
    ids = tuple(f"d{place}" for place in range(60))
    documents = Documents(ids, tuple("abc"[c] for c in CATEGORIES), ("",) * 60, ("",) * 60, (None,) * 60, ids)
    write_documents(documents, tmp_path / "d.parquet")
    parts = Division(np.arange(0, 10), np.arange(10, 20), np.arange(20, 60))
    write_division(tmp_path / "d.csv", documents, parts)
    run = SubspaceRun(
        documents="d", division="printed", method=CCA(method="cca"), seed=0, image="as_stored", text="as_stored",
        words=10, training=SubspaceTraining(),
    )  # fmt: skip
    placed = PlacedRun(run, tmp_path, tmp_path / "d.csv")
    np.savez(tmp_path / "vectors.npz", last_image=IMAGES[20:], last_text=TEXTS[20:])
    out = tmp_path / "p.parquet"
    write_projection(placed, documents=tmp_path / "d.parquet", selection="last", out=out)
    found = pd.read_parquet(out)
    assert found.columns.tolist() == ["document", "category", "modality", "x", "y"]
    assert found["document"].tolist() == list(ids[20:]) * 2
    assert found["category"].tolist() == ["abc"[c] for c in CATEGORIES[20:]] * 2
    assert found["modality"].tolist() == ["image"] * 40 + ["text"] * 40
    np.testing.assert_array_equal(found[["x", "y"]], projected(np.concatenate([IMAGES[20:], TEXTS[20:]])))  # again
