"""Matrices from files of other programs: equal to what was written, or one sentence; nothing in a file is executed."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_matrix


@pytest.fixture
def matrix():
    return np.random.default_rng(0).normal(size=(7, 21))


@pytest.mark.parametrize("indent", [None, 1])
def test_json_lists_come_back_exactly(tmp_path, matrix, indent):
    for dtype in (np.float32, np.float64):
        (tmp_path / "m.json").write_text(json.dumps(matrix.astype(dtype).tolist(), indent=indent) + "\n")
        found = read_matrix(tmp_path / "m.json")
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, matrix.astype(dtype))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "m.json"),
        ("{}", "row 0"),
        ("[]", "row 0"),
        ("[1, 2]", "row 0"),
        ("[[]]", "row 0"),
        ("[[1, 2], [3]]", "row 1"),
        ("[[1, 2], [3, 4]", "row 2"),
        ("[[1, 2], [3, ", "row 1"),
        ('[[1, "2"]]', "row 0"),
        ("[[1, null]]", "column 1 is null"),
        ("[[1, 2], [[2], 3]]", "row 1"),
        ("[[1, true], [2, 3]]", "column 1 is true"),
        ("[[1, 2]] [[3, 4]]", "row 1"),
        ("[[1 2]]", "row 0"),
    ],
)
def test_other_json_is_refused(tmp_path, text, sentence):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_matrix(tmp_path / "m.json")


@pytest.mark.parametrize(("separator", "end"), [(";", ""), ("\t", ""), (";", ";"), ("; ", ""), (",\t", ""), (",", "")])
def test_a_csv_may_have_the_separators_of_spreadsheets(tmp_path, matrix, separator, end):
    (tmp_path / "m.csv").write_text("".join(separator.join(map(repr, row)) + f"{end}\n" for row in matrix.tolist()))
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.csv"), matrix)


@pytest.mark.parametrize(
    ("separator", "point", "cure"),
    [(";", ",", "decimal points"), ("\t", ",", "decimal points"), (" ", ".", "separate"), ("|", ".", "separate")],
)
def test_other_numbers_get_their_own_cure(tmp_path, matrix, separator, point, cure):
    text = "".join(separator.join(map(repr, row)) + "\n" for row in (matrix.tolist()))
    (tmp_path / "m.csv").write_text(text.replace(".", point))
    with pytest.raises(InputError) as error:
        read_matrix(tmp_path / "m.csv")
    assert cure in error.value.cure and "heading" not in error.value.cure


def test_the_released_spice_csv_ends_its_lines_with_a_comma(tmp_path, matrix):
    (tmp_path / "m.csv").write_text("".join("".join(f"{value!r}," for value in row) + "\n" for row in matrix.tolist()))
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.csv"), matrix)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_come_back(tmp_path, matrix, dtype):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(matrix).to(getattr(torch, dtype)).requires_grad_()
    torch.save(tensor, tmp_path / "m.pt")
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.pt"), tensor.detach().double().numpy())


class Evil:
    def __reduce__(self):
        import pathlib

        return pathlib.Path.touch, (pathlib.Path("/tmp/five_sentences_was_here"),)


@pytest.mark.parametrize("suffix", [".pt", ".npy", ".npz"])
def test_pickles_are_never_loaded(tmp_path, suffix, monkeypatch):
    if suffix == ".pt":
        torch = pytest.importorskip("torch")
        torch.save(Evil(), tmp_path / "m.pt")
    elif suffix == ".npy":
        (tmp_path / "m.npy").write_bytes(pickle.dumps(Evil()))
    else:
        np.savez(tmp_path / "m.npz", np.array([Evil], dtype=object))
    ran = []
    monkeypatch.setattr("pathlib.Path.touch", lambda self, *_: ran.append(self))
    with pytest.raises(InputError):
        read_matrix(tmp_path / f"m{suffix}")
    assert not ran
