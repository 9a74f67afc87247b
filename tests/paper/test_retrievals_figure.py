from __future__ import annotations

import pytest

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.paper.rendering import drawing_of
from fivesentences.storage import write_json

FIGURE = "five_sentences/figure1"


def test_the_numbers_are_those_that_were_compared(everything):
    drawing, found = everything.drawing(FIGURE), read_json(everything.numbers(FIGURE)[0])
    items = [item for query in found["chosen"] for answer in query["answers"] for item in answer["items"]]
    assert drawing.data["phi"].tolist() == [item["phi"] for item in items] and items
    assert drawing.data["model"].unique().tolist() == ["all negatives", "+ SAM τ = 10, random, paper"]
    notes = " ".join(drawing.notes)
    assert "ordered by index" in notes and "own items kept" in notes


def test_a_scale_that_trains_fewer_than_two_of_the_rows_says_what_it_leaves_out(make_up, make_scale):
    made_up = make_up(make_scale(leave_out={"losses": ["all"]}))
    assert made_up.numbers(FIGURE) == []
    drawing = made_up.drawing(FIGURE)
    assert drawing.data.empty and drawing.draw is None
    assert "Left out at the scale tiny to save time: all negatives." in drawing.notes


def test_retrievals_of_a_run_that_is_in_no_row_are_refused(everything, tmp_path):
    found = read_json(everything.numbers(FIGURE)[0])
    write_json(tmp_path / "f.json", found | {"models": ["another/run", found["models"][1]]})
    with pytest.raises(InputError, match="the run 'another/run' is in no row of five_sentences: figure1"):
        drawing_of(everything.plan.figures[FIGURE], everything.contexts[FIGURE], [tmp_path / "f.json"])
