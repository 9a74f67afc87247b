"""The tab-separated files of bottom-up attention: 6 columns (Anderson et al. 2018), or LXMERT's 10.

Arrays are base64 of little-endian numbers, row by row. The released files were written by Python's csv module: lines
end with ``\\r\\n``. Some re-releases hold ``b'...'``, which is Python 3's way of printing bytes, around the base64.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.console import Bar
from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.features.formats.record import MOST_NUMBERS, ImageFeatures, Outline, Source, check_ids, checked
from fivesentences.features.regions import BOX
from fivesentences.storage import replacing

SIX = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
TEN = (
    *("img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf"),
    *("num_boxes", "boxes", "features"),
)
COLUMNS = {6: SIX, 10: TEN}
FACTS = {6: frozenset({"boxes", "sizes", "counts"})}
FACTS[10] = FACTS[6] | {"scores", "classes", "attributes", "attribute_scores"}
LONGEST_LINE = 1 << 26  # bytes; 100 regions of 2,048 numbers take 1.1 million
_NUMBER = re.compile(rb"(\d{1,9})(?:\.0*)?")
_F4, _I8 = np.dtype("<f4"), np.dtype("<i8")


class Tsv(Source):
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
        cells = self._cells(self._file.readline(LONGEST_LINE + 1), self._lines[row])
        return checked(_decoded(cells, self.outline.dim, where), self.outline, row, where)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _index(self) -> None:
        self._starts, self._lines, counts = array("q"), array("q"), array("q")
        ids: list[str] = []
        self._columns = dim = line = start = 0
        size, digest = self.path.stat().st_size, hashlib.sha256()
        with Bar(f"look through {self.path.name}", size) as bar:
            while text := self._file.readline(LONGEST_LINE + 1):
                line += 1
                begin, start = start, start + len(text)
                digest.update(text)
                bar.advance(len(text))
                if line == 1:
                    self._columns = self._columns_of(text)
                    if _is_header(text, COLUMNS[self._columns]):
                        continue
                where = f"{self.path}, line {line}"
                cells = self._cells(text, line)
                count = _number(cells["num_boxes"], "num_boxes", where)
                if not dim:
                    dim = _dim(cells["features"], count, where)
                _check_lengths(cells, count, dim, where)
                ids.append(_id(cells, where))
                counts.append(count)
                self._starts.append(begin)
                self._lines.append(line)
        check_ids(ids, self.path)
        self.sha256 = digest.hexdigest()
        facts = FACTS[self._columns] - {"counts"}
        self.outline = Outline(ids, np.array(counts, np.int64), dim, np.dtype(np.float32), facts)

    def _columns_of(self, text: bytes) -> int:
        found = text.count(b"\t") + 1
        if found not in COLUMNS:
            begin = ascii(text[:20].decode("latin-1"))
            raise InputError(
                f"line 1 has {found} column{'s' * (found > 1)} ({begin}...), but a bottom-up TSV has 6, or 10 as "
                "LXMERT's",
                where=self.path,
                cure="is it the file that you mean?",
            )
        return found

    def _cells(self, text: bytes, line: int) -> dict[str, bytes]:
        if len(text) > LONGEST_LINE:
            raise InputError(
                f"line {line} is longer than {LONGEST_LINE:,} bytes; it is no line of features.", where=self.path
            )
        if not text.strip(b"\r\n"):
            raise InputError(f"line {line} is blank; delete it.", where=self.path)
        cells = text.rstrip(b"\r\n").split(b"\t")
        if len(cells) != self._columns:
            cut = "" if text.endswith(b"\n") else " and no end: the file is cut"
            raise InputError(
                f"line {line} has {len(cells)} of {self._columns} columns{cut}", where=self.path, cure="fetch it again"
            )
        return dict(zip(COLUMNS[self._columns], cells, strict=True))


def _is_header(text: bytes, names: tuple[str, ...]) -> bool:
    return [cell.strip() for cell in text.decode("latin-1").split("\t")] == list(names)


def _id(cells: dict[str, bytes], where: str) -> str:
    raw = cells.get("image_id", cells.get("img_id", b""))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"the image id {ascii(raw[:60])[1:]} is not UTF-8.", where=where) from None


def _number(cell: bytes, name: str, where: str) -> int:
    match = _NUMBER.fullmatch(cell)
    if match is None or not (value := int(match[1])):
        raise InputError(f"{name} is {cell[:40].decode('latin-1')!a}; it must be a whole number from 1.", where=where)
    return value


def _without_quotes(cell: bytes) -> bytes:
    """Base64 without the ``b'...'`` of Python 3."""
    return cell[2:-1] if cell[:2] in (b"b'", b'b"') and cell[-1:] == cell[1:2] else cell


def _bytes_in(cell: bytes) -> int:
    """How many bytes a base64 text stands for, if it is one."""
    cell = _without_quotes(cell)
    return len(cell) // 4 * 3 - (len(cell) - len(cell.rstrip(b"=")))


def _dim(features: bytes, count: int, where: str) -> int:
    """Numbers of a vector, from the first image."""
    size = _bytes_in(features)
    dim, rest = divmod(size, count * _F4.itemsize)
    if rest or not dim:
        raise InputError(
            f"the features have {size:,} bytes, which are not {count} vectors of float32",
            where=where,
            cure="fetch it again",
        )
    return dim


def _check_lengths(cells: dict[str, bytes], count: int, dim: int, where: str) -> None:
    """Check that base64 texts are as long as their numbers, before anything is decoded."""
    if count * dim > MOST_NUMBERS:
        raise InputError(f"num_boxes is {count:,}, more than fit here.", where=where)
    for name, size in _sizes(count, dim).items():
        if name in cells:
            expected = -(-size // 3) * 4
            found = len(_without_quotes(cells[name]))
            if found != expected:
                raise InputError(
                    f"the column {name} has {found:,} characters of base64, but {count} regions"
                    f"{f' of {dim:,} numbers' if name == 'features' else ''} need {expected:,}",
                    where=where,
                    cure="the line is damaged: fetch the file again",
                )


def _sizes(count: int, dim: int) -> dict[str, int]:
    """Bytes of every array of a line."""
    one: dict[str, np.dtype[Any]] = {"objects_id": _I8, "objects_conf": _F4, "attrs_id": _I8, "attrs_conf": _F4}
    sizes = {name: count * kind.itemsize for name, kind in one.items()}
    return {**sizes, "boxes": count * BOX * _F4.itemsize, "features": count * dim * _F4.itemsize}


def _decoded(cells: dict[str, bytes], dim: int, where: str) -> ImageFeatures:
    lxmert = "img_id" in cells
    count = _number(cells["num_boxes"], "num_boxes", where)
    _check_lengths(cells, count, dim, where)

    def numbers(name: str, kind: np.dtype[Any]) -> NDArray[Any]:
        return _array(cells[name], name, kind, where)

    recognised: dict[str, Any] = {}
    if lxmert:
        recognised = {
            "scores": numbers("objects_conf", _F4),
            "classes": numbers("objects_id", _I8),
            "attributes": numbers("attrs_id", _I8),
            "attribute_scores": numbers("attrs_conf", _F4),
        }
    width, height = ("img_w", "img_h") if lxmert else ("image_w", "image_h")
    return ImageFeatures(
        _id(cells, where),
        numbers("features", _F4).reshape(count, dim),
        width=_number(cells[width], width, where),
        height=_number(cells[height], height, where),
        boxes=numbers("boxes", _F4).reshape(count, BOX),
        **recognised,
    )


def _array(cell: bytes, name: str, kind: np.dtype[Any], where: str) -> NDArray[Any]:
    try:
        data = base64.b64decode(_without_quotes(cell), validate=True)
        return np.frombuffer(data, kind).astype(kind.newbyteorder("="), copy=False)
    except (binascii.Error, ValueError) as error:
        raise InputError(
            f"the column {name} is not base64 of {kind.name} ({error})", where=where, cure="fetch the file again"
        ) from None


class TsvWriter:
    """Appends lines to a bottom-up TSV. Made by ``writing_tsv``."""

    def __init__(self, file: IO[bytes], columns: int):
        self._file, self._columns = file, columns

    def add(self, record: ImageFeatures) -> None:
        """Append the line of one image, which must have everything that the columns hold."""
        cells: dict[str, object] = {
            "num_boxes": len(record.features),
            "boxes": _encoded(record.boxes, _F4),
            "features": _encoded(record.features, _F4),
        }
        if self._columns == len(SIX):
            cells |= {"image_id": record.image_id, "image_w": record.width, "image_h": record.height}
        else:
            cells |= {"img_id": record.image_id, "img_w": record.width, "img_h": record.height}
            cells |= {"objects_id": _encoded(record.classes, _I8), "objects_conf": _encoded(record.scores, _F4)}
            cells |= {
                "attrs_id": _encoded(record.attributes, _I8),
                "attrs_conf": _encoded(record.attribute_scores, _F4),
            }
        line = "\t".join(str(cells[name]) for name in COLUMNS[self._columns])
        self._file.write(f"{line}\r\n".encode())


def _encoded(values: NDArray[Any] | None, kind: np.dtype[Any]) -> str:
    assert values is not None
    return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode("ascii")


@contextmanager
def writing_tsv(out: Path, columns: int) -> Iterator[TsvWriter]:
    """A writer of a TSV of 6 or 10 columns, which appears when the block ends without an error.

    Raises:
        InputError: If it cannot be written.
    """
    with replacing(out) as temporary, temporary.open("wb") as file:
        yield TsvWriter(file, columns)
