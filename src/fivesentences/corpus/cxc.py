"""Lines of Crisscrossed Captions: COCO's captions and images with the mean of people's ratings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fivesentences.corpus.csv_rows import SEPARATORS
from fivesentences.documents import read_lines
from fivesentences.errors import InputError

CXC_COLUMNS = ("caption", "image", "agg_score", "sampling_method")
CXC_ORIGINAL = "c2i_original"  # the sampling method that pairs a caption with the image it was written for
_CXC_CAPTION = re.compile(r"COCO_(?:train|val)2014:sentid:([0-9]{1,12})")
_CXC_IMAGE = re.compile(r"COCO_(?:train|val)2014_([0-9]{12})\.jpg")


class CxcRating(NamedTuple):
    """One line of a SITS file: COCO's ids, the mean rating from 0 to 5, and how the pair was sampled."""

    where: str
    image: int
    caption: int
    score: float
    method: str


def cxc_ratings(path: Path | str, columns: Sequence[str] = CXC_COLUMNS) -> Iterator[CxcRating]:
    """Yield the lines of a SITS file of Crisscrossed Captions, in file order.

    Args:
        path: The CSV.
        columns: The columns that it must have, at least the first three; if it lacks the fourth, ``method`` is empty.

    Raises:
        InputError: If the file is missing or is not such a table, a line is malformed, or a score is not in 0 to 5.
    """
    lines = read_lines(path)
    separator = next((one for one in SEPARATORS if lines and set(columns) <= set(lines[0].split(one))), ",")
    header = [column.strip() for column in lines[0].split(separator)] if lines else []
    if missing := [column for column in columns if column not in header]:
        what = f"line 1 lacks the column '{missing[0]}'; is it a SITS file of Crisscrossed Captions?"
        raise InputError(what, where=path)
    places = [header.index(column) for column in CXC_COLUMNS if column in header]
    for number, line in enumerate(lines[1:], 2):
        where = f"{Path(path).name}, line {number}"
        fields = fields_of(where, line, separator, len(header))
        caption, image, score, *method = (fields[place].strip() for place in places)
        found, shown = _CXC_CAPTION.fullmatch(caption), _CXC_IMAGE.fullmatch(image)
        if found is None or shown is None:
            what = f"it is about '{caption[:60]}' and '{image[:60]}'"
            cure = "expected COCO_val2014:sentid:<number> and COCO_val2014_<12 digits>.jpg"
            raise InputError(what, where=where, cure=cure)
        rating = score_of(score, where, "agg_score", 5.0)
        yield CxcRating(where, int(shown[1]), int(found[1]), rating, "".join(method))


def fields_of(where: str, line: str, separator: str, count: int) -> list[str]:
    """Split a line into as many fields as the header has; InputError if there are more or fewer."""
    fields = line.removesuffix("\r").split(separator)
    if len(fields) != count:
        raise InputError(f"it has {len(fields)} fields; expected {count}", where=where, cure="fetch the file again")
    return fields


def score_of(text: str, where: str, what: str, highest: float) -> float:
    """Return a score from 0 to ``highest``; InputError if the text is none."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= highest:
        raise InputError(f"{where}: {what} is '{text[:60]}'; it must be a number from 0 to {highest:g}.")
    return value
