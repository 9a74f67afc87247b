"""Captions are varied, clean text."""

from __future__ import annotations

import re


def test_every_image_has_five_different_captions_of_clean_text_in_250_words(many):
    vocabulary = set()
    for one in many:
        texts = [caption.text for caption in one.captions]
        assert len(set(texts)) == 5
        for text in texts:
            words = re.findall(r"[a-z-]+", text.lower())
            assert len(words) >= 3
            assert text == " ".join(text.split())
            assert text[0].isupper()
            assert not re.search(r"\ba [aeio]|\ban [^aeiou]| , ,|, \.|\b(\w+) \1\b", text.lower()), text
            vocabulary.update(words)
    assert len(vocabulary) >= 250
