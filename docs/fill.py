#!/usr/bin/env python
"""Write numbers, tables and output of commands into pages of Markdown, from results, so that they cannot drift.

    uv run docs/fill.py docs/evidence.md                              # write
    uv run docs/fill.py README.md docs/*.md --check --available       # show what differs, and fail if anything does

A place keeps its marks; what stands between them is replaced:

    <!-- fill paper/demo/study/table.md -->                 a file below --results
    <!-- fill paper/demo/study/table.md table -->           its tables, without title and notes
    <!-- fill FILE.csv where loss=sam show {mean:.1f} -->   columns of the one line that has these values
    each of these until <!-- /fill -->

    <!-- output PREPARATION, lines 1-9 12: fivesentences evaluate sims.npy -->
    what the command prints, on lines of its own, until
    <!-- /output -->

docs/outputs.yaml names the preparations: what makes the files that a command reads. Before the colon may stand which
lines are shown, and ``file NAME`` for a file that the command writes. Training on another kind of processor gives other
last digits, so docs/outputs.json records on which kind each page was made: --check compares exactly there, and
elsewhere everything but numbers.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from fivesentences import machine

FILL = re.compile(r"<!-- fill (?P<asked>.*?) -->(?P<old>.*?)<!-- /fill -->", re.DOTALL)
ASKED = re.compile(r"(?P<file>\S+)(?:\s+(?P<table>table)|\s+where\s+(?P<where>.+?)\s+show\s+(?P<show>.+))?", re.DOTALL)
OUTPUT = re.compile(r"^<!-- output(?P<head>[^:\n]*): (?P<command>[^\n]*?) -->\n.*?^<!-- /output -->$", re.M | re.S)
MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
MINUS_ZERO = re.compile(r"(?<![\w.])-(?=0?\.?0+(?![\d.]))")  # what rounding leaves of a small negative number
NUMBER = re.compile(r"(?<![\w@.])[<+\-\N{MINUS SIGN}*]*(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE]-?\d+)?[%*]*")
SPACES = re.compile(r"[ \t]+|─+|-{3,}")
HEAD = re.compile(r" ?(?P<name>\w*)(?:, lines (?P<lines>[\d -]+))?(?:, file (?P<file>[\w.-]+))?")
WIDTH, SECONDS = "160", 300  # columns of the terminal; how long a command may take


class PageError(Exception):
    """A place that cannot be filled; its text says where."""


@dataclass
class Filler:
    """Fills pages.

    Attributes:
        results: The folder of results.
        preparations: What makes the files that commands read, by name: ``needs`` and ``commands``.
        only: Pattern of the files and commands whose places are filled.
        available: Leave a place alone whose results are not there.
        made: Places that were filled, by page.
        left: Files that were not there, one entry per place.
        partial: Pages of which a place for output was left alone.
    """

    results: Path
    preparations: dict[str, dict[str, list[str]]]
    only: str = "*"
    available: bool = False
    made: Counter[Path] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    partial: set[Path] = field(default_factory=set)
    folders: dict[str, TemporaryDirectory[str]] = field(default_factory=dict)
    printed: dict[tuple[str, str], str] = field(default_factory=dict)

    def filled(self, page: Path) -> str:
        """The text of a page with its places filled."""
        text = page.read_text(encoding="utf-8")
        for mark, pattern in (("fill", FILL), ("output", OUTPUT)):
            begun, whole = len(re.findall(f"<!-- {mark}[ ,:]", text)), len(pattern.findall(text))
            if begun != whole:
                raise PageError(f"{page}: {begun} places begin with '<!-- {mark}', but {whole} are whole")
            text = pattern.sub(lambda place: self._place(place, page), text)
        return text

    def _place(self, place: re.Match[str], page: Path) -> str:
        where = f"{page}, line {place.string.count(chr(10), 0, place.start()) + 1}"
        of_command = "command" in place.groupdict()
        name = place["command"] if of_command else place["asked"].split()[0]
        missing = None
        if fnmatchcase(name, self.only):
            missing = self._missing(place, name, of_command, where)
            if missing is None:
                self.made[page] += 1
                try:
                    return self._output(place) if of_command else self._fill(place)
                except PageError as error:
                    raise PageError(f"{where}: {error}") from None
            if not self.available:
                raise PageError(f"{where}: {self.results / missing} is not there; make it with the workflow")
            self.left.append(missing)
        if of_command:
            self.partial.add(page)
        return place[0]

    def _missing(self, place: re.Match[str], name: str, of_command: bool, where: str) -> str | None:
        needs = [name]
        if of_command:
            head = HEAD.fullmatch(place["head"])
            if head is None or head["name"] is None or head["name"] not in self.preparations | {"": None}:
                raise PageError(f"{where}: '{place['head']}' is not PREPARATION, lines 1-9 12, file NAME")
            needs = self.preparations[head["name"]]["needs"] if head["name"] else []
        return next((path for path in needs if not (self.results / path).exists()), None)

    def _fill(self, place: re.Match[str]) -> str:
        asked = ASKED.fullmatch(place["asked"])
        if asked is None:
            raise PageError(f"'{place['asked']}' is not FILE, FILE table, or FILE where KEY=VALUE show FORMAT")
        text = (self.results / asked["file"]).read_text(encoding="utf-8")
        if asked["where"] is not None:
            shown = _value(text, asked["where"], asked["show"])
        else:
            if asked["table"]:
                tables = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
                text = "\n".join(table.rstrip("\n") + "\n" for table in tables)
            shown = f"\n\n{text.strip()}\n\n"
        return f"<!-- fill {place['asked']} -->{shown}<!-- /fill -->"

    def _output(self, place: re.Match[str]) -> str:
        head = HEAD.fullmatch(place["head"])
        assert head is not None
        name, command = head["name"], place["command"]
        if name not in self.folders:
            self.folders[name] = TemporaryDirectory(prefix="fivesentences-outputs-")
            Path(self.folders[name].name, "results").symlink_to(self.results.resolve())
            for one in self.preparations[name]["commands"] if name else []:
                _run(one, self.folders[name].name)
        if (name, command) not in self.printed:  # several pages may show one command
            self.printed[name, command] = _run(command, self.folders[name].name)
        text = self.printed[name, command]
        if head["file"]:
            text = Path(self.folders[name].name, head["file"]).read_text(encoding="utf-8")
        block = _chosen([line.rstrip() for line in text.strip("\n").split("\n")], head["lines"])
        return f"<!-- output{place['head']}: {command} -->\n```\n{block}\n```\n<!-- /output -->"


def _value(text: str, where: str, show: str) -> str:
    """Columns of the one line of a CSV that has some values, in Python's format language."""
    parts = [part.partition("=") for part in re.split(r",\s*(?=\w+=)", where)]  # a value may contain a comma
    lines = list(csv.DictReader(text.splitlines()))
    try:
        found = [line for line in lines if all(_number(line[key]) == _number(value) for key, _, value in parts)]
        if len(found) != 1:
            raise PageError(f"{len(found)} lines have {where}; name values that one line has")
        shown = show.format_map({key: _number(value) for key, value in found[0].items()})
    except (KeyError, ValueError, AttributeError) as error:
        raise PageError(
            f"'{where} show {show}' cannot be shown ({error!r}); there are: {', '.join(lines[0])}"
        ) from None
    return MINUS.sub("\N{MINUS SIGN}", MINUS_ZERO.sub("", shown))


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value.strip()


def _chosen(lines: list[str], asked: str | None) -> str:
    """The lines that a place asks for; gaps become ``...``."""
    shown: list[str] = []
    for span in (asked or f"1-{len(lines)}").split():
        first, _, last = span.partition("-")
        if not 0 < int(first) <= int(last or first) <= len(lines):
            raise PageError(f"lines {span} are not among the {len(lines)} lines")
        shown += ["  ...", *lines[int(first) - 1 : int(last or first)]]
    return "\n".join(shown[1:])


def _run(command: str, folder: str) -> str:
    """What a command of this package prints, without a shell."""
    words = shlex.split(command)
    if words[:1] != ["fivesentences"]:
        raise PageError(f"'{command}': only fivesentences is run for a page")
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    environment |= {"COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "fivesentences.cli", *words[1:]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    if done.returncode != 0:
        raise PageError(f"'{command}' ends with {done.returncode}: {done.stderr[-500:].strip()}")
    return done.stdout


def masked(text: str) -> str:
    """A text in which every number, its sign and its marks are #, and spaces and rules are as narrow as can be."""
    return SPACES.sub(" ", NUMBER.sub("#", text))


def main(arguments: list[str] | None = None) -> None:
    """Fill or check pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--results", type=Path, default=Path("results"), help="where the workflow keeps its results")
    parser.add_argument("--only", default="*", help="pattern of files and commands whose places are filled")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not up to date")
    parser.add_argument("--available", action="store_true", help="leave places alone whose results are not here")
    parser.add_argument("--preparations", type=Path, default=Path(__file__).with_name("outputs.yaml"))
    given = parser.parse_args(arguments)
    preparations = yaml.safe_load(given.preparations.read_text(encoding="utf-8"))["preparations"]
    filler = Filler(given.results, preparations, given.only, given.available)
    record, kind = given.preparations.with_suffix(".json"), machine.cpu_kind()
    made_on: dict[str, str] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    stale = False
    for page in given.pages:
        key = Path(os.path.relpath(page.resolve(), record.resolve().parent)).as_posix()
        try:
            old, new = page.read_text(encoding="utf-8"), filler.filled(page)
        except PageError as error:
            sys.exit(f"Error: {error}.")
        if given.check:
            exactly = made_on.get(key, kind) == kind
            if old != new and (exactly or masked(old) != masked(new)):
                lines = difflib.unified_diff(old.splitlines(), new.splitlines(), str(page), f"{page}, remade", n=1)
                print("\n".join(line.rstrip("\n") for line in lines))
                stale = True
            elif filler.made[page] and not exactly:
                print(f"{page}: compared WITHOUT ITS NUMBERS, which were made on {made_on[key]}; this is {kind}")
            continue
        if old != new:
            page.write_text(new, encoding="utf-8")
            print(page)
        if filler.made[page] and page not in filler.partial:
            made_on[key] = kind
    print(f"{filler.made.total()} places {'compared' if given.check else 'filled'}", file=sys.stderr)
    if filler.left:
        groups = Counter("/".join(Path(name).parts[:2]) for name in filler.left)
        print(f"{len(filler.left)} left alone, since results are not here: {dict(groups)}", file=sys.stderr)
    if stale:
        sys.exit("Error: a page is not what the results say; run docs/fill.py, and look at it.")
    if not given.check:
        record.write_text(json.dumps(dict(sorted(made_on.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
