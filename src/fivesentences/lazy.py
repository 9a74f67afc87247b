"""Packages that import a name when it is first asked for, so that reading a specification does not import numpy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazily(package: str, names: Mapping[str, str | Sequence[str]]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package.

    Args:
        package: Its ``__name__``.
        names: Names that each of its modules offers, in a list or separated by spaces.
    """
    offers = {module: offered.split() if isinstance(offered, str) else offered for module, offered in names.items()}
    module_of = {name: module for module, offered in offers.items() for name in offered}

    def found(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return found
