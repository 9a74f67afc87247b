"""Inference methods by name, which a study's table has as rows: the similarity as it is, or re-scored.

Inverted softmax and CSLS are known as similarity normalisation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import Argument, InputError
from fivesentences.retrieval.arguments import DIRECTIONS, Direction, checked_choice, checked_direction, setting_of
from fivesentences.retrieval.assignment import assignment
from fivesentences.retrieval.blocks import Output, blocks_of_rows, filled
from fivesentences.retrieval.csls import csls
from fivesentences.retrieval.gallery import Gallery, Similarity, checked_similarity, name_of
from fivesentences.retrieval.inverted_softmax import inverted_softmax


def naive(similarity: Similarity, out: Output = None) -> NDArray[np.floating]:
    """Return the similarity as it is: items are ranked by their scores (kNN-margin eq. 1).

    The only method here that is not transductive. Arguments and errors as in ``csls``.
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
}
#: Methods whose result serves one direction only; the others' serves both.
PER_DIRECTION = ("inverted_softmax",)
OF_ALL = ("similarity", "direction", "out")  # parameters that are not options
#: Methods that read all queries of the test set, so that no query could be answered alone.
TRANSDUCTIVE = ("inverted_softmax", "csls", "assignment")


def rescore(
    similarity: Similarity, method: str, direction: str = "i2t", out: Output = None, **options: Any
) -> NDArray[np.floating]:
    """Return the similarity after an inference method.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``.
        method: A name in ``INFERENCE``: ``"naive"``, ``"inverted_softmax"``, ``"csls"`` or ``"assignment"``.
        direction: ``"i2t"`` or ``"t2i"``; only inverted softmax gives a different matrix for each.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill.
        options: The method's own: ``beta`` and ``include_self``; ``k``; ``captions_per_image`` and
            ``image_of_caption``.

    Returns:
        ``[images, captions]`` float32, float64 from float64 (or what ``out`` names), larger is more similar.

    Raises:
        InputError: If there is no such method or option, or as raised by the method.
    """
    side = checked_direction(direction)
    checked_choice("method", method, tuple(INFERENCE))
    known = [name for name in inspect.signature(INFERENCE[method]).parameters if name not in OF_ALL]
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
    """

    method: str = "naive"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, inference: str | Inference) -> Inference:
        """Parse METHOD[,NAME=VALUE...], such as ``csls,k=10``.

        Raises:
            InputError: If there is no such method or setting.
        """
        if isinstance(inference, Inference):
            return inference
        method, *given = inference.split(",")
        checked_choice("inference", method, tuple(INFERENCE))
        parameters = list(inspect.signature(INFERENCE[method]).parameters.values())
        # The pairing of the gallery says how many captions an image has.
        settings = {one.name: one.default for one in parameters if one.name not in (*OF_ALL, "image_of_caption")}
        changes = dict(map(setting_of, given))
        if strange := [name for name in changes if name not in settings]:
            what = f"has no setting '{strange[0]}' of {method}; its settings are: {', '.join(settings) or 'none'}."
            raise InputError(what, where=Argument("inference"))
        return cls(method, settings | changes)

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
        words += ", which looks at all queries at once" if self.method in TRANSDUCTIVE else ""
        return words + ("; each direction is read from a matrix of its own." if self.method in PER_DIRECTION else ".")

    def read(
        self, gallery: Gallery, directions: Sequence[Direction] = DIRECTIONS
    ) -> Iterator[tuple[list[Direction], Gallery]]:
        """Yield the re-scored gallery with the directions that are read from it.

        The inverted softmax of image queries and that of caption queries are two matrices; every other method has one.
        """
        apart = self.method in PER_DIRECTION
        for sides in [[side] for side in directions] if apart else [list(directions)]:
            if self.method == "naive":
                yield sides, gallery
            else:
                yield sides, replace(gallery, similarity=rescore(gallery, self.method, sides[0], **self.settings))
