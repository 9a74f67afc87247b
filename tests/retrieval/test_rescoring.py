"""Inference methods by name, and options that they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.choices import BANKED
from fivesentences.errors import InputError
from fivesentences.retrieval import INFERENCE, assignment, csls, hubness, inverted_softmax, rescore

WITHOUT_BANK = [method for method in INFERENCE if method not in BANKED]  # of the others: test_query_banks.py
MATRIX = np.random.default_rng(0).uniform(-1, 1, (12, 60)).astype(np.float32)
SMALL = np.zeros((2, 4))


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_a_name_gives_what_the_function_gives(direction):
    expected = {
        "naive": MATRIX,
        "inverted_softmax": inverted_softmax(MATRIX, 20.0, direction),
        "csls": csls(MATRIX, 3),
        "assignment": assignment(MATRIX, 5),
    }
    options = {"inverted_softmax": {"beta": 20.0}, "csls": {"k": 3}, "assignment": {"captions_per_image": 5}}
    assert list(expected) == WITHOUT_BANK
    for method, matrix in expected.items():
        np.testing.assert_array_equal(rescore(MATRIX, method, direction, **options.get(method, {})), matrix)


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("method", WITHOUT_BANK)
def test_the_result_goes_into_any_output_and_is_the_same_from_any_layout(method, direction, tmp_path):
    kept, file = MATRIX.copy(), tmp_path / "sims.npy"
    plain = rescore(MATRIX, method, direction)
    np.testing.assert_array_equal(MATRIX, kept)
    np.save(file, MATRIX)
    mapped = rescore(np.load(file, mmap_mode="r"), method, direction, out=file)  # onto its own file
    own = MATRIX.copy()
    assert rescore(own, method, direction, out=own) is own
    for found in (mapped, np.load(file), own, rescore(np.asfortranarray(MATRIX), method, direction)):
        np.testing.assert_array_equal(found, plain)
    half = rescore(MATRIX.astype(np.float16), method, direction)
    assert half.dtype == plain.dtype == np.float32 and half.shape == MATRIX.shape


def test_out_that_overlaps_or_is_read_only_is_refused():
    store = np.zeros((9, 24), dtype=np.float32)
    store[:] = np.arange(24)
    closed = np.zeros((9, 24), dtype=np.float32)
    closed.flags.writeable = False
    for matrix, out, message in ((store[:8], store[1:], "overlaps"), (store, closed, "read-only")):
        with pytest.raises(InputError, match=message):
            inverted_softmax(matrix, out=out)


@pytest.mark.parametrize(
    ("function", "given", "options", "message"),
    [
        (rescore, SMALL, {"method": "hungarian"}, "method is 'hungarian'"),
        (rescore, SMALL, {"method": "csls", "beta": 3}, "'beta'.*: k"),
        *((function, SMALL, {"k": k}, f"k is {k}") for function in (csls, hubness) for k in (0, 1.5)),
        (inverted_softmax, SMALL, {"beta": float("nan")}, "beta is nan"),
        (inverted_softmax, SMALL[:1], {}, "pass include_self=True"),
        (assignment, np.zeros((3, 7)), {}, "pass captions_per_image"),
        (assignment, np.zeros((3, 7)), {"captions_per_image": 2}, "it must be at least 3"),
        (assignment, SMALL, {"captions_per_image": 2, "image_of_caption": [0, 0, 1, 1]}, "both given"),
    ],
)
def test_what_does_not_fit_is_named(function, given, options, message):
    with pytest.raises(InputError, match=message):
        function(given, **options)
