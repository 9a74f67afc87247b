from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.stats import binom

from fivesentences.errors import InputError
from fivesentences.paper.figures.semantic_recall import read_texts
from fivesentences.paper.making import make_figure
from fivesentences.plan.rows import runs_of_figure
from fivesentences.storage import read_json, write_json


@pytest.fixture
def study(studies):
    return studies["knn_margin"]


@pytest.fixture
def numbers(study, scale, made_up, write_runs):
    runs = runs_of_figure(study, "hubness", scale).values()
    return write_runs(runs, made_up(runs))


@pytest.fixture
def stem(study, scale, numbers, tmp_path):
    make_figure("knn_margin", "hubness", study, scale, numbers, tmp_path / "hubness")
    return tmp_path / "hubness"


def test_every_point_is_the_share_of_items_that_are_nearest_so_often(stem, numbers):
    data = pd.read_csv(stem.with_suffix(".csv"))
    assert set(data["inference"]) == {"naive", "inverted_softmax", "csls", "assignment"}
    contents = [read_json(path) for path in numbers]
    of_loss = [one for one in contents if one["loss"] == "triplet=all,margin=0.2"]
    for method in ("naive", "csls"):
        for side in ("t2i", "i2t"):
            chosen = data.query("loss == 'sum' and inference == @method and direction == @side")
            for line in chosen.to_dict("records"):
                shares = []
                for one in of_loss:
                    counts = np.repeat(np.arange(len(one["hubs"][method][side])), one["hubs"][method][side])
                    shares.append(100 * np.mean(counts >= line["at_least"]))
                assert line["percent"] == pytest.approx(np.mean(shares))
                assert line["spread"] == pytest.approx(np.std(shares, ddof=1))


def test_chance_is_the_binomial_distribution(stem):
    data = pd.read_csv(stem.with_suffix(".csv")).query("direction == 't2i' and inference == 'naive' and loss == 'max'")
    expected = [100 * (1 - binom.cdf(count - 1, 200, 1 / 40)) for count in data["at_least"]]
    np.testing.assert_allclose(data["by_chance"], np.where(np.array(expected) * 0.4 > 1e-3, expected, 0), atol=1e-9)


def test_the_picture_is_drawn_and_says_what_is_transductive(stem):
    with Image.open(stem.with_suffix(".png")) as image:
        assert image.width >= 1200 and len(image.getcolors(maxcolors=1 << 20)) > 50
    notes = " ".join(read_texts(stem.with_suffix(".json"))[2])
    assert "Inverted softmax, CSLS and assignment" in notes and "Transductive" in notes
    assert "ordered by index" in notes


def test_a_method_that_was_not_evaluated_is_named(study, scale, numbers, tmp_path):
    content = read_json(numbers[0])
    del content["hubs"]["csls"]
    write_json(tmp_path / "0.json", content)
    with pytest.raises(InputError, match="has no numbers of hubs by the inference method csls; evaluate it again"):
        make_figure("knn_margin", "hubness", study, scale, [tmp_path / "0.json", *numbers[1:]], tmp_path / "f")


def test_a_scale_without_the_role_or_the_methods_still_makes_a_figure(study, make_scale, numbers, tmp_path):
    make_figure("knn_margin", "hubness", study, make_scale(roles={}), [], tmp_path / "none")
    assert pd.read_csv(tmp_path / "none.csv").empty
    scale = make_scale(leave_out={"inferences": ["assignment"]})
    make_figure("knn_margin", "hubness", study, scale, numbers, tmp_path / "three")
    assert "assignment" not in set(pd.read_csv(tmp_path / "three.csv")["inference"])
    assert (
        "Inference methods left out at the scale tiny to save time: assignment."
        in read_texts(tmp_path / "three.json")[2]
    )
