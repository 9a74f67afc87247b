"""Captions to scene-graph tuples by SPICE's own parser, in a child process; finished work is never lost.

Parsing is the slow part of SPICE (20-30 ms per caption on two cores), so every distinct caption is parsed once and
each finished chunk is appended to a journal. The journal is locked while a process writes to it. If a process was
killed while writing, the incomplete end of the journal is cut off and parsed again.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from fivesentences.console import Bar
from fivesentences.errors import Cure, InputError
from fivesentences.machine import processors
from fivesentences.semantics.java import jars
from fivesentences.semantics.java.caption_lines import words_in
from fivesentences.semantics.java.jvm import MEMORY_CURE, OUT_OF_MEMORY
from fivesentences.semantics.java.parser_worker import journal_lines
from fivesentences.semantics.tuples import tuples_parsed_before
from fivesentences.semantics.validation import checked_captions
from fivesentences.storage import locked, replacing

RawTuples = list[tuple[str, ...]]

# A sentence of 120 words takes 10 s; one of 200 words half a minute and nearly all of a 2 GB heap; 250 words more.
LONGEST_CAPTION = 200  # words and punctuation marks
WORKER = [sys.executable, "-m", "fivesentences.semantics.java.parser_worker"]
LEAST_MEMORY_MB = 512  # for the models and a short caption; 256 are not enough
CHUNK = 50  # captions between two writes to the journal: about a second
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
    """Parse captions to raw scene-graph tuples, by the original SPICE classes over Stanford CoreNLP 3.6.0.

    Anderson et al., "SPICE: Semantic Propositional Image Caption Evaluation" (2016), with the annotators that its
    tuples depend on. Java runs in a child process with one heap for all threads. The parser sees white space of any
    kind as a single space; the same text gives the same tuples, in the same order, with every version of Java.

    Args:
        captions: Raw captions; equal captions are parsed once.
        journal: File to which finished captions are appended and from which they are read. If a call is killed, a
            call with the same journal continues where it stopped. By default no journal is kept.
        threads: Number of captions parsed at a time; by default all cores that this process may use.
        memory_mb: Largest Java heap in MB. The process needs about 0.3 GB more.
        mirror: As in ``jars.corenlp``.

    Returns:
        For each caption its tuples before any merging: ``(object,)``, ``(object, attribute)`` or
        ``(subject, object, relation)``. A caption without a noun may have none.

    Raises:
        InputError: If there are no captions, one is too long to parse, the journal is another file or is in use, a jar
            is missing or damaged, there is too little memory, or the parser fails.
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
    parsed_before: Iterable[Path] = (),
) -> None:
    """Parse captions and write their raw tuples as gzipped JSON lines.

    The first line is ``{"made_by": ..., "captions": N}``; N lines ``{"caption": text, "tuples": [...]}`` follow, one
    per distinct caption in order of first appearance. The same captions give the same bytes. Until the file is
    complete, finished captions are kept in ``<out>.journal``, from which a call continues after a kill.

    Args:
        captions: Raw captions.
        out: Path of the ``.jsonl.gz`` file.
        threads: As in ``parse_scene_graphs``.
        memory_mb: As in ``parse_scene_graphs``.
        mirror: As in ``parse_scene_graphs``.
        parsed_before: Files of earlier calls with other captions. What the same parser found for a caption is taken
            from there; a file of another parser, or one that cannot be read, is passed over.

    Raises:
        InputError: As ``parse_scene_graphs``, or if ``out`` does not end in ``.jsonl.gz``.
    """
    out = Path(out)
    if not out.name.endswith(".jsonl.gz"):
        raise InputError(f"{out}: the file name of parsed captions must end in .jsonl.gz.")
    texts = list(dict.fromkeys(checked_captions(captions)))
    journal = out.with_name(f"{out.name}.journal")
    found = tuples_parsed_before(parsed_before, texts, made_by())
    if todo := [text for text in texts if text not in found]:
        found |= _tuples_of(todo, journal, True, threads, memory_mb, mirror)
    head = json.dumps({"made_by": made_by(), "captions": len(texts)}) + "\n"
    lines = journal_lines(texts, [[list(item) for item in found[text]] for text in texts])
    try:
        # No time and no name in the header, so that equal captions give equal bytes.
        with (
            replacing(out) as temporary,
            temporary.open("wb") as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        ):
            packed.write(head.encode("ascii") + lines)
    except OSError as error:
        raise InputError(
            f"{out} cannot be written ({error.strerror or error}); make room and run again: the parsed captions are "
            f"kept in {journal.name}."
        ) from None
    journal.unlink(missing_ok=True)


def made_by() -> str:
    """Return a description of the parser, for the first line of a file."""
    return (
        f"SPICE 1.0 (pycocoevalcap {jars.wheel_version()}), Stanford CoreNLP {jars.VERSION} with "
        "tokenize, ssplit, parse, lemma"
    )


def _tuples_of(
    texts: list[str], journal: Path, kept: bool, threads: int | None, memory_mb: int, mirror: Path | None
) -> dict[str, RawTuples]:
    """Return raw tuples by caption; ``kept`` says whether the journal outlives this call."""
    threads = _checked_threads(threads)
    if not isinstance(memory_mb, int) or memory_mb < LEAST_MEMORY_MB:
        raise InputError(
            f"memory_mb is {memory_mb!r}; give at least {LEAST_MEMORY_MB}, preferably the default of 2048."
        )
    _check_lengths(texts)
    with _open_journal(journal) as file:
        done = _recover(file, journal)
        todo = [text for text in dict.fromkeys(texts) if text not in done]
        if todo:
            try:
                jars.check_java()
                class_path = jars.class_path(mirror)
            except InputError:
                if not done:
                    journal.unlink()  # nothing is in it
                raise
            job: dict[str, Any] = {
                "class_path": [str(path) for path in class_path],
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
        raise InputError(f"{journal}: the caption '{_short(missing)}' was parsed but is missing; delete the journal.")
    return done


def _checked_threads(threads: int | None) -> int:
    if threads is None:
        return processors()
    if not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads is {threads!r}; give a whole number, at least 1.")
    return threads


def _check_lengths(texts: Sequence[str]) -> None:
    for text in texts:
        if len(text) <= LONGEST_CAPTION:  # it cannot have more words than characters
            continue
        words = words_in(text)
        if words > LONGEST_CAPTION:
            raise InputError(
                f"the caption '{_short(text)}' has {words} words and punctuation marks; at most {LONGEST_CAPTION} can "
                "be parsed (which takes about a minute and 2 GB of memory, and both grow steeply): shorten it "
                "or leave it out."
            )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


# --- the journal --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _open_journal(path: Path) -> Iterator[IO[bytes]]:
    """Open the journal for reading and appending, and lock it until both this process and the child close it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    except OSError as error:
        raise InputError(f"{path} cannot be opened for writing ({error.strerror or error}).") from None
    with file:
        until = time.monotonic() + SECONDS_TO_WAIT_FOR_JOURNAL  # the child of a killed run needs a moment to end
        while not locked(file):
            if time.monotonic() > until:
                raise InputError(f"{path}: another process is parsing into this journal; wait until it has finished.")
            time.sleep(0.2)
        yield file


def _recover(file: IO[bytes], path: Path) -> dict[str, RawTuples]:
    """Read the journal, after cutting off what a kill left half-written.

    Raises:
        InputError: If the file is not a journal; it is left unchanged.
    """
    file.seek(0)
    data = file.read()
    if not data.startswith(JOURNAL_HEAD):
        if not JOURNAL_HEAD.startswith(data):
            raise InputError(f"{path} is not a journal of parsed captions; name another file or delete this one.")
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
    """Parse in a child process until all captions are done.

    Raises:
        InputError: If the child ends before, with the reason.
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
        remaining = len(job["captions"])
        failed: tuple[str, str | None] | None = None
        try:
            # stdin stays open: when it closes, because this process is done or dead, the child ends.
            with contextlib.suppress(BrokenPipeError):  # if the child died at once, its status says why
                child.stdin.write(json.dumps(job).encode("ascii") + b"\n")
                child.stdin.flush()
            with Bar("parse captions", done + remaining, done) as bar:
                rate = _Rate()
                for line in child.stdout:
                    message = json.loads(line)
                    if "error" in message:
                        failed = message["error"], None
                    if "memory" in message:
                        failed = message["memory"], MEMORY_CURE
                    if parsed := message.get("done"):
                        remaining -= parsed
                        bar.advance(parsed, rate.note(parsed))
            status = child.wait()
        finally:
            # Also after Ctrl-C. A kill loses nothing: a chunk is in the journal or is parsed again.
            child.kill()
            child.wait()
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
            child.stdout.close()
        if status != 0 or remaining or failed:
            complaints.seek(0)
            what, cure = failed or _why(status, complaints.read().decode("utf-8", "replace"), job["memory_mb"])
            raise _failure(what, cure, journal)


def _failure(what: str, cure: str | None, journal: Path | None) -> InputError:
    """Build the error of a child that failed, including what is left of its work."""
    if journal is None:
        return InputError(what, cure=cure) if cure else InputError(f"{what}.")
    kept = f"what was parsed is kept in {journal.name}: run again to continue from there"
    return InputError(what, cure=f"{cure}; {kept}" if cure else kept)


def _why(status: int, message: str, memory_mb: int) -> tuple[str, str | None]:
    """Return what went wrong in a child that ended without a message, and the cure."""
    if status == OUT_OF_MEMORY or "OutOfMemoryError" in message:
        shorten = "shorten the longest captions"
        cure = Cure(python=f"pass a larger memory_mb, or {shorten}", shell=shorten)
        return f"the parser ran out of memory: {memory_mb} MB of Java heap were not enough", cure
    last = message.strip().splitlines()[-1].rstrip(".") if message.strip() else "no message"
    if "initialization of VM" in message:  # then Java itself ends the process instead of raising an error
        return f"Java does not start with {memory_mb} MB of memory ({last})", MEMORY_CURE
    if status < 0:
        name = signal.Signals(-status).name
        if name != "SIGKILL":
            return f"the parser was ended by the signal {name} ({last})", None
        sender = "if nobody sent it, the machine ran out of memory"
        cure = Cure(python=f"{sender}: pass a memory_mb below {memory_mb}", shell=f"{sender}: free memory")
        return f"the parser was ended by the signal {name}", cure
    return f"the parser ended with status {status} ({last})", None


class _Rate:
    """Captions per second since the first message."""

    def __init__(self) -> None:
        self._started, self._parsed = time.monotonic(), 0

    def note(self, parsed: int) -> str:
        self._parsed += parsed
        return f"{self._parsed / max(1e-9, time.monotonic() - self._started):.1f} captions/s"
