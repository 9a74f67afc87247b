"""The code that a run names: a digest of the modules of its model and its losses, and of the classes of their settings.

What all runs share has a version instead, see ``fivesentences.versions``.
"""

from __future__ import annotations

import hashlib
import inspect
from functools import cache

from fivesentences.losses import Loss
from fivesentences.models.specs import ModelSpec
from fivesentences.training.spec import RunSpec
from fivesentences.versions import syntax_of, syntax_of_module


def code_of_run(spec: RunSpec) -> str:
    """Hash the code that a run names: the modules of its model and its losses, and the settings of both."""
    of_losses = {kind.__module__ for term in spec.loss.terms for kind in named_kinds(Loss, type(term))}
    modules = {spec.model.implementation.partition(":")[0], *of_losses} - {Loss.__module__}
    return code_named(frozenset(modules), named_kinds(ModelSpec, type(spec.model)))


def named_kinds(base: type, kind: type) -> tuple[type, ...]:
    """Return a class of settings and those that it derives from, up to a base that all share."""
    return tuple(one for one in kind.__mro__ if issubclass(one, base) and one != base)


@cache
def code_named(modules: frozenset[str], kinds: tuple[type, ...]) -> str:
    """Hash modules, and classes of settings that lie in one module with those of all models."""
    parts = [*map(syntax_of_module, sorted(modules)), *(syntax_of(inspect.getsource(kind)) for kind in kinds)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
