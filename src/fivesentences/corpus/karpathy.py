"""Karpathy's ``dataset_*.json`` (Flickr30K, COCO), from a zip archive, a folder or the file itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal

from fivesentences.corpus.archives import entries, open_zip, read_entry
from fivesentences.corpus.fractions import take_captions
from fivesentences.corpus.karpathy_images import rows_of_images
from fivesentences.corpus.table import CaptionRow, Corpus, corpus_of
from fivesentences.documents import parse_json, read_bytes
from fivesentences.errors import InputError, first_of


def load_karpathy(
    path: Path | str,
    name: str,
    member: str | None = None,
    *,
    order: Literal["file", "released"] = "file",
    captions_per_image: int | None = None,
) -> Corpus:
    """Read a dataset in the JSON schema of Karpathy and Li (2015).

    The id of an image is its ``cocoid``, otherwise its filename without the suffix; the filename is joined to
    ``filepath`` if there is one (``val2014/COCO_val2014_....jpg``). A caption is the ``raw`` text, otherwise the
    ``tokens`` joined by spaces; its id is the ``sentid``. The split ``val`` becomes ``dev``, and ``restval`` becomes
    ``train``. The corpus says in ``read_as`` which order and how many captions were taken.

    Karpathy's COCO has 113,287 training images with 566,747 captions, the 30,504 of ``restval`` before those of
    COCO's own training split. The files released with SCAN, VSRN, CVSE and SGRAF (``train_ids.txt``) have COCO's
    training split first, so that the first 3% of the captions are of other images, and five captions of each image:
    566,435 for training and 25,000 for testing.

    Args:
        path: A zip archive, a folder, or the ``.json`` file.
        name: Name of the corpus; of several datasets in an archive, ``dataset_<name>.json`` is read.
        member: The JSON to read from the archive or folder if its name does not follow from ``name``.
        order: ``"file"``, or ``"released"``: images of ``restval`` last, otherwise as in the file.
        captions_per_image: Only the first so many captions of each image, at least 1; None: all.

    Raises:
        InputError: If there is no such JSON or more than one, it is damaged or lacks a field, an image has no caption,
            an image has more or fewer sentences than ``sentids``, or ``captions_per_image`` is below 1.
    """
    data, where = _find(Path(path), name, member)
    rows, last = list[CaptionRow](), list[CaptionRow]()
    for is_last, of_image in rows_of_images(parse_json(data, where, "fetch it again"), where):
        (last if order == "released" and is_last else rows).extend(of_image)
    corpus = take_captions(corpus_of(name, rows + last), captions_per_image)
    return replace(corpus, read_as={"order": order, "captions_per_image": captions_per_image or "all"})


def _find(path: Path, name: str, member: str | None) -> tuple[bytes, str]:
    """Return the bytes of the JSON and its name for errors."""
    if path.suffix.lower() == ".json" and not path.is_dir():
        return read_bytes(path), path.name
    if path.is_dir():
        chosen = _chosen([file.relative_to(path).as_posix() for file in path.rglob("*.json")], path, name, member)
        return read_bytes(path / chosen), f"{path.name}/{chosen}"
    with open_zip(path) as archive:
        chosen = _chosen([entry for entry in entries(archive) if entry.lower().endswith(".json")], path, name, member)
        return read_entry(archive, chosen), f"{path.name}: {chosen}"


def _chosen(found: list[str], path: Path, name: str, member: str | None) -> str:
    """Choose the JSON to read: the named one, the only one, or that of the dataset."""
    listed = first_of(sorted(found), 8)
    by_name = [entry for entry in found if PurePosixPath(entry).name == (member or f"dataset_{name}.json")]
    if member is not None:
        found = [member] if member in found else by_name
    elif len(found) > 1:
        found = by_name or found
    if len(found) != 1:
        wanted = f"exactly one file must be named '{member}'" if member else "there must be one .json file, or `member`"
        raise InputError(f"{wanted}; it contains {listed or 'no .json at all'}.", where=path)
    return found[0]
