"""The photograph of each image of a similarity, and thumbnails of them that stay within a size."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from PIL import Image

from fivesentences.corpus import Photographs
from fivesentences.corpus.archives import UNREAD
from fivesentences.corpus.decoding import decode
from fivesentences.corpus.photographs import LARGEST_PHOTOGRAPH
from fivesentences.corpus.tar_shards import is_tar
from fivesentences.documents import read_bytes
from fivesentences.errors import Cure, InputError, counted
from fivesentences.machine import threads
from fivesentences.semantics.caption_file import read_texts

LARGEST_OF_ALL = 20_000_000  # bytes of all thumbnails of a page
LONGEST_SIDES = (
    240,
    220,
    200,
    180,
    160,
    144,
    128,
    112,
    96,
    80,
    64,
    48,
)  # pixels; the first that stays within it is used
QUALITY = 78  # of WebP
SAMPLE = 24  # pictures that tell how large all will be
AT_ONCE = 64


class ListedPhotographs:
    """Photographs whose paths a file lists, one per line; relative ones start at the folder of the list.

    Args:
        path: The file.

    Raises:
        InputError: If it is missing or no text, or names a file that is not there.
    """

    def __init__(self, path: Path):
        self.path = path
        self.lines = [line.strip() for line in read_texts(path)]
        missing = [number for number, line in enumerate(self.lines) if not (path.parent / line).is_file()]
        if missing:
            first = self.lines[missing[0]]
            more = f" ({len(missing):,} of {len(self.lines):,} are missing)" if len(missing) > 1 else ""
            what = f"line {missing[0] + 1}: there is no photograph '{first}'{more}"
            raise InputError(what, where=path, cure="write one path per line, from the folder of this file")

    def __str__(self) -> str:
        return str(self.path)

    def names(self) -> list[str]:
        """Return the paths, in the order of the file."""
        return self.lines

    def decoded(self, name: str) -> Image.Image:
        """Read one photograph as an RGB image, see ``decoding.decode``.

        Raises:
            InputError: If it cannot be read or decoded.
        """
        return decode(read_bytes(self.path.parent / name, LARGEST_PHOTOGRAPH), name)


@dataclass(frozen=True)
class Pictures:
    """The photograph of each image.

    Attributes:
        source: Where they are.
        files: ``[images]`` name of each photograph.
        named_by: What says which photograph an image has; empty if only the order of both does.
    """

    source: Photographs | ListedPhotographs
    files: list[str]
    named_by: str = ""

    @property
    def name(self) -> str:
        """Names of the folders, archives or list, without those of the folders that they are in."""
        source = self.source
        paths = [source.path] if isinstance(source, ListedPhotographs) else source.paths
        first = ", ".join(path.resolve().name for path in paths[:3])
        return first if len(paths) <= 3 else f"{first} and {len(paths) - 3:,} more"


def pictures_of(
    places: Sequence[Path], n_images: int, names: Sequence[str] | None = None, named_by: str = ""
) -> Pictures:
    """Find the photograph of each image.

    Args:
        places: Folders, zip archives or tar shards, or one file that lists paths. A folder of shards stands for these.
        n_images: Number of images.
        names: ``[images]`` file name or id of each image; None: photographs are in the order of the images.
        named_by: Where names come from, for messages.

    Raises:
        InputError: If a place is missing, damaged or unsafe; if photographs are more or fewer than images, or two have
            one name, where the order counts; or if a named photograph is missing.
    """
    if [one for one in places if one.suffix.lower() == ".txt" and one.is_file()]:
        if len(places) > 1:
            raise InputError("give one list of photographs, or folders and archives.", where=places[0])
        listed = ListedPhotographs(places[0])
        _check_number(listed.names(), n_images, str(places[0]), "")
        return Pictures(listed, listed.names(), places[0].name)
    found = Photographs(*_shards(places))
    if names is not None:
        files = [found.of_image(name) or name for name in names]
        if not any(file in found for file in files):
            files = _by_number(found, names) or files
        missing = [file for file in files if file not in found]
        if missing:
            more = f" ({len(missing):,} of {n_images:,} images are not found)" if len(missing) > 1 else ""
            where = " and ".join(map(str, places))
            raise InputError(f"{found.problem(missing[0]).rstrip('.')}{more}; {named_by} names it.", where=where)
        return Pictures(found, files, named_by)
    files = found.names()
    if twice := found.twice():
        what = (
            f"{counted(len(twice), 'name')} belong{'s' if len(twice) == 1 else ''} to several photographs: {twice[0]}"
        )
        raise InputError(what, where=str(found), cure=_NAME_THEM)
    _check_number(files, n_images, str(found), _unread(places))
    return Pictures(found, files)


def _by_number(found: Photographs, names: Sequence[str]) -> list[str]:
    """Return photographs whose names end in numbers, as COCO_val2014_000000391895.jpg does; empty unless all are."""
    numbered: dict[int, list[str]] = {}
    for file in found.names():
        if number := re.search(r"[0-9]{1,18}$", PurePosixPath(file).stem):
            numbered.setdefault(int(number[0]), []).append(file)
    files = [numbered.get(int(name), []) if re.fullmatch("[0-9]{1,18}", name) else [] for name in names]
    return [one[0] for one in files] if all(len(one) == 1 for one in files) else []


_NAME_THEM = Cure(
    "pass image_names, the name of each image's photograph",
    "name the photograph of each image, one per line, by --image-ids FILE",
)


def _shards(places: Sequence[Path]) -> list[Path]:
    """Replace a folder of tar shards by its shards, in the order of their names."""
    shards: list[Path] = []
    for place in places:
        own = sorted(one for one in place.iterdir() if one.is_file() and is_tar(one)) if place.is_dir() else []
        shards += own or [place]
    return shards


def _unread(places: Sequence[Path]) -> str:
    """Return a sentence on photographs that are not decoded; empty if there are none."""
    kinds = Counter(
        one.suffix.lower()
        for place in places
        if place.is_dir()
        for one in place.rglob("*")
        if one.suffix.lower() in UNREAD and not one.name.startswith(".")
    )
    if not kinds:
        return ""
    kind, number = kinds.most_common(1)[0]
    return f"; {number:,} are {kind}, which is not decoded: save them as JPEG or PNG"


def _check_number(files: Sequence[str], n_images: int, where: str, unread: str) -> None:
    if len(files) == n_images:
        return
    what = f"there are {counted(len(files), 'photograph')} for {counted(n_images, 'image')} (rows of the similarity)"
    if len(files) > n_images:
        what += f"; the first that is too many, were they in order, is '{files[n_images]}'"
    else:
        what += f"; the last, '{files[-1]}', would be that of image {len(files) - 1}" if files else ""
    raise InputError(f"{what}{unread}", where=where, cure=_NAME_THEM)


@dataclass
class Thumbnails:
    """Small pictures.

    Attributes:
        longest: Pixels of their longer side.
        made: WebP, width and height of each, by the index of its image.
        broken: What is wrong with a photograph that was left out, by the index of its image.
    """

    longest: int
    made: dict[int, tuple[bytes, int, int]] = field(default_factory=dict)
    broken: dict[int, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all."""
        return sum(len(data) for data, *_ in self.made.values())


def thumbnails_of(
    pictures: Pictures,
    images: Sequence[int],
    advance: Callable[[], object] = lambda: None,
    most: int = LARGEST_OF_ALL,
) -> Thumbnails:
    """Make thumbnails of some images, as large as all may be within a number of bytes.

    Photographs that cannot be read are left out, and named in ``broken``.

    Args:
        pictures: Where the photographs are.
        images: Indices of the images.
        advance: Called after each.
        most: Bytes of all thumbnails.
    """
    sample = list(images[:: max(1, len(images) // SAMPLE)])[:SAMPLE]
    known: dict[int, Image.Image | str] = {image: _decoded(pictures, image) for image in sample}
    found = Thumbnails(LONGEST_SIDES[-1])
    for longest in LONGEST_SIDES:
        sizes = [len(_small(one, longest)[0]) for one in known.values() if not isinstance(one, str)]
        if not sizes or 1.15 * len(images) * sum(sizes) / len(sizes) <= most:
            found = Thumbnails(longest)
            break

    def small(image: int) -> tuple[bytes, int, int] | str:
        one = known.pop(image, None) or _decoded(pictures, image)
        return one if isinstance(one, str) else _small(one, found.longest)

    with ThreadPoolExecutor(threads()) as pool:
        for start in range(0, len(images), AT_ONCE):
            some = images[start : start + AT_ONCE]
            for image, one in zip(some, pool.map(small, some), strict=True):
                if isinstance(one, str):
                    found.broken[image] = one
                else:
                    found.made[image] = one
                advance()
    while found.size > most and found.longest > LONGEST_SIDES[-1]:  # the sample had smaller ones
        found.longest = LONGEST_SIDES[LONGEST_SIDES.index(found.longest) + 1]
        found.made = {at: _small(Image.open(io.BytesIO(data)), found.longest) for at, (data, *_) in found.made.items()}
    return found


def _decoded(pictures: Pictures, image: int) -> Image.Image | str:
    try:
        return pictures.source.decoded(pictures.files[image])
    except InputError as error:
        return str(error)


def _small(picture: Image.Image, longest: int) -> tuple[bytes, int, int]:
    small = picture.copy()
    small.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    small.save(file, format="WEBP", quality=QUALITY, method=4)
    return file.getvalue(), small.width, small.height


def names_of_broken(pictures: Pictures, broken: Mapping[int, str], most: int = 5) -> str:
    """Return a sentence on photographs that were left out; empty if there are none."""
    if not broken:
        return ""
    some = [f"{pictures.files[image]} (image {image})" for image in sorted(broken)[:most]]
    some += ["..."] if len(broken) > most else []
    are = "is" if len(broken) == 1 else "are"
    return f"{counted(len(broken), 'photograph')} cannot be decoded and {are} left out: {', '.join(some)}."
