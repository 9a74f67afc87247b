"""CIDEr against pycocoevalcap, called as its authors call it."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.cider.cider import Cider

from fivesentences.semantics.cider import CiderScorer, cider_matrix


def pycocoevalcap_row(caption: str, captions: list[str], image_of_caption: np.ndarray) -> np.ndarray:
    """One call: the same caption as every image's candidate, all images as references, on the same tokens."""
    words = [" ".join(text.lower().split()) for text in captions]
    references: dict[int, list[str]] = {image: [] for image in range(int(max(image_of_caption)) + 1)}
    for text, image in zip(words, image_of_caption, strict=True):
        references[int(image)].append(text)
    candidate = " ".join(caption.lower().split())
    return np.asarray(Cider().compute_score(references, {image: [candidate] for image in references})[1])


def assert_the_matrix_equals_pycocoevalcap(captions, image_of_caption):
    ours = cider_matrix(captions, image_of_caption)
    theirs = np.stack([pycocoevalcap_row(caption, captions, image_of_caption) for caption in captions])
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, theirs == 0)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_random_corpora_equal_pycocoevalcap_with_the_same_zeros(corpora, data):
    assert_the_matrix_equals_pycocoevalcap(*data.draw(corpora))


def test_hostile_captions_equal_pycocoevalcap_with_the_same_zeros(hostile_corpus):
    assert_the_matrix_equals_pycocoevalcap(*hostile_corpus)


def test_captions_of_two_thousand_words_equal_pycocoevalcap():
    rng = np.random.default_rng(0)
    captions = [" ".join(rng.choice(["a", "b", "dog"], size=size)) for size in (2000, 1990, 7, 0, 2000, 40)]
    assert_the_matrix_equals_pycocoevalcap(captions, np.array([0, 0, 1, 1, 2, 2]))


@pytest.mark.data
def test_human_captions_equal_pycocoevalcap_with_the_same_zeros(mirror):
    with zipfile.ZipFile(mirror / "flickr30k" / "flickr30k.zip") as archive:
        images = json.loads(archive.read("flickr30k/dataset.json"))["images"]
    test = [[sentence["raw"] for sentence in image["sentences"]] for image in images if image["split"] == "test"][:400]
    captions = [caption for of_image in test for caption in of_image]
    image_of_caption = np.repeat(np.arange(len(test)), [len(of_image) for of_image in test])
    ours = cider_matrix(captions, image_of_caption)
    for row in np.random.default_rng(0).choice(len(captions), size=6, replace=False):
        theirs = pycocoevalcap_row(captions[row], captions, image_of_caption)
        np.testing.assert_allclose(ours[row], theirs, atol=1e-12, rtol=0)
        np.testing.assert_array_equal(ours[row] == 0, theirs == 0)


def test_a_caption_that_is_all_references_of_its_image_scores_ten():
    captions = ["a red dog runs far away", "a red dog runs far away", "two cats sit on the warm mat"]
    np.testing.assert_allclose(cider_matrix(captions, [0, 0, 1]), [[10, 0], [10, 0], [0, 10]], atol=1e-12)


@pytest.mark.parametrize("captions", [["a dog runs"], [""], ["", " "], ["a dog", "a dog"]])
def test_ngrams_of_every_image_and_captions_without_words_score_exactly_zero(captions):
    image_of_caption = range(len(captions))
    np.testing.assert_array_equal(cider_matrix(captions, list(image_of_caption)), np.zeros((len(captions),) * 2))


def ngrams(caption: str, n: int) -> set[tuple[str, ...]]:
    words = caption.lower().split()
    return set(zip(*(words[k:] for k in range(n)), strict=False))


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_pairs_without_the_own_caption_are_the_mean_over_the_other_references(corpora, data):
    captions, image_of_caption = data.draw(corpora)
    everyone, count = np.arange(len(captions)), np.bincount(image_of_caption)[image_of_caption]
    # Against itself alone, a caption scores 10 / 4 for each n of which it has an n-gram that some image lacks.
    against_itself = np.zeros(len(captions))
    for n in (1, 2, 3, 4):
        of_image = [set() for _ in range(image_of_caption.max() + 1)]
        for caption, image in zip(captions, image_of_caption, strict=True):
            of_image[image] |= ngrams(caption, n)
        of_every_image = set.intersection(*of_image)
        against_itself += [2.5 * bool(ngrams(caption, n) - of_every_image) for caption in captions]
    whole = cider_matrix(captions, image_of_caption)[everyone, image_of_caption]
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(count > 1, (whole * count - against_itself) / (count - 1), np.nan)
    own = CiderScorer(captions, image_of_caption).pairs(everyone, image_of_caption, without_own=True)
    np.testing.assert_allclose(own, wanted, atol=1e-12, rtol=0)
