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


@pytest.mark.slow
@pytest.mark.java  # four starts of a program that reads its paraphrases for seconds
@pytest.mark.parity
@pytest.mark.usefixtures("java_jars")
def test_pairs_equal_pycocoevalcaps(parity_folder, monkeypatch):
    if quote(pycocoevalcap.__path__[0]) != pycocoevalcap.__path__[0]:
        pytest.skip("pycocoevalcap's own call of METEOR fails below a folder that a URL would escape")
    fixture = json.loads((parity_folder / "spice_flickr8k_small.json").read_text())
    n_images = len(fixture["image_ids"])
    captions = fixture["captions"] + MORE
    own = np.array(fixture["image_of_caption"] + [n_images + image for image in IMAGE_OF_MORE])
    rng = np.random.default_rng(0)
    chosen = np.concatenate([rng.integers(0, len(captions), 30), np.arange(len(captions) - 5, len(captions)), [0, 0]])
    images = np.concatenate([own[chosen[:15]], rng.integers(0, n_images, 15), own[-5:], [n_images, n_images + 1]])
    lines = [line.replace("|||", " ") for line in ptb_lines(captions)]
    monkeypatch.setenv("PATH", f"{java_binary().parent}{os.pathsep}{os.environ['PATH']}")
    program = Meteor()

    def expected(without_own):
        scores = np.zeros(len(chosen))
        references, hypotheses = {}, {}
        for pair, (caption, image) in enumerate(zip(chosen.tolist(), images.tolist(), strict=True)):
            others = [index for index in np.flatnonzero(own == image) if not (without_own and index == caption)]
            if not others:
                scores[pair] = np.nan
            if texts := [lines[index] for index in others if lines[index]] if lines[caption] else []:
                references[pair], hypotheses[pair] = texts, [lines[caption]]
        scores[list(references)] = program.compute_score(references, hypotheses)[1]
        return scores

    scorer = MeteorScorer(captions, own)
    with_own, without = expected(False), expected(True)
    assert len(np.unique(with_own)) > 10 and np.isnan(without).any()
    np.testing.assert_array_equal(scorer.pairs(chosen, images, without_own=True), without)
    monkeypatch.setattr(meteor, "PAIRS_PER_PROCESS", 20)  # several processes
    monkeypatch.setattr(meteor, "threads", lambda: 2)
    np.testing.assert_array_equal(scorer.pairs(chosen, images), with_own)


def test_pairs_without_words_need_no_java_and_a_matrix_is_refused(monkeypatch):
    scorer = MeteorScorer(["a dog", "", "a cat", "."], [0, 1, 2, 1])
    monkeypatch.setattr(meteor, "java_program", None)
    np.testing.assert_array_equal(scorer.pairs([1, 0, 0], [0, 1, 0], without_own=True), [0.0, 0.0, np.nan])
    assert scorer.pairs([], []).shape == (0,)
    with pytest.raises(InputError, match="4 captions x 3 images"):
        scorer.score(np.arange(4))


@pytest.mark.slow
def test_a_java_that_dies_is_one_sentence(monkeypatch):
    scorer = MeteorScorer(["a dog", "a cat"], [0, 0])
    monkeypatch.setattr(meteor, "MEMORY_MB", 40)
    with pytest.raises(InputError, match=r"^METEOR.* ended with status .* \(.*OutOfMemoryError"):
        scorer.pairs([0], [0])
