"""Images as numbers: extraction into memory-mapped arrays, and reading them back for training.

``fivesentences features --help`` does the same from a shell. Only networks need torch.
"""

# Names are imported when they are first asked for: worker processes need no pandas, which takes a second to import.

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.features.describing_precomp import describe_precomp
    from fivesentences.features.extract import extract_features
    from fivesentences.features.preparation import Preparation
    from fivesentences.features.table import FeatureTable, StoredRows

__all__ = ["FeatureTable", "Preparation", "StoredRows", "describe_precomp", "extract_features"]

__getattr__ = lazily(__name__)
