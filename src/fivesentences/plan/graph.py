"""All jobs behind some files, found from the rules' patterns as Snakemake finds them, but without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fivesentences.errors import InputError
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
        InputError: If the plan cannot tell what a job reads, for example because the catalogue lacks a file, or two
            rules would make the same file.
    """
    rules = [_Rule(name, plan) for name in plan.rules]
    jobs: list[PlannedJob] = []
    given: list[Path] = []
    begun: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    seen: set[Path] = set()

    # Depth first without recursion: a job is put back below what it needs, and is listed when it is met again.
    todo: list[Path | PlannedJob] = list(targets)
    todo.reverse()
    while todo:
        one = todo.pop()
        if isinstance(one, PlannedJob):
            jobs.append(one)
            continue
        if one in seen:
            continue
        seen.add(one)
        makers = [(rule, match) for rule in rules if (match := rule.matches(one)) is not None]
        if len(makers) > 1:
            raise InputError(f"{one} is made by {' and by '.join(rule.name for rule, _ in makers)}; only one rule may.")
        if not makers:
            given.append(one)
            continue
        rule, wildcards = makers[0][0], makers[0][1].groupdict()
        key = rule.name, frozenset(wildcards.items())
        if key not in begun:  # by another of its files
            begun.add(key)
            job = rule.job(wildcards)
            todo += [job, *(path for path in job.inputs[::-1] if path not in seen)]
    return Graph(jobs, given)


class _Rule:
    """A rule, as the patterns of the files that it writes."""

    def __init__(self, name: str, plan: Plan):
        self.name, self.plan = name, plan
        self.outputs = plan.outputs_of(name)
        constraints = plan.constraints | plan.constraints_of(name)
        self.patterns = [_pattern(str(path), constraints) for path in self.outputs.values()]

    def matches(self, path: Path) -> re.Match[str] | None:
        """The match of a file that the rule writes; its groups are the wildcards."""
        return next((found for pattern in self.patterns if (found := pattern.fullmatch(str(path)))), None)

    def job(self, wildcards: dict[str, str]) -> PlannedJob:
        """The job of some wildcards."""
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
