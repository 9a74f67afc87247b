"""Numbers in print: the transcribed tables of ``config/published``, one CSV a table and one line a number."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from fivesentences.config import Name, Strict
from fivesentences.errors import InputError

COLUMNS = ("paper", "table", "row", "dataset", "split", "method", "setting", "direction", "metric", "value")
# Of one printed row by (dataset, split, setting, method): its values by (direction, metric).
Parts = dict[tuple[str, ...], dict[tuple[str, str], float | None]]
# What print calls its datasets, as roles of a study.
ROLES = {
    "Flickr30K": "flickr30k",
    "MSCOCO": "coco",
    "Wikipedia": "wikipedia",
    "NUS-WIDE-10k": "nuswide",
    "Pascal Sentences": "pascal",
}


class PublishedAlone(Strict):
    """A published row without one of ours, shown with the rows of a role other than its own dataset's."""

    row: str
    roles: list[Name] = Field(min_length=1)


@dataclass(frozen=True)
class PrintedRow:
    """One row of a printed table; ``values`` are by (direction or "", metric), None where print has a dash."""

    row: str
    dataset: str
    split: str
    method: str
    setting: Mapping[str, str]
    values: Mapping[tuple[str, str], float | None] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """The role that print's dataset plays in a study, such as ``flickr30k``."""
        return ROLES.get(self.dataset, self.dataset.lower())

    @property
    def fraction(self) -> float:
        """Share of the training data, in (0, 1]; 1 where print does not say."""
        return float(self.setting.get("train_fraction", "100%").removesuffix("%")) / 100

    @property
    def captions_per_image(self) -> int | None:
        """Of so many captions of each training image (five are 100% in DAA); None: of all."""
        share = self.setting.get("train_caption_fraction", "100%").removesuffix("%")
        return None if share == "100" else round(5 * float(share) / 100)

    @property
    def said(self) -> str:
        """The method, with the settings that a reader needs to tell its rows apart."""
        kept = {"yes": "with the triplet", "no": "without the triplet", None: None}
        settings = (
            self.setting.get("architecture"),
            self.setting.get("daa_semantic_metric"),
            f"τ = {self.setting['tau']}" if "tau" in self.setting else None,
            self.setting.get("sampling"),
            kept[self.setting.get("original_triplet_kept")],
        )
        named = ", ".join(setting for setting in settings if setting)
        return self.method + (f" ({named})" if named else "")

    @property
    def where(self) -> str:
        """Dataset and split in words, such as ``Flickr30K 1K test``."""
        return f"{self.dataset} {self.split}".strip()


def read_published(path: Path | str, rows: Literal["rows", "columns"] = "rows") -> dict[str, PrintedRow]:
    """Read a printed table, by row and in file order.

    With ``rows="columns"`` print's rows are what ours has as columns: the key is then the column ``method``, and a
    metric is named with its printed row, as in ``n_items 3``.

    The key is the column ``row``. Where one printed row spans several datasets, splits or settings, each of these is
    a row of its own here, and its key says which: ``1 5K test``, ``1 MSCOCO``.

    Raises:
        InputError: If the file or a column is missing, a value is no number, or a number stands there twice.
    """
    parts: dict[str, Parts] = {}
    for number, line in _lines(path):
        part = tuple(line[column] for column in ("dataset", "split", "setting", "method"))
        values = parts.setdefault(line["row"], {}).setdefault(part, {})
        key = (line["direction"], line["metric"])
        if key in values:
            raise InputError(f"{path}: line {number} gives {' '.join(key).strip()} of row {line['row']} a second time.")
        values[key] = _number(line["value"], f"{path}: line {number}")
    if rows == "columns":
        return _by_method(parts)
    found: dict[str, PrintedRow] = {}
    for row, of_row in parts.items():
        for (dataset, split, setting, method), values in of_row.items():
            # Only what tells the parts of a row apart goes into their names.
            telling = [
                text for index, text in enumerate((dataset, split, setting)) if len({p[index] for p in of_row}) > 1
            ]
            name = " ".join([row, *telling])
            settings = dict(part.split("=", 1) for part in setting.split(";") if "=" in part)
            found[name] = PrintedRow(name, dataset, split, method, settings, values)
    return found


def _by_method(parts: Mapping[str, Parts]) -> dict[str, PrintedRow]:
    found: dict[str, PrintedRow] = {}
    for row, of_row in parts.items():
        for (dataset, split, _, method), values in of_row.items():
            named = {(direction, f"{metric} {row}"): value for (direction, metric), value in values.items()}
            before = found[method].values if method in found else {}
            found[method] = PrintedRow(method, dataset, split, method, {}, {**before, **named})
    return found


def _lines(path: Path | str) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; a study's `published` names one of its folder.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8.") from None
    lines = csv.DictReader(text.splitlines())
    missing = [column for column in COLUMNS if column not in (lines.fieldnames or ())]
    if missing:
        raise InputError(f"{path}: the column '{missing[0]}' is missing; columns are {', '.join(COLUMNS)}.")
    for number, line in enumerate(lines, start=2):
        if None in line.values() or None in line:
            raise InputError(f"{path}: line {number} has not {len(COLUMNS)} fields.")
        yield number, line


def printed_row(printed: Mapping[str, PrintedRow], row: str, where: str) -> PrintedRow:
    """The printed row of that name.

    Raises:
        InputError: If print has no such row; ``where`` says who asked.
    """
    if row not in printed:
        raise InputError(f"{where} names the printed row '{row}', but print has only: {', '.join(printed)}.")
    return printed[row]


def printed_alone(
    also: Iterable[str | PublishedAlone], printed: Mapping[str, PrintedRow], where: str
) -> list[tuple[PrintedRow, tuple[str, ...]]]:
    """Printed rows that a table shows without a row of ours, each with the roles whose rows it stands below.

    Raises:
        InputError: If print has no such row.
    """
    found = []
    for one in also:
        row = printed_row(printed, one if isinstance(one, str) else one.row, f"{where}.also_published")
        found.append((row, (row.role,) if isinstance(one, str) else tuple(one.roles)))
    return found


def _number(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where} has the value '{text}', which is no number.") from None
