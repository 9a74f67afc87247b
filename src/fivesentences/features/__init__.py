"""Images as numbers: extraction into memory-mapped arrays, and reading them back for training.

Neither imports torch; only networks do.
"""

from fivesentences.features.extract import GRID_DESCRIPTORS, extract_features
from fivesentences.features.precomp import describe_precomp
from fivesentences.features.preparation import Preparation
from fivesentences.features.table import FeatureTable, StoredRows

__all__ = ["GRID_DESCRIPTORS", "FeatureTable", "Preparation", "StoredRows", "describe_precomp", "extract_features"]
