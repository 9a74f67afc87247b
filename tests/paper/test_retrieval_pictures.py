from __future__ import annotations

import pandas as pd
import pytest
from PIL import Image

from fivesentences.paper.figures.semantic_recall import read_texts
from fivesentences.paper.making import make_figure
from fivesentences.plan.rows import compared_rows
from fivesentences.storage import read_json


@pytest.fixture
def study(studies):
    return studies["five_sentences"]


def test_the_numbers_are_those_that_were_compared(study, scale, retrievals_file, photographs, tmp_path):
    make_figure("five_sentences", "figure1", study, scale, [retrievals_file], tmp_path / "f", {"scenes": photographs})
    data, found = pd.read_csv(tmp_path / "f.csv"), read_json(retrievals_file)
    assert len(data) == sum(len(answer["items"]) for query in found["chosen"] for answer in query["answers"]) > 0
    assert data["phi"].tolist() == pytest.approx(
        [item["phi"] for query in found["chosen"] for answer in query["answers"] for item in answer["items"]]
    )
    with Image.open(tmp_path / "f.png") as image:
        assert image.width >= 1200 and len(image.getcolors(maxcolors=1 << 20)) > 50
    notes = " ".join(read_texts(tmp_path / "f.json")[2])
    assert "ordered by index" in notes and "own items kept" in notes


def test_a_dataset_without_photographs_is_named_in_their_place(study, scale, retrievals_file, tmp_path):
    make_figure("five_sentences", "figure1", study, scale, [retrievals_file], tmp_path / "f")
    assert (tmp_path / "f.png").stat().st_size > 0


def test_a_scale_that_trains_fewer_than_two_of_the_rows_draws_a_sentence(study, make_scale, tmp_path):
    scale = make_scale(leave_out={"losses": ["all"]})
    assert compared_rows(study, "figure1", scale) == []
    make_figure("five_sentences", "figure1", study, scale, [], tmp_path / "f")
    assert pd.read_csv(tmp_path / "f.csv").empty
    assert "Left out at the scale tiny to save time: all negatives." in read_texts(tmp_path / "f.json")[2]
