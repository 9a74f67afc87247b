"""Files of image features that the community has: read image by image, and converted into each other."""

from fivesentences.features.formats.conversion import Conversion, convert
from fivesentences.features.formats.record import ImageFeatures, Outline, Source

__all__ = ["Conversion", "ImageFeatures", "Outline", "Source", "convert"]
