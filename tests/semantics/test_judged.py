"""Scores that somebody gave become a phi like any other, and mistakes in their file are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import ncs
from fivesentences.semantics import read_phi
from fivesentences.semantics.judged import read_judged

CAPTIONS, IMAGES = ["a", "b", "c", "d"], ["x", "y"]
ROWS = ["a,x,5", "b,x,4.5", "c,y,3", "d,y,1", "d,x,0.5"]
WANTED = [[5, 0], [4.5, 0], [0, 3], [0.5, 1]]


def csv_at(path: Path, *rows: str, header: str = "caption,image,score") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_pairs_take_their_place_by_their_ids_and_missing_ones_score_0(tmp_path: Path) -> None:
    scores = read_judged(csv_at(tmp_path / "s.csv", *reversed(ROWS)), CAPTIONS, IMAGES)
    np.testing.assert_array_equal(scores, WANTED)
    other = csv_at(tmp_path / "t.csv", "1;x;a", header="score;image;caption")  # any order and separator
    assert read_judged(other, CAPTIONS, IMAGES)[0, 0] == 1


def test_a_whole_matrix_is_taken_as_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", np.array(WANTED))
    np.testing.assert_array_equal(read_judged(tmp_path / "s.npy", CAPTIONS, IMAGES), np.float32(WANTED))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("e,x,1", r"s\.csv, line 3: there is no caption 'e'"),
        ("a,z,1", r"line 3: there is no image 'z'"),
        ("b,x,many", "line 3: score is 'many'"),
        ("b,x,-1", "score is '-1'; a score is a finite number of at least 0"),
        ("b,x,nan", "score is 'nan'"),
        ("b,x,1e300", "score is '1e300'"),
        ("a,x,2", "caption 'a' with image 'x' is scored a second time"),
        ("b,x", "line 3"),
    ],
)
def test_a_mistake_in_a_row_is_named(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_judged(csv_at(tmp_path / "s.csv", "a,x,1", row), CAPTIONS, IMAGES)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.ones((2, 4)), r"scores are float64 \[2, 4\]; numbers for 4 captions and 2 images"),
        (np.full((4, 2), "1"), "scores are <U1"),
        (np.where(np.eye(4, 2) > 0, np.inf, 1.0), "row 0, column 0 is inf"),
        (1.0 - 2 * np.eye(4, 2), r"row 0, column 0 is -1\.0"),
        (np.zeros((4, 2)), "no score .* is above 0"),
    ],
)
def test_a_mistake_in_a_matrix_is_named(tmp_path: Path, array: np.ndarray, said: str) -> None:
    np.save(tmp_path / "s.npy", array)
    with pytest.raises(InputError, match=said):
        read_judged(tmp_path / "s.npy", CAPTIONS, IMAGES)


def test_an_array_of_objects_is_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"s\.npy"):
        read_judged(tmp_path / "s.npy", CAPTIONS, IMAGES)


def test_the_command_line_makes_a_phi_of_scores_which_metrics_read(tmp_path: Path, run, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("captions.txt").write_text("one\ntwo\nthree\nfour\n", encoding="utf-8")
    numbered = [row.translate(str.maketrans("abcdxy", "012301")) for row in ROWS]
    csv_at(Path("llm-scores.csv"), *numbered)
    run("phi", "judged:llm-scores.csv", "captions.txt", "--per-image", "2", "-o", "llm.npy")
    phi = read_phi("llm.npy", ["one", "two", "three", "four"], [0, 0, 1, 1])
    np.testing.assert_array_equal(phi, WANTED)
    similarity = np.array([[0.9, 0.1, 0.2, 0.8], [0.1, 0.2, 0.9, 0.8]])
    pairing = [0, 0, 1, 1]
    # The first two captions of image x are a (5) and d (0.5), of the 9.5 that two could have; of y all of 4.
    assert ncs(similarity, phi, ks=[2], image_of_caption=pairing)[2] == pytest.approx(100 * (5.5 / 9.5 + 1) / 2)
    said = run("phi", "judged:llm-scores.csv", "captions.txt", "--per-image", "2", "--top-k", "1", "-o", "top")
    assert said.code == 1 and "is a file of scores" in said.err
    said = run("phi", "judged:", "captions.txt", "-o", "none.npy")
    assert said.code == 1 and "judged:annotators" in said.err
