"""Detectors: images to regions with features, boxes, classes and attributes.

Nothing here imports torch; ``bottom_up``, ``faster_rcnn`` and ``described_boxes`` do.
"""

from fivesentences.features.detectors.detector import Detector, detect
from fivesentences.features.detectors.vocabulary import read_vocabulary

__all__ = ["Detector", "detect", "read_vocabulary"]
