"""What else is known about the images and captions of a similarity, from files: ids, categories, labels, positives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.errors import InputError, need

if TYPE_CHECKING:
    from fivesentences.evaluation.protocols import Protocol
    from fivesentences.metrics import Positives
    from fivesentences.retrieval import Gallery

COCO_5K = "coco-5k"
UNKNOWN_IDS = "pairs are named by COCO ids; give --image-ids FILE and --caption-ids FILE."


@dataclass(frozen=True)
class Annotations:
    """Files about the images and captions of a similarity, as the options of a command name them.

    Attributes:
        categories: Category of each image, one per line.
        labels: 0/1 matrix ``[images, labels]``.
        instances: COCO's instances, in place of labels.
        eccv: Whether the positives of ECCV Caption and CxC that eccv_caption ships are wanted.
        cxc: CxC's ratings.
        image_ids: COCO id of each image, one per line.
        caption_ids: COCO id of each caption, one per line.
        protocol: How the similarity is scored; the ids of "coco-5k" are known if eccv_caption is installed.
    """

    categories: Path | None
    labels: Path | None
    instances: Path | None
    eccv: bool
    cxc: Path | None
    image_ids: Path | None
    caption_ids: Path | None
    protocol: Protocol | None

    @property
    def _is_coco_5k(self) -> bool:
        return self.protocol is not None and self.protocol.name == COCO_5K

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is read.

        Raises:
            typer.BadParameter: If two options exclude each other.
            InputError: If something is missing.
        """
        if self.labels is not None and self.instances is not None:
            raise InputError("--labels and --instances both say what is in an image; give one of them.")
        if self.eccv and self.cxc is not None:
            raise typer.BadParameter("--eccv includes CxC; leave --cxc out.", param_hint="--cxc")
        if (self.eccv or self.cxc is not None) and self.protocol is not None and self.protocol.in_parts:
            raise InputError(
                f"{'--eccv' if self.eccv else '--cxc'} is about the whole gallery, but --dataset {self.protocol.name} "
                f"scores parts of it; give --dataset {COCO_5K}."
            )
        if self.eccv:
            need("eccv_caption", "eccv", "--eccv")
        ids_are_named = self.image_ids is not None and self.caption_ids is not None
        if self.cxc is not None and not self._is_coco_5k and not ids_are_named:
            raise InputError(UNKNOWN_IDS, where=self.cxc)

    def read(self, gallery: Gallery) -> dict[str, Any]:
        """Categories, labels and positives of a gallery, as ``evaluate`` takes them.

        Raises:
            InputError: If a file is missing or damaged, or does not fit the gallery, or ``--eccv`` is given for another
                gallery than COCO's 5K test split.
        """
        from fivesentences.evaluation.protocols import PROTOCOLS

        n_images, n_captions = gallery.shape
        coco = PROTOCOLS[COCO_5K]
        if self.eccv and gallery.shape != coco.split:
            raise InputError(
                f"--eccv is about COCO's 5K test split of {coco.images:,} images and {coco.captions:,} captions, but "
                f"{gallery.name} is {list(gallery.shape)}; leave --eccv out."
            )
        image_ids = _ids(self.image_ids, n_images, "images")
        caption_ids = _ids(self.caption_ids, n_captions, "captions")
        if self._is_coco_5k and image_ids is None and caption_ids is None:
            image_ids, caption_ids = _usual_ids()
        return {
            "categories": None if self.categories is None else _categories(self.categories, n_images),
            "labels": self._labels(image_ids, n_images),
            "positives": self._positives(image_ids, caption_ids),
        }

    def _labels(self, image_ids: list[str] | None, n_images: int) -> NDArray[Any] | None:
        from fivesentences.corpus.instances import read_instances
        from fivesentences.evaluation.matrix_files import read_matrix

        if self.labels is not None:
            labels = read_matrix(self.labels)
            if len(labels) != n_images:
                raise InputError(
                    f"{self.labels} is {list(labels.shape)} but there are {n_images} images; give a row of 0 and 1 for "
                    "each image."
                )
            unlike = ~np.isin(labels, (0, 1))
            if unlike.any():
                row, column = (int(index[0]) for index in np.nonzero(unlike))
                what = f"[{row}, {column}] is {labels[row, column]}; a label is 0 or 1."
                raise InputError(what, where=self.labels)
            return labels
        if self.instances is None:
            return None
        if image_ids is None:
            raise InputError("labels are named by COCO ids; give --image-ids FILE.", where=self.instances)
        return read_instances(self.instances, image_ids)

    def _positives(self, image_ids: list[str] | None, caption_ids: list[str] | None) -> dict[str, Positives] | None:
        if self.eccv:
            from fivesentences.evaluation.eccv_caption import packaged_positives

            return {
                "ECCV": packaged_positives("eccv", image_ids, caption_ids),
                "CxC": packaged_positives("cxc", image_ids, caption_ids),
            }
        if self.cxc is None:
            return None
        from fivesentences.evaluation.positives import cxc_positives

        if image_ids is None or caption_ids is None:
            raise InputError(UNKNOWN_IDS, where=self.cxc)
        return {"CxC": cxc_positives(self.cxc, caption_ids, image_ids)}


def _ids(path: Path | None, wanted: int, what: str) -> list[str] | None:
    if path is None:
        return None
    lines = _lines(path)
    if len(lines) != wanted:
        raise InputError(f"{path} holds {len(lines)} ids but there are {wanted} {what}; give one per line.")
    return lines


def _usual_ids() -> tuple[list[str] | None, list[str] | None]:
    """Ids of COCO's test split in Karpathy's order, if eccv_caption, which knows them, is installed."""
    from fivesentences.evaluation.eccv_caption import coco_test_ids

    try:
        images, captions = coco_test_ids()
    except InputError:
        return None, None
    return [str(number) for number in images.tolist()], [str(number) for number in captions.tolist()]


def _categories(path: Path, n_images: int) -> NDArray[Any]:
    lines = _lines(path)
    if len(lines) != n_images:
        raise InputError(f"{path} holds {len(lines)} categories but there are {n_images} images; give one per image.")
    return np.unique(lines, return_inverse=True)[1]


def _lines(path: Path) -> list[str]:
    from fivesentences.semantics.caption_file import read_captions

    return [line.strip() for line in read_captions(path)]
