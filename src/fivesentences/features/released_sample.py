"""A few photographs with released regions: do our weights find the same, before all photographs are described?"""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath

import pandas as pd

from fivesentences.config.features import FeatureSpec
from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.features.comparison import compare_features
from fivesentences.features.extract import extract_as_configured
from fivesentences.features.formats import FeatureSource, open_features
from fivesentences.storage import write_json


def check_sample(
    spec: FeatureSpec, photographs: Photographs, released: Path, out: Path, *, weights: Path | None = None
) -> None:
    """Describe photographs as a scale asks, and compare the regions with the released ones.

    Ours stay beside ``out`` as ``.npy``, also where they are others, for ``fivesentences features compare --picture``.

    Args:
        spec: The block of the configuration.
        photographs: Photographs of images that the released features have; others are left out.
        released: Their released features, in any format, with boxes.
        out: Where the comparison is written, as JSON.
        weights: A file; None: what torchvision downloads.

    Raises:
        InputError: If the regions are not as released: what falls short, and by how much; or if a file is missing or
            damaged, or no photograph has released regions.
    """
    ours = out.with_suffix(".npy")
    with open_features(released) as theirs:
        if "boxes" not in theirs.outline.facts:
            raise InputError("these features have no boxes, by which regions are compared", where=released)
        extract_as_configured(spec, photographs, _images(theirs, photographs), ours, workers=1, weights=weights)
        with open_features(ours) as own:
            found = compare_features(own, theirs)
    if wrong := found.shortfalls():
        raise InputError(
            f"{spec.stem} of {len(found.images)} photographs are not as in {released}: {'; '.join(wrong)}",
            where=weights,
            cure="check weights, flavour, selection and resizing (docs/detectors.md), or set released_sample: null",
        )
    # Of what one of the two does not hold, such as classes, nothing is known.
    known = {key: None if math.isnan(value) else value for key, value in found.overall.items()}
    write_json(out, {"released": released.name, **known})


def _images(theirs: FeatureSource, photographs: Photographs) -> pd.DataFrame:
    """Return ``image_id`` and ``filename`` of the images that have both a photograph and released regions."""
    found = []
    for image_id in theirs.outline.ids:
        named = photographs.of_image(image_id) or photographs.of_image(PurePosixPath(image_id).stem)
        found += [(image_id, named)] if named else []
    if not found:
        raise InputError(
            f"no photograph is of an image of {theirs.path}, such as '{theirs.outline.ids[0]}'",
            where=" and ".join(map(str, photographs.paths)),
            cure="give those that the features were made of",
        )
    return pd.DataFrame(found, columns=["image_id", "filename"])
