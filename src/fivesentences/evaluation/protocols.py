"""How benchmarks cut a test split into galleries and average over them; every number of a matrix under such a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.evaluation.reading import check_orientation
from fivesentences.metrics import TIE_RULE, Evaluator, MetricValue
from fivesentences.metrics.category import Cutoff
from fivesentences.metrics.ranking import as_array, checked_phi, words_of_phi
from fivesentences.retrieval.matrices import NotFinite
from fivesentences.semantics.validation import checked_pairing

if TYPE_CHECKING:
    import pandas as pd

GALLERY_COLUMNS = ("protocol", "images", "captions", "galleries", "tie_rule")
WHOLE = "the whole matrix is one gallery"


@dataclass(frozen=True)
class Protocol:
    """A benchmark's way to score.

    Attributes:
        name: Such as ``coco-5k``.
        images: Images that the similarity must have.
        captions: Captions that it must have.
        gallery: Images of a gallery.
        folds: Galleries, one after the other from the first image on; their numbers are averaged.
        words: What a table says about it.
    """

    name: str
    images: int
    captions: int
    gallery: int
    folds: int
    words: str

    def accepts(self, n_images: int, n_captions: int) -> bool:
        """Whether a matrix has the size of the whole split, or of the only gallery."""
        alone = self.folds == 1 and (n_images, n_captions) == (self.gallery, self._captions_of(self.gallery))
        return (n_images, n_captions) == (self.images, self.captions) or alone

    def _captions_of(self, images: int) -> int:
        return images * self.captions // self.images


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("flickr8k", 1000, 5000, 1000, 1, "Flickr8k test, 1,000 images and 5,000 captions in one gallery"),
        Protocol("f30k", 1000, 5000, 1000, 1, "Flickr30K test, 1,000 images and 5,000 captions in one gallery"),
        Protocol("coco-5k", 5000, 25000, 5000, 1, "MS-COCO 5K, 5,000 images and 25,000 captions in one gallery"),
        Protocol("coco-1k-5fold", 5000, 25000, 1000, 5, "MS-COCO 1K, mean of five folds of 1,000 images in file order"),
        Protocol("coco-1k-first", 5000, 25000, 1000, 1, "MS-COCO 1K, the first 1,000 images alone"),
    )
}


def protocol_named(name: str) -> Protocol:
    """A protocol by its name.

    Raises:
        InputError: If there is none.
    """
    if name not in PROTOCOLS:
        raise InputError(f"protocol is {name!r}; it is one of {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]


@dataclass(frozen=True)
class Gallery:
    """Some images and their captions.

    Attributes:
        images: Rows of the similarity.
        captions: Its columns: a slice where they stand together, so that nothing is copied.
        image_of_caption: ``[captions of the gallery]`` index within the gallery.
    """

    images: slice
    captions: slice | NDArray[np.int64]
    image_of_caption: NDArray[np.int64]

    def phi(self, phi: NDArray[Any], every_row: bool = False) -> NDArray[Any]:
        """A phi of the split, ``[captions of the gallery, its images]``.

        Args:
            phi: ``[captions, images]``, perhaps with rows of captions that the split has not.
            every_row: Whether all other rows follow.
        """
        if not every_row:
            return phi[self.captions, self.images]
        rows = np.arange(len(phi))
        own = rows[self.captions]
        if len(own) and own[0] == 0 and own[-1] == len(own) - 1:
            return phi[:, self.images]  # they come first as it is
        return phi[np.concatenate([own, np.delete(rows, own)]), self.images]

    @contextmanager
    def located(self, similarity: str = "similarity") -> Iterator[None]:
        """Say of a value that is not finite where it stands in the split, not in the gallery.

        Args:
            similarity: What to call the similarity.
        """
        try:
            yield
        except NotFinite as error:
            # All captions up to it in the order that a phi with every row has: the gallery's, then the others.
            own = np.r_[self.captions]
            before = np.arange(max(error.caption, int(own.max())) + 1)
            caption = int(np.concatenate([own, np.delete(before, own)])[error.caption])
            name = similarity if error.name == "similarity" else error.name
            raise NotFinite(name, error.image + self.images.start, caption, error.value) from None


def galleries(protocol: Protocol | None, pairing: NDArray[np.int64], n_images: int) -> list[Gallery]:
    """The galleries of a split.

    Args:
        protocol: None makes one gallery of everything.
        pairing: ``[captions]`` image of each caption.
        n_images: Images of the split.
    """
    if protocol is None or (protocol.folds == 1 and protocol.gallery == n_images):
        return [Gallery(slice(0, n_images), slice(0, len(pairing)), pairing)]
    found = []
    for first in range(0, protocol.gallery * protocol.folds, protocol.gallery):
        images = slice(first, first + protocol.gallery)
        captions = np.flatnonzero((pairing >= images.start) & (pairing < images.stop))
        together = captions[-1] - captions[0] + 1 == len(captions)
        part = slice(int(captions[0]), int(captions[-1]) + 1) if together else captions
        found.append(Gallery(images, part, pairing[captions] - first))
    return found


@dataclass
class Scores:
    """Every number of one similarity matrix and how it came about.

    Attributes:
        values: As ``metrics.MetricValue``: metric, direction, formula, ground_truth, m, style, phi, value.
        about: protocol, protocol_words, images and captions (of a gallery), galleries (how many), file_images and
            file_captions (of all that was given), averaged, tie_rule, phis.
    """

    values: list[MetricValue]
    about: dict[str, Any] = field(default_factory=dict)

    def tidy(self) -> pd.DataFrame:
        """One row a value, in columns that name it and those of ``GALLERY_COLUMNS``; ``frame.attrs`` holds ``about``.

        Printed, what is the same in all rows stands below the table.
        """
        frame = self._frame("tidy")
        return frame.assign(**{column: self.about[column] for column in GALLERY_COLUMNS})

    def wide(self) -> pd.DataFrame:
        """One row a metric of a variant, one column a direction and cut-off; ``frame.attrs`` holds ``about``."""
        return self._frame("wide")

    def _frame(self, form: str) -> pd.DataFrame:
        from fivesentences.metrics.frame import as_frame, said_once

        frame = as_frame(self.values, form)
        frame.attrs.update(self.about, **said_once(sentences(self.about), GALLERY_COLUMNS))
        return frame


def evaluate(
    similarity: ArrayLike,
    phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
    protocol: str | None = None,
    image_of_caption: ArrayLike | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Every number of a similarity matrix, as a table that prints well.

        from fivesentences.evaluation import evaluate
        frame = evaluate(similarity, {"cider": phi}, protocol="f30k")
        print(frame)

    Arguments and errors as in ``score``, whose numbers these are.

    Returns:
        ``Scores.wide()``: a row a metric, columns "i2t", "t2i" and "both" (sums) by cut-off; ``frame.attrs`` says how
        it came about.
    """
    return score(similarity, phis, protocol, image_of_caption, **options).wide()


def score(
    similarity: ArrayLike,
    phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
    protocol: str | None = None,
    image_of_caption: ArrayLike | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    ms: Sequence[int] = (1, 2, 3),
    ground_truth: Sequence[str] = ("kept", "removed"),
    formulas: Sequence[str] = ("released",),
    styles: Sequence[str] = ("recall",),
    weightings: Sequence[str] = ("hard",),
    discounts: Sequence[str | None] = (None,),
    ncs_ms: Sequence[int | None] = (None,),
    ideal_pool: str = "gallery",
    asp_ties: Sequence[str] = ("index",),
    hubness: bool = False,
    hub_ks: Sequence[int] = (1,),
    empty: str = "zero",
    labels: ArrayLike | None = None,
    categories: ArrayLike | None = None,
    category_cutoffs: Sequence[Cutoff] = (None, "R"),
    positives: Mapping[str, Any] | None = None,
    progress: Callable[[Gallery], object] | None = None,
) -> Scores:
    """Every number of a similarity matrix under a protocol.

    Where there are several galleries each is scored by itself and every number, medians and sums too, is the mean over
    them, as the released evaluations do. A phi is cut with the similarity; its document frequencies stay those of the
    captions that it was made of.

    Args:
        similarity: ``[images, captions]``, larger is more similar; a torch tensor will do.
        phis: ``{name: [captions, images]}``, one matrix, or nothing for instance recall alone.
        protocol: A name in ``PROTOCOLS``; default the whole matrix is one gallery.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        ks: Cut-offs.
        ms: Sizes of the relevant set of semantic recall.
        ground_truth: As in ``metrics.Evaluator``, and so all that follow.
        formulas: Which of "released" and "paper".
        styles: Of semantic recall.
        weightings: Of semantic recall: which of "hard" and "soft".
        discounts: Of the released NCS: None for the plain one, "log" for that weighted by rank.
        ncs_ms: Sizes of the relevant set of the paper's NCS; None for m = k.
        ideal_pool: "gallery", or "given_rows" to take an image's ideal of NCS over all rows that phi has. It may then
            have rows after those of similarity; and where the protocol scores a part, the ideal is taken over the
            captions of the whole split, as the released evaluation of the first 1,000 images does.
        asp_ties: Tie rules of ASP; none leaves ASP out.
        hubness: Whether to report hubs.
        hub_ks: How many of each query's nearest items count.
        empty: Policy for queries that have nothing to find.
        labels: ``[images, classes]`` 0/1, for PMRP.
        categories: ``[images]``, for mAP and R-precision.
        category_cutoffs: Where rankings end for mAP: None for nowhere, "R", or a whole number.
        positives: ``{"CxC": ..., "ECCV": ...}``; only where the whole matrix is one gallery.
        progress: Called after each gallery.

    Raises:
        InputError: If shapes disagree or do not fit the protocol, a value is not finite, or an option is none.
    """
    matrix = matrix_of(similarity, "similarity")
    n_images, n_captions = matrix.shape
    chosen = None if protocol is None else protocol_named(protocol)
    pairing = checked_split(chosen, image_of_caption, n_images, n_captions)
    every_row = ideal_pool == "given_rows"
    named = checked_phis(phis, n_images, n_captions, every_row, chosen)
    parts = galleries(chosen, pairing, n_images)
    whole = len(parts) == 1 and parts[0].images == slice(0, n_images)
    if positives and not whole:
        raise InputError(f"positives are defined for the whole gallery; protocol {protocol} scores parts of it.")
    of_image: dict[str, Any] = {
        name: _per_image(name, given, n_images)
        for name, given in (("labels", labels), ("categories", categories))
        if given is not None
    }
    settings: dict[str, Any] = {
        "ks": ks,
        "ms": ms,
        "ground_truth": ground_truth,
        "formulas": formulas,
        "styles": styles,
        "weightings": weightings,
        "discounts": discounts,
        "ncs_ms": ncs_ms,
        "ideal_pool": ideal_pool,
        "category_cutoffs": category_cutoffs,
        "empty": empty,
    }
    if named and asp_ties:
        settings["asp_ties"] = asp_ties
    if hubness:
        settings |= {"hubness": True, "hub_ks": hub_ks}
    if positives:
        settings["positives"] = positives
    found = []
    for gallery in parts:
        evaluator = Evaluator(
            {name: phi if whole else gallery.phi(phi, every_row) for name, phi in named.items()} or None,
            gallery.image_of_caption,
            **settings,
            **{name: values[gallery.images] for name, values in of_image.items()},
        )
        with gallery.located():
            found.append(evaluator(matrix if whole else matrix[gallery.images][:, gallery.captions]))
        if progress is not None:
            progress(gallery)
    about = {**about_of(chosen, parts, n_images, n_captions), "phis": list(named)}
    return Scores(list(_averaged(found)), about)


def check_fit(protocol: Protocol | None, n_images: int, n_captions: int, name: str = "similarity") -> None:
    """Refuse a similarity, called ``name``, whose shape is not the protocol's.

    Raises:
        InputError: What was expected, and which protocol the matrix fits.
    """
    if protocol is None or protocol.accepts(n_images, n_captions):
        return
    if protocol.accepts(n_captions, n_images):
        check_orientation((n_images, n_captions), n_captions, n_images, name)
    fitting = [other.name for other in PROTOCOLS.values() if other.accepts(n_images, n_captions)]
    cure = f"these fit it: {', '.join(fitting)}" if fitting else "leave the protocol out to score the whole matrix"
    raise InputError(
        f"{name} is [{n_images}, {n_captions}], but {protocol.name} has {protocol.images} images and "
        f"{protocol.captions} captions; {cure}."
    )


def matrix_of(values: Any, name: str) -> NDArray[Any]:
    """A matrix as numpy has it; a torch tensor comes from wherever it is.

    Raises:
        InputError: If it is no matrix.
    """
    matrix = as_array(values)
    if matrix.ndim != 2 or not matrix.size:
        raise InputError(f"{name} has shape {list(matrix.shape)}; a matrix is expected.")
    return matrix


def about_of(protocol: Protocol | None, parts: Sequence[Gallery], n_images: int, n_captions: int) -> dict[str, Any]:
    """What every table says of the galleries that its numbers are of."""
    return {
        "protocol": WHOLE if protocol is None else protocol.name,
        "protocol_words": WHOLE if protocol is None else protocol.words,
        "images": parts[0].images.stop - parts[0].images.start,
        "captions": _mean_size([len(part.image_of_caption) for part in parts]),
        "galleries": len(parts),
        "file_images": n_images,
        "file_captions": n_captions,
        "averaged": "" if len(parts) == 1 else f"mean over {len(parts)} galleries, of medians and sums too",
        "tie_rule": TIE_RULE,
    }


def sentences(about: Mapping[str, Any]) -> list[str]:
    """The same for people, below a table."""
    size = f"{about['file_images']:,} images, {about['file_captions']:,} captions"
    if about["images"] != about["file_images"]:
        size += f"; scored in galleries of {about['images']:,} and {about['captions']:,}"
    averaged = f" ({about['averaged']})" if about["averaged"] else ""
    return [f"{size}; {about['protocol_words']}{averaged}; {about['tie_rule']}."]


def checked_split(
    protocol: Protocol | None, image_of_caption: ArrayLike | None, n_images: int, n_captions: int
) -> NDArray[np.int64]:
    """``[captions]`` image of each caption, after checking that a similarity's shape fits it and the protocol.

    Raises:
        InputError: If it does not, or the matrix looks transposed.
    """
    if image_of_caption is not None:
        given = np.asarray(image_of_caption)
        if given.ndim == 1 and given.size and given.dtype.kind in "iuf":
            check_orientation((n_images, n_captions), int(given.max()) + 1, len(given), "similarity")
        pairing = checked_pairing(given, n_captions, n_images)
        check_fit(protocol, n_images, n_captions)
        return pairing
    check_fit(protocol, n_images, n_captions)
    check_orientation((n_images, n_captions), None, None, "similarity")
    if n_captions % n_images:
        raise InputError(
            f"similarity is [{n_images}, {n_captions}]: {n_captions} captions are not equal blocks for {n_images} "
            "images; say whose each caption is (image_of_caption; on the command line --image-of-caption FILE)."
        )
    return np.repeat(np.arange(n_images), n_captions // n_images)


def checked_phis(
    phis: Mapping[str, ArrayLike] | ArrayLike | None,
    n_images: int,
    n_captions: int,
    more_rows: bool = False,
    protocol: Protocol | None = None,
) -> dict[str, NDArray[Any]]:
    """phi matrices by name, checked to fit.

    Args:
        phis: As in ``score``.
        n_images: Images of the similarity.
        n_captions: Its captions.
        more_rows: Whether a phi may have more rows, those of the similarity first; where the similarity is that of
            the protocol's gallery alone, a phi of the protocol's whole split is cut to the gallery's images.
        protocol: If there is one.

    Raises:
        InputError: If one does not.
    """
    if phis is None:
        return {}
    given = phis if isinstance(phis, Mapping) else {"phi": phis}
    fitting = {}
    for name, phi in given.items():
        matrix = matrix_of(phi, words_of_phi(str(name)))
        if more_rows and protocol is not None and matrix.shape == (protocol.captions, protocol.images):
            matrix = matrix[:, :n_images]
        fitting[str(name)] = checked_phi(matrix, n_images, n_captions, more_rows, str(name))
    return fitting


def _mean_size(sizes: Sequence[int]) -> int | float:
    """The mean, whole where all are equal: five folds of COCO have 5,000 captions each, if shuffled too."""
    return sizes[0] if len(set(sizes)) == 1 else float(np.mean(sizes))


def _per_image(name: str, values: ArrayLike, n_images: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim < 1 or len(array) != n_images:
        raise InputError(f"{name} is {list(array.shape)} but there are {n_images} images; give one row an image.")
    return array


def _averaged(of_galleries: Sequence[Sequence[MetricValue]]) -> Iterator[MetricValue]:
    """The mean over galleries of each number."""
    for same in zip(*of_galleries, strict=True):
        mean = same[0].copy()
        mean["value"] = float(np.mean([value["value"] for value in same]))
        yield mean
