"""Detectors: images to regions with features, boxes, classes and attributes.

Nothing here imports torch; ``bottom_up`` and ``faster_rcnn`` do.
"""

from fivesentences.features.detectors.detector import Detector, detect, read_vocabulary

__all__ = ["Detector", "detect", "read_vocabulary"]
