"""Contrasts of runs are paired by seed and image."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.seed_contrasts import contrast_runs, read_contrasts, write_contrasts
from fivesentences.reproduction.evaluation.tidy import SUMMED, frame_of_run, read_as, write_per_image

IMAGES = [f"i{image}" for image in range(40)]


@pytest.fixture
def per_image() -> dict[str, pd.DataFrame]:
    """Runs ``a0`` to ``a3`` and ``b0`` to ``b3``: a is 3 better; seeds and images are hard for both alike."""
    draw = np.random.default_rng(0)
    of_seeds, of_images, found = 20 * draw.normal(size=4), 50 * draw.normal(size=40), {}
    for seed in range(4):
        for side, better in (("a", 3.0), ("b", 0.0)):
            values = {column: 200 + better + of_seeds[seed] + of_images + draw.normal(size=40) for column in SUMMED}
            found[f"{side}{seed}"] = frame_of_run(f"{side}{seed}", IMAGES, values).set_index("image_id")
    return found


PAIR = {"dataset": "made", "a": [f"a{n}" for n in range(4)], "b": [f"b{n}" for n in range(4)], "seeds": list(range(4))}


def test_pairing_takes_away_what_is_hard_for_both_sides(per_image):
    (found,) = contrast_runs([PAIR], per_image, resamples=200)
    for metric in SUMMED:
        one = found["metrics"][metric]
        a, b = (np.array([per_image[f"{side}{seed}"][metric].mean() for seed in range(4)]) for side in "ab")
        assert one["differences"] == pytest.approx((a - b).tolist(), abs=1e-4)
        assert (one["mean_a"], one["mean_b"]) == pytest.approx((a.mean(), b.mean()), abs=1e-4)
        assert one["mean"] == pytest.approx(one["mean_a"] - one["mean_b"], abs=1e-9)
        assert one["spread"] == pytest.approx(np.std(a - b, ddof=1), abs=1e-4)
        assert one["low"] < 3 < one["high"] and one["high"] - one["low"] < 2
        unpaired = stats.ttest_ind(a, b).confidence_interval()
        assert unpaired.high - unpaired.low > 20
    assert (found["seeds"], found["images"], found["dataset"]) == ([0, 1, 2, 3], 40, "made")


def test_the_file_says_how_its_intervals_were_made(per_image, tmp_path):
    frames = [frame.rename_axis("image_id").reset_index() for frame in per_image.values()]
    write_per_image(frames[:3], tmp_path / "1.parquet")
    write_per_image(frames[3:], tmp_path / "2.parquet")
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    write_contrasts([PAIR], files, tmp_path / "c.json", phi="cider", resamples=50)
    found = read_contrasts(tmp_path / "c.json")
    assert (found["phi"], found["confidence"], found["power"], found["resamples"]) == ("cider", 0.95, 0.8, 50)
    wanted = contrast_runs([PAIR], per_image, resamples=50)
    assert found["contrasts"] == wanted == read_json(tmp_path / "c.json")["contrasts"]


def test_a_run_is_compared_with_itself_as_it_is_read(per_image, tmp_path):
    read = {
        read_as(f"r{seed}", *how): per_image[f"{side}{seed}"].assign(run=read_as(f"r{seed}", *how))
        for seed in range(4)
        for side, how in (("a", ("csls", "tfidf")), ("b", ("naive", "tfidf")))
    }
    frames = [frame.rename_axis("image_id").reset_index() for frame in read.values()]
    write_per_image(frames, tmp_path / "1.parquet")
    runs = [f"r{seed}" for seed in range(4)]
    pair = PAIR | {"a": runs, "b": runs, "inference": ["csls", "naive"], "phi": "tfidf"}
    write_contrasts([pair], [tmp_path / "1.parquet"], tmp_path / "c.json", phi="tfidf", resamples=50)
    (found,) = read_contrasts(tmp_path / "c.json")["contrasts"]
    assert found["metrics"] == contrast_runs([PAIR], per_image, resamples=50)[0]["metrics"]
    with pytest.raises(InputError, match="'r0' has no values"):
        contrast_runs([pair | {"phi": "cider"}], read)


def test_runs_without_values_or_on_other_images_are_refused(per_image, tmp_path):
    with pytest.raises(InputError, match="'c'"):
        contrast_runs([PAIR | {"a": ["a0"], "b": ["c"]}], per_image)
    per_image["b0"] = per_image["b0"].iloc[::-1]
    with pytest.raises(InputError, match="'a0' and 'b0'"):
        contrast_runs([PAIR], per_image)
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(InputError, match=r"c\.json"):
        read_contrasts(tmp_path / "c.json")
