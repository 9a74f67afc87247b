"""Metrics of words against the programs that they were published with, called as their authors call them."""

from __future__ import annotations

import json
import string
import zipfile

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge as CocoRouge
from rouge import Rouge
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from fivesentences.errors import InputError
from fivesentences.semantics import bleu_matrix, cider_matrix, prepare, tfidf_matrix
from fivesentences.semantics.cider import CiderScorer
from fivesentences.semantics.scoring import matrix_of
from fivesentences.semantics.tokenisation import tokenise

NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def nltk_bleu(candidate: str, references: list[str]) -> float:
    words = [text.translate(NO_PUNCTUATION).split(" ") for text in (candidate, *references)]
    return sentence_bleu(words[1:], words[0], smoothing_function=SmoothingFunction().method1)


def rouge_package(candidate: str, references: list[str]) -> float:
    candidate, *references = (text.replace(".", "") for text in (candidate, *references))
    try:
        f = Rouge().get_scores(candidate, ".".join(references), avg=True)
    except ValueError:  # it refuses captions without words
        return 0.0
    return (f["rouge-1"]["f"] + f["rouge-2"]["f"] + f["rouge-l"]["f"]) / 3


def of_images(texts, image_of_caption):
    return [[texts[k] for k in np.flatnonzero(image_of_caption == i)] for i in range(image_of_caption.max() + 1)]


def per_cell(score):
    """The matrix of a function of one candidate and its references."""
    return lambda texts, images: [[[score(text, of) for of in of_images(texts, images)] for text in texts]]


def coco_bleu(texts, image_of_caption):
    cells = [(text, of) for text in texts for of in of_images(texts, image_of_caption)]
    given, references = (dict(enumerate(part)) for part in zip(*cells, strict=True))
    scores = Bleu(4).compute_score(references, {k: [text] for k, text in given.items()}, verbose=0)[1]
    return np.reshape(scores, (4, len(texts), -1))


def coco_cider(texts, image_of_caption, rows=slice(None)):
    """One call per row: the same caption as every image's candidate, all images as references."""
    references = dict(enumerate(of_images(texts, image_of_caption)))
    return [[Cider().compute_score(references, {image: [text] for image in references})[1] for text in texts[rows]]]


def scikit_learn_tfidf(texts, image_of_caption):
    vectors = TfidfTransformer().fit_transform(CountVectorizer().fit_transform(texts)).toarray()
    cosine = vectors @ vectors.T
    return [np.stack([cosine[:, image_of_caption == i].mean(axis=1) for i in range(image_of_caption.max() + 1)], 1)]


ORIGINALS = {
    ("cider",): coco_cider,
    ("bleu1", "bleu2", "bleu3", "bleu4"): coco_bleu,
    ("rouge_l",): per_cell(lambda text, references: CocoRouge().calc_score([text], references)),
    ("tfidf",): scikit_learn_tfidf,
    ("bleu_daa",): per_cell(nltk_bleu),
    ("rouge_daa",): per_cell(rouge_package),
}
every_original = pytest.mark.parametrize("names", ORIGINALS, ids="+".join)


def assert_matrices_equal_the_originals(names, captions, image_of_caption, tokenisation="whitespace"):
    plain = tokenisation == "whitespace"
    words = [caption.lower().split() for caption in captions] if plain else tokenise(captions, tokenisation)
    texts = [" ".join(of_caption) for of_caption in words]
    for name, theirs in zip(names, ORIGINALS[names](texts, np.asarray(image_of_caption)), strict=True):
        ours = matrix_of(prepare(f"{name}-{tokenisation}", captions, image_of_caption))
        np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
        np.testing.assert_array_equal(ours == 0, np.equal(theirs, 0))


@pytest.mark.slow
@every_original
@settings(max_examples=15)
@given(data=st.data())
def test_random_corpora_score_as_the_originals_with_the_same_zeros(corpora, names, data):
    assert_matrices_equal_the_originals(names, *data.draw(corpora))


@every_original
@pytest.mark.parametrize("tokenisation", ["reattached", "characters"])
def test_hostile_captions_score_as_the_originals(hostile_corpus, names, tokenisation):
    if (names, tokenisation) == (("tfidf",), "characters"):
        with pytest.raises(InputError, match="tfidf-characters"):
            prepare("tfidf-characters", *hostile_corpus)
        return
    assert_matrices_equal_the_originals(names, *hostile_corpus, tokenisation)


@pytest.mark.slow
@every_original
def test_lengths_around_whole_machine_words_score_as_the_originals(names):
    rng = np.random.default_rng(0)
    sizes = [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 3, 0]
    few = [" ".join(rng.choice(["aa", "bb"], size=size)) for size in sizes]
    many = [" ".join(rng.choice([f"w{k}" for k in range(90)], size=size)) for size in sizes[6:]]
    captions = [*few, *many, "aa " * 128 + "bb"]  # a carry through two machine words
    assert_matrices_equal_the_originals(names, captions, np.arange(len(captions)) // 3)


@pytest.mark.parametrize("names", [names for names in ORIGINALS if names != ("rouge_daa",)], ids="+".join)
def test_captions_of_two_thousand_words_score_as_the_originals(names):
    rng = np.random.default_rng(0)
    # coco-caption's ROUGE takes a second for each pair of them.
    sizes = (600, 40, 7, 0) if names == ("rouge_l",) else (2000, 1990, 7, 0, 2000, 40)
    captions = [" ".join(rng.choice(["a", "b", "dog"], size=size)) for size in sizes]
    assert_matrices_equal_the_originals(names, captions, np.arange(len(sizes)) // 2)


def test_tfidf_of_words_with_marks_is_scikit_learns_for_words_of_unicode():
    captions = ["कुत्ता घास पर दौड़ता है", "कुत्ता दौड़ता", "बिल्ली घास पर", "คน กับ หมา", "หมา วิ่ง"]
    images = np.array([0, 0, 1, 2, 2])
    words = CountVectorizer(tokenizer=lambda text: regex.findall(r"\w+", text), token_pattern=None, lowercase=False)
    vectors = TfidfTransformer().fit_transform(words.fit_transform(captions)).toarray()
    cosine = vectors @ vectors.T
    theirs = np.stack([cosine[:, images == image].mean(axis=1) for image in range(3)], 1)
    np.testing.assert_allclose(tfidf_matrix(captions, images), theirs, atol=1e-12, rtol=0)


@pytest.mark.data
def test_ciders_of_human_captions_equal_the_original_with_the_same_zeros(mirror):
    with zipfile.ZipFile(mirror / "flickr30k" / "flickr30k.zip") as archive:
        images = json.loads(archive.read("flickr30k/dataset.json"))["images"]
    test = [[sentence["raw"] for sentence in image["sentences"]] for image in images if image["split"] == "test"][:400]
    captions = [caption for of_image in test for caption in of_image]
    image_of_caption = np.repeat(np.arange(len(test)), [len(of_image) for of_image in test])
    rows = slice(7, None, 349)
    texts = [" ".join(text.lower().split()) for text in captions]
    (theirs,) = coco_cider(texts, image_of_caption, rows)
    ours = cider_matrix(captions, image_of_caption)[rows]
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, np.equal(theirs, 0))


@pytest.mark.parity
def test_the_tfidf_matrix_equals_that_of_the_daa_release(parity_folder):
    with np.load(parity_folder / "asp_released.npz", allow_pickle=False) as released:
        captions = [str(text) for text in released["in/tfidf/captions"]]
        theirs = released["out64/tfidf/semantic"].T
    image_of_caption = np.arange(len(captions)) * theirs.shape[1] // len(captions)
    np.testing.assert_allclose(tfidf_matrix(captions, image_of_caption), theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("function", "captions"),
    [
        *((cider_matrix, captions) for captions in (["a dog runs"], [""], ["", " "], ["a dog", "a dog"])),
        *((tfidf_matrix, captions) for captions in (["a", ""], [".", "!"])),
    ],
)
def test_captions_without_a_word_that_counts_score_exactly_zero(function, captions):
    # CIDEr counts no n-gram of every image, tf-idf no word of one letter; the originals refuse some of these corpora.
    shape = (len(captions),) * 2
    np.testing.assert_array_equal(function(captions, list(range(len(captions)))), np.zeros(shape))


@pytest.mark.parametrize("n", [0, 5, 2.5, "4", True])
def test_bleu_of_an_n_out_of_range_is_refused(n):
    with pytest.raises(InputError, match="n from 1 to 4"):
        bleu_matrix(["a"], [0], n)


def ngrams(caption: str, n: int) -> set[tuple[str, ...]]:
    words = caption.lower().split()
    return set(zip(*(words[k:] for k in range(n)), strict=False))


@settings(max_examples=15)
@given(data=st.data())
def test_ciders_without_the_own_caption_are_the_mean_over_the_other_references(corpora, data):
    captions, image_of_caption = data.draw(corpora)
    everyone, count = np.arange(len(captions)), np.bincount(image_of_caption)[image_of_caption]
    # Against itself alone, a caption scores 10 / 4 for each n of which it has an n-gram that some image lacks.
    against_itself = np.zeros(len(captions))
    for n in (1, 2, 3, 4):
        grams = [ngrams(caption, n) for caption in captions]
        of_every_image = set.intersection(*(set().union(*of) for of in of_images(grams, image_of_caption)))
        against_itself += [2.5 * bool(own - of_every_image) for own in grams]
    whole = cider_matrix(captions, image_of_caption)[everyone, image_of_caption]
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(count > 1, (whole * count - against_itself) / (count - 1), np.nan)
    own = CiderScorer(captions, image_of_caption).pairs(everyone, image_of_caption, without_own=True)
    np.testing.assert_allclose(own, wanted, atol=1e-12, rtol=0)
