"""The process that parses captions: SPICE's own classes over CoreNLP; one JSON line per caption.

``scene_graph_parser`` starts it as ``python -m fivesentences.semantics.java.parser_worker``, sends the job as one JSON
line on stdin and keeps stdin open: when it closes, the caller is gone and this process ends. The answers are JSON lines
on stdout: ``{"caption": ..., "tuples": [...]}``, or ``{"error": ...}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import jpype

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import OUT_OF_MEMORY
from fivesentences.semantics.java.jvm import start_jvm
from fivesentences.semantics.java.ptb_tokenizer import longest_sentence, one_line

CHUNK = 50  # captions that are parsed together: about a second
# A longer sentence is parsed alone: one of 200 words needs most of a 2 GB heap, and two need more.
LONGEST_BESIDE_OTHERS = 50  # words and punctuation marks

# With a heap that is slightly too small, Java does not give up but collects garbage again and again, for hours.
SECONDS_BETWEEN_CHECKS = 10.0
MOST_COLLECTING = 0.9  # share of the time between two checks


class SceneGraphParser:
    """SPICE's parser in the JVM of this process, which must have been started.

    Args:
        threads: Number of captions parsed at a time. At least two are used: given one thread, CoreNLP 3.6.0 parses
            every caption twice.
    """

    def __init__(self, threads: int):
        self._threads = max(2, threads)
        self._values = jpype.JClass("org.json.simple.JSONValue")
        self._annotation = jpype.JClass("edu.stanford.nlp.pipeline.Annotation")
        self._list = jpype.java.util.ArrayList
        properties = jpype.java.util.Properties()
        # SPICE also requests named entities; nothing reads them, and they cost three models and a quarter of the time.
        properties.setProperty("annotators", "tokenize,ssplit,parse,lemma")
        self._pipeline = jpype.JClass("edu.stanford.nlp.pipeline.StanfordCoreNLP")(properties)
        # Without SPICE's own cache, which fails on captions of more than 511 bytes.
        self._parser = jpype.JClass("edu.anu.spice.SpiceParser")(None, 1, jpype.java.lang.Boolean(True))
        annotator = self._field(self._parser, "annotator").get(self._parser)
        self._field(annotator, "pipeline").set(annotator, self._pipeline)
        of_annotation = self._parser.getClass().getDeclaredMethod("parseAnnotation", self._annotation.class_)
        of_annotation.setAccessible(True)
        self._parse_annotation = of_annotation

    @staticmethod
    def _field(of: Any, name: str) -> Any:
        field = of.getClass().getDeclaredField(name)
        field.setAccessible(True)
        return field

    def parse(self, captions: Sequence[str]) -> list[list[list[str]]]:
        """Parse captions to raw tuples in SPICE's order: (object), (object, attribute), (subject, object, relation)."""
        # ASCII JSON in both directions, so that no character of a caption can shift or break anything.
        texts = self._values.parse(json.dumps([one_line(caption) for caption in captions]))
        annotations = [self._annotation(text) for text in texts]
        together = self._list()
        for caption, annotation in zip(captions, annotations, strict=True):
            if longest_sentence(caption) > LONGEST_BESIDE_OTHERS:
                self._pipeline.annotate(self._list([annotation]), self._threads)
            else:
                together.add(annotation)
        self._pipeline.annotate(together, self._threads)
        found = self._list()
        for annotation in annotations:
            proposed = self._parse_annotation.invoke(self._parser, annotation)
            found.add(self._field(proposed, "tuples").get(proposed))
        tuples: list[list[list[str]]] = json.loads(str(self._values.toJSONString(found)))
        return tuples


def chunks_of(captions: Sequence[str], size: int = CHUNK) -> Iterator[list[str]]:
    """Divide captions into chunks, each with long sentences first: no core waits for one at the end.

    Those that are parsed alone come last, each by itself: the others are answered by then.
    """
    words = {caption: longest_sentence(caption) for caption in captions}
    beside = [caption for caption in captions if words[caption] <= LONGEST_BESIDE_OTHERS]
    for start in range(0, len(beside), size):
        yield sorted(beside[start : start + size], key=lambda caption: -words[caption])
    yield from ([caption] for caption in sorted(words, key=words.__getitem__) if words[caption] > LONGEST_BESIDE_OTHERS)


def _work(job: dict[str, Any], say: BinaryIO) -> None:
    def tell(*messages: dict[str, Any]) -> None:
        say.write("".join(json.dumps(message) + "\n" for message in messages).encode("ascii"))
        say.flush()

    try:
        start_jvm([Path(path) for path in job["class_path"]], job["memory_mb"], job["threads"])
    except InputError as error:
        tell({"error": str(error)})
        return
    threading.Thread(target=_end_when_heap_is_full, daemon=True).start()
    try:
        parser = SceneGraphParser(job["threads"])
        for chunk in chunks_of(job["captions"]):
            pairs = zip(chunk, parser.parse(chunk), strict=True)
            tell(*({"caption": caption, "tuples": tuples} for caption, tuples in pairs))
    except jpype.JException as error:
        if "OutOfMemoryError" in str(error.stacktrace()):
            os._exit(OUT_OF_MEMORY)
        tell({"error": f"Java failed: {str(error).splitlines()[0].rstrip('.')}."})


def _end_with_caller() -> None:
    while sys.stdin.buffer.read(1 << 16):
        pass
    os._exit(1)


def _end_when_heap_is_full() -> None:
    collectors = jpype.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
    collecting, checked = 0.0, time.monotonic()
    while True:
        time.sleep(SECONDS_BETWEEN_CHECKS)
        total, now = sum(collector.getCollectionTime() for collector in collectors) / 1000, time.monotonic()
        if total - collecting > MOST_COLLECTING * (now - checked):
            os._exit(OUT_OF_MEMORY)
        collecting, checked = total, now


def main() -> None:
    """Do the job that is described on stdin."""
    # Ctrl-C reaches every process of the terminal; the caller decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What Java itself prints to stdout must not mix with the answers.
    say = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_caller, daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        _work(job, say)
        say.close()
    # A regular shutdown of Java would take a while.
    os._exit(0)


if __name__ == "__main__":
    main()
