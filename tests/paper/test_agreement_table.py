from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.rendering import make
from fivesentences.reproduction.paper.tables.writing import markdown
from fivesentences.storage import write_json


@pytest.fixture(scope="module")
def build(studies, root, agreement, tmp_path_factory):
    """Table 1 at a scale, from made-up correlations that may be changed before."""

    def built(scale, change=lambda frame: frame, **options):
        context = Context("five_sentences", studies["five_sentences"], scale, root / "config" / "published")
        spec, file = context.study.exhibit("table1"), tmp_path_factory.mktemp("judge") / "judge.json"
        lines = change(agreement(scale, spec.judged(), **options)).astype("object")
        write_json(file, lines.where(lines.notna(), None).to_dict("records"))
        return make(spec, context, [file])

    return built


@pytest.fixture(scope="module")
def cxc(judged_by):
    """The paper's own judge and dataset."""
    return judged_by("cxc")


@pytest.fixture(scope="module")
def table1(build, cxc):
    return build(cxc)


def rows_of(table):
    return [(group, row) for group in table.groups for row in group.rows]


def test_every_cell_is_the_correlation_and_its_interval_and_the_highest_is_the_best(build, cxc, studies):
    frames = []
    table = build(cxc, lambda frame: frames.append(frame) or frame)
    assert len(rows_of(table)) == len(studies["five_sentences"].exhibit("table1").rows)
    for group, row in rows_of(table):
        for column, cell in zip(table.columns, row.cells, strict=True):
            wanted = {**group.keys, **row.keys, **column.keys}
            found = frames[0][np.logical_and.reduce([frames[0][key] == value for key, value in wanted.items()])]
            assert len(found) == 1 and cell.count == found["n_pairs"].item()
            numbers = found[["value", "low", "high"]].astype(float).to_numpy()[0]
            assert [cell.value, cell.low, cell.high] == [None if np.isnan(one) else one for one in numbers]
    for group in table.groups:
        values = np.array([[round(cell.value or 0.0, 3) for cell in row.cells] for row in group.rows])
        best = np.array([[cell.best for cell in row.cells] for row in group.rows])
        np.testing.assert_array_equal(best, values == values.max(axis=0))


@pytest.mark.parametrize(
    ("judge", "dataset"), [("flickr8k_expert", "flickr8k"), ("scenes_truth", "scenes"), ("cxc", "coco5k")]
)
def test_no_difference_is_taken_with_another_judge_or_dataset(build, judged_by, judge, dataset):
    table = build(judged_by(judge, dataset=dataset))
    cells = [cell for _, row in rows_of(table) for cell in row.cells]
    assert any(cell.published is not None for cell in cells) and all(cell.difference is None for cell in cells)
    assert "published, other data" in markdown(table)


def test_what_the_scale_leaves_out_makes_no_row_and_is_named(build, judged_by):
    left_out = {"phis": ["cider-ptb", "bleu4-ptb", "rouge_l-ptb", "meteor"]}
    table = build(judged_by("scenes_truth", leave_out=left_out), tuples="the generator of the scenes, not parsed")
    assert not {"cider-ptb", "meteor"} & {row.keys["phi"] for _, row in rows_of(table)}
    notes = "\n".join(table.notes)
    for named in (
        "CIDEr (PTB tokens), BLEU-4 (PTB tokens), ROUGE-L (PTB tokens), METEOR",
        "the generator of the scenes",
    ):
        assert named in notes


def test_a_missing_correlation_is_named(build, cxc):
    with pytest.raises(InputError, match=r"cxc.* pearson of spice"):
        build(cxc, lambda frame: frame[(frame["phi"] != "spice") | (frame["statistic"] != "pearson")])
