"""Images as numbers: extraction into memory-mapped arrays, and reading them back for training.

``fivesentences features --help`` does the same from a shell. Only networks need torch.
"""

# The names below are imported when they are first asked for: worker processes need no pandas, which takes a second to
# import.

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fivesentences.features.extract import extract_features
    from fivesentences.features.precomp import describe_precomp
    from fivesentences.features.preparation import Preparation
    from fivesentences.features.recipe import GRID_DESCRIPTORS
    from fivesentences.features.table import FeatureTable, StoredRows

__all__ = ["GRID_DESCRIPTORS", "FeatureTable", "Preparation", "StoredRows", "describe_precomp", "extract_features"]

_MODULE_OF = {
    "GRID_DESCRIPTORS": "recipe",
    "extract_features": "extract",
    "describe_precomp": "precomp",
    "Preparation": "preparation",
    "FeatureTable": "table",
    "StoredRows": "table",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
