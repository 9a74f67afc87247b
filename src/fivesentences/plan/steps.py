"""One job of a rule, as a plan describes it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Files = dict[str, Path | list[Path]]


@dataclass(frozen=True)
class Step:
    """One job of a rule.

    Attributes:
        inputs: The files that it reads, by the names under which the rule's script knows them.
        params: Its settings, as plain data.
        by_content: Names of inputs whose times say nothing, since a setting tells their content.
    """

    inputs: Files = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    by_content: frozenset[str] = frozenset()


def one_of(names: Iterable[str]) -> str:
    """A regular expression that accepts these names and, if there are none, nothing."""
    return "|".join(re.escape(name) for name in names) or "nothing(?!)"
