"""BLEU and ROUGE of the DAA release against nltk and rouge, called as the release calls them."""

from __future__ import annotations

import string
from itertools import pairwise

import numpy as np
import pytest
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge import Rouge

from fivesentences.errors import InputError
from fivesentences.semantics.bleu_daa import BleuDaaScorer
from fivesentences.semantics.rouge_daa import RougeDaaScorer
from fivesentences.semantics.tokenisation import tokenise

SCORERS = [BleuDaaScorer, RougeDaaScorer]
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def nltk_bleu(candidate: str, references: list[str]) -> float:
    words = [text.translate(NO_PUNCTUATION).split(" ") for text in (candidate, *references)]
    return sentence_bleu(words[1:], words[0], smoothing_function=SmoothingFunction().method1)


def rouge_package(candidate: str, references: list[str]) -> float:
    candidate, *references = (text.replace(".", "") for text in (candidate, *references))
    try:
        f = Rouge().get_scores(candidate, ".".join(references), avg=True)
    except ValueError:  # it refuses captions of nothing
        return 0.0
    return (f["rouge-1"]["f"] + f["rouge-2"]["f"] + f["rouge-l"]["f"]) / 3


OFFICIAL = {BleuDaaScorer: nltk_bleu, RougeDaaScorer: rouge_package}


def joined(captions):
    return [" ".join(words) for words in tokenise(captions)]


def assert_the_whole_matrix_is_theirs(kind, captions, image_of_caption):
    words = joined(captions)
    scorer = kind(captions, image_of_caption)
    ours = scorer.score(np.arange(len(captions)))
    references = [[words[k] for k in np.flatnonzero(image_of_caption == image)] for image in range(ours.shape[1])]
    theirs = [[OFFICIAL[kind](text, of_image) for of_image in references] for text in words]
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, np.equal(theirs, 0))


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 8, 10, 12])
def test_random_corpora_equal_the_packages_with_the_same_zeros(made_corpus, kind, seed):
    captions, image_of_caption = made_corpus(seed)
    if len(captions) > 25 and seed % 4 >= 2:
        captions = [" ".join(text.split()[:30]) for text in captions]
    assert_the_whole_matrix_is_theirs(kind, captions, image_of_caption)


@pytest.mark.parametrize("kind", SCORERS)
def test_hostile_captions_equal_the_packages(hostile_corpus, kind):
    assert_the_whole_matrix_is_theirs(kind, *hostile_corpus)


@pytest.mark.parametrize("kind", SCORERS)
def test_more_words_than_a_machine_word_has_bits_equal_the_packages(kind):
    rng = np.random.default_rng(0)
    sizes = [15, 16, 17, 33, 63, 64, 65, 129, 3, 0]
    vocabulary = [f"w{k}" for k in range(90)]
    few = [" ".join(rng.choice(["a", "b", "c"], size=size)) for size in sizes]
    many = [" ".join(rng.choice(vocabulary, size=size)) for size in sizes[4:]]
    captions = few + many
    assert_the_whole_matrix_is_theirs(kind, captions, np.arange(len(captions)) // 3)


def test_bleu_of_captions_of_two_thousand_words_equals_nltk():
    rng = np.random.default_rng(0)
    vocabulary = [f"w{k}" for k in range(50)]
    captions = [" ".join(rng.choice(vocabulary, size=size)) for size in (2000, 30, 1800, 9)]
    assert_the_whole_matrix_is_theirs(BleuDaaScorer, captions, np.array([0, 0, 1, 1]))


# The package itself recurses once per word, so it cannot be asked.
def test_rouge_of_a_reference_of_two_thousand_words_equals_the_definition():
    rng = np.random.default_rng(1)
    vocabulary = [f"w{k}" for k in range(200)]
    one, two = ([str(word) for word in rng.choice(vocabulary, size=size)] for size in (300, 2000))
    columns = np.array(one)
    table = np.zeros((len(two) + 1, len(one) + 1), dtype=int)  # reference by candidate
    for i, word in enumerate(two, 1):
        equal = columns == word
        table[i, 1:] = np.maximum.accumulate(np.maximum(table[i - 1, 1:], table[i - 1, :-1] + equal))
    i, j, taken = len(two), len(one), set()
    while i and j:
        if two[i - 1] == one[j - 1]:
            i, j = i - 1, j - 1
            taken.add(two[i])
        elif table[i - 1, j] > table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    counts = [
        (len(set(one) & set(two)), len(set(one)), len(set(two))),
        tuple(
            len(found)
            for found in (
                set(pairwise(one)) & set(pairwise(two)),
                set(pairwise(one)),
                set(pairwise(two)),
            )
        ),
        (len(taken), len(set(one)), len(set(two))),
    ]
    f = [2 * (c / h) * (c / r) / (c / h + c / r + 1e-8) for c, h, r in counts]
    scorer = RougeDaaScorer([" ".join(one), " ".join(two)], [0, 1])
    assert scorer.score(np.array([0]))[0, 1] == pytest.approx(np.mean(f), abs=1e-12)
    assert scorer.pairs([0], [1])[0] == pytest.approx(np.mean(f), abs=1e-12)


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize("seed", [0, 1, 4, 5, 6, 7])
def test_pairs_are_the_cells_of_the_matrix(made_corpus, cells, kind, seed):
    captions, image_of_caption = made_corpus(seed)
    some, images = cells(image_of_caption)
    scorer = kind(captions, image_of_caption)
    whole = scorer.score(np.arange(len(captions)))
    np.testing.assert_allclose(scorer.pairs(some, images), whole[some, images], atol=1e-14, rtol=0)


@pytest.mark.parametrize("kind", SCORERS)
def test_pairs_of_hostile_captions_are_the_cells_of_the_matrix(hostile_corpus, cells, kind):
    captions, image_of_caption = hostile_corpus
    some, images = cells(image_of_caption)
    scorer = kind(captions, image_of_caption)
    whole = scorer.score(np.arange(len(captions)))
    np.testing.assert_allclose(scorer.pairs(some, images), whole[some, images], atol=1e-14, rtol=0)


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_pairs_without_the_own_caption_equal_the_packages_without_that_reference(
    made_corpus, cells, references_of, kind, seed
):
    captions, image_of_caption = made_corpus(seed)
    some, images = cells(image_of_caption)
    words = joined(captions)
    ours = kind(captions, image_of_caption).pairs(some, images, without_own=True)
    for score, caption, image in zip(ours, some, images, strict=True):
        references = [words[k] for k in references_of(image_of_caption, image, without=caption)]
        if references:
            assert score == pytest.approx(OFFICIAL[kind](words[caption], references), abs=1e-12)
        else:
            assert np.isnan(score)


@pytest.mark.parametrize("kind", SCORERS)
def test_groups_hold_every_caption_once_and_any_order_scores_alike(made_corpus, kind):
    captions, image_of_caption = made_corpus(2)
    captions[-1] = captions[0]
    scorer = kind(captions, image_of_caption)
    groups = scorer.groups(3)
    assert max(map(len, groups)) <= 3
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(captions)))
    whole = scorer.score(np.arange(len(captions)))
    for group in groups:
        np.testing.assert_array_equal(scorer.score(group), whole[group])


@pytest.mark.parametrize("kind", SCORERS)
def test_captions_that_do_not_fit_are_refused(kind):
    with pytest.raises(InputError, match="list of captions is empty"):
        kind([], [])
    with pytest.raises(InputError, match=r"images\[0\] is 2"):
        kind(["a", "b"], [0, 1]).pairs([0], [2])
    assert kind(["a", "b"], [0, 1]).pairs([], []).shape == (0,)
