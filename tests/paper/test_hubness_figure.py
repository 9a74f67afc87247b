from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.paper.rendering import drawing_of
from fivesentences.storage import write_json

FIGURE = "knn_margin/hubness"


@pytest.fixture
def data(everything):
    return everything.drawing(FIGURE).data


def test_every_point_is_the_share_of_items_that_are_nearest_so_often(everything, data):
    assert set(data["inference"]) == {"naive", "inverted_softmax", "csls", "assignment"}
    contents = [one for path in everything.numbers(FIGURE) for one in read_json(path)]
    of_loss = [one for one in contents if one["loss"] == "triplet=all,margin=0.2"]
    assert len(of_loss) == 3
    for method, side in (("naive", "t2i"), ("naive", "i2t"), ("csls", "t2i"), ("csls", "i2t")):
        hubs = [one["hubs"][method][side] for one in of_loss]
        counts = [np.repeat(np.arange(len(one)), one) for one in hubs]
        for line in data.query("loss == 'sum' and inference == @method and direction == @side").to_dict("records"):
            shares = [100 * np.mean(one >= line["at_least"]) for one in counts]
            assert line["percent"] == pytest.approx(np.mean(shares))
            assert line["spread"] == pytest.approx(np.std(shares, ddof=1))


def test_chance_is_the_binomial_distribution(data):
    line = data.query("direction == 't2i' and inference == 'naive' and loss == 'max'")
    expected = [100 * (1 - binom.cdf(count - 1, 200, 1 / 40)) for count in line["at_least"]]
    np.testing.assert_allclose(line["by_chance"], np.where(np.array(expected) * 0.4 > 1e-3, expected, 0), atol=1e-9)


def test_notes_say_what_is_transductive_and_what_is_left_out(everything, make_up, make_scale):
    notes = " ".join(everything.drawing(FIGURE).notes)
    assert "Inverted softmax, CSLS and assignment" in notes and "Transductive" in notes
    assert "ordered by index" in notes
    three = make_up(make_scale(leave_out={"inferences": ["assignment"]})).drawing(FIGURE)
    assert "assignment" not in set(three.data["inference"])
    assert "Inference methods left out at the scale tiny to save time: assignment." in three.notes


def test_a_method_that_was_not_evaluated_is_named(everything, tmp_path):
    first, *others = everything.numbers(FIGURE)
    contents = read_json(first)
    del contents[0]["hubs"]["csls"]
    write_json(tmp_path / "0.json", contents)
    with pytest.raises(InputError, match="has no counts of hubs by the inference method csls; evaluate it again"):
        drawing_of(everything.plan.figures[FIGURE], everything.contexts[FIGURE], [tmp_path / "0.json", *others])
