"""Captions to scene graphs by SPICE's own parser, in a process beside this one; what is done is never lost.

Parsing is the slow part of SPICE (20-30 ms a caption on two cores), so every unique caption is parsed once and
each finished chunk is appended to a journal. The journal is locked while somebody writes to it, and what a kill
left half-written at its end is cut off and done again.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.semantics.java import jars
from fivesentences.semantics.java.lines import words_in
from fivesentences.semantics.java.machine import OUT_OF_MEMORY
from fivesentences.semantics.java.worker import journal_lines
from fivesentences.semantics.pairing import checked_captions
from fivesentences.storage import locked, replacing

RawTuples = list[tuple[str, ...]]

# One sentence of 120 words takes 10 s, of 200 words half a minute and nearly all of a 2 GB heap; of 250 words more.
LONGEST_CAPTION = 200  # words and punctuation marks
WORKER = [sys.executable, "-m", "fivesentences.semantics.java.worker"]
LEAST_MEMORY_MB = 512  # the models and a short caption; 256 do not suffice
CHUNK = 50  # captions between two appends to the journal: about a second
JOURNAL_HEAD = b'{"journal": "scene graphs of captions", "version": 1}\n'
SECONDS_TO_WAIT_FOR_JOURNAL = 10.0


def parse_scene_graphs(
    captions: Sequence[str],
    *,
    journal: Path | None = None,
    threads: int | None = None,
    memory_mb: int = 2048,
    mirror: Path | None = None,
) -> list[RawTuples]:
    """Raw scene-graph tuples of each caption, by the original SPICE classes over Stanford CoreNLP 3.6.0.

    Anderson et al., "SPICE: Semantic Propositional Image Caption Evaluation" (2016), with the annotators that its
    tuples depend on. Java runs in a child process with one heap for all threads. White space of any kind is one
    space to the parser; the same text gives the same tuples, in the same order, on every Java.

    Args:
        captions: Raw captions; equal ones are parsed once.
        journal: File that finished captions are appended to and taken from. After a kill, a call with the same
            journal goes on where the other stopped. Default: none is kept.
        threads: Captions parsed at a time; default all cores that this process may use.
        memory_mb: Largest Java heap. The process needs about 0.3 GB more.
        mirror: As in ``jars.corenlp``.

    Returns:
        For each caption its tuples before any merging: ``(object,)``, ``(object, attribute)`` or
        ``(subject, object, relation)``. A caption without a noun may have none.

    Raises:
        InputError: If there is no caption, one is too long to be parsed, the journal is not ours or is in use, a jar
            is missing or broken, memory does not suffice, or the parser dies.
    """
    texts = checked_captions(captions)
    if journal is None:
        with tempfile.TemporaryDirectory(prefix="fivesentences-") as folder:
            found = _tuples_of(texts, Path(folder, "journal.jsonl"), False, threads, memory_mb, mirror)
    else:
        found = _tuples_of(texts, journal, True, threads, memory_mb, mirror)
    return [found[text] for text in texts]


def parse_captions(
    captions: Sequence[str],
    out: Path | str,
    *,
    threads: int | None = None,
    memory_mb: int = 2048,
    mirror: Path | None = None,
) -> None:
    """Parse captions and write their raw tuples as gzipped JSON lines.

    The first line is ``{"made_by": ..., "captions": N}``, then follow N lines ``{"caption": text, "tuples": [...]}``,
    one per unique caption in order of first appearance. The same captions give the same bytes. Until the file is
    whole, finished captions stand in ``<out>.journal``, from where a call after a kill goes on.

    Args:
        captions: Raw captions.
        out: Path of the ``.jsonl.gz`` file.
        threads: As in ``parse_scene_graphs``.
        memory_mb: As in ``parse_scene_graphs``.
        mirror: As in ``parse_scene_graphs``.

    Raises:
        InputError: As ``parse_scene_graphs``, or if ``out`` does not end in ``.jsonl.gz``.
    """
    out = Path(out)
    if not out.name.endswith(".jsonl.gz"):
        raise InputError(f"{out}: the name of a file of parsed captions must end in .jsonl.gz.")
    texts = list(dict.fromkeys(checked_captions(captions)))
    journal = out.with_name(f"{out.name}.journal")
    found = _tuples_of(texts, journal, True, threads, memory_mb, mirror)
    head = json.dumps({"made_by": made_by(), "captions": len(texts)}) + "\n"
    lines = journal_lines(texts, [[list(item) for item in found[text]] for text in texts])
    try:
        # Neither time nor name in the header, so that equal captions give equal bytes.
        with (
            replacing(out) as temporary,
            temporary.open("wb") as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        ):
            packed.write(head.encode("ascii") + lines)
    except OSError as error:
        raise InputError(
            f"{out} cannot be written ({error.strerror or error}); the parsed captions stay in {journal.name}: make "
            "room and run again."
        ) from None
    journal.unlink()


def made_by() -> str:
    """What parsed the captions, for the head of a file."""
    return (
        f"SPICE 1.0 (pycocoevalcap {jars.wheel_version()}), Stanford CoreNLP {jars.VERSION} with "
        "tokenize, ssplit, parse, lemma"
    )


def _tuples_of(
    texts: list[str], journal: Path, kept: bool, threads: int | None, memory_mb: int, mirror: Path | None
) -> dict[str, RawTuples]:
    """Raw tuples by caption."""
    threads = _checked_threads(threads)
    if not isinstance(memory_mb, int) or memory_mb < LEAST_MEMORY_MB:
        raise InputError(f"memory_mb is {memory_mb!r}; give at least {LEAST_MEMORY_MB}, better the default of 2048.")
    _check_lengths(texts)
    with _open_journal(journal) as file:
        done = _recover(file, journal)
        todo = [text for text in dict.fromkeys(texts) if text not in done]
        if todo:
            job: dict[str, Any] = {
                "class_path": [str(path) for path in jars.class_path(mirror)],
                "memory_mb": memory_mb,
                "threads": threads,
                "journal": file.fileno(),
                "chunk": CHUNK,
                "captions": todo,
            }
            _run(job, len(done), journal if kept else None)
            done = _recover(file, journal)
    missing = next((text for text in texts if text not in done), None)
    if missing is not None:
        raise InputError(f"{journal}: the caption '{_short(missing)}' was parsed but is not there; delete the journal.")
    return done


def _checked_threads(threads: int | None) -> int:
    if threads is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return cores or 1
    if not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads is {threads!r}; give a whole number, at least 1.")
    return threads


def _check_lengths(texts: Sequence[str]) -> None:
    for text in texts:
        if len(text) <= LONGEST_CAPTION:  # it cannot hold more words than characters
            continue
        words = words_in(text)
        if words > LONGEST_CAPTION:
            raise InputError(
                f"the caption '{_short(text)}' has {words} words and punctuation marks; at most {LONGEST_CAPTION} can "
                "be parsed (that many take about a minute and 2 GB of memory, and both grow steeply): shorten it "
                "or leave it out."
            )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


# --- the journal --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _open_journal(path: Path) -> Iterator[IO[bytes]]:
    """The journal, open for reading and appending and locked. The lock holds as long as the child has it open, too."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    except OSError as error:
        raise InputError(f"{path} cannot be opened for writing ({error.strerror or error}).") from None
    with file:
        until = time.monotonic() + SECONDS_TO_WAIT_FOR_JOURNAL  # a killed run's child needs a moment to end
        while not locked(file):
            if time.monotonic() > until:
                raise InputError(f"{path}: another process is parsing into this journal; wait for it.")
            time.sleep(0.2)
        yield file


def _recover(file: IO[bytes], path: Path) -> dict[str, RawTuples]:
    """What the journal holds, after cutting off what a kill left half-written.

    Raises:
        InputError: If the file is something else; it is left as it is.
    """
    file.seek(0)
    data = file.read()
    if not data.startswith(JOURNAL_HEAD):
        if not JOURNAL_HEAD.startswith(data):
            raise InputError(f"{path} is no journal of parsed captions; name another file or delete this one.")
        file.truncate(0)
        file.write(JOURNAL_HEAD)
        return {}
    done: dict[str, RawTuples] = {}
    end = len(JOURNAL_HEAD)
    while (line_end := data.find(b"\n", end)) >= 0:
        entry = _entry(data[end:line_end])
        if entry is None:
            break
        done[entry[0]] = entry[1]
        end = line_end + 1
    if end < len(data):
        file.truncate(end)
    return done


def _entry(line: bytes) -> tuple[str, RawTuples] | None:
    try:
        content = json.loads(line)
        return str(content["caption"]), [tuple(map(str, item)) for item in content["tuples"]]
    except (ValueError, KeyError, TypeError):
        return None


# --- the child ----------------------------------------------------------------------------------------------


def _run(job: dict[str, Any], done: int, journal: Path | None) -> None:
    """Parse in a child process until it is through.

    Raises:
        InputError: With the reason, if it ends otherwise.
    """
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            pass_fds=[job["journal"]],
        )
        assert child.stdin is not None and child.stdout is not None
        remaining, refused = len(job["captions"]), None
        try:
            # stdin stays open: when it closes, by our end or by our death, the child ends.
            with contextlib.suppress(BrokenPipeError):  # where it died at once, its status says why
                child.stdin.write(json.dumps(job).encode("ascii") + b"\n")
                child.stdin.flush()
            with Bar("parse captions", done + remaining, done) as bar:
                rate = _Rate()
                for line in child.stdout:
                    message = json.loads(line)
                    refused = message.get("error", refused)
                    if parsed := message.get("done"):
                        remaining -= parsed
                        bar.advance(parsed, rate.note(parsed))
            status = child.wait()
        finally:
            # Ctrl-C too comes here. A kill loses nothing: a chunk is in the journal or is done again.
            child.kill()
            child.wait()
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
            child.stdout.close()
        if status != 0 or remaining or refused:
            complaints.seek(0)
            reason = refused or _why(status, complaints.read().decode("utf-8", "replace"), job["memory_mb"])
            kept = f" What was parsed is kept in {journal.name}; run again to go on there." if journal else ""
            raise InputError(f"{reason.rstrip('.')}.{kept}")


def _why(status: int, said: str, memory_mb: int) -> str:
    if status == OUT_OF_MEMORY or "OutOfMemoryError" in said:
        return (
            f"the parser ran out of memory: {memory_mb} MB of Java heap did not suffice; give more with memory_mb, or "
            "shorten the longest captions"
        )
    last = said.strip().splitlines()[-1].rstrip(".") if said.strip() else "it said nothing"
    if "initialization of VM" in said:  # then Java itself ends the process, instead of raising an error
        return f"Java does not start with {memory_mb} MB of memory ({last}); give memory_mb another value"
    if status < 0:
        name = signal.Signals(-status).name
        hint = f": if nobody did that, the machine was out of memory, so lower memory_mb ({memory_mb})"
        return f"the parser was ended by the signal {name}{hint if name == 'SIGKILL' else f' ({last})'}"
    return f"the parser ended with status {status} ({last})"


class _Rate:
    """Captions per second since the first were done."""

    def __init__(self) -> None:
        self._started, self._parsed = time.monotonic(), 0

    def note(self, parsed: int) -> str:
        self._parsed += parsed
        return f"{self._parsed / max(1e-9, time.monotonic() - self._started):.1f} captions/s"
