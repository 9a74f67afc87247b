"""Consents: terms that a person has agreed to, before files that need it are fetched.

``consents.yaml`` in the folder of downloads has a line for each. Nothing but a person's own hand, or an answer to
``fivesentences download --consent NAME``, writes one.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from fivesentences.config.datasets import Consent
from fivesentences.config.types import Name, Strict
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.storage import replacing

FILE = "consents.yaml"
_HEAD = "# Terms that I have agreed to, and when: see docs/paper_scale.md."


class Agreed(Strict):
    """A line of ``consents.yaml``.

    Attributes:
        terms: Address of the terms.
        date: Day on which they were agreed to.
    """

    terms: str
    date: datetime.date


def agreed(data: Path | str) -> dict[str, Agreed]:
    """Read which terms a person has agreed to, by name; none if there is no file.

    Raises:
        InputError: If the file is not a mapping from names to terms and date.
    """
    path = Path(data) / FILE
    if not path.exists():
        return {}
    try:
        return TypeAdapter(dict[Name, Agreed]).validate_python(read_yaml(path) or {})
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        example = "<name>: {terms: <address>, date: <year>-<month>-<day>}"
        what = f"'{place}' is not a line such as {example}" if place else f"it has no lines such as {example}"
        raise InputError(what, where=path, cure="correct it, or remove it") from None


def is_agreed(consent: Consent | None, data: Path | str) -> bool:
    """Return True if no consent is needed, or a person has agreed to these very terms."""
    if consent is None:
        return True
    found = agreed(data).get(consent.name)
    return found is not None and found.terms == consent.terms


def line_of(name: str, terms: str, date: datetime.date) -> str:
    """Return the line of ``consents.yaml`` that says that somebody agreed."""
    said = {name: {"terms": terms, "date": date}}
    lines: str = yaml.safe_dump(said, default_flow_style=None, width=1000, sort_keys=False)
    return lines.strip()


def request(consent: Consent, files: Iterable[str], data: Path | str) -> str:
    """Ask for a consent that nobody has given, in one sentence with the line that gives it.

    Args:
        consent: The consent.
        files: Paths of all files that need it.
        data: Folder of downloads.
    """
    path, line = Path(data) / FILE, line_of(consent.name, consent.terms, datetime.date.today())
    older = agreed(data).get(consent.name)
    since = "" if older is None else f" (you agreed to {older.terms}, and the terms are others now)"
    return (
        f"{', '.join(files)}: the owners ask for your consent{since}: read {consent.terms}, and if you agree, write "
        f"the line `{line}` into {path}, or run `fivesentences download --consent {consent.name}`."
    )


def write_consent(consent: Consent, data: Path) -> Path:
    """Add a consent that a person has just given to ``consents.yaml``; returns its path."""
    known = agreed(data) | {consent.name: Agreed(terms=consent.terms, date=datetime.date.today())}
    with replacing(path := data / FILE) as temporary:
        lines = [line_of(name, one.terms, one.date) for name, one in known.items()]
        temporary.write_text("\n".join([_HEAD, *lines, ""]), encoding="utf-8")
    return path
