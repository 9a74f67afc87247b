"""WordNet synonyms as SPICE looks them up: the English data of METEOR 1.5, read without Java.

The data are two text files inside ``Meteor-1.5.jar`` of the pycocoevalcap wheel. ``english.synsets`` holds pairs of
lines, a lemma (spaces as underscores) and the numbers of its synsets; ``english.exceptions`` pairs of a base form and
its irregular inflections. A word has the synsets of its own entry and those of its base form: the irregular bases if
there are any, else the first base that a suffix rule yields and the dictionary knows.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from functools import cache

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import wheel_jar

JAR = "spice/lib/Meteor-1.5.jar"
BLANKS = "".join(map(chr, range(33)))
NONE: frozenset[int] = frozenset()

# Endings and what replaces them, in the order in which they are tried (WordNet's nouns, verbs, adjectives).
SUFFIX_RULES = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ("er", ""), ("est", ""), ("er", "e"), ("est", "e"),
)  # fmt: skip


class Synonyms:
    """Synsets of words and of multi-word terms; look-ups are remembered.

    Args:
        synsets: Lemma, with underscores for spaces, to synset numbers in one string.
        bases: Irregular form to its base forms.
    """

    def __init__(self, synsets: Mapping[str, str], bases: Mapping[str, tuple[str, ...]]):
        self._synsets = synsets
        self._bases = bases
        self._known: dict[str, frozenset[int]] = {}

    def __len__(self) -> int:
        """Number of lemmas."""
        return len(self._synsets)

    def lemmas(self) -> Iterable[str]:
        """Every lemma, with underscores for spaces."""
        return self._synsets.keys()

    def irregular_forms(self) -> Iterable[str]:
        """Every inflected form that has base forms of its own."""
        return self._bases.keys()

    def synsets(self, text: str) -> frozenset[int]:
        """Numbers of the synsets of a word or term; none if the dictionary does not know it."""
        known = self._known.get(text)
        if known is None:
            word = text.lower().strip(BLANKS).replace(" ", "_")
            known = self._entry(word)
            for base in self._base_forms(word):
                known |= self._entry(base)
            self._known[text] = known
        return known

    def _entry(self, lemma: str) -> frozenset[int]:
        numbers = self._synsets.get(lemma)
        return NONE if numbers is None else frozenset(map(int, numbers.split()))

    def _base_forms(self, word: str) -> tuple[str, ...]:
        irregular = self._bases.get(word)
        if irregular is not None:
            return irregular
        if len(word) > 2 and not word.endswith("ss"):
            for ending, replacement in SUFFIX_RULES:
                if word.endswith(ending):
                    base = word[: -len(ending)] + replacement
                    if base in self._synsets:
                        return (base,)
        return ()


@cache
def load_synonyms() -> Synonyms:
    """METEOR's English synonyms from the installed pycocoevalcap wheel; read once in a process (a fifth of a second).

    Raises:
        InputError: If the wheel is not installed or its jar is broken.
    """
    jar = wheel_jar(JAR)
    try:
        with zipfile.ZipFile(jar) as archive:
            synsets = archive.read("synonym/english.synsets").decode().splitlines()
            exceptions = archive.read("synonym/english.exceptions").decode().splitlines()
    except (OSError, KeyError, UnicodeDecodeError, zipfile.BadZipFile):
        raise InputError(f"{jar}: the synonyms cannot be read; install pycocoevalcap again.") from None
    bases: dict[str, tuple[str, ...]] = {}
    for base, forms in zip(exceptions[::2], exceptions[1::2], strict=True):
        for form in forms.split():
            bases[form] = (*bases.get(form, ()), base)
    return Synonyms(dict(zip(synsets[::2], synsets[1::2], strict=True)), bases)
