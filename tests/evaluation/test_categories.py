"""Numbers of category retrieval equal those of scikit-learn, trec_eval and definitions written out."""

from __future__ import annotations

from itertools import product

import ir_measures
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity as cosine_of_sklearn
from sklearn.neighbors import KNeighborsClassifier

from fivesentences.errors import InputError
from fivesentences.reproduction.categories.config import SubspaceTraining
from fivesentences.reproduction.categories.corpus.divisions import write_division
from fivesentences.reproduction.categories.corpus.documents import Division, Documents, write_documents
from fivesentences.reproduction.categories.evaluation import (
    HISTORY,
    SUBSPACE_METRICS,
    TABLES,
    cosine_similarity,
    evaluate_subspace_runs,
    projected,
    read_subspace_table,
    subspace_scores,
    write_projection,
)
from fivesentences.reproduction.categories.models.specs import CCA, TripletNetwork
from fivesentences.reproduction.categories.runs import PlacedRun, SubspaceRun

DRAW = np.random.default_rng(0)
NAMES = np.array(["art", "NA", "music"])[DRAW.integers(3, size=250)]
IMAGES = (NAMES[:, None] == np.array(["art", "NA", "music"])) * 0.7 + DRAW.normal(size=(250, 3))
TEXTS = (NAMES[:, None] == np.array(["art", "NA", "music"])) * 1.5 + DRAW.normal(size=(250, 3))


@pytest.fixture(scope="module")
def scores():
    return subspace_scores(IMAGES, TEXTS, NAMES)


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_every_average_precision_is_that_of_scikit_learn_and_their_mean_that_of_trec_eval(scores, direction):
    similarity = cosine_similarity(IMAGES, TEXTS)
    np.testing.assert_allclose(similarity, cosine_of_sklearn(IMAGES, TEXTS), atol=1e-6)
    of_queries = similarity if direction == "i2t" else similarity.T
    relevant = NAMES[:, None] == NAMES
    theirs = [average_precision_score(*one) for one in zip(relevant, of_queries, strict=True)]
    np.testing.assert_allclose(scores.average_precision[direction]["mAP"], theirs, atol=1e-12)
    judged = [ir_measures.Qrel(str(q), str(d), 1) for q, d in np.argwhere(relevant)]
    run = [ir_measures.ScoredDoc(str(q), str(d), float(of_queries[q, d])) for q, d in np.ndindex(relevant.shape)]
    found = ir_measures.calc_aggregate([ir_measures.AP], judged, run)
    assert scores.values["mAP", direction] == pytest.approx(found[ir_measures.AP], abs=1e-6)


def test_the_mean_is_that_of_both_directions_and_random_vectors_reach_what_chance_gives(scores):
    for metric in SUBSPACE_METRICS:
        sides = [scores.values[metric, direction] for direction in ("i2t", "t2i")]
        assert scores.values[metric, "mean"] == pytest.approx(np.mean(sides))
    draw = np.random.default_rng(1)
    values = [
        subspace_scores(draw.normal(size=(250, 8)), draw.normal(size=(250, 8)), NAMES).values["mAP", "mean"]
        for _ in range(20)
    ]
    assert np.mean(values) == pytest.approx(scores.values["mAP by chance", "mean"], abs=0.006)
    assert scores.values["mAP", "mean"] > scores.values["mAP by chance", "mean"] + 0.05


# --- files --------------------------------------------------------------------------------------------------

RUNS = [
    SubspaceRun(
        documents="made", division="printed", method=method, seed=seed, image="as_stored", text="as_stored",
        words=10, training=SubspaceTraining(),
    )
    for method, seed in product([TripletNetwork(method="triplets"), CCA(method="cca")], [0, 1])
]  # fmt: skip
DOCUMENTS = Documents(
    ids=tuple(f"d{place}" for place in range(250)),
    categories=tuple(NAMES.tolist()),
    images=("",) * 250,
    texts=("",) * 250,
    parts=(None,) * 250,
    articles=tuple(f"d{place}" for place in range(250)),
)


@pytest.fixture
def job(tmp_path):
    """Folders of four runs, as training leaves them, and where they lie."""
    write_documents(DOCUMENTS, tmp_path / "made.parquet")
    divisions = {}
    for seed in (0, 1):
        places = np.random.default_rng(seed).permutation(250)
        parts = (np.sort(part) for part in (places[:100], places[100:130], places[130:]))
        divisions["printed", seed] = tmp_path / f"printed,seed={seed}.csv"
        write_division(divisions["printed", seed], DOCUMENTS, Division(*parts))
    for run in RUNS:
        folder = tmp_path / "training" / run.name
        folder.mkdir(parents=True)
        places = np.sort(np.random.default_rng(run.seed).permutation(250)[130:])
        arrays = {"last_image": IMAGES[places], "last_text": TEXTS[places]}
        lines = [",".join(name for name in HISTORY if name != "alpha" or run.method.iterative)]
        if run.method.iterative:
            arrays |= {"map_image": IMAGES[places], "map_text": TEXTS[places][:, ::-1]}
            arrays |= {"loss_image": IMAGES[places], "loss_text": -TEXTS[places]}
            lines += ["1,0.005,3.5,,,0.1,0.9", "2,0.004,2.5,2.75,0.3,0.2,0.8"]
            (folder / "category_margins.csv").write_text("epoch,anchor,negative,mean_margin,pairs\n2,art,NA,0.5,30\n")
        (folder / "history.csv").write_text("\n".join(lines) + "\n")
        np.savez(folder / "vectors.npz", **{name: array.astype(np.float32) for name, array in arrays.items()})
    placed = [PlacedRun(run, tmp_path / "training" / run.name, divisions["printed", run.seed]) for run in RUNS]
    return tmp_path, placed


def evaluated(job, some=slice(None)):
    folder, placed = job
    files = {name: folder / f"{name}.parquet" for name in TABLES}
    evaluate_subspace_runs(placed[some], documents=folder / "made.parquet", **files)
    return {name: read_subspace_table([file], name) for name, file in files.items()}


def test_tables_have_a_line_for_every_number_of_every_run(job):
    found = evaluated(job)
    values = found["metrics"]
    assert len(values) == (2 * 3 + 2) * len(SUBSPACE_METRICS) * 3 and values["value"].notna().all()
    assert values.groupby("run", sort=False)["selection"].unique().map(list).tolist() == [
        *[["map", "loss", "last"]] * 2,
        *[["last"]] * 2,
    ]
    assert values[["train", "validation", "test", "categories"]].drop_duplicates().values.tolist() == [
        [100, 30, 120, 3]
    ]
    for run in RUNS:
        places = np.sort(np.random.default_rng(run.seed).permutation(250)[130:])
        expected = subspace_scores(IMAGES[places].astype(np.float32), TEXTS[places].astype(np.float32), NAMES[places])
        last = values.query("run == @run.name and selection == 'last'").set_index(["metric", "direction"])["value"]
        assert last.to_dict() == dict(expected.values)
        queries = found["queries"].query("run == @run.name and selection == 'last' and direction == 't2i'")
        assert queries["document"].tolist() == [f"d{place}" for place in places]
        assert queries["category"].tolist() == NAMES[places].tolist()
        assert queries["average_precision"].tolist() == expected.average_precision["t2i"]["mAP"].tolist()
        assert queries["average_precision@R"].tolist() == expected.average_precision["t2i"]["mAP@R"].tolist()
    means = found["queries"].groupby(["run", "selection", "direction"])["average_precision"].mean()
    whole = values.query("metric == 'mAP' and direction != 'mean'").set_index(["run", "selection", "direction"])
    pd.testing.assert_series_equal(means, whole["value"].reindex(means.index), check_names=False)


def test_what_training_recorded_is_gathered_with_empty_fields_as_missing(job):
    found = evaluated(job)
    history = found["histories"]
    assert history["run"].tolist() == [run.name for run in RUNS[:2] for _ in range(2)]
    assert history["validation_map"].isna().tolist() == [True, False] * 2
    assert history["alpha"].tolist() == [0.1, 0.2] * 2 and history["epoch"].dtype == "int64"
    margins = found["category_margins"]
    assert margins[["anchor", "negative", "pairs"]].values.tolist() == [["art", "NA", 30]] * 2
    only_closed = evaluated(job, slice(2, None))
    assert [len(only_closed[name]) for name in ("histories", "category_margins")] == [0, 0]
    assert only_closed["histories"].dtypes.equals(history.dtypes)


# --- on a plane ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_neighbours_in_the_plane_are_of_one_category_and_lengths_do_not_count():
    categories, draw = np.arange(60) % 3, np.random.default_rng(0)
    images = 10 * np.eye(3)[categories] + draw.normal(size=(60, 3))
    places = projected(images)
    nearest = KNeighborsClassifier(5).fit(places[::2], categories[::2])
    assert nearest.score(places[1::2], categories[1::2]) == 1
    stretched = images * 2.0 ** draw.integers(-3, 4, size=(60, 1))
    np.testing.assert_array_equal(projected(stretched), places)
    assert not np.array_equal(projected(draw.permuted(images, axis=1)), places)


@pytest.mark.slow
def test_the_file_has_the_image_and_the_text_of_every_test_document(job):
    folder, placed = job
    write_projection(placed[2], documents=folder / "made.parquet", selection="last", out=folder / "p.parquet")
    found, test = pd.read_parquet(folder / "p.parquet"), np.sort(np.random.default_rng(0).permutation(250)[130:])
    assert found.columns.tolist() == ["document", "category", "modality", "x", "y"]
    assert found["document"].tolist() == [f"d{place}" for place in test] * 2
    assert found["category"].tolist() == NAMES[test].tolist() * 2
    assert found["modality"].tolist() == ["image"] * 120 + ["text"] * 120
    vectors = np.concatenate([IMAGES[test], TEXTS[test]]).astype(np.float32)
    np.testing.assert_array_equal(found[["x", "y"]], projected(vectors))  # again


def test_a_table_of_other_runs_in_the_place_of_one_is_refused(job):
    evaluated(job)
    folder, _ = job
    for name in TABLES:
        copy = folder / f"{name}.other.parquet"
        copy.write_bytes((folder / f"{name}.parquet").read_bytes())
        with pytest.raises(InputError) as error:
            read_subspace_table([folder / f"{name}.parquet", copy], name)
        assert error.value.where == copy
