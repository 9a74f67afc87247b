"""A checked gallery: a similarity matrix, the image of each of its columns, and the phi matrices that fit it.

All mistakes in these matrices are refused here, once, with one sentence each. Metrics, evaluation, commands and
re-scoring receive a ``Gallery`` and trust it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import Unheld, plain_array
from fivesentences.errors import Argument, Cure, InputError
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.repeated_rows import refuse_repeats, rows_of_images
from fivesentences.semantics.validation import check_gains, checked_pairing

UNNAMED = "phi"  # name of a phi that is given without one
CELLS_OF_SPARSE = 1 << 32  # of a tensor that is stored with fewer numbers than it has cells
LARGEST_PHI = 1e30  # sums and squares of more would overflow
EXACT = 1 << 53  # up to here float64 holds every integer
CELLS_AT_ONCE = 1 << 18  # checked to be finite at a time, few enough to stay in the processor's cache


@dataclass(frozen=True)
class Source:
    """Where a phi was read from, for errors.

    Attributes:
        file: The file.
        origin: Says which captions the matrix seems to be made of; called only if the matrix does not fit.
    """

    file: str
    origin: Callable[[], str]


@dataclass(frozen=True, eq=False)
class Gallery:
    """Images, their captions, and the scores that a model and phi give to each pair.

    ``Gallery.of`` makes and checks it: all values are finite; every image has one row and at least one caption.

    Attributes:
        similarity: ``[images, captions]``, larger is more similar; any real dtype.
        image_of_caption: ``[captions]`` image index of each caption.
        phis: By name, ``[captions, images]``; with ``more_rows`` perhaps further captions below those of the gallery.
        name: Name of the similarity for errors; a ``Path`` if it was read from that file.
        notes: Sentences on how the similarity was made of what was given.
        kept: ``[captions that were given]`` which of them these are; None for all.
    """

    similarity: NDArray[Any]
    image_of_caption: NDArray[np.int64]
    phis: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    name: str | Path = "similarity"
    notes: tuple[str, ...] = ()
    kept: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls,
        similarity: ArrayLike | Gallery,
        image_of_caption: ArrayLike | None = None,
        phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
        *,
        more_rows: bool = False,
        name: str | Path = "similarity",
    ) -> Gallery:
        """Check matrices and put them together.

        Args:
            similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Memory maps and torch
                tensors, on any device, are accepted. A gallery is taken as it is. Where ``image_of_caption`` is
                given, there may be one row per caption: equal rows of one image are merged.
            image_of_caption: ``[captions]`` image index of each caption; default equal, image-major blocks.
            phis: ``[captions, images]`` by name, one matrix (which is called "phi"), or None.
            more_rows: As in ``with_phis``.
            name: Name of the similarity for errors.

        Raises:
            InputError: If ``similarity`` is not a matrix of finite real numbers, looks transposed or repeats its
                images where nothing says whose captions they are; if ``image_of_caption`` is missing or does not fit,
                or rows of one image differ; or as ``with_phis``.
        """
        if not isinstance(similarity, Gallery):
            matrix, pairing, notes = _checked_pair(similarity, image_of_caption, name)
            gallery = cls(matrix, pairing, name=name, notes=notes)
        elif image_of_caption is not None:
            raise InputError("a gallery already says whose each caption is; leave image_of_caption out.")
        else:
            gallery = similarity
        return gallery if phis is None else gallery.with_phis(phis, more_rows=more_rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Images and captions."""
        return self.n_images, self.n_captions

    @property
    def n_images(self) -> int:
        """Number of images."""
        return int(self.similarity.shape[0])

    @property
    def n_captions(self) -> int:
        """Number of captions."""
        return int(self.similarity.shape[1])

    def with_phis(
        self,
        phis: Mapping[str, ArrayLike] | ArrayLike,
        *,
        more_rows: bool = False,
        split: tuple[int, int] | None = None,
        sources: Mapping[str, Source] | None = None,
    ) -> Gallery:
        """Return the same gallery with these phi matrices in place of its own.

        Args:
            phis: ``[captions, images]`` by name, or one matrix, which is called "phi"; any real dtype, finite.
            more_rows: Whether a phi may have further captions below those of the gallery.
            split: Images and captions of a larger split that the gallery is the beginning of. With ``more_rows``, a
                phi of all of it is cut to the images of the gallery.
            sources: Where a phi was read from, by its name.

        Raises:
            InputError: If a phi has no name, is not a matrix of finite real numbers, does not fit or looks transposed.
        """
        named = phis if isinstance(phis, Mapping) else {UNNAMED: phis}
        for name in named:
            if not isinstance(name, str) or not name:
                raise InputError(f"a phi is named {name!r}; give every phi a name such as 'CIDEr'.")
        known, whose = sources or {}, self.name if isinstance(self.name, Path) else "similarity"
        given: dict[str, Any] = {"more_rows": more_rows, "split": split, "whose": whose}
        checked = {
            name: checked_phi(phi, self.shape, name, source=known.get(name), **given) for name, phi in named.items()
        }
        return replace(self, phis=checked)

    def and_phis(self, phis: Mapping[str, NDArray[Any]]) -> Gallery:
        """Return the same gallery with further phi matrices that were computed for it, so that they need no check."""
        return replace(self, phis={**self.phis, **phis})

    def with_similarity(self, similarity: Similarity, name: str | Path | None = None) -> Gallery:
        """Return the same images, captions and phi matrices with another similarity, such as a re-scored one.

        Args:
            similarity: ``[images, captions]`` of the same images and captions, or a gallery that has it.
            name: Its name for errors; default the name of the gallery's own.

        Raises:
            InputError: If it is not a matrix of finite real numbers, looks transposed, or is of another shape.
        """
        called = similarity.name if isinstance(similarity, Gallery) else name or self.name
        notes = similarity.notes if isinstance(similarity, Gallery) else ()
        matrix = checked_similarity(similarity, self.shape, called)
        if self.kept is not None and matrix.shape == (self.n_images, len(self.kept)):
            matrix = matrix[:, self.kept]
        if matrix.shape != self.shape and matrix.shape == (self.n_captions, self.n_captions):
            matrix, merged = rows_of_images(matrix, self.image_of_caption, called)
            notes = (merged,)
        if matrix.shape != self.shape:
            shapes = f"{called} is {list(matrix.shape)} but {self.name} is {list(self.shape)}"
            raise InputError(f"{shapes}; both must be of the same images and captions.")
        return replace(self, similarity=matrix, name=called, notes=notes)

    def first_captions(self, number: int | None) -> Gallery:
        """Return the gallery of the first captions of each image, as benchmarks take the first five of COCO's.

        Args:
            number: How many of each image; images with fewer keep all. None: all of every image.

        Raises:
            InputError: If it is below 1.
        """
        if number is None:
            return self
        if number < 1:
            raise InputError(f"is {number}; it must be at least 1.", where=Argument("first_captions"))
        order = np.argsort(self.image_of_caption, kind="stable")
        counts = np.bincount(self.image_of_caption)
        place = np.empty(len(order), dtype=np.int64)  # of each caption among those of its image
        place[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = place < number
        phis = {name: np.concatenate([phi[: len(kept)][kept], phi[len(kept) :]]) for name, phi in self.phis.items()}
        pairing = self.image_of_caption[kept]
        return replace(self, similarity=self.similarity[:, kept], image_of_caption=pairing, phis=phis, kept=kept)

    def part(self, images: slice, every_row: bool = False) -> Gallery:
        """Return the gallery of some consecutive images and their captions.

        Nothing is copied where the captions stand together too.

        Args:
            images: Which images.
            every_row: Whether the captions of all other images follow those of the part in every phi.
        """
        if images == slice(0, self.n_images):
            return self
        captions = self.captions_of(images)
        first = isinstance(captions, slice) and captions.start == 0

        def rows(phi: NDArray[Any]) -> slice | NDArray[np.int64]:
            if not every_row or first:  # the part's captions may come first as it is
                return slice(None) if every_row else captions
            everyone = np.arange(len(phi))
            return np.concatenate([everyone[captions], np.delete(everyone, captions)])

        return replace(
            self,
            similarity=self.similarity[images][:, captions],
            image_of_caption=self.image_of_caption[captions] - images.start,
            phis={name: phi[rows(phi), images] for name, phi in self.phis.items()},
            kept=None,
        )

    def captions_of(self, images: slice) -> slice | NDArray[np.int64]:
        """Return the captions of some consecutive images: a slice if they stand together, so that nothing is copied."""
        chosen = np.flatnonzero((self.image_of_caption >= images.start) & (self.image_of_caption < images.stop))
        together = chosen[-1] - chosen[0] + 1 == len(chosen)
        return slice(int(chosen[0]), int(chosen[-1]) + 1) if together else chosen


# What functions on a similarity take: an array, or a gallery that was checked before.
Similarity = ArrayLike | Gallery


def name_of(similarity: Similarity) -> str | Path:
    """Return the name of a similarity for errors."""
    return similarity.name if isinstance(similarity, Gallery) else "similarity"


def checked_similarity(
    similarity: Similarity, shape: tuple[int, ...] | None = None, name: str | Path = "similarity"
) -> NDArray[Any]:
    """Return a similarity ``[images, captions]`` of finite real numbers, not transposed, each image once.

    Checks all that can be checked without knowing whose caption each column is. The matrix of a gallery is returned as
    it is.

    Args:
        similarity: The matrix, or a gallery.
        shape: Expected images and captions, where known: a matrix of the reversed shape is transposed. By default, a
            matrix with more rows than columns is, since every image has a caption.
        name: Name for errors.

    Raises:
        InputError: If it is something else. Another shape, not reversed, is not refused here.
    """
    if isinstance(similarity, Gallery):
        return similarity.similarity
    matrix = checked_matrix(similarity, name)
    n_images, n_captions = matrix.shape
    called = "similarity" if isinstance(name, Path) else name
    if shape is None and n_images > n_captions:
        raise InputError(
            f"{name} is {[n_images, n_captions]}, but rows are images, columns captions, and every image has a caption",
            cure=Cure(
                "pass similarity.T if its rows are captions, or evaluate(images, texts) if these are embeddings",
                "give --transposed if its rows are captions, or IMAGES,TEXTS if these are embeddings",
            ),
        )
    if shape is not None and n_images != n_captions and matrix.shape == shape[::-1]:
        raise InputError(
            f"{name} is {[n_images, n_captions]}, but there are {shape[0]} images and {shape[1]} captions: it looks "
            "transposed",
            cure=Cure(f"pass {called}.T", "give --transposed, or save its transpose"),
        )
    cure = "score this pair again (an embedding of zeros divided by its length gives NaN, and float16 ends at 65504)"
    if (found := first_not_finite(matrix)) and np.isneginf(matrix[found]):
        scored = sum(int(np.isfinite(block).sum()) for _, block in _blocks(matrix))
        cure = (
            f"{scored:,} of {matrix.size:,} pairs have a score. If a re-ranker scored the first candidates alone, fill "
            "the others from the similarity that chose them, less a constant that puts these below all of its scores; "
            "equal values would rank them by index"
        )
    refuse_not_finite(matrix, f"{name}: similarity" if isinstance(name, Path) else name, "image {0}, caption {1}", cure)
    # Only then can each image be repeated once per caption; whoever names an image for each caption has said that not.
    if n_images == n_captions and shape is None and not isinstance(matrix, ItemLists):
        refuse_repeats(matrix, name)
    return matrix


def _checked_pair(
    similarity: ArrayLike, image_of_caption: ArrayLike | None, name: str | Path
) -> tuple[NDArray[Any], NDArray[np.int64], tuple[str, ...]]:
    """Return a similarity, the image of each of its columns, and sentences on what was made of its rows."""
    if image_of_caption is None:
        matrix = checked_similarity(similarity, name=name)
        n_images, n_captions = matrix.shape
        if n_captions % n_images:
            raise InputError(
                f"{name} is {[n_images, n_captions]}: {n_captions} captions are not equal blocks for {n_images} images",
                cure=Cure("pass image_of_caption, the image index of each caption", "give --image-of-caption FILE"),
            )
        return matrix, np.repeat(np.arange(n_images), n_captions // n_images), ()
    owners = as_array(image_of_caption, "image_of_caption")
    countable = owners.ndim == 1 and owners.size and owners.dtype.kind in "iuf" and np.isfinite(owners).all()
    matrix = checked_similarity(similarity, (int(owners.max()) + 1, len(owners)) if countable else (0, 0), name)
    one_per_caption = matrix.shape[0] == matrix.shape[1] == len(owners)
    pairing = checked_pairing(owners, matrix.shape[1], None if one_per_caption else matrix.shape[0])
    if not one_per_caption or pairing.max() + 1 == len(pairing):
        return matrix, pairing, ()
    matrix, merged = rows_of_images(matrix, pairing, name)
    return matrix, pairing, (merged,)


def checked_phi(
    phi: ArrayLike,
    shape: tuple[int, ...],
    name: str = UNNAMED,
    *,
    more_rows: bool = False,
    split: tuple[int, int] | None = None,
    source: Source | None = None,
    whose: str | Path = "similarity",
    gains: bool = True,
) -> NDArray[Any]:
    """Return a phi ``[captions, images]`` of finite real numbers that fits a similarity.

    Args:
        phi: The matrix.
        shape: Images and captions of the similarity.
        name: Name of the phi.
        more_rows: As in ``Gallery.with_phis``.
        split: As in ``Gallery.with_phis``.
        source: Where the phi was read from.
        whose: Name of the similarity for errors.
        gains: True if phi is added up, as in NCS, nDCG and semantic recall, so that it must be at least 0 and
            somewhere more; False if only its order counts, as in ASP.

    Raises:
        InputError: If it is something else, does not fit, looks transposed, or is out of range.
    """
    prefix = UNNAMED if name == UNNAMED else f"{UNNAMED} {name}"
    called = source.file if source else prefix
    matrix = checked_matrix(phi, called)
    n_images, n_captions = shape
    if more_rows and split is not None and matrix.shape == split[::-1]:
        matrix = matrix[:, :n_images]
    rows, columns = matrix.shape
    fit = f"{called} is [{rows}, {columns}] but {whose} has {n_images} images and {n_captions} captions"
    if columns == n_images and (rows == n_captions or (more_rows and rows > n_captions)):
        if isinstance(matrix, Unheld):
            return matrix  # of captions; that it is 0 everywhere is seen where it is read
        cell = f"{source.file}: phi" if source else UNNAMED if name == UNNAMED else f"{name}: {UNNAMED}"
        refuse_not_finite(
            matrix, cell, "image {1}, caption {0}", "make phi again, or put 0 where the metric says nothing"
        )
        lowest, highest = float(matrix.min()), float(matrix.max())
        if max(highest, -lowest) > LARGEST_PHI:
            what = f"{called} holds values up to {max(highest, -lowest):.3g}, whose sums no float holds; scale it."
            raise InputError(what)
        if gains:
            check_gains(matrix, cell, (lowest, highest))
        return matrix
    if (rows, columns) == (n_images, n_captions):
        raise InputError(
            f"{fit}: phi looks transposed, its rows are captions and its columns images",
            cure=Cure("pass its transpose", "save its transpose"),
        )
    if columns == n_images and rows > n_captions and source is None:
        raise InputError(
            f"{fit}: to score a part of what phi covers keep its first {n_captions} rows, or choose the ideal pool "
            "'given_rows' if the ideal of NCS is to be taken over all rows."
        )
    if source and rows == n_captions:
        options = "--image-of-caption FILE"
        if n_captions % n_images == 0:
            options = f"--per-image {n_captions // n_images} or {options}"
        cure = "say how many captions an image has, or which image each belongs to, when making phi: fivesentences phi"
        raise InputError(f"{fit}: {source.origin()}", cure=f"{cure} ... {options}")
    origin = source.origin() if source else "the caption file differs from the one phi was made of"
    raise InputError(f"{fit}: {origin}; make phi of the captions that the similarity was made of.")


# --- matrices -----------------------------------------------------------------------------------------------


def as_array(values: Any, name: str | Path = "the array") -> NDArray[Any]:
    """Return the values as a numpy array; a torch tensor is detached and copied to the CPU, without importing torch.

    A dense tensor on the CPU shares its memory with the array. bfloat16 and float8, which numpy lacks, become float32;
    sparse and quantised tensors become dense ones.

    Args:
        values: An array, a tensor, or lists.
        name: Name for errors.

    Raises:
        InputError: If a mask hides a value, rows differ in length, or it is a tensor without numbers for every cell.
    """
    if not isinstance(values, np.ndarray) and hasattr(values, "detach") and hasattr(values, "cpu"):
        values = _of_tensor(values, str(name))
    return plain_array(values, str(name))


def _of_tensor(tensor: Any, name: str) -> NDArray[Any]:
    is_nested = getattr(tensor, "is_nested", False)
    kind = f"{tensor.dtype} of shape {'?' if is_nested else list(getattr(tensor, 'shape', ()))[:8]}"
    if is_nested or getattr(tensor, "is_meta", False):
        why = "nested: its rows differ in length" if is_nested else "on the device 'meta', where it has no values"
        raise InputError(f"{name} is a tensor, {kind}, that is {why}; give a tensor with a number in every cell.")
    is_sparse = str(getattr(tensor, "layout", "torch.strided")) != "torch.strided"
    # Few numbers in a file can stand for more cells than any memory has.
    if (is_sparse or (hasattr(tensor, "stride") and 0 in tensor.stride())) and tensor.numel() > CELLS_OF_SPARSE:
        raise InputError(f"{name} is a sparse or expanded tensor, {kind}; at most {CELLS_OF_SPARSE:,} cells are read.")
    try:
        tensor = tensor.detach().cpu()
        tensor = tensor.to_dense() if is_sparse else tensor
        if getattr(tensor, "is_quantized", False):
            tensor = tensor.dequantize()
        elif str(tensor.dtype) == "torch.bfloat16" or str(tensor.dtype).startswith("torch.float8"):
            tensor = tensor.float()
        elif getattr(tensor, "is_neg", bool)():  # a view of negated values, which numpy lacks
            tensor = tensor.resolve_neg()
        return np.asarray(tensor.numpy())
    except (TypeError, RuntimeError, NotImplementedError) as error:  # torch has many types that numpy lacks
        why = str(error).strip().partition("\n")[0].rstrip(".")[:150]
        raise InputError(f"{name} is {kind}, which is not a matrix of real numbers ({why}); give float32.") from None


def checked_matrix(values: ArrayLike, name: str | Path = "similarity") -> NDArray[Any]:
    """Return a matrix of real numbers, not yet known to be finite.

    Raises:
        InputError: If it is something else, or integers that no float64 holds exactly.
    """
    if isinstance(values, Unheld | ItemLists):
        return cast("NDArray[Any]", values)  # which were checked where they were made
    matrix = as_array(values, name)
    if matrix.ndim != 2 or matrix.size == 0 or matrix.dtype.kind not in "fiub":
        what = f"{str(matrix.dtype)[:80]} of shape {list(matrix.shape)[:8]}"
        cure = "; load the file first, with numpy.load" if isinstance(values, (str, os.PathLike)) else ""
        raise InputError(f"{name} is {what}; a matrix of real numbers is expected{cure}.")
    if matrix.dtype.kind in "iu" and matrix.dtype.itemsize == 8:
        for start, block in _blocks(matrix):
            # Everything is computed in float64 at most. Python compares exactly, as numpy's float64 would not.
            for row, column in np.argwhere((block > EXACT) | (block < (-EXACT if block.dtype.kind == "i" else 0))):
                value = int(block[row, column])
                if int(float(value)) != value:
                    rounded = f"which float64 would round to {int(float(value))}, perhaps like others"
                    raise InputError(f"{name}[{start + row}, {column}] is {value}, {rounded}; subtract a constant.")
    return matrix


def _blocks(matrix: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield consecutive rows, and the index of the first of them."""
    step = max(1, CELLS_AT_ONCE // matrix.shape[1])
    for start in range(0, len(matrix), step):
        yield start, matrix[start : start + step]


def first_not_finite(matrix: NDArray[Any]) -> tuple[int, int] | None:
    """Return row and column of the first value that is NaN or infinite; None if all are finite."""
    if matrix.dtype.kind != "f" or isinstance(matrix, Unheld | ItemLists):
        return None
    if matrix.flags.f_contiguous and not matrix.flags.c_contiguous:  # as the file of a transposed matrix lies
        found = first_not_finite(matrix.T)
        return None if found is None else (found[1], found[0])
    for start, block in _blocks(matrix):
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.unravel_index(int(finite.argmin()), finite.shape)
            return start + int(row), int(column)
    return None


def refuse_not_finite(matrix: NDArray[Any], name: str | Path, place: str, cure: str) -> None:
    """Refuse a matrix in which a value is NaN or infinite.

    Args:
        matrix: The matrix.
        name: Its name for errors.
        place: The place of a value in words, with ``{0}`` for its row and ``{1}`` for its column.
        cure: The cure, for the error.

    Raises:
        InputError: If there is such a value.
    """
    if found := first_not_finite(matrix):
        what = f"{name}[{found[0]}, {found[1]}] is {float(matrix[found])} ({place.format(*found)})"
        raise InputError(f"{what}; every value must be finite: {cure}.")
