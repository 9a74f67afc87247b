"""Parts of an evaluation: what some images and their captions contribute, made on different machines and joined.

A part reads the captions of some consecutive images: their whole rankings, and which of them are among the first items
of every image. Phi is read for these captions alone. The parts of a gallery have everything that its numbers need.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.metrics.in_blocks import Best, Places, ReadBefore, Reading, read_products
from fivesentences.metrics.notes import Placement, note_on_equal_rows
from fivesentences.metrics.relevance_in_blocks import PhiReading, ReadPhi, read_phi
from fivesentences.retrieval import Gallery
from fivesentences.retrieval.arguments import DIRECTIONS, Direction
from fivesentences.retrieval.products import Products
from fivesentences.semantics.phi_file import pairing_sha256
from fivesentences.semantics.scored import ScoredPhi
from fivesentences.storage import write_json

FORMAT = "fivesentences.part 1"
AGAIN = "make the part again (evaluate --queries FIRST:STOP --json FILE)"
COUNTS = ("best", "target", "ahead", "equal", "earlier")  # of ``Places``
ROUNDING = 1e-4  # of the largest score, by which processors may differ
MARK = f'"{FORMAT}"'.encode()
MODEL = re.compile(rb'^ "model": ("(?:[^"\\\\]|\\\\.)*"),$', re.MULTILINE)
HEAD = 8192  # bytes of a file within which format and model stand, since keys are sorted


@dataclass(frozen=True)
class Part:
    """What the captions of some images contribute.

    Attributes:
        path: Its file.
        images: Which images.
        model: Words on the model.
        notes: Sentences on the gallery.
        about: Facts about the captions: dataset, split, digests.
        reading: Of the similarity.
        phis: Of each phi, by name.
    """

    path: Path
    images: slice
    model: str
    notes: list[str]
    about: Mapping[str, Any]
    reading: Reading
    phis: Mapping[str, PhiReading]


def queries_named(text: str, n_images: int) -> slice:
    """Return the images that are named: ``FIRST:STOP`` from 0, the last one being STOP - 1, or the part ``2/7`` of all.

    Raises:
        InputError: If it is neither, or reaches beyond the images.
    """
    numbers = re.fullmatch(r"\s*(\d{1,12})\s*([:/])\s*(\d{1,12})\s*", text)
    if numbers is None:
        what = f"it is '{text:.40}'; write FIRST:STOP, such as 0:10000, or PART/PARTS, such as 2/7"
        raise InputError(what, where="--queries")
    first, stop = int(numbers[1]), int(numbers[3])
    if numbers[2] == "/":
        if not 1 <= first <= stop <= n_images:
            what = f"it is '{text}'; of {n_images:,} images there are 1 to {n_images:,} parts, the first being 1/{stop}"
            raise InputError(what, where="--queries")
        first, stop = (n_images * at // stop for at in (first - 1, first))
    if not first < stop <= n_images:
        what = f"it is '{text}', and there are {n_images:,} images"
        raise InputError(what, where="--queries", cure=f"give a range within 0:{n_images}")
    return slice(first, stop)


def model_of_part(path: Path) -> str | None:
    """Return words on the model that a file of ``write_part`` is of; None for other files."""
    if path.suffix != ".json" or not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(HEAD)
    named = MODEL.search(head)
    return str(json.loads(named[1])) if named is not None and MARK in head else None


def write_part(
    gallery: Gallery, scorer: ProtocolScorer, images: slice, path: Path, model: str, about: Mapping[str, Any]
) -> None:
    """Read what the captions of some images contribute, and write it.

    Args:
        gallery: All images and captions; similarity and phi are read in blocks.
        scorer: What the numbers will be, which says how deep rankings are kept.
        images: Which images.
        path: The file.
        model: Words on the model.
        about: Facts about the captions.

    Raises:
        InputError: If a matrix is held, so that it is scored whole.
    """
    similarity, pairing = gallery.similarity, gallery.image_of_caption
    held = [name for name, phi in gallery.phis.items() if not isinstance(phi, ScoredPhi)]
    if not isinstance(similarity, Products) or held:
        what = f"phi {held[0]}" if held else "the similarity"
        cure = "give embeddings, and captions by which phi is scored (--captions, --metric)"
        raise InputError(f"{what} is a matrix, and parts are made of what is computed where it is read", cure=cure)
    captions = np.flatnonzero((pairing >= images.start) & (pairing < images.stop))
    depth, phi_depth = scorer.parts[0][2].depths(scorer.gallery(scorer.whole, 0))
    reading = read_products(similarity, pairing, depth, captions)
    notes = [*gallery.notes]
    if images.start == 0:  # what is said of the whole gallery is said once
        notes += note_on_equal_rows(similarity, gallery.name)
        places, one = reading.places["t2i"], np.ones(len(captions), dtype=np.int64)
        placed = Placement(places.ahead, places.equal - one, one, one * gallery.n_images)
        notes += scorer.notes_on_order(gallery, placed.ranks_well)
    expected = {side: reading.best[side].items for side in DIRECTIONS}
    arrays = {"pairing": pairing, "captions": captions}
    for side in DIRECTIONS:
        places, best = reading.places[side], reading.best[side]
        arrays |= {f"{side}.{name}": getattr(places, name) for name in COUNTS}
        arrays |= {f"{side}.scores": best.scores, f"{side}.items": best.items}
        arrays[f"{side}.own_equal"] = reading.own_equal[side]
    phis = {}
    for name, phi in gallery.phis.items():
        assert isinstance(phi, ScoredPhi)
        read = read_phi(phi, pairing, phi_depth, expected, captions)
        of_phi: dict[str, NDArray[Any]] = {"own": read.own, "anything": read.anything}
        for side in DIRECTIONS:
            items, values = read.best[side]
            of_phi |= {f"{side}.items": items, f"{side}.phi": values, f"{side}.sums": read.sums[side]}
            of_phi[f"{side}.expected"] = read.expected[side][0][1]
        phis[name] = _written(of_phi)
    content = {
        "format": FORMAT,
        "queries": [images.start, images.stop],
        "model": model,
        "images": gallery.n_images,
        "image_of_caption_sha256": pairing_sha256(pairing),
        "depth": depth,
        "phi_depth": phi_depth,
        "notes": notes,
        "of": dict(about),
        "read": _written(arrays),
        "phis": [{"name": name} | stored for name, stored in phis.items()],
    }
    write_json(path, content)


def read_part(path: Path) -> Part:
    """Read what ``write_part`` wrote.

    Raises:
        InputError: If the file is missing or damaged, or is not one of these.
    """
    content = read_json(path, AGAIN)
    try:
        if content["format"] != FORMAT:
            raise ValueError(content["format"])
        first, stop = content["queries"]
        n_images, depth, phi_depth = (int(content[key]) for key in ("images", "depth", "phi_depth"))
        arrays = {name: _array(one) for name, one in content["read"].items()}
        pairing, captions = arrays["pairing"], arrays["captions"]
        of_part = np.flatnonzero((pairing >= first) & (pairing < stop))
        if pairing_sha256(pairing) != content["image_of_caption_sha256"] or not np.array_equal(of_part, captions):
            raise ValueError("captions")
        sizes: dict[Direction, int] = {"i2t": n_images, "t2i": len(captions)}
        gallery: dict[Direction, int] = {"i2t": len(pairing), "t2i": n_images}
        best, places = dict[Direction, Best](), dict[Direction, Places]()
        for side, size in sizes.items():
            scores, items = arrays[f"{side}.scores"], arrays[f"{side}.items"]
            shape = size, min(depth, gallery[side])
            if scores.shape != shape or items.shape != shape or scores.dtype.kind != "f":
                raise ValueError(side)
            _check_items(items, gallery[side])
            best[side] = Best(0, 1, scores.dtype)
            best[side].scores, best[side].items = scores, items
            places[side] = Places(*(_of_size(arrays[f"{side}.{name}"], size) for name in COUNTS))
        own_equal = {side: _of_size(arrays[f"{side}.own_equal"], size) for side, size in sizes.items()}
        reading = Reading(pairing, depth, best, places, own_equal, captions)
        phis = {}
        for stored in content["phis"]:
            name = str(stored.pop("name"))
            one = {key: _array(value) for key, value in stored.items()}
            by_phi, expected = {}, {}
            for side, size in sizes.items():
                items, values, given = (one[f"{side}.{key}"] for key in ("items", "phi", "expected"))
                shape = size, min(phi_depth, gallery[side])
                if items.shape != shape or values.shape != shape or given.shape != best[side].items.shape:
                    raise ValueError(name)
                _check_items(items, gallery[side])
                by_phi[side], expected[side] = (items, values), [(best[side].items, given)]
            sums = {side: _of_size(one[f"{side}.sums"], size) for side, size in sizes.items()}
            own, anything = _of_size(one["own"], len(captions)), _of_size(one["anything"], n_images).astype(bool)
            phis[name] = PhiReading(phi_depth, by_phi, expected, sums, own, anything, captions)
        notes, about = [str(note) for note in content["notes"]], dict(content["of"])
        return Part(path, slice(first, stop), str(content["model"]), notes, about, reading, phis)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        what = f"this is not a part of an evaluation that this version reads ({str(error)[:60]})"
        raise InputError(what, where=path, cure=AGAIN) from None


def gallery_of_parts(models: Sequence[Sequence[Path]]) -> tuple[list[Gallery], list[Part]]:
    """Join the parts of each model.

    Args:
        models: The files of each model's parts, in any order.

    Returns:
        The gallery of each model, all with the same phi, and its first part.

    Raises:
        InputError: If parts are of different galleries, phi or depths, overlap, or leave images out.
    """
    found: list[tuple[Reading, dict[str, PhiReading], Part]] = []
    reference: Part | None = None
    for paths in models:
        parts = sorted((read_part(path) for path in paths), key=lambda part: part.images.start)
        reference = reference or parts[0]
        for part in parts:
            _check_like(reference, part)
            if part.model != parts[0].model:
                what = f"it is a part of {part.model}, and {parts[0].path} of {parts[0].model}"
                raise InputError(what, where=part.path, cure="name each model: A=part1.json,part2.json B=...")
            own = [one.reading.places["i2t"].best for one in (parts[0], part)]
            if np.abs(own[0] - own[1]).max() > ROUNDING * np.abs(own[0]).max():
                what = f"its scores of own pairs are not those of {parts[0].path}: the embeddings are others"
                raise InputError(what, where=part.path, cure=AGAIN)
        _check_cover(parts, len(reference.reading.places["i2t"].best))
        reading = Reading.joined([part.reading for part in parts])
        retrieved = reading.best["i2t"].items
        phis = {name: PhiReading.joined([part.phis[name] for part in parts], retrieved) for name in reference.phis}
        found.append((reading, phis, parts[0]))
    first_reading, first_phis, _ = found[0]
    shared = {}
    for name, one in first_phis.items():
        lists = {side: [phis[name].expected[side][0] for _, phis, _ in found] for side in DIRECTIONS}
        shared[name] = ReadPhi(replace(one, expected=lists), name)
    galleries = []
    for reading, _, part in found:
        similarity: Any = ReadBefore(reading, part.reading.best["i2t"].scores.dtype)
        whole = Gallery(similarity, first_reading.pairing, name=part.model, notes=tuple(part.notes))
        galleries.append(whole.and_phis(shared))  # type: ignore[arg-type]
    return galleries, [part for _, _, part in found]


def _check_like(first: Part, other: Part) -> None:
    """Refuse parts of something else."""
    known: dict[str, list[Any]] = {
        "images": [len(one.reading.places["i2t"].best) for one in (first, other)],
        "captions or their images": [pairing_sha256(one.reading.pairing) for one in (first, other)],
        "phi": [", ".join(one.phis) for one in (first, other)],
        "first items": [one.reading.depth for one in (first, other)],
        "first items by phi": [{phi.depth for phi in one.phis.values()} for one in (first, other)],
        "captions": [one.about.get("captions_sha256") for one in (first, other)],
    }
    for what, (one, another) in known.items():
        if one != another:
            raise InputError(
                f"it has other {what} ({another!s:.40}) than {first.path} ({one!s:.40})", where=other.path, cure=AGAIN
            )


def _check_cover(parts: Sequence[Part], n_images: int) -> None:
    """Refuse parts that overlap, or leave images out."""
    reached = 0
    for before, part in zip([None, *parts], parts, strict=False):
        if part.images.start < reached and before is not None:
            what = f"queries {part.images.start}:{min(reached, part.images.stop)} are in {before.path} too"
            raise InputError(what, where=part.path, cure="leave one of them out")
        if part.images.start > reached:
            break
        reached = part.images.stop
    if reached < n_images:
        stop = next((part.images.start for part in parts if part.images.start > reached), n_images)
        what = f"queries {reached}:{stop} are in no part of {parts[0].model}"
        raise InputError(what, cure=f"make it: evaluate ... --queries {reached}:{stop} --json FILE")


def _check_items(items: NDArray[Any], size: int) -> None:
    if items.dtype.kind != "i" or (len(items) and not -1 <= items.min() <= items.max() < size):
        raise ValueError("items")


def _of_size(array: NDArray[Any], size: int) -> NDArray[Any]:
    if array.shape != (size,):
        raise ValueError(f"{list(array.shape)}")
    return array


def _written(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return arrays for JSON: whole numbers in four bytes where they fit."""
    found = {}
    for name, array in arrays.items():
        small = array.dtype == np.int64 and (not array.size or np.abs(array).max() < 2**31)
        kept = np.ascontiguousarray(array, dtype="<i4" if small else array.dtype.newbyteorder("<"))
        found[name] = {
            "dtype": kept.dtype.str,
            "shape": list(kept.shape),
            "data": base64.b64encode(kept.tobytes()).decode(),
        }
    return found


def _array(stored: Mapping[str, Any]) -> NDArray[Any]:
    """Return an array that was written so; whole numbers as int64."""
    dtype = np.dtype(stored["dtype"])
    if dtype.kind not in "fib" or not isinstance(stored["data"], str):
        raise ValueError(str(dtype))
    array = np.frombuffer(base64.b64decode(stored["data"], validate=True), dtype=dtype)
    array = array.reshape([int(size) for size in stored["shape"]])
    return array.astype(np.int64 if dtype.kind == "i" else dtype.newbyteorder("="))
