"""Cosine similarity of embeddings, block by block, with one row per image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import CELLS_HELD
from fivesentences.errors import InputError, first_of
from fivesentences.retrieval.blocks import Output, filled
from fivesentences.retrieval.gallery import Gallery, checked_matrix, refuse_not_finite
from fivesentences.retrieval.products import IMAGES_PER_BLOCK, Products
from fivesentences.retrieval.repeated_rows import BY_RULE, refuse_repeats, repeats, rows_of_images, twins
from fivesentences.semantics.validation import checked_pairing

UNIT = 5e-3  # how far from 1 the length of a normalised vector may be, also in half precision


def cosine_similarity(
    images: ArrayLike, captions: ArrayLike, out: Output = None, normalise: bool = True
) -> NDArray[np.floating]:
    """Return cosines of every image with every caption: naive inference (kNN-margin eq. 1).

    Besides the result, only one block of each side is in memory; memory maps are read as they are. A result that takes
    more than half of the memory that is left lies in a temporary file.

    Args:
        images: ``[images, dim]`` embeddings, one row per image, any real dtype, finite. Half precision is multiplied
            in float32, float64 in float64.
        captions: ``[captions, dim]``.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill.
        normalise: Whether vectors are first scaled to length 1; if not, dot products.

    Returns:
        ``[images, captions]`` float32 (float64 if a side is float64 or integers; or what ``out`` names), in -1 to 1
        where normalised.

    Raises:
        InputError: If shapes disagree, a value is not finite, a vector is zero (it has no cosine, and would be ranked
            by index), the images are repeated once for each caption (see ``unique_images``), or ``out`` does not fit.
    """
    left, right = _checked_pair(images, captions, "images", "captions")
    refuse_repeats(left, "images")
    return _products(left, right, "similarity", out, normalise)


def cosine_of_rows(
    images: ArrayLike,
    captions: ArrayLike,
    name_of_images: str | Path,
    name_of_captions: str | Path,
    image_of_caption: ArrayLike | None = None,
    in_blocks: bool | None = None,
) -> tuple[NDArray[np.floating], str]:
    """Return cosines of embeddings as models store them: every image once, or once per caption.

    Args:
        images: ``[images, dim]``, or ``[captions, dim]`` with equal rows for equal images: in equal blocks, or as
            ``image_of_caption`` says.
        captions: ``[captions, dim]``.
        name_of_images: Name of the images for errors, such as their file.
        name_of_captions: Name of the captions for errors.
        image_of_caption: ``[captions]`` image index of each caption, where it is known.
        in_blocks: Whether the similarity is computed where it is read, and not held; default where it has more than
            150 million cells.

    Returns:
        ``[images, captions]`` as ``cosine_similarity`` or as ``Products``, and a sentence on merged rows, empty if
        none were.

    Raises:
        InputError: If shapes disagree, a value is not finite, a vector is zero, images are repeated and nothing says
            whose captions they are, rows of one image differ, or the two look exchanged.
    """
    left, right = _checked_pair(images, captions, name_of_images, name_of_captions)
    name = f"similarity of {name_of_images} and {name_of_captions}"
    if image_of_caption is not None and len(left) == len(right):
        pairing = checked_pairing(image_of_caption, len(right))
        if pairing.max() + 1 == len(left):
            return _products(left, right, name, in_blocks=in_blocks), ""
        left, merged = rows_of_images(left, pairing, name_of_images)
        return _products(left, right, name, in_blocks=in_blocks), merged
    often = repeats(left)
    if often > 1 and len(left) == len(right):
        merged = f"{name_of_images} has every image {often} times; one of each was taken."
        return _products(left[::often], right, name, in_blocks=in_blocks), merged
    exchanged = "give the embeddings of the images first, then those of the captions."
    if (of_captions := repeats(right)) > 1:
        what = f"{name_of_captions} has {len(right)} rows, each {of_captions} times, as embeddings of images have"
        raise InputError(f"{what}; {exchanged}")
    if len(left) > len(right):
        raise InputError(f"{name_of_images} has {len(left)} rows and {name_of_captions} only {len(right)}; {exchanged}")
    if image_of_caption is None:
        if len(left) == len(right) and (twins(right) >= 0).mean() > max(BY_RULE, 2 * (twins(left) >= 0).mean()):
            what = f"rows of {name_of_captions} are repeated, as embeddings of images are, and those of"
            raise InputError(f"{what} {name_of_images} are not; {exchanged}")
        refuse_repeats(left, name_of_images)
    return _products(left, right, name, in_blocks=in_blocks), ""


def gallery_of_embeddings(
    images: ArrayLike,
    captions: ArrayLike,
    image_of_caption: ArrayLike | None = None,
    names: tuple[str, str] = ("images", "captions"),
    in_blocks: bool | None = None,
) -> Gallery:
    """Return the gallery of the cosine similarity of embeddings; its notes say what was done to them.

    Arguments and errors as in ``cosine_of_rows``, and as in ``Gallery.of``.
    """
    left, right = checked_matrix(images, names[0]), checked_matrix(captions, names[1])
    similarity, merged = cosine_of_rows(left, right, *names, image_of_caption, in_blocks)
    gallery = Gallery.of(similarity, image_of_caption)
    return replace(gallery, notes=(note_on_embeddings(left, right), *filter(None, [merged])))


def note_on_embeddings(images: NDArray, captions: NDArray) -> str:
    """Return a sentence on the similarity of embeddings, and on their lengths where these are not 1."""
    done = ""
    if not (_is_normalised(images) and _is_normalised(captions)):
        lengths = np.concatenate([*_lengths(images), *_lengths(captions)])
        done = f", normalised first (lengths {lengths.min():.3g} to {lengths.max():.3g})"
    return f"Cosine similarity of embeddings of {images.shape[1]} dimensions{done}."


def are_embeddings(
    images: NDArray, captions: NDArray, image_of_caption: NDArray[np.int64] | None = None
) -> bool | None:
    """Tell whether two matrices are embeddings of images and of their captions, by what their shapes allow.

    Embeddings have equally many columns. So have two similarities of the same images and captions, which rows of length
    1 with both signs never are.

    Args:
        images: ``[images, dim]``, if they are.
        captions: ``[captions, dim]``.
        image_of_caption: ``[captions]`` image index of each caption; default equal blocks.

    Returns:
        True, False, or None if they may also be two matrices whose rows are captions.
    """
    (rows, columns), (others, width) = images.shape, captions.shape

    def fit(n_images: int, n_captions: int) -> bool:
        if image_of_caption is None:
            return n_captions % n_images == 0
        one_per_image = n_images in (n_captions, int(np.max(image_of_caption, initial=-1)) + 1)
        return len(image_of_caption) == n_captions and one_per_image

    if columns != width:
        return False
    if all(_is_normalised(side) and side.min() < 0 for side in (images, captions)):
        return True
    if fit(rows, columns) and fit(others, columns) and (rows == others or columns in (rows, others)):
        return False
    if rows == others and fit(columns, rows):
        return None
    return not fit(rows, columns) or fit(rows, others) or fit(others, rows)


def _lengths(matrix: NDArray) -> Iterator[NDArray[np.float64]]:
    """Yield the lengths of the rows of each block."""
    with np.errstate(over="ignore"):
        for start in range(0, len(matrix), IMAGES_PER_BLOCK):
            yield np.linalg.norm(matrix[start : start + IMAGES_PER_BLOCK].astype(np.float64), axis=1)


def _is_normalised(matrix: NDArray) -> bool:
    return all(bool((np.abs(lengths - 1) < UNIT).all()) for lengths in _lengths(matrix))


def _checked_pair(
    images: ArrayLike, captions: ArrayLike, name_of_images: str | Path, name_of_captions: str | Path
) -> tuple[NDArray, NDArray]:
    left, right = checked_matrix(images, name_of_images), checked_matrix(captions, name_of_captions)
    if left.shape[1] != right.shape[1]:
        shapes = f"{name_of_images} is {list(left.shape)} but {name_of_captions} is {list(right.shape)}"
        raise InputError(f"{shapes}; embeddings of images and captions have the same number of columns.")
    for name, matrix in ((name_of_images, left), (name_of_captions, right)):
        refuse_not_finite(matrix, name, "row and column, from 0", "compute this embedding again")
        starts = range(0, len(matrix), IMAGES_PER_BLOCK)
        zero = np.flatnonzero(np.concatenate([~matrix[at : at + IMAGES_PER_BLOCK].any(axis=1) for at in starts]))
        if len(zero):
            which = first_of(zero.tolist(), 5)
            raise InputError(
                f"{len(zero)} of {len(matrix)} rows {'are' if len(zero) > 1 else 'is'} all zeros ({which}, from 0), "
                "which have no direction, so that only their index would rank them",
                where=name,
                cure="compute them again, or leave out these images with their captions (or these captions)",
            )
    return left, right


def _products(
    left: NDArray,
    right: NDArray,
    name: str,
    out: Output = None,
    normalise: bool = True,
    in_blocks: bool | None = False,
) -> NDArray[np.floating]:
    """Compute cosines, or dot products, of all rows with all rows, now or where they are read."""
    products = Products(left, right, normalise)
    if products.size > CELLS_HELD if in_blocks is None else in_blocks:
        return cast("NDArray[np.floating]", products)  # which is read as an array

    def fill(result: NDArray) -> None:
        for block in products.blocks():
            result[block.images, block.captions] = block.scores

    return filled(
        out, products.shape, fill, name=name, dtype=np.float64 if products.dtype == np.float64 else np.float32
    )


def unique_images(rows: ArrayLike) -> NDArray:
    """Return the first row of each image, where rows repeat every image equally often (once for each of its captions).

    The layout of stored VSE++ embeddings: five rows per image, equal up to rounding. In inverted softmax such rows
    would count every image five times, and in hubness they would share the counts of one image.

    Args:
        rows: ``[images x times, dim]`` embeddings, or a similarity ``[images x times, captions]``.

    Returns:
        ``[images, ...]`` a view of every ``times``-th row; ``rows`` itself where nothing is repeated.

    Raises:
        InputError: If it is not a matrix of real numbers, or images are repeated otherwise than in equal blocks (a, b,
            c, a, b, c; or a, a, b, b, b).
    """
    matrix = checked_matrix(rows, "rows")
    times = repeats(matrix)
    if times == 1:
        refuse_repeats(matrix, "rows")
    return matrix[::times]
