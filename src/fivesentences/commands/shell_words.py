"""Errors of the library, which name Python's arguments, in the words of the shell."""

from __future__ import annotations

import re

_OPTIONS = (
    "asp_ties|beta|caption_ids|captions_per_image|confidence|dataset|device|direction|image_ids|image_of_caption|k|ks|"
    "method|ms|resamples|seed|solver|split|top_k"
)
_RULES = (
    (r"(?:pass its transpose|pass similarity\.T) *(?:\(similarity\.T; on the command line --transposed\))?",
     "give --transposed"),
    (r" ?\(image_of_caption; on the command line (--image-of-caption FILE)\)", r" with \1"),
    (r"pass image_of_caption, the image index of each caption", "give --image-of-caption FILE"),
    (r"pass captions_per_image, or image_of_caption", "give --captions-per-image N or --image-of-caption FILE"),
    (r"pass include_self=True", "give --include-self"),
    (r"pass phi\.T", "save its transpose"),
    (r"install (?:it|fivesentences) with (?:its extra '(\w+)' \(uv sync --extra \w+\)|"
     r"pip install \"fivesentences\[(\w+)\]\")", r'in the checkout: pip install ".[\1\2]"'),
    (r"^protocol (?=is )", "--dataset "),
    (r"^k (?=is )", "-k "),
    (rf"^({_OPTIONS}) (?=is |holds )", lambda found: f"--{found[1].replace('_', '-')} "),
)  # fmt: skip


def in_shell_words(sentence: str) -> str:
    """An error's sentence as somebody reads it who typed a command."""
    for pattern, words in _RULES:
        sentence = re.sub(pattern, words, sentence)  # type: ignore[call-overload]
    return sentence
