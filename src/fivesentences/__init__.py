"""Regenerates the tables and figures of four papers on image-text matching."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fivesentences.evaluation import evaluate
    from fivesentences.metrics import ncs
    from fivesentences.semantics.captioning import cider, spice

    __version__: str

__all__ = ["__version__", "cider", "evaluate", "ncs", "spice"]

_HOME = {"cider": "semantics.captioning", "evaluate": "evaluation", "ncs": "metrics", "spice": "semantics.captioning"}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":  # looked up when asked for, so that importing the package stays cheap
        import importlib.metadata

        return importlib.metadata.version("fivesentences")
    if name in _HOME:
        return getattr(importlib.import_module(f"fivesentences.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
