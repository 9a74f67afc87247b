"""Mistakes in matrices: each refused by every function that takes them, in one sentence, with the cure; and parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.errors import InputError
from fivesentences.evaluation import compare, evaluate
from fivesentences.metrics import Evaluator, asp, category_map, ncs, pmrp, recall_at_k
from fivesentences.retrieval import Gallery, assignment, csls, hubness, unique_images
from fivesentences.retrieval.gallery import Source, checked_phi

SIMILARITY = np.arange(20.0).reshape(2, 10)  # [images, captions]
PHI = np.arange(20.0).reshape(10, 2)  # [captions, images]
WITHOUT_PAIRING = {
    "csls": csls,
    "assignment": lambda matrix: assignment(matrix, 100),
    "hubness": hubness,
    "asp": lambda matrix: asp(matrix, PHI),
}
WITH_PAIRING = {
    "Gallery": Gallery.of,
    "recall_at_k": lambda matrix, pairing=None: recall_at_k(matrix, (1,), "t2i", pairing),
    "category_map": lambda matrix, pairing=None: category_map(matrix, ["a"] * 2, image_of_caption=pairing),
    "pmrp": lambda matrix, pairing=None: pmrp(matrix, np.eye(2), image_of_caption=pairing),
    "Evaluator": lambda matrix, pairing=None: Evaluator(None, pairing)(matrix),
    "evaluate": lambda matrix, pairing=None: evaluate(matrix, image_of_caption=pairing),
}
WITH_PHI = {
    "Gallery": lambda phi: Gallery.of(SIMILARITY, phis=phi),
    "ncs": lambda phi: ncs(SIMILARITY, phi),
    "asp": lambda phi: asp(SIMILARITY, phi),
    "Evaluator": lambda phi: Evaluator(phi)(SIMILARITY),
    "evaluate": lambda phi: evaluate(SIMILARITY, phi),
    "compare": lambda phi: compare(SIMILARITY, -SIMILARITY, phi),
}


def changed(matrix, place, value):
    broken = matrix.astype(np.float32)
    broken[place] = value
    return broken


@pytest.mark.parametrize("name", [*WITHOUT_PAIRING, *WITH_PAIRING])
@pytest.mark.parametrize(
    ("similarity", "sentence"),
    [
        (SIMILARITY.T, r"^similarity is \[10, 2\], but .* every image has a caption; pass similarity\.T if"),
        (SIMILARITY[0], r"similarity is float64 of shape \[10\]"),
        (SIMILARITY.astype(str), "real numbers"),
        (changed(SIMILARITY, (1, 7), np.nan), r"^similarity\[1, 7\] is nan .*image 1, caption 7"),
        (changed(SIMILARITY, (0, 9), -np.inf), r"^similarity\[0, 9\] is -inf"),
        (
            np.repeat(np.random.default_rng(1).normal(size=(6, 30)), 5, axis=0),
            r"6 images 5 times.*unique_images\(similarity\)",
        ),
    ],
)
def test_a_similarity_that_is_none_is_refused_with_the_cure(name, similarity, sentence):
    with pytest.raises(InputError, match=sentence):
        (WITHOUT_PAIRING | WITH_PAIRING)[name](similarity)


@pytest.mark.parametrize("name", WITH_PAIRING)
@pytest.mark.parametrize(
    ("similarity", "image_of_caption", "sentence"),
    [
        (SIMILARITY.T, [0] * 5 + [1] * 5, r"\[10, 2\].*similarity\.T"),
        (SIMILARITY[:, :9], None, r"is \[2, 9\].*image_of_caption"),
        (SIMILARITY, [0] * 9, r"image_of_caption .*\[9\]"),
        (SIMILARITY, [0] * 9 + [2], r"image_of_caption\[9\] is 2"),
        (SIMILARITY, [0.0] * 9 + [np.nan], "must hold whole numbers"),
    ],
)
def test_captions_that_are_nobodys_are_refused(name, similarity, image_of_caption, sentence):
    with pytest.raises(InputError, match=sentence):
        WITH_PAIRING[name](similarity, image_of_caption)


@pytest.mark.parametrize("name", WITH_PHI)
@pytest.mark.parametrize(
    ("phi", "sentence"),
    [
        (PHI.T, r"phi is \[2, 10\].*transpose"),
        (PHI[:9], r"phi is \[9, 2\]"),
        (np.zeros((12, 2)), "'given_rows'"),
        (np.zeros((10, 3)), r"\[10, 3\]"),
        (changed(PHI, (7, 1), np.nan), r"^phi\[7, 1\] is nan .*image 1, caption 7"),
    ],
)
def test_a_phi_that_does_not_fit_is_refused_with_the_cure(name, phi, sentence):
    with pytest.raises(InputError, match=sentence):
        WITH_PHI[name](phi)


FILE = Path("sims.npy")
OF_DEV = Source("phi.npy", lambda: "it is of dev.txt")
NAMED = {
    "sims.npy is [10, 2]": lambda: Gallery.of(SIMILARITY.T, name=FILE),
    "sims.npy is [2, 9]": lambda: Gallery.of(SIMILARITY[:, :9], name=FILE),
    "sims.npy: similarity[1, 7] is nan (image 1, caption 7)": lambda: Gallery.of(
        changed(SIMILARITY, (1, 7), np.nan), name=FILE
    ),
    "sims.npy has 20 rows but they repeat 4 images 5 times": lambda: Gallery.of(
        np.repeat(np.eye(4, 20), 5, axis=0), name=FILE
    ),
    "phi.npy is [2, 10] but sims.npy has 2 images": lambda: checked_phi(PHI.T, (2, 10), source=OF_DEV, whose=FILE),
    "2 images and 10 captions: it is of dev.txt": lambda: checked_phi(PHI[:4], (2, 10), source=OF_DEV),
    "SPICE: phi[3, 1] is nan": lambda: Gallery.of(
        SIMILARITY, phis={"CIDEr": PHI, "SPICE": changed(PHI, (3, 1), np.nan)}
    ),
}


@pytest.mark.parametrize("words", NAMED)
def test_each_mistake_names_the_file_and_the_value(words):
    with pytest.raises(InputError) as error:
        NAMED[words]()
    assert words in str(error.value)


@given(st.lists(st.integers(1, 4), min_size=2, max_size=6), st.booleans(), st.integers(0, 3), st.data())
def test_a_part_is_its_images_and_their_captions(counts, shuffled, more, data):
    n_images, n_captions = len(counts), sum(counts)
    pairing = np.repeat(np.arange(n_images), counts)
    if shuffled:
        pairing = pairing[data.draw(st.permutations(range(n_captions)))]
    similarity = np.arange(n_images * n_captions).reshape(n_images, n_captions) % 7
    phi = np.arange((n_captions + more) * n_images).reshape(n_captions + more, n_images)
    gallery = Gallery.of(similarity, pairing, {"x": phi}, more_rows=True)
    first = data.draw(st.integers(0, n_images - 1))
    images = slice(first, data.draw(st.integers(first + 1, n_images)))
    own = [caption for caption in range(n_captions) if images.start <= pairing[caption] < images.stop]
    others = [caption for caption in range(n_captions + more) if caption not in own]
    for every_row in (False, True):
        part = gallery.part(images, every_row)
        np.testing.assert_array_equal(part.similarity, similarity[images][:, own])
        np.testing.assert_array_equal(part.image_of_caption, pairing[own] - images.start)
        if len(own) < n_captions:
            np.testing.assert_array_equal(part.phis["x"], phi[own + (others if every_row else [])][:, images])
        else:
            assert part is gallery


def test_a_phi_of_the_whole_split_is_cut_where_more_rows_are_wanted():
    split = np.random.default_rng(0).random((25, 5))
    first = Gallery.of(np.eye(2, 10), None)
    cut = first.with_phis(split, more_rows=True, split=(5, 25)).phis["phi"]
    np.testing.assert_array_equal(cut, split[:, :2])
    for options in ({"more_rows": True}, {"split": (5, 25)}):
        with pytest.raises(InputError, match="the caption file differs"):
            first.with_phis(split, **options)


def test_another_similarity_must_be_of_the_same_gallery_and_a_gallery_is_not_checked_again():
    gallery = Gallery.of(SIMILARITY, phis={"x": PHI})
    other = gallery.with_similarity(-SIMILARITY)
    assert (other.phis, other.image_of_caption) == (gallery.phis, gallery.image_of_caption)
    np.testing.assert_array_equal(other.similarity, -SIMILARITY)
    with pytest.raises(InputError, match=r"^b is \[2, 8\]"):
        gallery.with_similarity(SIMILARITY[:, :8], "b")
    with pytest.raises(InputError, match="looks transposed"):
        gallery.with_similarity(SIMILARITY.T)
    assert Gallery.of(gallery) is gallery
    with pytest.raises(InputError, match="leave image_of_caption out"):
        Gallery.of(gallery, [0] * 10)


@pytest.mark.parametrize(
    "rows",
    [
        np.eye(10),
        np.zeros((10, 10)),
        np.ones((1, 4)),
        np.repeat(np.eye(10), [2, *[1] * 9], axis=0),
    ],
)
def test_few_equal_rows_are_no_repeated_images(rows):
    np.testing.assert_array_equal(unique_images(rows), rows)
