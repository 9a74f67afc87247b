"""Words of captions."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from pycocoevalcap.cider.cider import Cider

import fivesentences
from fivesentences.semantics.tokenisation import tokenise


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A dog runs .", ["a", "dog", "runs."]),
        ("a dog , a cat ; and : what ? no !", ["a", "dog,", "a", "cat;", "and:", "what?", "no!"]),
        ("a man 's hat is n't red", ["a", "man's", "hat", "isn't", "red"]),
        (
            "they 're here and we 'll go , I 'm sure , he 'd say I 've",
            ["they're", "here", "and", "we'll", "go,", "i'm", "sure,", "he'd", "say", "i've"],
        ),
        ("a ( small ) dog [ left ] # 5 $ 3 50 %", ["a", "(small)", "dog", "[left]", "#5", "$3", "50%"]),
        ("a 's-shaped 'sofa n'tx", ["a's-shaped", "'sofa", "n'tx"]),
        (" \t ", []),
        ("dog\u2028.", ["dog."]),
    ],
)
def test_reattached_punctuation_belongs_to_the_word_beside_it(caption, words):
    assert tokenise([caption], "reattached") == [words]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "caption", ["หมาวิ่ง ในสวน", "ガラス の 犬", "강아지 두 마리", "كَلْبٌ يَجْرِي", "một con chó", "कुता है"]
)
def test_a_character_has_the_marks_behind_it(caption, form):
    composed = unicodedata.normalize("NFC", caption)
    given = unicodedata.normalize(form, caption)
    assert tokenise([given], "characters") == [regex.findall(r"\X", composed.replace(" ", ""))]
    assert tokenise([given]) == [composed.split()]


def test_cider_does_not_depend_on_how_accents_are_written():
    """Candidates of a model are composed, references that were written on a Mac often are not."""
    made = ["un café près de la fenêtre", "deux chiens à la plage"]
    references = [["un café à la fenêtre", "un café noir"], ["deux chiens jouent à la plage", "la plage"]]
    corpus, each = Cider().compute_score(dict(enumerate(references)), {image: [one] for image, one in enumerate(made)})
    apart = [[unicodedata.normalize("NFD", one) for one in group] for group in references]
    assert fivesentences.cider(made, apart).each == pytest.approx(each, abs=1e-9) and corpus > 1


def test_every_character_but_white_space_is_a_word():
    assert tokenise(["一只 狗在跑。\u3000", "A Dog", " \t"], "characters") == [[*"一只狗在跑。"], [*"adog"], []]
