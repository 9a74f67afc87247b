from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from drawn_texts import drawn, misplaced
from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.paper.context import Context
from fivesentences.paper.figures.lines import looks_of_categories
from fivesentences.paper.rendering import drawing_of
from fivesentences.study.expand import subspace_rows
from fivesentences.study.study import Study
from many_categories import PASCAL, category_margins

METHODS = {
    "sam": {"method": "triplets"},
    "late": {"method": "triplets", "loss": {"start": 0.7}},
    "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
}


@pytest.fixture
def drawing(make_scale, categories, tmp_path):
    """The figure of some methods, and the margins that it was made from."""

    def made(*methods, names=PASCAL[:4], change=lambda frame: frame):
        rows = [{"role": "wikipedia", "method": list(methods)}]
        figure = {"name": "f", "kind": "category_margins", "title": "T", "caption": "C", "rows": rows}
        content = {"paper": "P", "methods": METHODS, "labels": {"sam": "SAM", "bird": "birds"}, "figures": [figure]}
        study = check(Study, content, "toy")
        scale = make_scale(categories=categories(study, methods=None))
        spec = study.exhibit("f")
        runs = [run.name for row in subspace_rows(spec.subspace_rows(), study, scale) for run in row.runs]
        frame = change(category_margins(runs, names))
        path = tmp_path / "job.category_margins.parquet"
        frame.to_parquet(path, index=False)
        return drawing_of(spec, Context("toy", study, scale), [path]), frame

    return made


def test_every_point_is_the_mean_over_the_seeds_of_one_pair_of_categories(drawing):
    found, frame = drawing("sam")
    assert len(found.data) == 4 * 3 * 50
    chosen = found.data.sample(40, random_state=0)
    for point in chosen.itertuples():
        values = [
            line.mean_margin
            for line in frame.itertuples()
            if (line.anchor, line.negative, line.epoch) == (point.anchor, point.negative, point.epoch)
        ]
        assert (point.seeds, len(values)) == (3, 3)
        assert (point.mean_margin, point.low, point.high) == pytest.approx((np.mean(values), min(values), max(values)))


@pytest.mark.parametrize("count", [2, 3, 5, 7, 10, 13, 20])
def test_each_category_has_a_panel_with_a_line_for_every_other(drawing, count):
    canvas = drawn(drawing("sam", names=PASCAL[:count])[0].draw)
    assert [panel.get_title(loc="left") for panel in canvas.axes] == [
        {"bird": "birds"}.get(name, name) for name in PASCAL[:count]
    ]
    assert [len(panel.lines) for panel in canvas.axes] == [count - 1] * count
    assert len({panel.get_ylim() for panel in canvas.axes}) == 1
    assert misplaced(canvas) == []


def test_the_largest_and_smallest_margins_of_the_last_epoch_are_named(drawing):
    found, frame = drawing("sam", names=PASCAL[:6])
    last = frame[frame["epoch"] == 100].groupby(["anchor", "negative"])["mean_margin"].mean()
    canvas = drawn(found.draw)
    for panel, anchor in zip(canvas.axes, PASCAL[:6], strict=True):
        named = [text.get_text().replace("birds", "bird") for text in panel.texts]
        assert named == [f"largest: {last[anchor].idxmax()}", f"smallest: {last[anchor].idxmin()}"]


def test_each_method_has_its_panels_below_its_name(drawing):
    canvas = drawn(drawing("sam", "late")[0].draw)
    assert len(canvas.axes) == 8
    headings = [text.get_text() for text in canvas.texts if text.get_weight() == "bold"]
    assert [heading.endswith(": made in the role of wikipedia, printed") for heading in headings] == [True] * 2
    assert headings[0].startswith("SAM: ") and "0.7" in headings[1]
    assert misplaced(canvas) == []


def test_a_run_that_recorded_no_margins_is_named(drawing):
    with pytest.raises(InputError, match="seed=1' recorded no margins"):
        drawing("sam", change=lambda frame: frame[~frame["run"].str.endswith("seed=1")])


def test_a_file_of_something_else_is_refused(drawing):
    with pytest.raises(InputError, match="'mean_margin' is missing"):
        drawing("sam", change=lambda frame: frame.rename(columns={"mean_margin": "margin"}))


def test_no_two_of_twenty_categories_look_alike():
    looks = looks_of_categories(PASCAL)
    assert len(set(looks.values())) == len({look.colour for look in looks.values()}) == len(PASCAL)
    # Colours as seen: far enough apart in RGB to be different to somebody who sees colours.
    rgb = np.array([[int(look.colour[at : at + 2], 16) for at in (1, 3, 5)] for look in looks.values()])
    apart = np.sqrt(((rgb[:, None] - rgb[None]) ** 2).sum(axis=2)) + 1000 * np.eye(len(rgb))
    assert apart.min() > 25


def test_data_of_a_scale_without_these_rows_are_an_empty_table(drawing, make_scale):
    rows = [{"role": "pascal", "method": "sam"}]
    figure = {"name": "f", "kind": "category_margins", "title": "T", "caption": "C", "rows": rows}
    study = check(Study, {"paper": "P", "methods": METHODS, "figures": [figure]}, "toy")
    found = drawing_of(study.exhibit("f"), Context("toy", study, make_scale()), [])
    assert found.draw is None and found.data.empty and isinstance(found.data, pd.DataFrame)
    assert any("pascal" in note for note in found.notes)
