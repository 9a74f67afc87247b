"""Classes named by text, for settings that must not import what is built from them: torch takes seconds."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any


def class_named(name: str) -> type[Any]:
    """Return a class by its module and name, such as ``fivesentences.models.scan:SCAN``; its module is imported now."""
    module, _, found = name.partition(":")
    kind: type[Any] = getattr(import_module(module), found)
    return kind


def class_among(package: str, name: str, implementations: Iterable[str]) -> type[Any]:
    """Return one of a package's classes, for the package's ``__getattr__``, so that only asking for a class imports it.

    Args:
        package: For the error message.
        name: What is asked for.
        implementations: The classes that the package offers, as ``class_named`` takes them.

    Raises:
        AttributeError: If it is none of them.
    """
    for implementation in implementations:
        if implementation.rpartition(":")[2] == name:
            return class_named(implementation)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
