"""Sizes of splits, counted in corpora, beside the published ones (Table 3 of the kNN margin)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.paper.context import Context
from fivesentences.paper.rendering import make

PUBLISHED = Path(__file__).parents[2] / "config" / "published"
KARPATHY = {"loader": "karpathy"}
# Images of each split, and how the corpus was read.
SIZES = {
    "flickr30k": ((29, 3, 4), {}),
    "coco": ((40, 6, 20), {"order": "released", "captions_per_image": 5}),
}


@pytest.fixture
def table_at(tmp_path, studies, make_scale):
    """Makes the table at a scale whose roles are played by these datasets; images have 5 captions."""

    def table_at(roles):
        study, scale = studies["knn_margin"], make_scale(roles=roles, datasets=dict.fromkeys(SIZES, KARPATHY))
        paths = [tmp_path / f"{dataset}.parquet" for dataset in dict.fromkeys(roles.values())]
        for path in paths:
            images, read_as = SIZES[path.stem]
            rows = [
                (f"{split}{image}", f"{split}{image}.jpg", f"{split}{image}#{place}", "a dog", split, None)
                for split, count in zip(("train", "dev", "test"), images, strict=True)
                for image in range(count)
                for place in range(5)
            ]
            Corpus(path.stem, pd.DataFrame(rows, columns=list(COLUMNS)), read_as=read_as).write(path)
        return make(study.exhibit("splits"), Context("knn_margin", study, scale, PUBLISHED), paths)

    return table_at


def test_splits_are_counted_and_stand_beside_the_published_sizes(table_at):
    table = table_at({"flickr30k": "flickr30k", "coco": "coco"})
    lines = table.tidy().pivot(index=["items", "published_row"], columns="split")[["value", "published", "difference"]]
    lines = lines.reindex(columns=["train", "dev", "test"], level="split")
    assert lines.loc["images"].to_numpy().tolist() == [
        [29, 3, 4, 30_000, 1000, 1000, 29 - 30_000, 3 - 1000, 4 - 1000],
        [40, 6, 4, 113_287, 5000, 1000, 40 - 113_287, 6 - 5000, 4 - 1000],  # a fold of five
        [40, 6, 20, 113_287, 5000, 5000, 40 - 113_287, 6 - 5000, 20 - 5000],
    ]
    captions = lines.loc["captions"]
    assert captions["value"].loc["2"].tolist() == [200, 30, 20] and captions["published"].isna().all(axis=None)
    (how,) = (note for note in table.notes if "MS-COCO:" in note)
    assert "as released" in how and "first 5 captions" in how


def test_another_dataset_in_the_role_is_not_subtracted_and_a_missing_role_has_no_row(table_at):
    lines = table_at({"flickr30k": "coco"}).tidy()
    assert set(lines["role"]) == {"flickr30k"} and set(lines["dataset"]) == {"coco"}
    assert lines["difference"].isna().all() and lines["published"].notna().sum() == 3
