"""All jobs behind some files, found from the rules' patterns as Snakemake finds them, but without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fivesentences.plan.plan import Plan
from fivesentences.plan.steps import Files


@dataclass(frozen=True)
class PlannedJob:
    """A job of a rule.

    Attributes:
        rule: Its name.
        wildcards: What tells it from other jobs of the rule.
        inputs: Every file that it reads.
        outputs: Every file that it writes.
    """

    rule: str
    wildcards: dict[str, str]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]

    @property
    def is_made(self) -> bool:
        """Whether all its files are there; whether they are up to date, only Snakemake knows."""
        return all(path.exists() for path in self.outputs)


@dataclass(frozen=True)
class Graph:
    """What is behind some files.

    Attributes:
        jobs: Each job once, those that others read from before them.
        given: Files that no rule makes.
    """

    jobs: list[PlannedJob]
    given: list[Path]

    def behind(self, paths: Iterable[Path]) -> list[PlannedJob]:
        """The jobs that some of the files need, in the same order."""
        made_by = {path: number for number, job in enumerate(self.jobs) for path in job.outputs}
        todo = [made_by[path] for path in paths if path in made_by]
        found: set[int] = set()
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                todo.extend(made_by[path] for path in self.jobs[number].inputs if path in made_by)
        return [self.jobs[number] for number in sorted(found)]


def graph_of(plan: Plan, targets: Iterable[Path]) -> Graph:
    """Every job that the targets need, whether or not its files are there.

    Args:
        plan: The plan of a scale.
        targets: Files, such as ``plan.targets["page"]``.

    Raises:
        InputError: If the plan cannot tell what a job reads, for example because the catalogue lacks a file.
    """
    rules = [_Rule(name, plan) for name in plan.rules]
    jobs: dict[tuple[str, tuple[str, ...]], PlannedJob] = {}
    given: dict[Path, None] = {}
    seen: set[Path] = set()

    # Depth first without recursion: a file is put back behind what it needs, and its job counted the second time.
    todo: list[tuple[Path, PlannedJob | None]] = []
    todo.extend((path, None) for path in reversed(list(targets)))
    while todo:
        path, job = todo.pop()
        if job is not None:
            jobs.setdefault((job.rule, tuple(job.wildcards.values())), job)
            continue
        if path in seen:
            continue
        seen.add(path)
        made = next((found for rule in rules if (found := rule.makes(path)) is not None), None)
        if made is None:
            given[path] = None
            continue
        if (made.rule, tuple(made.wildcards.values())) not in jobs:
            todo.append((path, made))
            todo.extend((one, None) for one in made.inputs[::-1] if one not in seen)
    return Graph(list(jobs.values()), list(given))


class _Rule:
    """A rule, as the patterns of the files that it writes."""

    def __init__(self, name: str, plan: Plan):
        self.name, self.plan = name, plan
        self.outputs = plan.outputs_of(name)
        constraints = plan.constraints | plan.constraints_of(name)
        self.patterns = [_pattern(str(path), constraints) for path in self.outputs.values()]

    def makes(self, path: Path) -> PlannedJob | None:
        """The job of the rule that writes a file, if one does."""
        match = next((found for pattern in self.patterns if (found := pattern.fullmatch(str(path)))), None)
        if match is None:
            return None
        wildcards = match.groupdict()
        outputs = tuple(Path(str(output).format(**wildcards)) for output in self.outputs.values())
        return PlannedJob(self.name, wildcards, _flat(self.plan.inputs_of(self.name, **wildcards)), outputs)


def _pattern(path: str, constraints: dict[str, str]) -> re.Pattern[str]:
    """The regular expression of a file with wildcards in braces; a wildcard that stands there twice is equal."""
    known: set[str] = set()

    def group(match: re.Match[str]) -> str:
        name = match[1]
        if name in known:
            return f"(?P={name})"
        known.add(name)
        return f"(?P<{name}>{constraints.get(name, '.+')})"

    pieces = re.split(r"(\{[a-z_]+\})", path)
    wild = r"\{([a-z_]+)\}"
    return re.compile("".join(re.sub(wild, group, one) if one[:1] == "{" else re.escape(one) for one in pieces))


def _flat(files: Files) -> tuple[Path, ...]:
    listed = (paths if isinstance(paths, list) else [paths] for paths in files.values())
    return tuple(dict.fromkeys(path for paths in listed for path in paths))
