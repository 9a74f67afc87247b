"""CIDEr against pycocoevalcap, called as its authors call it."""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter, defaultdict

import numpy as np
import pytest
from pycocoevalcap.cider.cider import Cider

from fivesentences.errors import InputError
from fivesentences.semantics.cider import CiderScorer, cider_matrix


def pycocoevalcap_row(caption: str, captions: list[str], image_of_caption: np.ndarray) -> np.ndarray:
    """One call: the same caption as every image's candidate, all images as references, on the same tokens."""
    words = [" ".join(text.lower().split()) for text in captions]
    references: dict[int, list[str]] = {image: [] for image in range(int(max(image_of_caption)) + 1)}
    for text, image in zip(words, image_of_caption, strict=True):
        references[int(image)].append(text)
    candidate = " ".join(caption.lower().split())
    return np.asarray(Cider().compute_score(references, {image: [candidate] for image in references})[1])


def made_corpus(seed: int) -> tuple[list[str], np.ndarray]:
    """Few words, many repetitions, uneven lengths and reference counts, captions out of image order."""
    rng = np.random.default_rng(seed)
    references = rng.integers(1, 8, size=rng.integers(2, 14))
    image_of_caption = np.repeat(np.arange(len(references)), references)
    if seed % 2:
        image_of_caption = rng.permutation(image_of_caption)
    vocabulary = [f"w{k}" for k in range(rng.integers(2, 9))]
    captions = [" ".join(rng.choice(vocabulary, size=rng.integers(0, 25))) for _ in image_of_caption]
    captions[0] = "w0 w1"  # coco-caption cannot score a corpus without a single word
    return captions, image_of_caption


ADVERSARIAL = [
    "a a a a a a a a",
    "a a b a a b a a b",
    "A",
    "a",
    "",
    "   \t ",
    "a dog runs .",
    "A DOG runs .",
    "a dog runs .",
    "dog",
    "a dog and a dog and a dog and a cat run over a very long field of very green grass in the sun " * 3,
    "ÉCOLE İstanbul ß non\u00a0breaking\u2028line",
    "école i̇stanbul ß",
    "a cat , a cat , a cat !",
    "runs dog a",
    "zebra",
]


@pytest.mark.parametrize("seed", range(40))
def test_random_corpora_equal_pycocoevalcap_with_the_same_zeros(seed):
    captions, image_of_caption = made_corpus(seed)
    ours = cider_matrix(captions, image_of_caption)
    theirs = np.stack([pycocoevalcap_row(caption, captions, image_of_caption) for caption in captions])
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, theirs == 0)


@pytest.mark.parametrize(
    "image_of_caption",
    [
        [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 4],  # unequal captions per image
        list(range(16)),  # one caption per image
        [0] * 15 + [1],
        [3, 2, 1, 0] * 4,  # not image-major
    ],
)
def test_adversarial_rows_equal_pycocoevalcap_with_the_same_zeros(image_of_caption):
    ours = cider_matrix(ADVERSARIAL, image_of_caption)
    theirs = np.stack([pycocoevalcap_row(caption, ADVERSARIAL, image_of_caption) for caption in ADVERSARIAL])
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, theirs == 0)


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


def test_the_matrix_does_not_depend_on_where_it_is_put(tmp_path):
    captions, image_of_caption = made_corpus(3)
    wanted = cider_matrix(captions, image_of_caption)
    on_disk = cider_matrix(captions, image_of_caption, out=tmp_path / "phi.npy")
    assert isinstance(on_disk, np.memmap)
    assert on_disk.dtype == np.float32
    np.testing.assert_array_equal(on_disk, wanted.astype(np.float32))
    mapped = np.lib.format.open_memmap(tmp_path / "mapped.npy", mode="w+", dtype=np.float64, shape=wanted.shape)
    assert cider_matrix(captions, image_of_caption, out=mapped) is mapped
    np.testing.assert_array_equal(mapped, wanted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mapped.npy", "phi.npy"]


@pytest.mark.parametrize(
    ("captions", "image_of_caption", "sentence"),
    [
        ([], [], "the list of captions is empty"),
        (["a", "b"], [0], "2 captions"),
        (["a", "b", "c"], [0, 2, 2], "image 1 has no caption"),
        (["a", "b"], [0, 7], "only 2 captions"),
        (["a", "b"], [0, -1], r"image_of_caption\[1\] is -1"),
        (["a", "b"], [0, 0.5], "whole numbers"),
        (["a", None], [0, 1], r"captions\[1\] is None"),
        ("a dog", [0], "one string"),
    ],
)
def test_captions_that_do_not_fit_are_refused_in_a_sentence(captions, image_of_caption, sentence):
    with pytest.raises(InputError, match=sentence):
        cider_matrix(captions, image_of_caption)


def test_an_unknown_tokenisation_is_refused():
    with pytest.raises(InputError, match="'whitespace', 'reattached', 'ptb'"):
        cider_matrix(["a"], [0], tokenize="spaces")


def slow_cider_terms(caption: int, captions: list[str], image_of_caption: np.ndarray) -> dict[int, float]:
    """Score against each single caption, idf of the whole corpus; written from the definition with dictionaries."""
    words = [text.lower().split() for text in captions]
    n_images = int(image_of_caption.max()) + 1
    orders = range(1, 5)
    grams = [{n: Counter(tuple(text[k : k + n]) for k in range(len(text) - n + 1)) for n in orders} for text in words]
    images_with: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for of_caption, image in zip(grams, image_of_caption, strict=True):
        for n in orders:
            for gram in of_caption[n]:
                images_with[gram].add(int(image))

    def vector(index: int, n: int) -> dict[tuple[str, ...], float]:
        return {gram: tf * math.log(n_images / len(images_with[gram])) for gram, tf in grams[index][n].items()}

    terms = {}
    for reference in range(len(captions)):
        total = 0.0
        for n in orders:
            ours, theirs = vector(caption, n), vector(reference, n)
            norms = math.hypot(*ours.values()) * math.hypot(*theirs.values())
            dot = sum(min(ours[gram], theirs[gram]) * theirs[gram] for gram in ours if gram in theirs)
            total += dot / norms if norms else 0.0
        difference = max(0, len(words[caption]) - 1) - max(0, len(words[reference]) - 1)
        terms[reference] = 10 / 4 * total * math.exp(-(difference**2) / 72)
    return terms


@pytest.mark.parametrize("seed", range(6))
def test_pairs_with_and_without_the_own_caption_equal_the_definition(seed, cells, references_of):
    captions, image_of_caption = made_corpus(seed)
    some, images = cells(image_of_caption, others=40)
    scorer = CiderScorer(captions, image_of_caption)
    whole = scorer.score(np.arange(len(captions)))
    kept, left_out = scorer.pairs(some, images), scorer.pairs(some, images, without_own=True)
    np.testing.assert_allclose(kept, whole[some, images], atol=1e-12, rtol=0)
    np.testing.assert_array_equal(kept == 0, whole[some, images] == 0)
    terms = [slow_cider_terms(caption, captions, image_of_caption) for caption in range(len(captions))]
    for score, caption, image in zip(left_out, some, images, strict=True):
        references = references_of(image_of_caption, image, without=caption)
        if references:
            assert score == pytest.approx(np.mean([terms[caption][k] for k in references]), abs=1e-12)
        else:
            assert np.isnan(score)


def test_hostile_captions_give_the_same_cells_by_pairs_rows_and_sparse_rows(hostile_corpus, cells):
    captions, image_of_caption = hostile_corpus
    scorer = CiderScorer(captions, image_of_caption)
    everyone = np.arange(len(captions))
    whole = scorer.score(everyone)
    some, images = cells(image_of_caption)
    np.testing.assert_allclose(scorer.pairs(some, images), whole[some, images], atol=1e-12, rtol=0)
    np.testing.assert_array_equal(scorer.sparse(everyone).toarray(), whole)
    for group in scorer.groups(3):
        assert len(group) <= 3
        np.testing.assert_array_equal(scorer.score(group), whole[group])
        np.testing.assert_array_equal(scorer.sparse(group).toarray(), whole[group])


def test_captions_of_two_thousand_words_equal_pycocoevalcap():
    rng = np.random.default_rng(0)
    captions = [" ".join(rng.choice(["a", "b", "dog"], size=size)) for size in (2000, 1990, 7, 0, 2000, 40)]
    image_of_caption = np.array([0, 0, 1, 1, 2, 2])
    theirs = np.stack([pycocoevalcap_row(caption, captions, image_of_caption) for caption in captions])
    np.testing.assert_allclose(cider_matrix(captions, image_of_caption), theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize(("out", "sentence"), [(np.zeros((2, 2)), r"\[1, 1\]"), ("phi.txt", "must end in .npy")])
def test_an_output_that_does_not_fit_is_refused(out, sentence):
    with pytest.raises(InputError, match=sentence):
        cider_matrix(["a"], [0], out=out)
