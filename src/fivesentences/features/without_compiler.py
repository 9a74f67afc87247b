"""Importing timm without torch's compiler, which takes longer to import than torch and is not used here.

Two modules ask for the compiler while timm and torchvision are imported: one marks functions that it should leave
alone, the other asks later whether a device is supported. Until then a stand-in answers the first and loads the real
compiler for anything else, so what really needs it gets it, only later.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

COMPILER = "torch._dynamo"


class _Later(ModuleType):
    """Stands for a module of the compiler until something is asked for that only the module can answer."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system and inspect look for such names everywhere
            raise AttributeError(name)
        _forget()
        return getattr(importlib.import_module(self.__name__), name)


def _leave_alone(function: Any = None, *_: object, **__: object) -> Any:
    """``torch._dynamo.disable`` where nothing is compiled."""
    return (lambda wrapped: wrapped) if function is None else function


def _is_compile_supported(device: str) -> bool:
    _forget()
    answer: Callable[[str], bool] = importlib.import_module(f"{COMPILER}.utils").is_compile_supported
    return answer(device)


def _forget() -> None:
    for name in (COMPILER, f"{COMPILER}.utils"):
        if isinstance(sys.modules.get(name), _Later):
            del sys.modules[name]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(vars(torch).get("_dynamo"), _Later):
        del torch._dynamo


@contextmanager
def without_compiler() -> Iterator[None]:
    """Within the block timm is imported in half the time; if timm or the compiler is there already, nothing changes.

    The collector of garbage is off meanwhile, since modules are none. Meant for processes of our own: a program that
    compiles functions should not find them unmarked.
    """
    import torch

    if COMPILER in sys.modules or "torchvision" in sys.modules or "timm" in sys.modules:
        yield
        return
    package, inner = _Later(COMPILER), _Later(f"{COMPILER}.utils")
    package.__path__ = []  # makes it a package
    vars(package).update(disable=_leave_alone, utils=inner)
    vars(inner).update(is_compile_supported=_is_compile_supported)
    sys.modules |= {package.__name__: package, inner.__name__: inner}
    vars(torch)["_dynamo"] = package
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        _forget()
        if collecting:
            gc.enable()
