"""Inference methods by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.metrics import recall_at_k
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


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("method", INFERENCE)
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


@pytest.mark.parametrize("method", INFERENCE)
def test_a_perfect_block_matrix_stays_perfect(method):
    matrix = np.kron(np.eye(9), np.ones((1, 5)))
    for direction in ("i2t", "t2i"):
        assert recall_at_k(rescore(matrix, method, direction), (1,), direction)[1] == 100.0


@pytest.mark.parametrize("method", ["inverted_softmax", "csls"])
def test_a_planted_hub_loses_rank(method):
    rng = np.random.default_rng(4)
    matrix = rng.uniform(0, 0.3, (50, 250)) + np.kron(np.eye(50), np.full((1, 5), 0.3))
    matrix[:, 17] += 0.45
    before, after = (matrix > matrix[:, 17:18]).sum(axis=1), rescore(matrix, method)
    assert (before == 0).mean() > 0.5
    assert ((after > after[:, 17:18]).sum(axis=1) > before).sum() >= 45


def test_out_that_overlaps_or_is_read_only_is_refused():
    store = np.zeros((9, 24), dtype=np.float32)
    store[:] = np.arange(24)
    closed = np.zeros((9, 24), dtype=np.float32)
    closed.flags.writeable = False
    for matrix, out, message in ((store[:8], store[1:], "overlaps"), (store, closed, "read-only")):
        with pytest.raises(InputError, match=message):
            inverted_softmax(matrix, out=out)


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
