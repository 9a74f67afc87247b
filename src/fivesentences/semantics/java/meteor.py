"""METEOR 1.5 of single (caption, image) pairs, by the jar that the COCO caption evaluation runs.

METEOR searches for an alignment of two sentences and has no matrix form: at 1 to 2 ms per pair, a matrix of 25,000
captions x 5,000 images would take two days. Each Java process takes a few seconds to read its paraphrase table and
occupies 1.5 GB.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import TracebackType
from typing import IO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import java_binary, wheel_jar
from fivesentences.semantics.java.ptb_tokenizer import ptb_lines
from fivesentences.semantics.references import References
from fivesentences.semantics.scoring import Indices, LateBar, Scorer, threads
from fivesentences.semantics.validation import checked_corpus

PAIRS_PER_PROCESS = 5000  # fewer are scored before a second process has read its table
# Few enough that their statistics, 120 bytes each, fit into a pipe: neither side ever waits for the other.
PAIRS_PER_BATCH = 64
MEMORY_MB = 2048


class MeteorScorer(Scorer):
    """METEOR of captions against images, the references being the images' captions; single pairs only.

    Denkowski and Lavie, "Meteor Universal" (2014), as pycocoevalcap's pipeline calls it: Penn Treebank tokens, jar 1.5,
    English, normalised. A score lies in 0 to 1 and does not depend on the rest of the corpus. A caption without words
    scores 0; references without words are ignored, and an image that has no others scores 0.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, processes: int | None = None):
        """Tokenise the captions.

        Args:
            captions: Raw captions.
            image_of_caption: ``[captions]`` image index of each caption.
            processes: Largest number of Java processes; by default one per core, up to four, and at most one per 5,000
                pairs.

        Raises:
            InputError: If the captions do not fit or the extra ``java`` is not installed.
        """
        texts, pairing = checked_corpus(captions, image_of_caption)
        self._references = References(pairing)
        self.shape = self._references.shape
        if processes is not None and processes < 1:
            raise InputError(f"processes is {processes}; give at least 1.")
        self._processes = processes or threads()
        self._lines = [_without_bars(line) for line in ptb_lines(texts)]

    def score(self, captions: Indices) -> NDArray[np.floating]:
        """Refuse: METEOR has no matrix.

        Raises:
            InputError: Always.
        """
        raise InputError(
            f"METEOR takes about 2 ms per pair, so {self.shape[0]} captions x {self.shape[1]} images are not scored as "
            "a matrix; score chosen pairs, or choose another metric."
        )

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
            scores[asked] = _scores(lines, self._processes)
        return scores


def _without_bars(line: str) -> str:
    """Remove METEOR's separator, which the tokenizer leaves only inside web addresses."""
    return " ".join(re.sub(r"\|{3,}", " ", line).split(" "))


def _scores(lines: list[str], most: int) -> list[float]:
    """Return METEOR of each ``SCORE`` line, divided among several processes."""
    scores = [0.0] * len(lines)
    batches = iter(range(0, len(lines), PAIRS_PER_BATCH))
    lock = threading.Lock()
    processes: list[_Meteor] = []

    def work(process: _Meteor, bar: LateBar) -> None:
        with process:
            while True:
                with lock:
                    start = next(batches, None)
                if start is None:
                    return
                batch = lines[start : start + PAIRS_PER_BATCH]
                scores[start : start + len(batch)] = process.scores(batch)
                with lock:
                    bar.advance(len(batch))

    n_processes = min(most, -(-len(lines) // PAIRS_PER_PROCESS))
    with LateBar("METEOR", len(lines)) as bar, ThreadPoolExecutor(n_processes) as pool:
        try:
            for _ in range(n_processes):
                processes.append(_Meteor())
            for done in as_completed([pool.submit(work, process, bar) for process in processes]):
                done.result()
        finally:  # also after Ctrl-C: a thread that waits for an answer gets the end of the file instead
            for process in processes:
                process.end()
    return scores


class _Meteor:
    """A Java process that answers lines."""

    def __init__(self) -> None:
        jar = wheel_jar("meteor/meteor-1.5.jar")
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # Set the encoding: by default Java takes that of the locale.
        options = [f"-Xmx{MEMORY_MB}m", "-Dfile.encoding=UTF-8", "-Dstdin.encoding=UTF-8"]
        command = [str(java_binary()), *options, "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"]
        # Its own search for this file fails below a folder whose name has a space or a letter beyond ASCII.
        command += ["-a", str(jar.parent / "data" / "paraphrase-en.gz")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints
        )

    def scores(self, lines: list[str]) -> list[float]:
        """Score a few lines.

        Raises:
            InputError: If the process died.
        """
        try:
            statistics = self._ask(lines, len(lines))
            # It answers with the score of each line and then with that of all together.
            return [float(score) for score in self._ask([" ||| ".join(["EVAL", *statistics])], len(lines) + 1)][:-1]
        except (BrokenPipeError, EOFError, ValueError) as error:
            raise InputError(f"METEOR failed: {self._why(error)}.") from None

    def _ask(self, lines: list[str], answers: int) -> list[str]:
        writing, reading = self._pipes()
        writing.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
        writing.flush()
        return [_text(reading.readline()) for _ in range(answers)]

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _why(self, error: Exception) -> str:
        if isinstance(error, ValueError):
            return f"its answer is not a number ({error})"
        self._process.kill()
        status = self._process.wait()
        self._complaints.seek(0)
        messages = self._complaints.read().decode("utf-8", "replace").strip().splitlines()
        if any("OutOfMemoryError" in line for line in messages):
            return f"{MEMORY_MB} MB of Java heap were not enough; shorten the longest captions"
        last = messages[-1].strip().rstrip(".") if messages else "no message"
        return f"its Java process ended with status {status} ({last}); it needs 1.5 GB of memory"

    def end(self) -> None:
        """End the process, whatever it is doing; calling this again does nothing."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> _Meteor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        for pipe in self._pipes():
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._complaints.close()


def _text(answer: bytes) -> str:
    if not answer.endswith(b"\n"):
        raise EOFError
    return answer.decode("utf-8").strip()
