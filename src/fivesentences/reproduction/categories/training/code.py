"""The code that a method of category retrieval names."""

from __future__ import annotations

from fivesentences.reproduction.categories.models.specs import MethodSpec, TripletNetwork
from fivesentences.training.code import code_named, named_kinds

OF_TRIPLETS = frozenset({"fivesentences.losses.scheduled_margin", "fivesentences.losses.scheduled_margin_spec"})


def code_of_method(spec: MethodSpec) -> str:
    """Hash a method's settings, and the loss of a network of triplets; see ``code_of_run``."""
    modules = OF_TRIPLETS if isinstance(spec, TripletNetwork) else frozenset[str]()
    return code_named(modules, named_kinds(MethodSpec, type(spec)))
