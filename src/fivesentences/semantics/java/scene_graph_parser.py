"""Captions to scene-graph tuples by SPICE's own parser, in a child process; finished work is never lost.

Parsing is the slow part of SPICE (20-30 ms per caption on two cores), so every distinct caption is parsed once, and
``parse_captions`` appends each to a journal beside the file until that is complete.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from fivesentences.console import track
from fivesentences.errors import InputError, cure_of
from fivesentences.machine import processors
from fivesentences.semantics.java import jars
from fivesentences.semantics.java.ptb_tokenizer import longest_sentence, words_in
from fivesentences.semantics.tuples import IN_ENGLISH, PARSER, RawTuple, tuples_parsed_before
from fivesentences.semantics.validation import checked_captions
from fivesentences.storage import locked, replacing

RawTuples = list[RawTuple]

# A sentence of 120 words takes 10 s; one of 200 words half a minute, or two minutes without grammar, and nearly all of
# a 2 GB heap; 250 words more.
LONGEST_CAPTION = 200  # words and punctuation marks
SLOW = 100  # words of a sentence that takes longer than the start of the parser
WORKER = [sys.executable, "-m", "fivesentences.semantics.java.parser_worker"]


def parse_scene_graphs(
    captions: Sequence[str], *, memory_mb: int = 2048, mirror: Path | None = None
) -> list[RawTuples]:
    """Parse captions to raw scene-graph tuples, by the original SPICE classes over Stanford CoreNLP 3.6.0.

    Anderson et al., "SPICE: Semantic Propositional Image Caption Evaluation" (2016), with the annotators that its
    tuples depend on. Java runs in a child process with one heap for all threads. The parser sees white space of any
    kind as a single space; the same text gives the same tuples, in the same order, with every version of Java.

    Args:
        captions: Raw captions; equal captions are parsed once.
        memory_mb: Largest Java heap in MB. The process needs about 0.3 GB more.
        mirror: As in ``jars.corenlp``.

    Returns:
        For each caption its tuples before any merging: ``(object,)``, ``(object, attribute)`` or
        ``(subject, object, relation)``. A caption without a noun may have none.

    Raises:
        InputError: If there are no captions, one is too long to parse, a jar is missing or damaged, there is too little
            memory, or the parser fails.
    """
    texts = checked_captions(captions)
    found = dict(_parsed(texts, memory_mb, mirror))
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
        threads: Number of captions parsed at a time; by default all cores that this process may use.
        memory_mb: As in ``parse_scene_graphs``.
        mirror: As in ``parse_scene_graphs``.
        parsed_before: Files of earlier calls with other captions. What the same parser found for a caption is taken
            from there; a file of another parser, or one that cannot be read, is passed over.

    Raises:
        InputError: As ``parse_scene_graphs``; or if ``out`` does not end in ``.jsonl.gz`` or cannot be written, or
            another process is parsing into it.
    """
    out = Path(out)
    if not out.name.endswith(".jsonl.gz"):
        raise InputError(f"{out}: the file name of parsed captions must end in .jsonl.gz.")
    texts = list(dict.fromkeys(checked_captions(captions)))
    found = tuples_parsed_before(parsed_before, texts, made_by())
    journal = journal_of(out)
    try:
        if any(text not in found for text in texts):
            journal.parent.mkdir(parents=True, exist_ok=True)
            with journal.open("a+b", buffering=0) as file:
                if not locked(file):
                    raise InputError(f"{journal}: another process is parsing into this file; wait for it, or end it.")
                found = _journalled(file) | found
                todo = [text for text in texts if text not in found]
                for text, tuples in _parsed(todo, memory_mb, mirror, threads):
                    file.write(_line(caption=text, tuples=tuples))
                    found[text] = tuples
        # No time and no name in the header, so that equal captions give equal bytes.
        with (
            replacing(out) as temporary,
            temporary.open("wb") as target,
            gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as packed,
        ):
            packed.write(_line(made_by=made_by(), captions=len(texts)))
            packed.writelines(_line(caption=text, tuples=found[text]) for text in texts)
    except InputError:
        if journal.is_file() and journal.read_bytes().strip() == _line(made_by=made_by()).strip():
            journal.unlink()  # no caption is in it
        raise
    except OSError as error:
        cure = cure_of(error, f"what was parsed is kept in {journal.name}")
        raise InputError(f"{out} cannot be written ({error.strerror or error})", cure=cure) from None
    journal.unlink(missing_ok=True)


def journal_of(out: Path) -> Path:
    """Return the file of captions that are parsed while ``out`` is not complete."""
    return out.with_name(f"{out.name}.journal")


def made_by() -> str:
    """Return a description of the parser, for the first line of a file."""
    return (
        f"{PARSER} {jars.wheel_version()}), Stanford CoreNLP {jars.VERSION} with "
        f"tokenize, ssplit, parse, lemma, {IN_ENGLISH}"
    )


def _line(**content: object) -> bytes:
    return json.dumps(content).encode("ascii") + b"\n"


def _journalled(file: IO[bytes]) -> dict[str, RawTuples]:
    """Read the captions of a journal, except those that a kill left half-written or that another parser wrote."""
    file.seek(0)
    head, *lines = file.read().split(b"\n")
    found: dict[str, RawTuples] = {}
    if head + b"\n" != _line(made_by=made_by()):
        file.truncate(0)
        file.write(_line(made_by=made_by()))
        return found
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            found[str(entry["caption"])] = [tuple(map(str, item)) for item in entry["tuples"]]
    file.write(b"\n")  # ends a half-written line
    return found


def _parsed(
    texts: Sequence[str], memory_mb: int, mirror: Path | None, threads: int | None = None
) -> Iterator[tuple[str, RawTuples]]:
    """Parse the distinct captions of ``texts`` in a child process; yield each with its tuples when it is done.

    Raises:
        InputError: If the child ends before all are parsed, with the reason.
    """
    texts = list(dict.fromkeys(texts))
    slow = [words for text in texts if len(text) > SLOW and (words := longest_sentence(text)) > SLOW]
    for text in texts:
        # A text cannot have more words than characters.
        if len(text) > LONGEST_CAPTION and (words := words_in(text)) > LONGEST_CAPTION:
            shown = " ".join(text.split())[:57]
            raise InputError(
                f"the caption '{shown}...' has {words} words and punctuation marks; at most {LONGEST_CAPTION} can be "
                "parsed: shorten it or leave it out."
            )
    if not texts:
        return
    if slow:
        what = f"{len(slow):,} of {len(texts):,} captions have a sentence of more than {SLOW} words (up to {max(slow)})"
        print(f"{what}; each takes the parser up to minutes. They come last.", file=sys.stderr, flush=True)
    jars.check_java()
    job = {
        "class_path": [str(path) for path in jars.class_path(mirror)],
        "memory_mb": memory_mb,
        "threads": threads or processors(),
        "captions": texts,
    }
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)
        assert child.stdin is not None and child.stdout is not None
        left = len(texts)
        try:
            # stdin stays open: when it closes, because this process is done or dead, the child ends.
            with contextlib.suppress(BrokenPipeError):  # if the child died at once, its status says why
                child.stdin.write(_line(**job))
                child.stdin.flush()
            for line in track(child.stdout, "parse captions", len(texts)):
                answer = json.loads(line)
                if "error" in answer:
                    raise InputError(answer["error"])
                yield answer["caption"], [tuple(item) for item in answer["tuples"]]
                left -= 1
            status = child.wait()
        finally:  # also after Ctrl-C
            child.kill()
            child.wait()
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
            child.stdout.close()
        if status or left:
            complaints.seek(0)
            said = complaints.read().decode("utf-8", "replace").strip()
            if status == jars.OUT_OF_MEMORY or "OutOfMemoryError" in said:
                why = f"the parser ran out of memory: {memory_mb} MB of Java heap were not enough"
                raise InputError(why, cure="pass a larger memory_mb, or shorten the longest captions")
            last = said.splitlines()[-1].rstrip(".") if said else "no message"
            ended = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            raise InputError(
                f"the parser {ended} ({last})", cure="free memory or pass another memory_mb, and run again"
            )
