"""METEOR of pairs against pycocoevalcap's wrapper of the same jar."""

from __future__ import annotations

import json
import os
from urllib.parse import quote

import numpy as np
import pycocoevalcap
import pytest
from pycocoevalcap.meteor.meteor import Meteor

from fivesentences.errors import InputError
from fivesentences.semantics.java import meteor
from fivesentences.semantics.java.jars import java_binary
from fivesentences.semantics.java.meteor import MeteorScorer
from fivesentences.semantics.java.ptb_tokenizer import ptb_lines

# Three more images: one has its own caption only, one no words, and the last two captions belong to the third.
MORE = ["a lonely dog", "...", "", "see http://x.y/a|||b", "||| a dog ||| runs"]
IMAGE_OF_MORE = [0, 1, 1, 2, 2]


@pytest.fixture(scope="module")
def captions_and_images(parity_folder):
    fixture = json.loads((parity_folder / "spice_flickr8k_small.json").read_text())
    n_images = len(fixture["image_ids"])
    return fixture["captions"] + MORE, fixture["image_of_caption"] + [n_images + image for image in IMAGE_OF_MORE]


@pytest.fixture(scope="module")
def theirs():
    if quote(pycocoevalcap.__path__[0]) != pycocoevalcap.__path__[0]:
        pytest.skip(
            f"pycocoevalcap's own call of METEOR ends below {pycocoevalcap.__path__[0]}, which a URL would escape"
        )
    patch = pytest.MonkeyPatch()
    patch.setenv("PATH", f"{java_binary().parent}{os.pathsep}{os.environ['PATH']}")
    meteor = Meteor()  # reads its table while ours reads its own
    yield lambda hypotheses, references: meteor.compute_score(references, hypotheses)[1]
    patch.undo()


@pytest.mark.parity
def test_pairs_equal_pycocoevalcaps(captions_and_images, theirs):
    captions, image_of_caption = captions_and_images
    scorer = MeteorScorer(captions, image_of_caption, processes=1)
    n, m = len(captions) - len(MORE), image_of_caption[-1] - 2  # captions and images of the fixture
    assert scorer.shape == (n + 5, m + 3)
    rng = np.random.default_rng(0)
    chosen = np.concatenate([rng.permutation(n), [0, 0, *(n + np.array([0, 0, 1, 2, 1, 3, 4, 4]))]])
    images = np.concatenate([rng.integers(0, m, n - 10), np.repeat([m - 2, m - 1], 5)])
    own = np.asarray(image_of_caption)[chosen]
    images = np.concatenate([images, [0, m + 1, m, 0, m + 1, m + 1, 0, m + 2, m + 2, 2]])
    images[: n // 2] = own[: n // 2]
    asked = np.concatenate([chosen, chosen])
    lines = [line.replace("|||", " ") for line in ptb_lines(captions)]

    def expected(without_own):
        references, hypotheses = {}, {}
        for pair, (caption, image) in enumerate(zip(chosen.tolist(), images.tolist(), strict=True)):
            texts = [
                lines[index]
                for index, of in enumerate(image_of_caption)
                if of == image and lines[index] and not (without_own and index == caption)
            ]
            if texts and lines[caption]:
                references[pair], hypotheses[pair] = texts, [lines[caption]]
        scores = np.zeros(len(chosen))
        scores[list(references)] = theirs(hypotheses, references)
        return scores

    with_own = expected(without_own=False)
    assert len(np.unique(with_own)) > n // 3 and with_own[images == own].max() == 1.0
    np.testing.assert_array_equal(scorer.pairs(asked, np.concatenate([images, images])), np.tile(with_own, 2))
    without = expected(without_own=True)
    without[(chosen == n) & (images == m)] = np.nan  # its only reference was itself
    np.testing.assert_array_equal(scorer.pairs(chosen, images, without_own=True), without)
    assert not np.array_equal(with_own, without)


def test_pairs_without_words_need_no_java_and_a_matrix_is_refused(monkeypatch):
    scorer = MeteorScorer(["a dog", "", "a cat", "."], [0, 1, 2, 1])
    monkeypatch.setattr(meteor, "_Meteor", None)
    np.testing.assert_array_equal(
        scorer.pairs(np.array([1, 0, 0]), np.array([0, 1, 0]), without_own=True), [0.0, 0.0, np.nan]
    )
    assert scorer.pairs(np.zeros(0, dtype=int), np.zeros(0, dtype=int)).shape == (0,)
    with pytest.raises(InputError, match="4 captions x 3 images are not scored as a matrix"):
        scorer.score(np.arange(4))
    with pytest.raises(InputError, match=r"captions\[0\] is 4; valid indices are 0 to 3"):
        scorer.pairs([4], [0])


def test_a_java_that_dies_is_one_sentence(monkeypatch):
    scorer = MeteorScorer(["a dog", "a cat"], [0, 0])
    monkeypatch.setattr(meteor, "MEMORY_MB", 40)
    with pytest.raises(InputError, match=r"^METEOR failed: 40 MB of Java heap were not enough; ") as error:
        scorer.pairs(np.array([0]), np.array([0]))
    assert "\n" not in str(error.value)
