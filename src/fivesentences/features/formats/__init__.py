"""Files of image features that the community has: read image by image, and converted into each other."""

from fivesentences.features.formats.conversion import FORMATS, Conversion, convert, open_features
from fivesentences.features.formats.record import ImageFeatures, Outline, Source

__all__ = ["FORMATS", "Conversion", "ImageFeatures", "Outline", "Source", "convert", "open_features"]
