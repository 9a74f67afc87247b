"""The figure of right pairs among the first n."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fivesentences.paper.context import Context
from fivesentences.paper.rendering import drawing_of
from fivesentences.study.exhibits import FoundPositivesFigure

FIGURE = "daa_supp/found_positives"
PUBLISHED = Path(__file__).parents[2] / "config" / "published"


def test_every_point_of_a_line_is_a_measured_step(everything):
    measured = pd.read_parquet(everything.numbers(FIGURE)[0])
    drawing = everything.drawing(FIGURE)
    shown = drawing.data[["order", "found", "searched"]]
    for order, found, searched in shown.itertuples(index=False):
        of_order = measured[measured["order"] == order]
        assert found == (of_order["searched"] <= searched).sum() and searched in set(of_order["searched"])
    assert set(shown["order"]) == {"tfidf", "cider", "bleu_daa", "rouge_daa", "spice", "labels"}
    last = drawing.data.groupby("order", sort=False).last()
    assert (last["found"] == 100).all() and last.loc["cider", "searched"] == 200


@pytest.fixture
def of_coco(everything, tmp_path):
    """Steps of CxC, of which the paper has points."""
    path = tmp_path / "cxc.parquet"
    lines = {"tfidf": [(1_400_000, 3000), (1_600_000, 5000)], "labels": [(11_000_000, 5000), (20_000_000, 3000)]}
    pd.DataFrame(
        [
            ("cxc", "coco", order, searched, 124_975_000)
            for order in lines
            for searched, count in lines[order]
            for _ in range(count)
        ],
        columns=["judge", "dataset", "order", "searched", "pairs"],
    ).to_parquet(path, index=False)
    figure, context = everything.plan.figures[FIGURE], everything.contexts[FIGURE]
    assert isinstance(figure, FoundPositivesFigure) and isinstance(context, Context)
    return drawing_of(figure, context, [path])


def test_the_papers_points_stand_beside_ours(of_coco):
    printed = of_coco.data[of_coco.data["published"]]
    assert printed[["found", "searched"]].to_numpy().tolist() == [[7000, 1_500_000], [7039, 11_800_000]]
    by_semantics = next(note for note in of_coco.notes if "1,500,000" in note)
    assert "3,000 by tf-idf" in by_semantics and "0 by shared labels" in by_semantics
    by_classes = next(note for note in of_coco.notes if "11,800,000" in note)
    assert "8,000 by tf-idf" in by_classes and "5,000 by shared labels" in by_classes
