"""Images as numbers: extraction into memory-mapped arrays, and reading them back for training.

Neither needs torch to be imported; only networks do.
"""

from fivesentences.features.extract import GRID_DESCRIPTORS, extract_features
from fivesentences.features.precomp import describe_precomp
from fivesentences.features.reading import FeatureTable, Preparation, StoredRows

__all__ = ["GRID_DESCRIPTORS", "FeatureTable", "Preparation", "StoredRows", "describe_precomp", "extract_features"]
