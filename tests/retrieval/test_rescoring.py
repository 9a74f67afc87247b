"""Inference methods by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.retrieval import INFERENCE, assignment, csls, inverted_softmax, rescore

MATRIX = np.random.default_rng(0).uniform(-1, 1, (12, 60)).astype(np.float32)


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_a_name_gives_what_the_function_gives(direction):
    expected = {
        "naive": MATRIX,
        "inverted_softmax": inverted_softmax(MATRIX, 20.0, direction),
        "csls": csls(MATRIX, 3),
        "assignment": assignment(MATRIX, 5),
    }
    options = {"inverted_softmax": {"beta": 20.0}, "csls": {"k": 3}, "assignment": {"captions_per_image": 5}}
    assert list(INFERENCE) == list(expected)
    for method, matrix in expected.items():
        np.testing.assert_array_equal(rescore(MATRIX, method, direction, **options.get(method, {})), matrix)


def test_every_method_writes_a_file_and_reads_half_precision(tmp_path):
    for method in INFERENCE:
        written = rescore(MATRIX.astype(np.float16), method, out=tmp_path / f"{method}.npy")
        assert written.dtype == np.float32 and written.shape == MATRIX.shape
        np.testing.assert_array_equal(np.load(tmp_path / f"{method}.npy"), written)


@pytest.mark.parametrize(
    "method, options, message",
    [
        ("hungarian", {}, "method is 'hungarian'; expected 'naive' or"),
        ("csls", {"beta": 3}, "csls has no option 'beta'; its options are: k"),
        ("naive", {"k": 3}, "naive has no option 'k'; its options are: none"),
        ("csls", {"direction": "both"}, "direction is 'both'"),
    ],
)
def test_what_there_is_not_is_named(method, options, message):
    with pytest.raises(InputError, match=message):
        rescore(MATRIX, method, **options)


def test_retrieval_imports_neither_torch_nor_the_metrics():
    code = (
        "import sys, fivesentences.retrieval as r; "
        "bad = [m for m in ('torch', 'matplotlib', 'eccv_caption', 'fivesentences.metrics') if m in sys.modules]; "
        "assert not bad, bad; assert all(name in dir(r) for name in r.__all__)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
