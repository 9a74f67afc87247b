"""Inference methods by name, which a study's table has as rows: the similarity as it is, or re-scored.

Re-scoring is known as similarity normalisation. Inverted softmax, CSLS and assignment are transductive: they read the
whole set of test queries at once. QB-Norm and dual banks read queries of the training set instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import Unheld
from fivesentences.choices import BANKED as BANKED
from fivesentences.errors import Argument, Cure, InputError
from fivesentences.retrieval.arguments import DIRECTIONS, Direction, checked_choice, checked_direction, settings_of
from fivesentences.retrieval.assignment import assignment
from fivesentences.retrieval.blocks import Output, blocks_of_rows, filled
from fivesentences.retrieval.csls import csls
from fivesentences.retrieval.gallery import Gallery, Similarity, checked_similarity, name_of
from fivesentences.retrieval.inverted_softmax import inverted_softmax
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.query_banks import BanksOfDirection, dual_bank, qb_norm


def naive(similarity: Similarity, out: Output = None) -> NDArray[np.floating]:
    """Return the similarity as it is: items are ranked by their scores (kNN-margin eq. 1).

    Arguments and errors as in ``csls``.
    """
    matrix = checked_similarity(similarity)

    def fill(result: NDArray) -> None:
        for part, block in blocks_of_rows(matrix, dtype=None):
            result[part] = block

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))


#: Ways to read a similarity, by the name that studies and ``rescore`` use.
INFERENCE: dict[str, Callable[..., NDArray[np.floating]]] = {
    "naive": naive,
    "inverted_softmax": inverted_softmax,
    "csls": csls,
    "assignment": assignment,
    "qb_norm": qb_norm,
    "dual_bank": dual_bank,
}
#: Methods whose result serves one direction only; the others' serves both.
PER_DIRECTION = ("inverted_softmax", "qb_norm", "dual_bank")
#: Methods that read all queries of the test set, so that no query could be answered alone.
TRANSDUCTIVE = ("inverted_softmax", "csls", "assignment")
OF_ALL = ("similarity", "direction", "out")  # parameters that are not options
NO_SETTINGS = (*OF_ALL, "bank", "gallery_bank", "image_of_caption")  # the gallery says how many captions an image has


def rescore(
    similarity: Similarity, method: str, direction: str = "i2t", out: Output = None, **options: Any
) -> NDArray[np.floating]:
    """Return the similarity after an inference method.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``.
        method: A name in ``INFERENCE``: ``"naive"``, ``"inverted_softmax"``, ``"csls"``, ``"assignment"``,
            ``"qb_norm"`` or ``"dual_bank"``.
        direction: ``"i2t"`` or ``"t2i"``; methods of ``PER_DIRECTION`` give a different matrix for each.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill.
        options: The method's own: ``beta`` and ``include_self``; ``k``; ``captions_per_image`` and
            ``image_of_caption``; ``bank``, ``beta`` and ``k``; ``bank``, ``gallery_bank``, ``beta`` and
            ``gallery_beta``.

    Returns:
        ``[images, captions]`` float32, float64 from float64 (or what ``out`` names), larger is more similar.

    Raises:
        InputError: If there is no such method or option, a bank is missing, or as raised by the method.
    """
    side = checked_direction(direction)
    checked_choice("method", method, tuple(INFERENCE))
    parameters = inspect.signature(INFERENCE[method]).parameters
    known = [name for name in parameters if name not in OF_ALL]
    for name in known:
        if name not in options and parameters[name].default is inspect.Parameter.empty:
            raise InputError(
                f"{method} reads similarities of training queries with the gallery, and none are given",
                cure=Cure(f"pass {name}", "choose another method, or take the numbers of a study's table"),
            )
    for name in options:
        if name not in known:
            raise InputError(f"{method} has no option '{name}'; its options are: {', '.join(known) or 'none'}.")
    if method in PER_DIRECTION:
        options["direction"] = side
    return INFERENCE[method](similarity, out=out, **options)


@dataclass(frozen=True)
class Inference:
    """An inference method and its settings.

    Attributes:
        method: A name in ``INFERENCE``.
        settings: All its options by name.
        banks: For a method of ``BANKED``, by direction, its banks by the name of the argument.
    """

    method: str = "naive"
    settings: Mapping[str, Any] = field(default_factory=dict)
    banks: Mapping[Direction, BanksOfDirection] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, inference: str | Inference, banks: Mapping[Direction, BanksOfDirection] | None = None) -> Inference:
        """Parse METHOD[,NAME=VALUE...], such as ``csls,k=10``.

        Args:
            inference: The text; an inference is returned as it is.
            banks: Banks of both directions; those that the method does not read are left out.

        Raises:
            InputError: If there is no such method or setting.
        """
        if isinstance(inference, Inference):
            return inference
        method, *given = inference.split(",")
        usable = [name for name in INFERENCE if name not in BANKED or banks or name == method]
        checked_choice("inference", method, usable)
        parameters = inspect.signature(INFERENCE[method]).parameters
        settings = {name: one.default for name, one in parameters.items() if name not in NO_SETTINGS}
        changes = settings_of(given, "inference")
        if strange := [name for name in changes if name not in settings]:
            what = f"has no setting '{strange[0]}' of {method}; its settings are: {', '.join(settings) or 'none'}."
            raise InputError(what, where=Argument("inference"))
        read = {
            side: {name: bank for name, bank in of_side.items() if name in parameters}
            for side, of_side in (banks or {}).items()
        }
        return cls(method, settings | changes, read)

    @property
    def words(self) -> str:
        """The method and its settings."""
        return ", ".join([self.method, *(f"{name} = {value}" for name, value in self.settings.items() if value)])

    @property
    def about(self) -> dict[str, str]:
        """The entry ``inference`` of a description of numbers, unless the similarity is read as it is."""
        return {} if self.method == "naive" else {"inference": self.words}

    @property
    def note(self) -> str:
        """A sentence on how the similarity is read."""
        words = f"Re-scored within each gallery by {self.words}"
        words += ", which reads the whole set of test queries at once" if self.method in TRANSDUCTIVE else ""
        words += ", which reads training queries alone beside the query" if self.method in BANKED else ""
        return words + ("; each direction is read from a matrix of its own." if self.method in PER_DIRECTION else ".")

    def of_part(self, images: slice, captions: slice | NDArray[np.int64]) -> Inference:
        """Return the inference for a part of the gallery."""
        items: dict[Direction, slice | NDArray[np.int64]] = {"i2t": captions, "t2i": images}
        parts = {
            side: {name: bank.part(items[side]) for name, bank in of_side.items()}
            for side, of_side in self.banks.items()
        }
        return replace(self, banks=parts)

    def read(
        self, gallery: Gallery, directions: Sequence[Direction] = DIRECTIONS
    ) -> Iterator[tuple[list[Direction], Gallery]]:
        """Yield the re-scored gallery with the directions that are read from it.

        A method of ``PER_DIRECTION`` has a matrix for image queries and one for caption queries; others have one.
        """
        apart = self.method in PER_DIRECTION
        for sides in [[side] for side in directions] if apart else [list(directions)]:
            if self.method == "naive":
                yield sides, gallery
            elif isinstance(gallery.similarity, ItemLists):
                raise InputError(
                    f"{self.method} re-scores a whole similarity, and these are lists of first items",
                    where=next(iter(gallery.similarity.names.values())),
                    cure="give the similarity or embeddings",
                )
            elif isinstance(gallery.similarity, Unheld):
                what = (
                    f"{self.method} re-scores a whole similarity, and {gallery.n_images * gallery.n_captions:,} pairs"
                )
                raise InputError(f"{what} are read in blocks", cure=Cure("pass in_blocks=False", "give --whole"))
            else:
                given = {**self.settings, **self.banks.get(sides[0], {})}
                yield sides, replace(gallery, similarity=rescore(gallery, self.method, sides[0], **given))
