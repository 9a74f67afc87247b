"""Blocks of a page of Markdown that hold what a command prints, and are written by running it.

A place stands on lines of its own; the block between its marks is replaced::

    <!-- output demo, lines 1-9 30: fivesentences evaluate sims.npy --phi cider.npy -->
    ```
    sims.npy: 200 images, 1,000 captions
    ```
    <!-- /output -->

Before the colon stand the preparation that makes the files which the command reads, and optionally which lines are
shown (gaps become "  ...") and ``file NAME`` for a file that the command writes instead of what it prints. Without a
preparation the place begins with ``<!-- output: ``. Preparations are named in a YAML file beside the pages; each is
made once, in a folder of its own. Only the program ``fivesentences`` is run, without a shell, as wide as ``WIDTH`` and
without colour.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from fivesentences.config import read
from fivesentences.documents import check_file, read_bytes, text_of
from fivesentences.errors import InputError

PROGRAM = "fivesentences"
WIDTH = 160  # columns
SECONDS = 300  # that a command may take
PLACE = re.compile(
    r"^<!-- output(?P<head>[^:\n]*): (?P<command>[^\n]*?) -->\n(?P<old>.*?)^<!-- /output -->$", re.M | re.S
)
BEGINS, ENDS = "<!-- output", "<!-- /output -->"
GAP = "  ..."


class Preparation(BaseModel):
    """What makes the files that commands of pages read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    needs: list[str] = Field(description="files or folders below the results without which it cannot be made")
    commands: list[str] = Field(min_length=1, description="run in this order; results/ is the folder of results")


class Preparations(BaseModel):
    """The file of preparations."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preparations: dict[str, Preparation]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a place asks for."""

    preparation: str | None
    command: str
    lines: tuple[tuple[int, int], ...] = ()  # first and last, from 1
    file: str | None = None


class Outputs:
    """Runs the commands of pages; use it as a context, which removes the folders of its preparations.

    Args:
        preparations: The YAML file that names them.
        results: The folder of results that preparations read.

    Raises:
        InputError: If the file of preparations is missing or wrong.
    """

    def __init__(self, preparations: Path, results: Path) -> None:
        self._known = read(Preparations, preparations).preparations
        self._where = preparations
        self._results = results.resolve()
        self._made: dict[str | None, TemporaryDirectory[str]] = {}
        self._printed: dict[tuple[str | None, str], str] = {}  # several pages may show one command

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._made.values():
            folder.cleanup()
        self._made.clear()

    def missing(self, asked: Asked) -> str | None:
        """The first thing below the results that a place's preparation needs and that is not there."""
        needs = self._preparation(asked).needs if asked.preparation else []
        return next((name for name in needs if not (self._results / name).exists()), None)

    def block(self, asked: Asked) -> str:
        """What stands between the marks of a place.

        Raises:
            InputError: If the command cannot be run or ends with another code than 0, or does not write its file.
        """
        folder = self._folder(asked)
        key = (asked.preparation, asked.command)
        if key not in self._printed:
            self._printed[key] = _run(asked.command, folder)
        text = self._printed[key]
        if asked.file is not None:
            path = folder / asked.file
            check_file(path, f"'{asked.command}' does not write it")
            text = text_of(read_bytes(path), path)
        return f"```\n{_chosen(text, asked)}\n```\n"

    def _preparation(self, asked: Asked) -> Preparation:
        assert asked.preparation is not None
        if asked.preparation not in self._known:
            raise InputError(
                f"there is no preparation '{asked.preparation}'",
                where=str(self._where),
                cure=f"there are: {', '.join(self._known)}",
            )
        return self._known[asked.preparation]

    def _folder(self, asked: Asked) -> Path:
        if asked.preparation not in self._made:
            made = TemporaryDirectory(prefix="fivesentences-outputs-")
            self._made[asked.preparation] = made
            (Path(made.name) / "results").symlink_to(self._results)
            if asked.preparation:
                for command in self._preparation(asked).commands:
                    _run(command, Path(made.name))
        return Path(self._made[asked.preparation].name)


def asked_by(place: re.Match[str], where: str) -> Asked:
    """What a match of ``PLACE`` asks for.

    Raises:
        InputError: If it is none of the forms.
    """
    preparation: str | None = None
    lines: tuple[tuple[int, int], ...] = ()
    file: str | None = None
    for index, part in enumerate(part.strip() for part in place["head"].split(",")):
        word, _, value = part.partition(" ")
        if word == "lines" and re.fullmatch(r"\d+(-\d+)?( \d+(-\d+)?)*", value):
            ends = [[int(number) for number in span.split("-")] for span in value.split(" ")]
            lines = tuple((span[0], span[-1]) for span in ends)
            if any(not 0 < first <= last for first, last in lines) or any(a[1] >= b[0] for a, b in pairwise(lines)):
                raise InputError(f"lines {value}: they must rise, from 1", where=where)
        elif word == "file" and re.fullmatch(r"[\w.-]+", value):
            file = value
        elif index == 0 and re.fullmatch(r"\w*", part):
            preparation = part or None
        else:
            raise InputError(
                f"'{part}' is no part of a place for output", where=where, cure="PREPARATION, lines 1-9 12, file NAME"
            )
    return Asked(preparation, place["command"], lines, file)


def check_marks(text: str, page: Path | str) -> None:
    """Raise an InputError if a place for output does not begin and end on lines of its own."""
    begun, ended = len(re.findall(rf"^{BEGINS}", text, re.MULTILINE)), len(PLACE.findall(text))
    if begun != ended:
        raise InputError(
            f"{page}: {begun} places begin with '{BEGINS} ', but {ended} are whole",
            cure="'PREPARATION: COMMAND -->' follows on that line, and '<!-- /output -->' has a line of its own",
        )


def _run(command: str, folder: Path) -> str:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"'{command}': {error}.") from None
    if words[:1] != [PROGRAM]:
        raise InputError(f"'{command}': only {PROGRAM} is run for a page, not '{''.join(words[:1])}'.")
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    environment |= {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    code = "from fivesentences.cli import main; main()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, *words[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"'{command}' takes more than {SECONDS} seconds, too long for a page.") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise InputError(f"'{command}' ends with {done.returncode}: {said[-1] if said else 'it says nothing'}")
    return done.stdout


def _chosen(text: str, asked: Asked) -> str:
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    shown: list[str] = []
    for first, last in asked.lines or ((1, len(lines)),):
        if last > len(lines):
            raise InputError(f"'{asked.command}' has {len(lines)} lines; a page asks for line {last}.")
        if shown:
            shown.append(GAP)
        shown += lines[first - 1 : last]
    return "\n".join(shown)
