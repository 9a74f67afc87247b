"""What differs between two manifests, and between a manifest and what is here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError
from fivesentences.paper.digests import Digests
from fivesentences.paper.manifest import settings_of
from fivesentences.plan.plan import Plan

PARTS = ("git", "versions", "hardware", "settings", "seeds", "inputs", "made", "weights", "phi", "numbers", "headline")
SECONDS = "seconds"
DIGITS = 12  # of a checksum or a revision that are shown
LISTED = 5  # differences that an error names


@dataclass(frozen=True)
class Difference:
    """One thing that two manifests say differently.

    Attributes:
        part: Of the manifest, such as "inputs".
        name: A file, a package, a setting or a number.
        a: What the first says; None if it says nothing.
        b: What the second says.
    """

    part: str
    name: str
    a: Any
    b: Any

    def row(self) -> list[str]:
        """Cells of a table."""
        shown = [_shown(self.part, value) for value in (self.a, self.b)]
        change = ""
        if self.part in ("headline", SECONDS) and all(isinstance(value, int | float) for value in (self.a, self.b)):
            change = f"{self.b - self.a:+.3f}"
        return [self.part, self.name, *shown, change]


def differences_of(a: Mapping[str, Any], b: Mapping[str, Any], seconds: bool = False) -> list[Difference]:
    """Everything that two manifests say differently, part by part; seconds, which always differ, only if asked for."""
    found = []
    for part in (*PARTS, *([SECONDS] if seconds else [])):
        ours, theirs = dict(_flat(a.get(part))), dict(_flat(b.get(part)))
        for name in {**ours, **theirs}:
            if ours.get(name) != theirs.get(name):
                found.append(Difference(part, name, ours.get(name), theirs.get(name)))
    return found


def check_as_pushed(plan: Plan, manifest: Mapping[str, Any], digests: Digests) -> None:
    """Check that numbers and configuration here are those of a manifest; downloads count only where they are.

    Raises:
        InputError: If not; what differs, and what to do.
    """
    numbers = manifest.get("numbers", {})
    absent = [path for path in numbers if not Path(path).is_file()]
    if absent:
        raise InputError(
            f"{_listed(absent)}: not here, but figures are drawn from it", cure="fetch the results: dvc pull"
        )
    here = {"settings": settings_of(plan.scale)}
    differ = [
        f"{one.part}: {one.name} is {_shown('settings', one.b)}, and was {_shown('settings', one.a)}"
        for one in differences_of({"settings": manifest.get("settings")}, here)
    ]
    for part in ("inputs", "made", "numbers"):
        for path, known in manifest.get(part, {}).items():
            found = digests.of(Path(path))
            if None not in (found, known) and found != known:
                differ.append(f"{path} is not the file that the numbers were made of")
    if differ:
        raise InputError(
            f"{_listed(differ)}; nothing was touched",
            where="results that were fetched",
            cure="take the change back (git stash, dvc checkout), redraw, and change it then: snakemake remakes what "
            "depends on it",
        )


def _flat(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested plain data; a list is a leaf."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _flat(value, f"{name}/{key}" if name else str(key))
    elif name:
        yield name, content


def _listed(items: list[str]) -> str:
    more = f" and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return "; ".join(items[:LISTED]) + more


def _shown(part: str, value: Any) -> str:
    if value is None:
        return "-"
    if part in ("inputs", "made", "numbers", "git", "weights") and isinstance(value, str):
        return value[:DIGITS] if len(value) in (40, 64) else value
    if isinstance(value, list):
        text = ", ".join(map(str, value))
        return text if len(text) <= 60 else f"{len(value)} items"
    return str(value)
