"""Regenerates the tables and figures of four papers on image-text matching."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":  # looked up when asked for, so that importing the package stays cheap
        import importlib.metadata

        return importlib.metadata.version("fivesentences")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "__version__"])
