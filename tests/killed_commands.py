"""Commands that are killed at each of their steps in the file system, and what must hold afterwards.

A step is what changes something below the folder in which the command works: a file opened for writing or renamed, a
folder made, and so on. A kill comes just before a step; or, once a file has been opened, when it has its first bytes,
which also reaches what libraries write in C.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
import yaml
from PIL import Image

from fivesentences.cli import home_of
from fivesentences.errors import InputError
from fivesentences.features.files import read_source
from fivesentences.features.table import FeatureTable
from fivesentences.semantics import read_phi, read_top_k
from fivesentences.semantics.java import jars
from kill import Starter

CHANGES = ("rename", "remove", "mkdir", "rmdir", "truncate", "chmod", "chown", "link", "symlink")
IN_OPENED = ("remove", "rmdir", "mkdir")  # their last argument may be an open folder, to which the path is relative
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ROOM = (None, 0, 100)  # bytes of a file that can still be written after the step; None: the kill comes before the step


class Command(NamedTuple):
    """A command to be killed.

    Attributes:
        words: Its command line, without ``fivesentences``.
        older: A command line that was run in the folder before.
        read: Reads its result in the folder as later commands do; must differ between results.
        apart: Whether each of its files is a result of its own.
    """

    words: str
    older: str = ""
    read: Callable[[Path], Any] | None = None
    apart: bool = False

    def __str__(self) -> str:
        return f"{self.older} && {self.words}" if self.older else self.words


class Fault(NamedTuple):
    """What was wrong after a kill."""

    kind: str
    step: str
    what: str


def perform(folder: str, step: str, room: str, said: str, words: str) -> None:
    """Run a command in this process, which is killed at a step (from 1; 0: never); called by ``Starter``.

    Args:
        folder: Folder to work in.
        step: The number of the step.
        room: One of ``ROOM``.
        said: File for what the command prints, and ``said``.steps for its steps; empty: nowhere.
        words: The command line.
    """
    os.setpgid(0, 0)
    os.chdir(folder)
    out = os.open(said or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    steps: list[str] = []

    def look(event: str, given: tuple[Any, ...]) -> None:
        kind = event.removeprefix("os.")
        if event == "open":
            if not given[2] & WRITING or isinstance(given[0], int):
                return
        elif kind not in CHANGES or kind == event:
            return
        path, opened = os.fsdecode(given[0]), given[-1]
        above = Path(f"/proc/self/fd/{opened}").readlink() if kind in IN_OPENED and opened >= 0 else Path.cwd()
        changed = Path(os.path.normpath(above / path))  # links are steps of their own
        if not changed.is_relative_to(folder):
            return
        to = f" -> {Path(os.fsdecode(given[1])).name}" if kind == "rename" else ""
        steps.append(f"{kind} {changed.relative_to(folder)}{to}")
        if len(steps) == int(step):
            if room == "None":
                os.killpg(0, signal.SIGKILL)
            if kind == "open":
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))

    tempfile.gettempdir()  # where Python tries to write once, under a name of its own
    sys.addaudithook(look)
    from fivesentences.cli import main

    sys.argv = ["fivesentences", *words.split()]
    status = 0
    try:
        main()
    except SystemExit as end:
        status = int(end.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    if said:
        Path(f"{said}.steps").write_text("\n".join(steps))
    os._exit(status)


class Killer:
    """Runs commands in a folder, each in a process of its own, and kills them."""

    SETUP = f"sys.path.insert(0, {str(Path(__file__).parent)!r}); import killed_commands"

    def __init__(self, folder: Path, setup: str = "killed_commands.prepare()"):
        """Use a folder that does not exist; beside it is written too.

        Args:
            folder: The folder.
            setup: What the process that starts the others does first.
        """
        self.folder, self._said = folder, folder.with_name("said")
        inside = {"TMPDIR": "tmp", "FIVESENTENCES_CACHE": "cache", "XDG_CACHE_HOME": "cache"}
        variables = {name: str(folder / value) for name, value in inside.items()} | {"SOURCE_DATE_EPOCH": "0"}
        with patch.dict(os.environ, variables):  # of the processes alone
            self._starter = Starter(f"{self.SETUP}; {setup}", "killed_commands.perform(*arguments)")

    def close(self) -> None:
        """End the process that starts the others."""
        self._starter.close()

    def run(self, words: str, step: int = 0, room: int | None = None) -> int:
        """Run a command, which may be killed; its status."""
        child = self._starter.start(self.folder, step, room, "" if step else self._said, words)
        status = self._starter.wait()
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        return status

    def finish(self, words: str) -> str:
        """Run a command to its end; what it said if it failed, or nothing."""
        status = self.run(words)
        return "" if status == 0 else f"status {status}: {self._said.read_text()[-1500:]}"

    def steps(self) -> list[str]:
        """Steps of the last command that was not killed."""
        return self._said.with_name("said.steps").read_text().splitlines()

    def try_straight(self, command: Command, base: Path, rooms: Sequence[int | None] = ROOM) -> Iterator[str]:
        """Kill a command at each step and start it again at once, with no other command in between; what was wrong.

        Args:
            command: The command.
            base: A folder, of which each kill has a fresh copy.
            rooms: Some of ``ROOM``.
        """
        self._fresh(base)
        assert not command.older or not (failed := self.finish(command.older)), failed
        older = self.folder.with_name("older")
        shutil.rmtree(older, ignore_errors=True)
        shutil.copytree(self.folder, older, symlinks=True)
        assert not (failed := self.finish(command.words)), failed
        steps, after = self.steps(), contents(self.folder)
        for number, room in ((number, room) for number in range(1, len(steps) + 1) for room in rooms):
            if room is not None and not steps[number - 1].startswith("open "):
                continue
            self._fresh(older)
            if self.run(command.words, number, room) >= 0:
                continue
            said = self.finish(command.words)
            if said or contents(self.folder) != after:
                yield f"{number}/{len(steps)} {steps[number - 1]} room={room}: {said[-300:] or 'another result'}"

    def try_all(
        self, command: Command, base: Path, rooms: Sequence[int | None] = ROOM, twice: bool = True, most: int = 0
    ) -> Iterator[tuple[str, list[Fault]]]:
        """Kill a command at each step, in a fresh copy of a folder each time; each step and what was wrong.

        Args:
            command: The command.
            base: The folder.
            rooms: Some of ``ROOM``.
            twice: Also kill the second start, at a random step.
            most: Kills that are tried, chosen at random; 0: all.
        """
        self._fresh(base)
        older = self.folder.with_name("older")
        shutil.rmtree(older, ignore_errors=True)
        if command.older:
            assert not (failed := self.finish(command.older)), failed
        shutil.copytree(self.folder, older, symlinks=True)
        before, old = contents(self.folder), self._read(command)
        assert not (failed := self.finish(command.words)), failed
        steps, after, new = self.steps(), contents(self.folder), self._read(command)
        self.steps_of_last = len(steps)
        made = [path for path in after if before.get(path) != after[path] and after[path] is not None]
        assert steps, "it writes nothing"
        assert command.read is None or old != new, "the results do not differ"
        moments = random.Random(0)
        tried = [(number, room, 0) for number in range(1, len(steps) + 1) for room in rooms]
        tried = [one for one in tried if one[1] is None or steps[one[0] - 1].startswith("open ")]
        if twice:
            tried += [(number, None, moments.randint(1, len(steps))) for number in range(1, len(steps) + 1)]
        if most:
            tried = moments.sample(tried, min(most, len(tried)))
        for number, room, second in tried:
            self._fresh(older)
            if self.run(command.words, number, room) >= 0:
                continue  # nothing was written after the step, or not so much
            where = f"{number}/{len(steps)} {steps[number - 1]} room={room}"
            if second:
                self.run(command.words, second)
                where += f", then {second}"
            yield where, list(self._faults(command, where, (before, after, made), (old, new)))

    def _faults(self, command: Command, where: str, trees: Any, results: Any) -> Iterator[Fault]:
        (before, after, made), (old, new) = trees, results
        found = self._read(command)
        now = contents(self.folder)
        for path in made:
            if path in now and now[path] not in (before.get(path), after[path]):
                yield Fault("neither old nor new", where, path)
        if not command.apart and command.read is None:
            kept = [path for path in made if path in before and now.get(path) == before[path]]
            changed = [path for path in made if path in now and now[path] == after[path]]
            if kept and changed:
                yield Fault("mixed", where, f"old {kept}, new {changed}")
        if found not in (old, new) and not isinstance(found, InputError):
            yield Fault("read wrongly", where, repr(found)[:100])
        if failed := self.finish(command.words):
            yield Fault("does not start again", where, failed)
            return
        now = contents(self.folder)
        left = {path: now[path] for path in now.keys() - after.keys()}
        if left:
            yield Fault("left behind", where, ", ".join(f"{path} ({len(what or b'')})" for path, what in left.items()))
        differ = [path for path in after if now.get(path, 0) != after[path]]
        if differ:
            yield Fault("other result", where, str(differ))

    def _fresh(self, base: Path) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(base, self.folder, symlinks=True)
        (self.folder / "tmp").mkdir(exist_ok=True)

    def _read(self, command: Command) -> Any:
        try:
            return None if command.read is None else command.read(self.folder)
        except InputError as error:
            return error


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below a folder; None for a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def prepare(large: bool = False) -> None:
    """Import what commands need, once."""
    torch.set_num_threads(1)
    modules = ["captioning", "captions", "evaluate", "features", "look", "pairs", "phi"]
    modules += ["checkpoint", "download", "embed", "jars", "train"] if large else []
    for name in (*map(home_of, modules), *(ALSO if large else ())):
        importlib.import_module(name)


ALSO = ("transformers", "fivesentences.corpus.download", "fivesentences.encoders.embedding",
        "fivesentences.models.released_checkpoints", "fivesentences.training.run",
        "fivesentences.features.extract")  # fmt: skip
WORDS = ["dog", "cat", "boat", "tree", "house", "ball", "river", "girl", "boy", "horse", "red", "blue", "runs", "sits"]
ALL_SHEETS = "--json o.json --csv o.csv --markdown o.md --latex o.tex"


def write_small(folder: Path) -> None:
    """Captions of eight images, in two versions that differ in their words alone, with what may be scored of them."""
    folder.mkdir()
    for name, seed in (("a", 0), ("b", 1)):
        rng = np.random.default_rng(seed)
        captions = [f"a {' '.join(rng.choice(WORDS, 3, replace=False))}" for _ in range(40)]
        (folder / f"{name}.txt").write_text("".join(f"{caption}\n" for caption in captions))
        np.save(folder / f"{name}.sims.npy", rng.random((8, 40), dtype=np.float32))
        rows = [{"image": f"{name}{at // 5}", "caption": text} for at, text in enumerate(captions)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / f"{name}.made.txt").write_text("".join(f"{caption}\n" for caption in captions[::5]))
        np.save(folder / f"{name}.f.npy", rng.random((8, 2, 3), dtype=np.float32))
        pd.DataFrame({"image_id": [f"{name}{at}" for at in range(8)]}).to_parquet(folder / f"{name}.f.images.parquet")
    np.save(folder / "images.npy", np.random.default_rng(2).random((8, 8)))
    names = [f"COCO_val2014_{at:012}.jpg" for at in range(8)]
    pairs = [(names[at], names[at + 1], 3.5) for at in range(7)]
    pd.DataFrame(pairs, columns=["image1", "image2", "agg_score"]).to_csv(folder / "sis.csv", index=False)
    for name in "ab":
        (folder / name).mkdir()
        for at in range(8):
            Image.new("RGB", (16, 12), (20 * at, 90, 60 if name == "a" else 200)).save(folder / name / f"{at}.png")
    (folder / "ids.txt").write_text("".join(f"{at}\n" for at in range(8)))


def _store(folder: Path) -> Any:
    read = read_top_k(folder / "best")
    return read.images.tobytes() + read.scores.tobytes()


def _vectors(folder: Path) -> Any:
    read = FeatureTable.open(folder / "f.npy")
    return read.rows(list(read.image_ids)).tobytes(), str(read_source(folder / "f.npy"))


SMALL = [
    Command("phi cider b.txt -o phi.npy"),
    Command("phi cider b.txt -o phi.npy", "phi bleu1 a.txt -o phi.npy", lambda f: read_phi(f / "phi.npy").tobytes()),
    Command("phi cider b.txt -o best --top-k 3"),
    Command("phi cider b.txt -o best --top-k 3", "phi cider a.txt -o best --top-k 2", _store),
    Command(f"evaluate b.sims.npy --captions b.txt {ALL_SHEETS}", f"evaluate a.sims.npy {ALL_SHEETS}", apart=True),
    Command("evaluate b.sims.npy --per-query q.parquet", "evaluate a.sims.npy --per-query q.parquet"),
    Command("evaluate b.sims.npy --per-query q.csv", "evaluate a.sims.npy --per-query q.csv"),
    Command("evaluate b.sims.npy --trec runs"),
    Command("evaluate b.sims.npy a.sims.npy --trec runs", "evaluate a.sims.npy b.sims.npy --trec runs"),
    Command(f"captioning b.made.txt b.txt --per-image 5 {ALL_SHEETS}", apart=True),
    Command(f"pairs images.npy sis.csv --ids ids.txt {ALL_SHEETS}", apart=True),
    Command("captions b.jsonl -o c.txt --image-of-caption of.txt --image-names n.txt"),
    Command(
        "captions b.jsonl -o c.txt --image-of-caption of.txt --image-names n.txt",
        "captions a.jsonl -o c.txt --image-of-caption of.txt --image-names n.txt",
    ),
    Command("features convert b.f.npy f.npy"),
    Command("features convert b.f.npy f.npy", "features convert a.f.npy f.npy", _vectors),
    Command("features convert b.f.npy b_ims.npy", "features convert a.f.npy b_ims.npy"),
    Command("features convert b.f.npy b.h5 --to daa", "features convert a.f.npy b.h5 --to daa"),
    Command("evaluate b.sims.npy --json /dev/stdout"),
]


def write_large(folder: Path, host: Any) -> None:
    """What is trained on, photographs with captions and an encoder, a checkpoint, and files of a host."""
    folder.mkdir()
    training, encoders = (_module(f"{room}/conftest.py") for room in ("training", "encoders"))
    training.write_inputs(folder / "data")
    for seed, name in enumerate("ab"):
        spec = training.make_spec(epochs=2, seed=seed)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(spec.model_dump(mode="json")))
        torch.manual_seed(seed)
        gru = torch.nn.GRU(3, 6)
        text = {f"rnn.{key}": value.detach() for key, value in gru.named_parameters()}
        text["embed.weight"] = torch.randn(9, 3)
        torch.save(
            {"model": [{"fc.weight": torch.randn(6, 20), "fc.bias": torch.randn(6)}, text]}, folder / f"{name}.pth.tar"
        )
        (folder / f"photographs_{name}").mkdir()
        for number in range(7):
            pixels = np.random.default_rng([seed, number]).integers(0, 256, (20, 30, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"photographs_{name}" / f"{number}.png")
    encoders.write_clip(folder / "clip")
    (folder / "captions.txt").write_text("".join(f"a {word} runs\n" for word in WORDS[:7]))
    (folder / "images.txt").write_text("".join(f"{number}.png\n" for number in range(7)))
    rows = [{"path": f"d/{name}.txt", "version": "v", "licence": "l", "sha256": None, "size": None} for name in "xy"]
    rows = [row | {"url": f"{host.url}/{row['path']}"} for row in rows]
    of_host = {"d": {"title": "D", "files": {"captions": rows[0], "images": rows[1]}}}
    (folder / "host.yaml").write_text(yaml.safe_dump({"datasets": of_host}))
    known = {
        "d": {"title": "D", "files": {"captions": rows[0] | {"md5": "0" * 32}, "images": rows[1] | {"md5": "1" * 32}}}
    }
    (folder / "known.yaml").write_text(yaml.safe_dump({"datasets": known}))
    (folder / "mirror" / "d").mkdir(parents=True)
    for name in "xy":
        host.files[f"/d/{name}.txt"] = name.encode() * 400_000
        (folder / "mirror" / "d" / f"{name}.txt").write_bytes(host.files[f"/d/{name}.txt"])
    for artifact in (jars.CODE, jars.MODELS):
        host.files[f"/maven/{artifact.name}"] = artifact.name.encode() * 20_000


def prepare_large(url: str) -> None:
    """Import what commands need, and let CoreNLP's jars be small files of a host."""
    prepare(large=True)
    jars.REPOSITORY = f"{url}/maven"
    for name in ("CODE", "MODELS"):
        artifact = getattr(jars, name)
        data = artifact.name.encode() * 20_000
        setattr(jars, name, replace(artifact, sha256=hashlib.sha256(data).hexdigest(), size=len(data)))


def _module(path: str) -> Any:
    """A module of the tests that no name leads to."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_")[:-3], Path(__file__).parent / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _run(folder: Path) -> Any:
    from fivesentences.reproduction.evaluation.scoring import score_split

    return score_split(folder / "again", "test", folder / "data/corpus.parquet", folder / "data/features.npy")[
        1
    ].tobytes()


TRAIN = "train {}.yaml --corpus data/corpus.parquet --features data/features.npy --out again"
EMBED = "embed transformers:clip --images photographs_a --captions captions.txt --per-image 1 --image-names images.txt"
SIMILAR = "similarity again -o s.npy --captions c.txt --image-of-caption i.txt"
EXTRACT = "features extract photographs_{} --network grid_descriptors:grid -o f.npy --workers 0"
LARGE = [
    Command("download d --catalogue host.yaml --data data"),
    Command("download d --catalogue host.yaml --data data --mirror mirror"),
    Command("download --pointers --catalogue known.yaml --data data"),
    Command("jars"),
    Command(EXTRACT.format("b")),
    Command(EXTRACT.format("b"), EXTRACT.format("a"), _vectors),
    Command(f"{EMBED} -o made --device cpu"),
    Command(
        "checkpoint import b.pth.tar -o imported --model vsepp", "checkpoint import a.pth.tar -o imported --model vsepp"
    ),
    Command(TRAIN.format("b")),
    Command(TRAIN.format("b"), TRAIN.format("a"), _run),
    Command(SIMILAR, TRAIN.format("a")),
]
