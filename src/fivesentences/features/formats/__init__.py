"""Files of image features that the community has: read image by image, and converted into each other."""

from fivesentences.features.formats.conversion import FORMATS, Conversion, convert, open_features
from fivesentences.features.formats.record import FeatureSource, ImageFeatures, Outline

__all__ = ["FORMATS", "Conversion", "FeatureSource", "ImageFeatures", "Outline", "convert", "open_features"]
