"""Corpora and scene-graph tuples for tests of metrics, SPICE's own program, and programs that tests kill."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from fivesentences.semantics.tokenisation import tokenise

# Words with synonyms among them, inflected forms, a slash, capitals, two-word terms, words that WordNet lacks.
OBJECTS, ATTRIBUTES, RELATIONS = (
    [text.strip() for text in line.split(",")]
    for line in (
        "dog, dogs, puppy, hound, man, men, person, people, crowd, woman, lady, girl, child, kid, children, boy, car, "
        "automobile, truck, bike, bicycle, bicycles, and/or, water, lake, pond, grass, field, meadow, ball, Dog, "
        "shirt, top, group, pack, couple, pair, team, turn, head, hot dog, ice cream, zzgl",
        "red, crimson, scarlet, big, large, huge, small, little, tiny, two, three, ten, pair, grey, gray, young, "
        "immature, brown, standing, stand, happy, glad, light, dark, fair, RED, playing, tall, full-size, and/or, zzgl",
        "in, on, near, run, running in, play with, play in, walk, walk on, jump, leap, leap over, jump over, and/or, "
        "stand in, ride, drive, wear, have, hold, catch, grab, take, zzgl",
    )
)


@pytest.fixture(scope="session")
def made_tuples() -> Callable[[int, int], list[list[list[str]]]]:
    """``made_tuples(seed, graphs)``: raw tuples, between none and forty per graph, from a small vocabulary."""

    def make(seed: int, graphs: int) -> list[list[list[str]]]:
        draw = random.Random(seed)

        def one() -> list[str]:
            kind = draw.choice("ooaaarrr")
            if kind == "o":
                return [draw.choice(OBJECTS)]
            if kind == "a":
                return [draw.choice(OBJECTS), draw.choice(ATTRIBUTES)]
            return [draw.choice(OBJECTS), draw.choice(OBJECTS), draw.choice(RELATIONS)]

        return [[one() for _ in range(draw.choice([0, 1, 2, 4, 6, 8, 12, 40]))] for _ in range(graphs)]

    return make


@pytest.fixture(scope="session")
def ask_spice(
    java_jars: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Ask the authors' classes a question; see ``spice_jar.py``."""

    def ask(question: dict[str, Any]) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("spice")
        asked, answered = folder / "question.json", folder / "answer.json"
        asked.write_text(json.dumps({**question, "class_path": [str(jar) for jar in java_jars]}), encoding="utf-8")
        program = Path(__file__).with_name("spice_jar.py")
        done = subprocess.run([sys.executable, str(program), str(asked), str(answered)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
        return answer

    return ask


@pytest.fixture(scope="session")
def released_spice(parity_folder: Path) -> dict[str, Any]:
    """Captions, their raw tuples, and the graphs and scores of the released program."""
    fixture: dict[str, Any] = json.loads((parity_folder / "spice_flickr8k_small.json").read_text(encoding="utf-8"))
    return fixture


Corpus = tuple[list[str], np.ndarray]

WORDS = [".", "w0", "dog", ",", "hound", "red", "two", "crimson", "big", "w1", "w2"]
HOSTILE = [
    "a a a a a a a a",
    "a a b a a b a a b",
    "A",
    "",
    "   \t ",
    "a dog runs .",
    "A DOG runs .",
    "a dog runs .",
    ". , !",
    ".",
    "a dog and a dog and a dog and a cat run over a very long field of very green grass in the sun " * 5,
    "ÉCOLE İstanbul ß non\u00a0breaking\u2028line \U0001f600\r\nend",
    "école i̇stanbul ß",
    "a cat , a cat , a cat !",
    "runs dog a",
    "zebra. a dog. runs",
]


@pytest.fixture(scope="session")
def corpora() -> st.SearchStrategy[Corpus]:
    """Few words, many repetitions, uneven lengths and reference counts; some corpora with captions in image order."""

    def build(seed: int, references: list[int], longest: int, n_words: int, crowd: bool, in_order: bool) -> Corpus:
        draw = np.random.default_rng(seed)
        references[0] += 33 * crowd
        image_of_caption = np.repeat(np.arange(len(references)), references)
        if not in_order:
            image_of_caption = draw.permutation(image_of_caption)
        words = WORDS[:n_words]
        captions = [" ".join(draw.choice(words, size=draw.integers(0, longest))) for _ in image_of_caption]
        captions[0] = "w0 w1"  # coco-caption cannot score a corpus without a single word
        return captions, image_of_caption

    seed, n_words, in_order = st.integers(0, 2**32 - 1), st.integers(3, len(WORDS)), st.booleans()
    many = st.lists(st.integers(1, 7), min_size=1, max_size=12)
    few = st.lists(st.integers(1, 4), min_size=1, max_size=3)
    short = st.builds(build, seed, many, st.sampled_from([12, 25]), n_words, st.sampled_from([0, 0, 0, 1]), in_order)
    return short | st.builds(build, seed, few, st.sampled_from([70, 90]), n_words, st.just(False), in_order)


@pytest.fixture(params=["unequal", "one caption per image", "one image", "not image-major"])
def hostile_corpus(request: pytest.FixtureRequest) -> Corpus:
    """Captions without words, of punctuation, repeated, very long and with odd characters."""
    pairing = {
        "unequal": [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 4],
        "one caption per image": list(range(16)),
        "one image": [0] * 16,
        "not image-major": [3, 2, 1, 0] * 4,
    }[request.param]
    return list(HOSTILE), np.array(pairing)


@pytest.fixture(scope="session")
def cells() -> Callable[..., tuple[list[str], list[list[str]]]]:
    """The candidate and the references of every cell of a matrix, row after row, as tokens joined by spaces."""

    def of(captions: list[str], image_of_caption: np.ndarray, tokenize: str = "whitespace") -> Any:
        texts = [" ".join(words) for words in tokenise(captions, tokenize)]
        images = range(int(image_of_caption.max()) + 1)
        references = [[texts[k] for k in np.flatnonzero(image_of_caption == image)] for image in images]
        return [text for text in texts for _ in images], references * len(texts)

    return of


class Program:
    """Python code in a process group of its own: a signal reaches it and its children, and nothing outlives the block.

    Args:
        code: What ``python -c`` runs.
        arguments: Its command-line arguments.
    """

    def __init__(self, code: str, *arguments: object):
        command = [sys.executable, "-c", code, *map(str, arguments)]
        self._process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        """The first true value of ``condition()``, while the program runs."""
        until = time.monotonic() + 120
        while not (found := condition()):
            assert self._process.poll() is None, self.end()
            assert time.monotonic() < until
            time.sleep(0.005)
        return found

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program and its children, as a terminal does."""
        os.killpg(self._process.pid, number)

    def kill_alone(self) -> None:
        """Kill the program but not its children."""
        self._process.kill()
        self._process.wait()

    def end(self) -> tuple[int, str]:
        """Wait for the end; exit status (minus the signal that ended it) and what was printed to stderr."""
        said = self._process.communicate(timeout=120)[1]
        return self._process.returncode, said

    def child(self, name: bytes) -> int | None:
        """Process id of the only child, once ``name`` is in its command line."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return next((int(pid) for pid in children if name in Path(f"/proc/{pid}/cmdline").read_bytes()), None)

    @staticmethod
    def gone(pid: int) -> bool:
        """Whether a process has ended."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True


@pytest.fixture(scope="session")
def program() -> type[Program]:
    """``with program(code, *arguments) as running``: a program that a test may kill."""
    return Program
