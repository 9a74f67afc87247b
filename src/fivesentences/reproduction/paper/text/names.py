"""Words for phi, tokens, methods and directions, and the writing of lists, numbers and captions."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from fivesentences.evaluation.published import with_details
from fivesentences.semantics.registry import SEMANTIC_METRICS, metric_in_words

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

MINUS, UNDEFINED = "\N{MINUS SIGN}", "\N{EN DASH}"
INFERENCES = {
    "naive": "naive",
    "inverted_softmax": "inverted softmax",
    "csls": "CSLS",
    "assignment": "assignment",
    "qb_norm": "QB-Norm",
    "dual_bank": "dual banks",
}
TOKENS = {"whitespace": "whitespace", "reattached": "re-attached", "characters": "character", "ptb": "PTB"}
# How features, and vectors of documents, become inputs.
PREPARED = {
    "as_stored": "as stored",
    "standardise": "standardised",
    "normalise": "normalised",
    "sqrt_standardise": "square roots, standardised",
}
# How a phi of vectors takes the captions of an image; by their centroid where its name says nothing.
OF_REFERENCES = {"centroid": "centroid", "max": "nearest caption", "mean": "mean over captions"}
# Of correlations: the name, and its symbol.
STATISTICS = {
    "pearson": ("Pearson’s r", "r"),
    "spearman": ("Spearman’s ρ", "ρ"),
    "kendall_b": ("Kendall’s τ-b", "τ-b"),
    "kendall_c": ("Kendall’s τ-c", "τ-c"),
}
REFERENCES = {"kept": "own captions among the references", "own_left_out": "own caption taken out of its references"}
DIRECTIONS = {"i2t": "image → text", "t2i": "text → image"}


def tokens_in_words(phi: str) -> str:
    """Return ``PTB`` for ``cider-ptb``, ``whitespace`` for ``cider``; empty for a metric that does not split words."""
    name, _, tokenisation = phi.partition("-")
    metric = SEMANTIC_METRICS.get(name)
    if not tokenisation and metric is not None and metric.tokenised:
        tokenisation = "whitespace"
    return TOKENS.get(tokenisation, tokenisation)


def phi_in_words(phi: str) -> str:
    """Return ``CIDEr (PTB tokens)`` for ``cider-ptb``, ``CIDEr`` for ``cider``, ``mean of A and B`` for ``a+b``."""
    if "+" in phi:
        return f"mean of {listed([phi_in_words(one) for one in phi.split('+')])}"
    last = phi.rpartition("-")[2]
    details = OF_REFERENCES.get(last) or (f"{tokens_in_words(phi)} tokens" if "-" in phi else "")
    return with_details(metric_in_words(phi), details)


def unique(items: Iterable[Key]) -> list[Key]:
    """Return each item once, in the order of first occurrence."""
    return list(dict.fromkeys(items))


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by a key, both in the order of first occurrence."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def listed(names: Sequence[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def note_naming(sentence: str, names: Iterable[str], comma: str = ", ") -> list[str]:
    """Return the sentence with each name once after a colon; nothing if there are no names."""
    named = comma.join(unique(names))
    return [f"{sentence}: {named}."] if named else []


def capitalised(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def number(value: float | None, decimals: int) -> str:
    """Format a number; empty for None."""
    return "" if value is None else f"{value:z.{decimals}f}".replace("-", MINUS)


def signed(value: float | None, decimals: int) -> str:
    """Format a difference with its sign; empty for None."""
    return "" if value is None else f"{value:+.{decimals}f}".replace("-", MINUS)


def as_written(caption: str) -> str:
    """Join punctuation to its word, where datasets set it apart."""
    return re.sub(r" ([.,;:!?]|'s\b|n't\b)", r"\1", caption)


def wrapped(caption: str, width: int, lines: int, indent: str = "") -> str:
    """Fold a caption into lines of at most ``width`` characters; one that needs more than ``lines`` ends in [...]."""
    return textwrap.fill(as_written(caption), width, subsequent_indent=indent, max_lines=lines)
