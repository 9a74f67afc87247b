"""WordNet synonyms as SPICE looks them up: the English data of METEOR 1.5, read without Java.

The data are two text files in ``Meteor-1.5.jar`` of the pycocoevalcap wheel. ``english.synsets`` holds pairs of lines:
a lemma (with underscores for spaces) and the numbers of its synsets; ``english.exceptions`` holds pairs of a base form
and its irregular inflections. A word has the synsets of its own entry and those of its base form: of all irregular
bases if there are any, otherwise of the first base that a suffix rule yields and the dictionary contains.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import cache

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import wheel_jar

JAR = "spice/lib/Meteor-1.5.jar"
BLANKS = "".join(map(chr, range(33)))

# Suffixes and their replacements, in the order in which they are tried (WordNet's nouns, verbs, adjectives).
SUFFIX_RULES = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ("er", ""), ("est", ""), ("er", "e"), ("est", "e"),
)  # fmt: skip


class Synonyms:
    """Synsets of words and of multi-word terms; look-ups are cached.

    Args:
        lemmas: Maps a lemma, with underscores for spaces, to its synset numbers in one string.
        bases: Maps an irregular form to its base forms.
    """

    def __init__(self, lemmas: Mapping[str, str], bases: Mapping[str, tuple[str, ...]]):
        self.lemmas, self.bases = lemmas, bases
        self._known: dict[str, frozenset[int]] = {}

    def synsets(self, text: str) -> frozenset[int]:
        """Return the synset numbers of a word or term; empty if the dictionary does not contain it."""
        known = self._known.get(text)
        if known is None:
            word = text.lower().strip(BLANKS).replace(" ", "_")
            entries = (self.lemmas.get(one, "").split() for one in (word, *self._base_forms(word)))
            known = self._known[text] = frozenset(int(number) for numbers in entries for number in numbers)
        return known

    def _base_forms(self, word: str) -> tuple[str, ...]:
        if word in self.bases:
            return self.bases[word]
        if len(word) > 2 and not word.endswith("ss"):
            for ending, replacement in SUFFIX_RULES:
                base = word.removesuffix(ending) + replacement
                if word.endswith(ending) and base in self.lemmas:
                    return (base,)
        return ()


@cache
def load_synonyms() -> Synonyms:
    """Read METEOR's English synonyms from the installed pycocoevalcap wheel, once per process (a fifth of a second).

    Raises:
        InputError: If the wheel is not installed or its jar is damaged.
    """
    jar = wheel_jar(JAR)
    try:
        with zipfile.ZipFile(jar) as archive:
            synsets = archive.read("synonym/english.synsets").decode().splitlines()
            exceptions = archive.read("synonym/english.exceptions").decode().splitlines()
    except (OSError, KeyError, UnicodeDecodeError, zipfile.BadZipFile):
        raise InputError(f"{jar}: the synonyms cannot be read; reinstall pycocoevalcap.") from None
    bases: dict[str, tuple[str, ...]] = {}
    for base, forms in zip(exceptions[::2], exceptions[1::2], strict=True):
        for form in forms.split():
            bases[form] = (*bases.get(form, ()), base)
    return Synonyms(dict(zip(synsets[::2], synsets[1::2], strict=True)), bases)
