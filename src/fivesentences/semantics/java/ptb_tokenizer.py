"""The Penn Treebank tokenizer of the COCO caption evaluation, as pycocoevalcap's ``PTBTokenizer`` uses it.

CoreNLP 3.4.1 from the wheel reads one caption per line, lower-cases it and splits it; then punctuation is removed.
pycocoevalcap passes every caption unchanged, so a caption that contains a line separator becomes two lines and shifts
all later captions. Here white space is collapsed first and the number of lines is compared.
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fivesentences.semantics.java.jars import java_error, java_program, wheel_jar
from fivesentences.semantics.tokenisation import MARKS, composed
from fivesentences.storage import scratch

# Tokens that are removed. The names of brackets are upper case but the tokens are lower case, so "-lrb-" stays, as in
# the COCO evaluation.
REMOVED = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)


_WORD = re.compile(rf"\w[\w{MARKS}]*|[^\w\s]")


def ptb_tokens(captions: Sequence[str]) -> list[list[str]]:
    """Split each caption into Penn Treebank tokens, lower-cased and without punctuation.

    Args:
        captions: Raw captions; any characters are allowed.

    Returns:
        For each caption the words that pycocoevalcap's scorers see: its tokenizer's output, split at white space.

    Raises:
        InputError: If the extra ``java`` is not installed or the tokenizer fails.
    """
    return [line.split() for line in ptb_lines(captions)]


def ptb_lines(captions: Sequence[str]) -> list[str]:
    """Return the tokens of each caption joined by spaces: the strings that pycocoevalcap's ``PTBTokenizer`` returns.

    A token may hold a no-break space (``1\\u00a01/2``), so ``ptb_tokens`` is more than these strings split at spaces.
    """
    texts = [one_line(caption) for caption in captions]
    wanted = tuple(dict.fromkeys(filter(None, texts)))  # does not depend on how the tokenizer treats empty lines
    tokenised = dict(zip(wanted, _lines_of(wanted), strict=True))
    tokenised[""] = ""
    return [tokenised[text] for text in texts]


@functools.lru_cache(maxsize=1)  # several metrics of the same captions start Java once
def _lines_of(texts: tuple[str, ...]) -> list[str]:
    return [_without_punctuation(line) for line in _run(list(texts))] if texts else []


def one_line(caption: str) -> str:
    """Compose accents, replace white space of any kind by single spaces, and unpaired surrogates by U+FFFD."""
    text = composed(caption).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return " ".join(text.replace("\0", " ").split())


def words_in(text: str) -> int:
    """Count words and punctuation marks, roughly as a tokenizer does."""
    return sum(1 for _ in _WORD.finditer(text))


def longest_sentence(text: str) -> int:
    """Count the words and punctuation marks of the longest sentence, which determines parsing time and memory."""
    return max(map(words_in, re.split(r"[.!?]", text)))


def _without_punctuation(line: str) -> str:
    return " ".join(token for token in line.rstrip().split(" ") if token not in REMOVED)


def _run(texts: list[str]) -> list[str]:
    """Return one line of tokens for each line of text."""
    lines = _tokenise("".join(f"{text}\n" for text in texts))
    if len(lines) == len(texts):
        return lines
    if len(texts) == 1:
        return [" ".join(lines)]
    # Some text contains what the tokenizer takes for a line end but Python not for white space: find it by bisection.
    middle = len(texts) // 2
    return _run(texts[:middle]) + _run(texts[middle:])


def _tokenise(text: str) -> list[str]:
    jar = wheel_jar("tokenizer/stanford-corenlp-3.4.1.jar")
    with scratch() as folder:
        Path(folder, "captions.txt").write_bytes(text.encode("utf-8"))
        options = ["-cp", jar, "edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase"]
        # By its name alone: the tokenizer takes a path with a space for several files.
        program = java_program(*options, "-encoding", "UTF-8", "captions.txt")
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            **program, cwd=folder, capture_output=True, check=False
        )
    if done.returncode:
        raise java_error("the Penn Treebank tokenizer", done.returncode, done.stderr)
    return done.stdout.decode("utf-8").split("\n")[:-1]
