"""A model's captions beside the references of their images, from the files that captioning papers use."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from fivesentences.choices import Split
from fivesentences.corpus.caption_rows import COLUMNS, IMAGES
from fivesentences.corpus.caption_tables import CaptionTable
from fivesentences.documents import read_json
from fivesentences.errors import InputError, counted, first_of
from fivesentences.semantics.caption_file import own_pairing, read_captioned, read_pairing
from fivesentences.semantics.validation import PER_IMAGE

NAMED = 5  # images in a sentence about many
NOT_EMPTY = "write a caption, or a placeholder word, which scores 0 like an empty caption"
RESULTS = '[{"image_id": 1, "caption": "..."}, ...]'


@dataclass(frozen=True)
class CaptionedImages:
    """One caption per image that a model made, and the references of each image.

    Attributes:
        candidates: ``[images]`` what the model said.
        references: ``[images]`` what people said, any number per image.
        images: ``[images]`` id of each, its number if no file names it.
        notes: What a reader of scores should know about how the two files were matched.
        place_of_candidate: ``[images]`` place of each candidate in its file, from 0.
        place_of_image: ``[images]`` place of each image among those of the references.
        places_of_references: ``[images]`` places of its references in their file.
        sizes: Candidates, images and references in the files.
    """

    candidates: list[str]
    references: list[list[str]]
    images: list[str]
    notes: list[str] = field(default_factory=list)
    place_of_candidate: list[int] = field(default_factory=list, compare=False)
    place_of_image: list[int] = field(default_factory=list, compare=False)
    places_of_references: list[list[int]] = field(default_factory=list, compare=False)
    sizes: tuple[int, int, int] = field(default=(0, 0, 0), compare=False)


def read_captioned_images(
    candidates: Path,
    references: Path,
    *,
    per_image: int | None = None,
    image_of_caption: Path | None = None,
    split: Split | None = None,
    subset: bool = False,
) -> CaptionedImages:
    """Read a model's captions and their references, and match them by the ids of images, or else by their order.

    Args:
        candidates: One caption per line in the order of the images, COCO's results, or another file that names images.
        references: One caption per line, COCO's annotations, Karpathy's JSON, or another file that names images.
        per_image: References per image in a file that does not say it, where they stand together; default 5.
        image_of_caption: Index of each reference's image, from 0, for varying numbers of references.
        split: Split of references that have several; None: test, or the only one that there is.
        subset: Whether images without a candidate are left out; by default they are an error.

    Raises:
        InputError: If a file is missing, damaged or something else, a caption is empty, an image has two candidates or
            no references, has references but no candidate, or files that are matched by their order differ in length.
    """
    if per_image is not None and image_of_caption is not None:
        raise InputError("--per-image and --image-of-caption both say whose a reference is; give one of them.")
    has_text_ids = _check_results(candidates)
    ours, theirs = read_captioned(candidates), read_captioned(references, split)
    if split is not None and theirs.split is None:
        raise InputError(f"it has no splits, and '{split}' was asked for; leave --split out.", where=references)
    for table, path in ((ours, candidates), (theirs, references)):
        _check_captions(table, path)
    given = None if image_of_caption is None else read_pairing(image_of_caption, len(theirs.captions))
    pairing = own_pairing(theirs, references, given)
    if ours.is_named and theirs.is_named:
        return _by_id(ours, theirs, candidates, references, subset, has_text_ids)
    if pairing is not None:
        groups = _grouped(pairing.tolist())
    else:
        groups = _blocks(len(theirs.captions), len(ours.captions), per_image, references)
    made = ours.captions
    _check_one_each(ours, candidates)
    if len(groups) != len(made):
        of = counted(len(groups), "image")
        what = f"it has captions of {of}, for {counted(len(made), 'candidate')}"
        raise InputError(what, where=references, cure="give the images that were captioned, in the same order")
    notes = []
    if ours.is_named != theirs.is_named:
        named, silent = (candidates, references) if ours.is_named else (references, candidates)
        notes.append(f"{named} names its images and {silent} does not: both are taken to be in one order.")
    names = ours.ids if ours.is_named else theirs.ids if theirs.is_named else list(map(str, range(len(made))))
    in_order = list(range(len(made)))
    return _captioned(made, theirs, groups, names, notes, in_order, in_order)


def _captioned(
    made: list[str],
    theirs: CaptionTable,
    groups: list[list[int]],
    names: list[str],
    notes: list[str],
    place_of_candidate: list[int],
    place_of_image: list[int],
) -> CaptionedImages:
    """Return candidates beside references, of which ``groups`` has the places, by image of the file."""
    places = [groups[at] for at in place_of_image]
    texts = [[theirs.captions[place] for place in some] for some in places]
    sizes = len(made), len(groups), len(theirs.captions)
    return CaptionedImages(made, texts, names, notes, place_of_candidate, place_of_image, places, sizes)


def _blocks(captions: int, images: int, per_image: int | None, path: Path) -> list[list[int]]:
    size = per_image or PER_IMAGE
    if captions != images * size:
        what = f"it has {captions:,} captions, and not {size} for each of the {images:,} candidates"
        cure = "give --per-image N where every image has N, or --image-of-caption FILE where the number varies"
        if captions < images:
            cure = "give the candidates first, then the references"
        raise InputError(what, where=path, cure=cure)
    return [list(range(start, start + size)) for start in range(0, captions, size)]


def _by_id(
    ours: CaptionTable, theirs: CaptionTable, candidates: Path, references: Path, subset: bool, has_text_ids: bool
) -> CaptionedImages:
    """Match captions by the ids of their images, or else by their names or the names without an ending."""
    for table, path in ((ours, candidates), (theirs, references)):
        if twice := [name for name, count in Counter(table.ids).items() if count > 1]:
            ids = f"{counted(len(twice), 'id')} belong{'s' if len(twice) == 1 else ''}"
            what = f"{ids} to several images: {_some(twice)}"
            raise InputError(what, where=path, cure="give each image an id of its own")
    _check_one_each(ours, candidates)
    found = _places(ours, theirs)
    if None in found:
        raise _unmatched(found, ours, theirs, candidates, references)
    of_image = [at for at in found if at is not None]
    if len(set(of_image)) < len(of_image):
        twice = [theirs.ids[at] for at, count in Counter(of_image).items() if count > 1]
        raise _several(candidates, twice)
    if has_text_ids and theirs.has_numbers and references.suffix == ".json":
        by_number = [own for own, at in zip(ours.ids, of_image, strict=True) if own == theirs.ids[at]]
        if by_number:
            what = f"its image_id '{by_number[0]}' is text, and in {references} ids are numbers"
            raise InputError(what, where=candidates, cure=f"write {by_number[0]} without quotes")
    missing = [theirs.ids[at] for at in sorted(set(range(len(theirs.images))) - set(of_image))]
    notes = []
    if missing and not subset:
        what = f"{_share(missing, theirs.images)} of {references} {_have(missing)} no caption: {_some(missing)}"
        cure = (
            "caption them too, since the COCO server scores all images, or score the captioned ones alone by --subset"
        )
        raise InputError(what, where=candidates, cure=cure)
    if missing:
        left = f"{_share(missing, theirs.images)} of {references} {_have(missing)} no caption"
        notes.append(f"A subset: {left}, and what has none does not count, not in CIDEr's document frequencies either.")
    groups = _grouped(theirs.image_of_caption.tolist())
    place = {image: at for at, image in enumerate(ours.image_of_caption.tolist())}
    places = [place[image] for image in range(len(ours.images))]
    return _captioned([ours.captions[at] for at in places], theirs, groups, ours.ids, notes, places, of_image)


def _places(ours: CaptionTable, theirs: CaptionTable) -> list[int | None]:
    """Return where each image of candidates is among those of references; None where it is not."""
    place: dict[str, int] = {}
    stems = [PurePosixPath(image.replace("\\", "/")).stem for image in theirs.images]
    for names in (stems, theirs.images, theirs.ids):  # whatever candidates use; ids count most
        place |= {name: image for image, name in enumerate(names)}
    return [place.get(one, place.get(other)) for one, other in zip(ours.ids, ours.images, strict=True)]


def _unmatched(
    found: Sequence[int | None], ours: CaptionTable, theirs: CaptionTable, candidates: Path, references: Path
) -> InputError:
    """Return the error about candidates without references, which may be those of another split."""
    unknown = [ours.ids[image] for image, at in enumerate(found) if at is None]
    cure = "give references of every captioned image, by the same ids"
    for split in get_args(Split) if theirs.split is not None else ():
        with contextlib.suppress(InputError):  # there is no such split
            elsewhere = _places(ours, read_captioned(references, split))
            if None not in elsewhere:
                cure = f"they are in its split {split}: give --split {split}"
            elif any(one is None and other is not None for one, other in zip(found, elsewhere, strict=True)):
                cure = f"some are in its split {split}: give candidates of one split, and name it by --split"
    what = f"{_share(unknown, found, 'its')} {_have(unknown)} no captions in {references}: {_some(unknown)}"
    return InputError(what, where=candidates, cure=cure)


def _share(some: Sequence[object], every: Sequence[object], whose: str = "the") -> str:
    return f"{len(some):,} of {whose} {counted(len(every), 'image')}"


def _have(some: Sequence[object]) -> str:
    return "has" if len(some) == 1 else "have"


def _grouped(images: Sequence[int]) -> list[list[int]]:
    """Return the places of each image's captions, from image 0 to the last that has any."""
    groups: list[list[int]] = [[] for _ in range(max(images) + 1)]
    for place, image in enumerate(images):
        groups[image].append(place)
    return groups


def _check_one_each(table: CaptionTable, path: Path) -> None:
    counts = Counter(table.image_of_caption.tolist())
    if repeated := [table.ids[image] for image, count in counts.items() if count > 1]:
        raise _several(path, repeated)


def _several(path: Path, images: Sequence[str]) -> InputError:
    what = f"{counted(len(images), 'image')} {_have(images)} a second caption: {_some(images)}"
    return InputError(what, where=path, cure="give one caption of each image; the candidates come first")


def _some(names: Sequence[str]) -> str:
    return first_of([f"'{name[:40]}'" for name in names], NAMED)


def _check_captions(table: CaptionTable, path: Path) -> None:
    """Check that no caption is empty, which files that name no images may hold."""
    empty = [number for number, text in enumerate(table.captions, 1) if not text.strip()]
    if empty:
        are = "is" if len(empty) == 1 else "are"
        of = counted(len(table.captions), "caption")
        what = f"{len(empty):,} of its {of} {are} empty, by their number {first_of(empty, NAMED)}"
        raise InputError(what, where=path, cure=NOT_EMPTY)


def _check_results(path: Path) -> bool:
    """Check a ``.json`` of COCO's results as the COCO server would, and return whether its ids are text.

    Other files are left to their readers; JSON writes the keys of ``{"14": "a dog"}`` as text, whatever they mean.
    """
    content = read_json(path) if path.suffix == ".json" else None
    if isinstance(content, dict) and set(COLUMNS) & set(content) and set(IMAGES) & set(content):
        raise InputError(f"it is one object, {repr(content)[:40]}, not a list", where=path, cure=f"write {RESULTS}")
    if not isinstance(content, list) or not any(isinstance(one, dict) and "image_id" in one for one in content):
        return False
    first: dict[Any, int] = {}
    for number, one in enumerate(content):
        where, image = f"{path}: item {number}", one.get("image_id") if isinstance(one, dict) else None
        if not isinstance(one, dict) or "image_id" not in one or "caption" not in one:
            raise InputError(
                f"it is {repr(one)[:60]}, without image_id or caption", where=where, cure=f"write {RESULTS}"
            )
        if type(image) not in (int, str):
            what = f"its image_id is {repr(image)[:40]}"
            raise InputError(what, where=where, cure="write a whole number, or text where the references have text")
        if type(image) is not type(content[0]["image_id"]):
            what = f"its image_id is {image!r}, but that of item 0 is {content[0]['image_id']!r}"
            raise InputError(what, where=where, cure="write all ids as numbers, or all as text")
        if first.setdefault(image, number) != number:
            what = f"it is a second caption of image {image!r}, after item {first[image]}"
            raise InputError(what, where=where, cure="give one caption of each image")
        if not isinstance(one["caption"], str) or not one["caption"].strip():
            is_text = isinstance(one["caption"], str)
            what = f"the caption of image {image!r} is {repr(one['caption'])[:40]}{', which is empty' * is_text}"
            raise InputError(what, where=where, cure=NOT_EMPTY if is_text else "write it as text")
    return isinstance(content[0]["image_id"], str)
