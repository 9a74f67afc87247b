"""Regenerates the tables and figures of four papers on image-text matching."""

from typing import TYPE_CHECKING, Any

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.evaluation import EmbeddingEvaluator, evaluate
    from fivesentences.metrics import ncs
    from fivesentences.pages.report import look
    from fivesentences.semantics.captioning import cider, score_captions, spice

    __version__: str

__all__ = ["EmbeddingEvaluator", "__version__", "cider", "evaluate", "look", "ncs", "score_captions", "spice"]

_lazily = lazily(__name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # looked up when asked for, so that importing the package stays cheap
        import importlib.metadata

        return importlib.metadata.version("fivesentences")
    return _lazily(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
