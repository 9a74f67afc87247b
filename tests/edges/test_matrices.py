"""Edges of similarities, phi matrices and embeddings as users write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edge_cases import ids, refused, right


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(folder / "s.npy", rng.normal(size=(20, 100)).astype(np.float32))
    (folder / "text.npy").write_text("0.1 0.2\n0.3 0.4\n")


CASES = [
    right("evaluate s.npy", "20 images, 100 captions"),
    refused("evaluate text.npy", "text.npy: this is not a complete .npy file of numbers", "with numpy.save"),
    refused("evaluate nowhere.npy", "nowhere.npy: there is no such file"),
]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_matrices(case, carry_out):
    carry_out(case)
