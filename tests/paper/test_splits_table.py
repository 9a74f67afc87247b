"""Sizes of splits, counted in corpora, beside the published ones (Table 3 of the kNN margin)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fivesentences.config.reading import read
from fivesentences.config.scales import Scale
from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.paper.context import Context
from fivesentences.paper.rendering import table_of
from fivesentences.plan.plan import plan_of

CONFIG = Path(__file__).parents[2] / "config"
# Images of each split, and captions of each image.
SIZES = {"flickr30k": ((29, 3, 4), 5), "coco": ((40, 6, 20), 5)}


def corpus_of(name: str, images: tuple[int, int, int], each: int, **more) -> Corpus:
    rows = [
        (f"{split}{image}", f"{split}{image}.jpg", f"{split}{image}#{place}", "a dog", split, None)
        for split, count in zip(("train", "dev", "test"), images, strict=True)
        for image in range(count)
        for place in range(each)
    ]
    return Corpus(name, pd.DataFrame(rows, columns=list(COLUMNS)), **more)


@pytest.fixture
def table_at(tmp_path, monkeypatch):
    """Makes the table at the papers' scale whose roles are played by these datasets."""
    monkeypatch.chdir(tmp_path)

    def table_at(roles):
        plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)
        scale = plan.scale.model_copy(update={"roles": roles})
        spec = plan.tables["knn_margin/splits"]
        paths = [tmp_path / f"{dataset}.parquet" for dataset in dict.fromkeys(roles.values())]
        for path in paths:
            images, each = SIZES[path.stem]
            read_as = {"order": "released", "captions_per_image": 5} if path.stem == "coco" else {}
            corpus_of(path.stem, images, each, read_as=read_as).write(path)
        return table_of(spec, Context("knn_margin", plan.studies["knn_margin"], scale, CONFIG / "published"), paths)

    return table_at


def test_splits_are_counted_and_stand_beside_the_published_sizes(table_at):
    lines = table_at({"flickr30k": "flickr30k", "coco": "coco"}).tidy()
    images = lines[lines["items"] == "images"].pivot(index="published_row", columns="split")
    assert images["value"].loc["1"].to_dict() == {"train": 29, "dev": 3, "test": 4}
    assert images["value"].loc["2"].to_dict() == {"train": 40, "dev": 6, "test": 4}  # a fold of five
    assert images["value"].loc["3"].to_dict() == {"train": 40, "dev": 6, "test": 20}
    assert images["published"].loc["1"].to_dict() == {"train": 30_000, "dev": 1000, "test": 1000}
    assert images["published"].loc["3"].to_dict() == {"train": 113_287, "dev": 5000, "test": 5000}
    assert images["difference"].loc["2"].to_dict() == {"train": 40 - 113_287, "dev": 6 - 5000, "test": 4 - 1000}
    captions = lines[lines["items"] == "captions"]
    assert captions["published"].isna().all()
    assert captions.query("published_row == '2'").set_index("split")["value"].to_dict() == {
        "train": 200,
        "dev": 30,
        "test": 20,
    }


def test_another_dataset_in_the_role_is_not_subtracted_and_a_missing_role_has_no_row(table_at):
    lines = table_at({"flickr30k": "coco"}).tidy()
    assert set(lines["role"]) == {"flickr30k"} and set(lines["dataset"]) == {"coco"}
    assert lines["difference"].isna().all() and lines["published"].notna().sum() == 3


def test_a_note_says_how_a_corpus_was_read(table_at):
    notes = table_at({"flickr30k": "flickr30k", "coco": "coco"}).notes
    said = (
        "MS-COCO: images of restval after the other training images, as released; the first 5 captions of each image."
    )
    assert said in notes and not any(note.startswith("Flickr30K:") for note in notes)


def test_the_plan_asks_for_the_corpora_of_its_roles():
    plan = plan_of(read(Scale, CONFIG / "paper.yaml"), CONFIG)
    assert [path.name for path in plan.numbers_of("paper", "knn_margin/splits")] == [
        "flickr30k.parquet",
        "coco.parquet",
    ]
