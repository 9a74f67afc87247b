"""METEOR 1.5 of single (caption, image) pairs, by the jar that the COCO caption evaluation runs.

METEOR searches for an alignment of two sentences and has no matrix form: at 1 to 2 ms per pair, a matrix of 25,000
captions x 5,000 images would take two days. Each Java process takes a few seconds to read its paraphrase table and
occupies 1.5 GB.
"""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.machine import threads
from fivesentences.semantics.java.jars import java_error, java_program, wheel_jar
from fivesentences.semantics.java.ptb_tokenizer import ptb_lines
from fivesentences.semantics.references import References
from fivesentences.semantics.scoring import SECONDS_WITHOUT_BAR, Indices, Scorer
from fivesentences.semantics.validation import checked_corpus

PAIRS_PER_PROCESS = 5000  # fewer are scored before a second process has read its table
PAIRS_AT_A_TIME = 64
MEMORY_MB = 2048
Ask = Callable[[list[str], int], list[str]]  # lines, number of answers


class MeteorScorer(Scorer):
    """METEOR of captions against images, the references being the images' captions; single pairs only.

    Denkowski and Lavie, "Meteor Universal" (2014), as pycocoevalcap's pipeline calls it: Penn Treebank tokens, jar 1.5,
    English, normalised. A score lies in 0 to 1 and does not depend on the rest of the corpus. A caption without words
    scores 0; references without words are ignored, and an image that has no others scores 0.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.

    Raises:
        InputError: If the captions do not fit or the extra ``java`` is not installed.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike):
        texts, pairing = checked_corpus(captions, image_of_caption)
        self._references = References(pairing)
        self.shape = self._references.shape
        # METEOR's separator, which the tokenizer leaves only inside web addresses, is removed.
        self._lines = [re.sub(r"\|{3,}", " ", line) for line in ptb_lines(texts)]

    def score(self, captions: Indices) -> NDArray[np.floating]:
        """Refuse: METEOR has no matrix.

        Raises:
            InputError: Always.
        """
        size = f"{self.shape[0]} captions x {self.shape[1]} images"
        raise InputError(f"METEOR takes 2 ms per pair, too long for {size}; score chosen pairs.")

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        scores = np.zeros(len(captions))
        lines: list[str] = []
        asked: list[int] = []
        for pair, (caption, image) in enumerate(zip(captions.tolist(), images.tolist(), strict=True)):
            references = self._references.of_image(image, without=caption if without_own else None)
            if not references:
                scores[pair] = np.nan
                continue
            texts = [self._lines[one] for one in references if self._lines[one]]
            if texts and self._lines[caption]:
                lines.append(" ||| ".join(["SCORE", *texts, self._lines[caption]]))
                asked.append(pair)
        if lines:
            parts = np.array_split(np.array(asked), min(threads(), -(-len(lines) // PAIRS_PER_PROCESS)))
            ends = np.cumsum([len(part) for part in parts])
            with ThreadPoolExecutor(len(parts)) as pool:
                found = pool.map(_scores, (lines[end - len(part) : end] for part, end in zip(parts, ends, strict=True)))
                scores[asked] = np.concatenate(list(found))
        return scores

    def of_set(self, captions: Indices, images: Indices) -> tuple[float, NDArray[np.float64]]:
        """Return METEOR of several captions together, and of each; none is a reference of its own image.

        METEOR of a set is not the mean over its captions: the jar adds up their statistics first.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image of each, which has another caption too.
        """
        lines = []
        for caption, image in zip(captions.tolist(), images.tolist(), strict=True):
            texts = [self._lines[one] for one in self._references.of_image(image, without=caption)]
            # Where no reference has words, the jar still counts the words of the caption.
            lines.append(" ||| ".join(["SCORE", *(list(filter(None, texts)) or texts[:1]), self._lines[caption]]))
        together, each = _of_set(lines)
        return together, np.array(each)


def _scores(lines: list[str]) -> list[float]:
    """METEOR of each ``SCORE`` line."""
    with _meteor() as ask:
        return [score for some in _parts(lines) for score in _evaluated(ask, ask(some, len(some)))[1]]


def _of_set(lines: list[str]) -> tuple[float, list[float]]:
    """METEOR of all ``SCORE`` lines together, which adds up their statistics, and of each."""
    statistics = list[str]()
    with _meteor() as ask, Bar("METEOR", len(lines), delay=SECONDS_WITHOUT_BAR) as bar:
        for some in _parts(lines):
            statistics += ask(some, len(some))
            bar.advance(len(some))
        return _evaluated(ask, statistics)


def _parts(lines: list[str]) -> Iterator[list[str]]:
    """Yield some lines at a time, whose statistics fit into a pipe: neither side ever waits for the other."""
    for start in range(0, len(lines), PAIRS_AT_A_TIME):
        yield lines[start : start + PAIRS_AT_A_TIME]


def _evaluated(ask: Ask, statistics: list[str]) -> tuple[float, list[float]]:
    """Return what statistics of lines amount to together, and each."""
    *each, together = map(float, ask([" ||| ".join(["EVAL", *statistics])], len(statistics) + 1))
    return together, each


@contextlib.contextmanager
def _meteor() -> Iterator[Ask]:
    """Start METEOR; yield a function that writes lines to it and reads so many: a ``SCORE`` line's statistics."""
    jar = wheel_jar("meteor/meteor-1.5.jar")
    options = [f"-Xmx{MEMORY_MB}m", "-jar", jar, "-", "-", "-stdio", "-l", "en", "-norm"]
    # Its own search for this file fails below a folder whose name has a space or a letter beyond ASCII.
    program = java_program(*options, "-a", jar.parent / "data" / "paraphrase-en.gz")
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(**program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        try:
            yield functools.partial(_answers, process.stdin, process.stdout)
        except (BrokenPipeError, ValueError):
            process.kill()
            complaints.seek(0)
            raise java_error("METEOR, which needs 1.5 GB,", process.wait(), complaints.read()) from None
        finally:  # also after Ctrl-C
            process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()


def _answers(asked: IO[bytes], answered: IO[bytes], lines: list[str], count: int) -> list[str]:
    asked.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
    asked.flush()
    answers = [answered.readline() for _ in range(count)]
    if not all(answers):
        raise BrokenPipeError
    return [line.decode("utf-8").strip() for line in answers]
