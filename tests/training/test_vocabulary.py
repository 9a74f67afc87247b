"""Words and their numbers; captions for the authors' checkpoints: words as nltk cuts them, numbers as in their file."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer

from fivesentences.corpus import load_karpathy
from fivesentences.errors import InputError
from fivesentences.models import concepts
from fivesentences.training.vocabulary import UNKNOWN, Vocabulary, released_words, words_of

TEXT = """a dog man's dogs' don't they're t-shirt cannot gonna 'tis rock'n'roll o'clock '90s 2,000 3:30 5.5 u.s.a "stop"
“go” (left) [right] a,b red, blue: $5 50% #1 a&b -- and/or x;y e-mail naïve * — '' ' " 'hello' , ` <b>"""
PIECES = TEXT.split()
CAPTIONS = {
    "Two young guys look at their hands, hanging out.": "two young guys look at their hands , hanging out .",
    "A man's dog isn't running , it 's sitting .": "a man 's dog is n't running , it 's sitting .",
    'A sign that says "Stop, don\'t go" on it.': "a sign that says `` stop , do n't go '' on it .",
    "The team (in red) scored 2,000 at 3:30 for $5.": "the team ( in red ) scored 2,000 at 3:30 for $ 5 .",
    "A man in a u.s. army t-shirt cannot wait...": "a man in a u.s. army t-shirt can not wait ...",
}


@pytest.mark.parametrize("caption", CAPTIONS)
def test_punctuation_and_endings_are_words_as_in_released_vocabularies(caption):
    assert released_words(caption) == CAPTIONS[caption].split()


def test_words_are_lower_case_runs_of_letters_and_digits_without_punctuation():
    assert words_of("The man's T-shirt, (red) says: 42!") == ["the", "man's", "t-shirt", "red", "says", "42"]
    assert words_of("Ein Mädchen läuft") == ["ein", "mädchen", "läuft"]
    assert words_of("... !") == []


# A word is a letter and then letters, marks behind them, or joiners between them.
SCRIPTS = {
    "Hindi": ("कखगदसहनर", "ािीुूेैोौं्ँ़"), "Bengali": ("কখগদসহনর", "ািীুূেৈোৌং়্"), "Thai": ("กขคหมนวร", "ิีึืุู่้์ั"),
    "Tamil": ("கஙசபனநய", "ாிீுூெேை்"), "Khmer": ("កខគឆម", "ាិីុូេែ្"), "Arabic": ("بتكلجريم", "ًٌٍَُِّْ"),
    "Hebrew": ("אבגדשל", "ְִֵֶַָׁ"), "Vietnamese": ("aeiou", "\u0301\u0300\u0309\u0303\u0323\u0302"),
    "Persian": ("میروخن", ""), "Amharic": ("የአማርኛው", ""),
}  # fmt: skip


@st.composite
def captions_of_a_script(draw):
    letters, marks = draw(st.sampled_from(list(SCRIPTS.values())))
    syllable = st.tuples(st.sampled_from(letters), st.text(marks, max_size=2) if marks else st.just("")).map("".join)
    word = st.lists(syllable, min_size=1, max_size=4)
    joined = st.builds(str.join, st.sampled_from(["", "", "\u200c", "\u200d"]), word)
    return draw(st.sampled_from([" ", ", ", "。", "؟ ", "। ", "_", "/", "\u200b"])).join(
        draw(st.lists(joined, max_size=5))
    )


@given(captions_of_a_script(), st.sampled_from(["NFC", "NFD"]))
def test_words_of_any_script_are_those_of_unicode_however_accents_are_written(caption, form):
    expected = [word for run in regex.findall(r"\w+", unicodedata.normalize("NFC", caption)) for word in run.split("_")]
    assert words_of(unicodedata.normalize(form, caption)) == [word for word in expected if word]


@pytest.mark.parametrize(
    ("caption", "words", "characters"),
    [
        ("कुत्ता दौड़ता है।", ["कुत्ता", "दौड़ता", "है"], ["कु", "त्", "ता", "दौ", "ड़", "ता", "है"]),
        ("一只狗，在跑。", ["一只狗", "在跑"], ["一", "只", "狗", "在", "跑"]),
        ("ガラス", ["ガラス"], ["ガ", "ラ", "ス"]),  # may be written by five characters
        ("หมาวิ่ง", ["หมาวิ่ง"], ["ห", "ม", "า", "วิ่", "ง"]),
        ("강아지 두 마리", ["강아지", "두", "마리"], ["강", "아", "지", "두", "마", "리"]),
        ("Un café, 2 crêpes", ["un", "café", "2", "crêpes"], [*"uncafé2crêpes"]),
        ("Kinder\u00adwagen \u200fכלב\u200f", ["kinderwagen", "כלב"], [*"kinderwagenכלב"]),
        ("צה״ל paral·lel", ["צה״ל", "paral·lel"], [*"צהלparallel"]),
        ("❤\ufe0f dog 👨\u200d👩 🇫🇷", ["dog"], [*"dog"]),
        ("...", [], []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_marks_belong_to_words_and_to_characters(caption, words, characters, form):
    given, words = unicodedata.normalize(form, caption), [unicodedata.normalize("NFC", word) for word in words]
    assert words_of(given) == words
    assert words_of(given, characters=True) == [unicodedata.normalize("NFC", one) for one in characters]
    assert concepts.words_of(given) == [word for word in words if len(word) > 1 and not word[0].isdecimal()]


def test_special_words_come_first_then_the_most_frequent_and_equals_by_alphabet():
    vocabulary = Vocabulary.of_captions(["b a a", "c a b rare"], min_count=1)
    assert vocabulary.words == ("<pad>", "<start>", "<end>", "<unk>", "a", "b", "c", "rare")
    assert Vocabulary.of_captions(["c a b rare", "b a a"], min_count=1) == vocabulary
    assert Vocabulary.of_captions(["b a a", "c a b rare"], min_count=2).words[4:] == ("a", "b")


@pytest.mark.data
def test_real_captions_of_one_sentence_are_cut_by_nltk(mirror):
    captions = load_karpathy(mirror / "flickr30k" / "flickr30k.zip", "flickr30k").captions[::29]
    single = [text for text in captions if not re.search(r"[.?!]\s+\S", text)]
    assert len(single) > 4000
    for text in single:
        assert released_words(text) == NLTKWordTokenizer().tokenize(text.lower()), text


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.sampled_from(["", ".", " .", "?", "..."]))
def test_one_sentence_is_cut_by_nltk_alone(pieces, end):
    text = " ".join(pieces) + end
    assert released_words(text) == NLTKWordTokenizer().tokenize(text)


def test_a_caption_of_two_sentences_has_two_full_stops():
    assert released_words("A man sits. He reads.") == ["a", "man", "sits", ".", "he", "reads", "."]
    assert released_words("Mr. T. Smith reads.") == ["mr.", "t.", "smith", "reads", "."]
    assert released_words("") == released_words("  ") == []
    assert released_words("Un cafe\u0301.") == ["un", "caf\u00e9", "."]


def vocabulary_file(path, words=("a", "dog", "'s", "."), **changes):
    number = {word: place for place, word in enumerate(("<pad>", "<start>", "<end>", "<unk>", *words))}
    content = {"word2idx": number | changes, "idx2word": {str(v): k for k, v in number.items()}, "idx": len(number)}
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("cut", ["pattern", "characters", "nltk"])
def test_a_vocabulary_is_written_and_read_back_with_the_way_of_cutting(tmp_path, cut):
    released = Vocabulary.read_released(vocabulary_file(tmp_path / "v.json"))
    assert released.encode("A dog's cat.") == [1, 4, 5, 6, 3, 7, 2]
    vocabulary = released if cut == "nltk" else Vocabulary.of_captions(["ein 狗狗", "a dog"], 1, cut == "characters")
    assert cut != "characters" or len(vocabulary.encode("狗狗")) == 4
    vocabulary.write(tmp_path / "vocabulary.json")
    assert Vocabulary.read(tmp_path / "vocabulary.json") == vocabulary


@pytest.mark.data
@pytest.mark.parametrize("path", ["flickr30k/f30k_precomp_vocab.json", "coco/coco_precomp_vocab.json"])
def test_released_lists_can_be_trained_with(path, mirror):
    """Every word stands in the captions of the release, so that few are unknown."""
    vocabulary = Vocabulary.read_released(mirror / path)
    captions = load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco").captions[::10]
    numbers = [number for caption in captions for number in vocabulary.encode(caption)]
    assert numbers.count(UNKNOWN) / len(numbers) < 0.02


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("[]", "no word2idx"),
        ('{"word2idx": {"a": 0}}', "has no '<pad>'"),
        ({"dog": 99}, "not 0 to 7"),
        ({"dog": "5"}, "not 0 to 7"),
        ({"<pad>": 4, "a": 0}, "'a' first"),
    ],
)
def test_another_file_is_refused(tmp_path, content, what):
    path = tmp_path / "v.json"
    if isinstance(content, str):
        path.write_text(content)
    else:
        vocabulary_file(path, **content)
    with pytest.raises(InputError, match=what):
        Vocabulary.read_released(path)
    with pytest.raises(InputError, match="is not a vocabulary"):
        Vocabulary.read(path)
