"""Galleries from files: phi is that of the captions and the pairing that are scored, or its origin is named."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.evaluation.gallery_files import read_gallery, with_phi_files
from fivesentences.retrieval import Gallery
from fivesentences.semantics import write_phi

CAPTIONS = ["a dog", "a cat", "a red boat", "two cats"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_phi("cider", CAPTIONS, [0, 0, 1, 1], tmp_path / "phi.npy", captions_file="four.txt")
    return tmp_path


def gallery(n_images, n_captions, pairing=None):
    return Gallery.of(np.zeros((n_images, n_captions)), pairing)


def test_a_transposed_matrix_is_found_by_the_pairing_too(folder):
    pairing = np.array([0, 1, 1, 1])
    (folder / "images.txt").write_text("".join(f"{image}\n" for image in pairing))
    np.save("sims.npy", np.arange(8.0).reshape(2, 4))
    found, *_ = read_gallery(folder / "sims.npy", image_of_caption=folder / "images.txt")
    np.testing.assert_array_equal(found.image_of_caption, pairing)
    np.save("turned.npy", np.arange(8.0).reshape(4, 2))
    for pairing_file, said in ((None, "every image has a caption"), (folder / "images.txt", "2 images and 4 captions")):
        with pytest.raises(InputError, match=rf"turned.npy is \[4, 2\].*{said}"):
            read_gallery(folder / "turned.npy", image_of_caption=pairing_file)
    read_gallery(folder / "turned.npy", transposed=True, image_of_caption=folder / "images.txt")


def test_a_phi_may_have_more_rows_where_they_are_wanted(folder):
    np.save("more.npy", np.arange(27.0).reshape(9, 3))
    assert with_phi_files(gallery(3, 6), ["more.npy"], more_rows=True).phis["more"].shape == (9, 3)
    cut = with_phi_files(gallery(2, 6), ["more.npy"], more_rows=True, split=(3, 9))
    assert cut.phis["more"].shape == (9, 2)
    for images, captions, more in ((3, 6, False), (4, 8, True), (3, 12, True)):
        with pytest.raises(InputError, match=r"more.npy is"):
            with_phi_files(gallery(images, captions), ["more.npy"], more_rows=more)
