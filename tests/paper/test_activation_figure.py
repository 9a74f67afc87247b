from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from drawn_texts import drawn, misplaced
from fivesentences.config.reading import check
from fivesentences.paper.context import Context
from fivesentences.paper.rendering import drawing_of
from fivesentences.study.exhibits import ActivationFigure
from fivesentences.study.study import Study

PRINTED = [(0.2, 0.2), (0.5, 0.9), (0.8, 0.5)]


@pytest.fixture
def drawing(make_scale, categories):
    def made(curves=PRINTED, scale=None, **settings):
        content = {"name": "f", "kind": "activation", "title": "T", "caption": "C"}
        content["curves"] = [{"start": start, "steepness": steepness} for start, steepness in curves]
        study = check(Study, {"paper": "P", "figures": [content | settings]}, "toy")
        context = Context("toy", study, scale or make_scale(categories=categories(study)))
        return drawing_of(study.exhibit("f"), context, [])

    return made


@pytest.mark.parametrize("epochs", [1, 50, 100])
def test_every_curve_is_scipys_logistic_function_of_the_epoch(drawing, epochs):
    data = drawing(epochs=epochs).data
    assert len(data) == 3 * data["epoch"].nunique()
    expected = expit(data["steepness"] * (data["epoch"] - data["start"] * epochs))
    np.testing.assert_allclose(data["alpha"], expected, atol=1e-12)
    assert (data["epoch"].min(), data["epoch"].max()) == (0, epochs)


def test_a_schedule_that_does_not_go_from_0_to_1_is_named(drawing):
    (note,) = [note for note in drawing([*PRINTED, (1.0, 0.1)]).notes if note.startswith("Not every schedule")]
    first, last = expit(-0.2 * 0.2 * 50), expit(0.0)
    assert f"fₐ = 0.2, k = 0.2 begins at {first:.2f}" in note and f"fₐ = 1, k = 0.1 ends at {last:.2f}" in note
    assert "0.5" not in note.replace("ends at 0.50", "") and "0.8" not in note
    assert not [note for note in drawing([(0.5, 0.9)]).notes if note.startswith("Not every schedule")]


def test_dots_are_where_both_margins_weigh_the_same_and_texts_can_be_read(drawing):
    canvas = drawn(drawing([(share / 10, 0.1 * (1 + share)) for share in range(0, 11, 2)]).draw)
    (panel,) = canvas.axes
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    assert [(float(dot.get_xdata()[0]), float(dot.get_ydata()[0])) for dot in dots] == [
        (pytest.approx(5.0 * share), 0.5) for share in range(0, 11, 2)
    ]
    assert misplaced(canvas) == []


def test_a_scale_without_category_retrieval_draws_nothing(drawing, make_scale):
    nothing = drawing(scale=make_scale())
    assert nothing.draw is None and nothing.data.empty


def test_more_curves_than_colours_are_refused():
    with pytest.raises(ValueError, match="at most 7"):
        ActivationFigure.model_validate(
            {
                "name": "f",
                "kind": "activation",
                "title": "",
                "caption": "",
                "curves": [{"start": 0, "steepness": 1}] * 8,
            }
        )
