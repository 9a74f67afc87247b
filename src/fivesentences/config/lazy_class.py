"""Classes named by text, for settings that must not import what is built from them: torch takes seconds."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def class_named(name: str) -> type[Any]:
    """Return a class by its module and name, such as ``fivesentences.models.scan:SCAN``; its module is imported now."""
    module, _, found = name.partition(":")
    kind: type[Any] = getattr(import_module(module), found)
    return kind
