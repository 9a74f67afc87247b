"""The Penn Treebank tokenizer against pycocoevalcap's, which runs the same jar one caption after the other."""

from __future__ import annotations

import json
import os

import pytest
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from fivesentences.semantics.java import ptb_tokenizer
from fivesentences.semantics.java.jars import java_binary

ODD = [
    "A (dog) [on] {grass}: don't; can't, gonna -- \"run\" 'fast' ...",
    "“Quoted” ‘x’ … café naïve ½ and/or 1 1/2 cups (555) 123-4567",
    "a 😀 dog\t🐕   runs",
    "日本語 の 猫",
    "cannot|||x ||| y http://x.y/z?q=1 <b>dog</b> &amp; U.S.A. Mr. X.",
    ". , ! ?",
    "a\u200bb \u00adc \x1a \x07bell",
]


@pytest.fixture(scope="module")
def theirs():
    """pycocoevalcap's tokenizer on captions that have no line separator; it calls the ``java`` on the path."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PATH", f"{java_binary().parent}{os.pathsep}{os.environ['PATH']}")

    def tokenise(captions):
        lines = PTBTokenizer().tokenize({index: [{"caption": caption}] for index, caption in enumerate(captions)})
        return [lines[index][0] for index in range(len(captions))]

    yield tokenise
    patch.undo()


@pytest.mark.slow
@pytest.mark.parity
def test_tokens_equal_pycocoevalcaps(theirs, parity_folder):
    captions = json.loads((parity_folder / "spice_flickr8k_small.json").read_text())["captions"] + ODD
    assert ptb_tokenizer.ptb_lines(captions) == theirs(captions)
    assert ptb_tokenizer.ptb_tokens(ODD[2:4]) == [["a", "dog", "runs"], ["日本語", "の", "猫"]]


def test_no_caption_shifts_another(theirs, monkeypatch):
    if str(java_binary()).isascii():  # in this locale Java does not start below a folder with other letters
        monkeypatch.setenv("LC_ALL", "C")  # nor does the locale decide what a byte means
    tokens = {
        "": [], "a\u2028dog\rruns\n\non\x85grass\x0b\x0c": ["a", "dog", "runs", "on", "grass"], "a cat": ["a", "cat"],
        "  ": [], ".": [], "\ud800 un café\0": ["un", "café"], "\u2029": [],
    }  # fmt: skip
    captions = [*tokens, "", "a cat"]
    assert ptb_tokenizer.ptb_tokens(captions) == [tokens[caption] for caption in captions]
    # The same captions make pycocoevalcap give the third caption the second's words.
    assert theirs(["", "a\u2028dog", "a cat"])[2] != "a cat"
