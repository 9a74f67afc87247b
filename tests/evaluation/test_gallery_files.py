"""Galleries from files: how a matrix lies is found by the pairing."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.evaluation.gallery_files import read_gallery


def test_a_transposed_matrix_is_found_by_the_pairing_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairing = np.array([0, 1, 1, 1])
    (tmp_path / "images.txt").write_text("".join(f"{image}\n" for image in pairing))
    np.save("sims.npy", np.arange(8.0).reshape(2, 4))
    found, _ = read_gallery(tmp_path / "sims.npy", image_of_caption=tmp_path / "images.txt")
    np.testing.assert_array_equal(found.image_of_caption, pairing)
    np.save("turned.npy", np.arange(8.0).reshape(4, 2))
    for pairing_file, said in (
        (None, "every image has a caption"),
        (tmp_path / "images.txt", "2 images and 4 captions"),
    ):
        with pytest.raises(InputError, match=rf"turned.npy is \[4, 2\], but .*{said}"):
            read_gallery(tmp_path / "turned.npy", image_of_caption=pairing_file)
    read_gallery(tmp_path / "turned.npy", transposed=True, image_of_caption=tmp_path / "images.txt")
