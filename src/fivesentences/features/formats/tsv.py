"""The tab-separated files of bottom-up attention: 6 columns (Anderson et al. 2018), or LXMERT's 10 (read only).

Arrays are base64 of little-endian numbers, row by row. The released files were written by Python's csv module: lines
end with ``\\r\\n``. Some re-releases hold ``b'...'``, which is Python 3's way of printing bytes, around the base64.
Boxes and features are float32. Where somebody's code left float64, float16 or big-endian numbers, their size and the
values of the first line tell, and they are read as float32.
"""

from __future__ import annotations

import base64
import binascii
import re
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.console import Bar
from fivesentences.documents import check_file
from fivesentences.errors import InputError, say_once
from fivesentences.features.files import MOST_NUMBERS
from fivesentences.features.formats.record import BOX, Add, FeatureSource, ImageFeatures, Outline, check_ids
from fivesentences.storage import replacing

# What LXMERT calls an image and its size is what the original does, once renamed.
SIX = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
TEN = (
    *("image_id", "image_h", "image_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf"),
    *("num_boxes", "boxes", "features"),
)
COLUMNS = {6: SIX, 10: TEN}
HEADERS = {"image_id", "img_id"}  # first cell of a line of names, which some files have
_F4, _I8 = np.dtype("<f4"), np.dtype("<i8")
_KINDS = (_F4, *map(np.dtype, ("<f8", "<f2", ">f4", ">f8")))  # that files of others have, the likely ones first
_TINY, _HUGE = 1e-30, 1e9  # no feature and no box is beyond; numbers that are read as another type mostly are
RECOGNISED: dict[str, tuple[str, np.dtype[Any]]] = {
    "scores": ("objects_conf", _F4), "classes": ("objects_id", _I8), "attributes": ("attrs_id", _I8),
    "attribute_scores": ("attrs_conf", _F4),
}  # fmt: skip
LONGEST_LINE = 1 << 26  # bytes; 100 regions of 2,048 numbers take 1.1 million
CURE = "fetch the file again"
_NUMBER = re.compile(rb"(\d{1,9})(?:\.0*)?")


class Tsv(FeatureSource):
    """A bottom-up TSV, open for reading.

    The whole file is read once when it is opened, for the ids, the number of regions and the place of every line;
    arrays are decoded when an image is asked for.

    Raises:
        InputError: If it is no such file; the sentence names the line.
    """

    def __init__(self, path: Path):
        check_file(path)
        self.path = path
        self._file = path.open("rb")
        try:
            self._index()
        except BaseException:
            self.close()
            raise

    def read(self, row: int) -> ImageFeatures:
        """Decode the line of one image."""
        where = f"{self.path}, line {self._lines[row]}"
        self._file.seek(self._starts[row])
        cells = self._cells(self._file.readline(LONGEST_LINE + 1), where)
        return self.outline.checked(_decoded(cells, self.outline.dim, self._kinds, where), row, where)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _index(self) -> None:
        self._starts, self._lines, counts = array("q"), array("q"), array("q")
        ids: list[str] = []
        self._columns = dim = line = start = 0
        with Bar(f"look through {self.path.name}", self.path.stat().st_size) as bar:
            while text := self._file.readline(LONGEST_LINE + 1):
                line += 1
                begin, start = start, start + len(text)
                bar.advance(len(text))
                where = f"{self.path}, line {line}"
                if line == 1:
                    self._columns = text.count(b"\t") + 1
                    if self._columns not in COLUMNS:
                        raise InputError(
                            f"{self._columns} columns, but a bottom-up TSV has 6, or 10 as LXMERT's",
                            where=where,
                            cure="is it the file that you mean?",
                        )
                    if text.partition(b"\t")[0].decode("latin-1").strip() in HEADERS:
                        continue
                cells = self._cells(text, where)
                count = _number(cells, "num_boxes", where)
                if not dim:
                    self._kinds = {
                        "boxes": _kind_of(cells, "boxes", where, _size_of(cells["boxes"]) / (count * BOX)),
                        "features": _kind_of(cells, "features", where),
                    }
                    dim = _size_of(cells["features"]) // (count * self._kinds["features"].itemsize)
                _check_lengths(cells, count, dim, self._kinds, where)
                ids.append(_id(cells, where))
                counts.append(count)
                self._starts.append(begin)
                self._lines.append(line)
        check_ids(ids, self.path)
        facts = {"boxes", "sizes"} | (RECOGNISED.keys() if self._columns == len(TEN) else set())
        self.outline = Outline(ids, np.array(counts, np.int64), dim, np.dtype(np.float32), frozenset(facts))

    def _cells(self, text: bytes, where: str) -> dict[str, bytes]:
        if len(text) > LONGEST_LINE:
            raise InputError(f"it is longer than {LONGEST_LINE:,} bytes; it is no line of features.", where=where)
        if not text.strip(b"\r\n"):
            raise InputError("it is blank; features have no empty lines.", where=where)
        cells = text.rstrip(b"\r\n").split(b"\t")
        if len(cells) != self._columns:
            cut = "" if text.endswith(b"\n") else " and no end: the file is cut"
            raise InputError(f"it has {len(cells)} of {self._columns} columns{cut}", where=where, cure=CURE)
        return dict(zip(COLUMNS[self._columns], cells, strict=True))


def _id(cells: dict[str, bytes], where: str) -> str:
    raw = cells["image_id"]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"the image id {ascii(raw[:60])[1:]} is not UTF-8.", where=where) from None


def _number(cells: dict[str, bytes], name: str, where: str) -> int:
    cell = cells[name]
    match = _NUMBER.fullmatch(cell)
    if match is None or not (value := int(match[1])):
        raise InputError(f"{name} is {cell[:40].decode('latin-1')!a}; it must be a whole number from 1.", where=where)
    return value


def _without_quotes(cell: bytes) -> bytes:
    """Base64 without the ``b'...'`` of Python 3."""
    return cell[2:-1] if cell[:2] in (b"b'", b'b"') and cell[-1:] == cell[1:2] else cell


def _size_of(cell: bytes) -> int:
    """Return how many bytes a base64 text stands for, if it is one."""
    cell = _without_quotes(cell)
    return len(cell) // 4 * 3 - (len(cell) - len(cell.rstrip(b"=")))


def _kind_of(cells: dict[str, bytes], name: str, where: str, size: float | None = None) -> np.dtype[Any]:
    """Return the type of a column's numbers, by their values and, where that is known, by the bytes that each takes.

    Raises:
        InputError: If they are numbers of no type that a feature or a box has.
    """
    try:
        data = base64.b64decode(_without_quotes(cells[name]), validate=True)
    except (binascii.Error, ValueError):
        return _F4  # whoever decodes it says it
    kinds = [kind for kind in _KINDS if data and len(data) % kind.itemsize == 0 and size in (None, kind.itemsize)]
    for kind in kinds:
        with np.errstate(invalid="ignore"):
            values = np.abs(np.frombuffer(data, kind).astype(np.float64))
        if ((values == 0) | ((values > _TINY) & (values < _HUGE))).all():
            if kind != _F4:
                say_once(f"{where.rpartition(', ')[0]}: {name} are {kind.newbyteorder('=').name}, read as float32.")
            return kind
    if kinds and (name == "boxes" or (np.abs(np.frombuffer(data, kinds[0])) > _HUGE).any()):
        what = f"the column {name} holds numbers of another type than float32, float64 and float16, or impossible ones"
        raise InputError(what, where=where, cure="write it as float32")
    return _F4


def _check_lengths(cells: dict[str, bytes], count: int, dim: int, kinds: dict[str, np.dtype[Any]], where: str) -> None:
    """Check that base64 texts are as long as their numbers, before anything is decoded."""
    if not 0 < count * dim <= MOST_NUMBERS:
        raise InputError(f"{count:,} regions of {dim:,} numbers do not fit here", where=where, cure=CURE)
    numbers = {column: count * kind.itemsize for column, kind in RECOGNISED.values()}
    numbers |= {"boxes": count * BOX * kinds["boxes"].itemsize, "features": count * dim * kinds["features"].itemsize}
    for name in numbers.keys() & cells.keys():
        expected, found = -(-numbers[name] // 3) * 4, len(_without_quotes(cells[name]))
        if found != expected:
            raise InputError(
                f"the column {name} has {found:,} characters of base64, but {count} regions need {expected:,}",
                where=where,
                cure=CURE,
            )


def _decoded(cells: dict[str, bytes], dim: int, kinds: dict[str, np.dtype[Any]], where: str) -> ImageFeatures:
    count = _number(cells, "num_boxes", where)
    _check_lengths(cells, count, dim, kinds, where)

    def numbers(name: str, kind: np.dtype[Any] = _F4) -> NDArray[Any]:
        try:
            data = base64.b64decode(_without_quotes(cells[name]), validate=True)
            return np.frombuffer(data, kind).astype(kind.newbyteorder("="), copy=False)
        except (binascii.Error, ValueError) as error:
            raise InputError(
                f"the column {name} is not base64 of {kind.name} ({error})", where=where, cure=CURE
            ) from None

    recognised: dict[str, Any] = {name: numbers(*of) for name, of in RECOGNISED.items() if of[0] in cells}
    return ImageFeatures(
        _id(cells, where),
        numbers("features", kinds["features"]).astype(np.float32, copy=False).reshape(count, dim),
        width=_number(cells, "image_w", where),
        height=_number(cells, "image_h", where),
        boxes=numbers("boxes", kinds["boxes"]).astype(np.float32, copy=False).reshape(count, BOX),
        **recognised,
    )


@contextmanager
def writing_tsv(out: Path, *_: object) -> Iterator[Add]:
    """Yield what appends images, with boxes and sizes, to a TSV of 6 columns; it appears when the block ends well.

    Raises:
        InputError: If it cannot be written.
    """
    with replacing(out) as temporary, temporary.open("wb") as file:

        def add(record: ImageFeatures) -> None:
            arrays = [np.ascontiguousarray(values, _F4) for values in (record.boxes, record.features)]
            encoded = [base64.b64encode(values.tobytes()).decode("ascii") for values in arrays]
            cells = (record.image_id, record.width, record.height, len(record.features), *encoded)
            file.write(("\t".join(map(str, cells)) + "\r\n").encode())

        yield add
