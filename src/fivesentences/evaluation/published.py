"""Published numbers: the transcribed tables of ``config/published``, one CSV per table and one line per number."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fivesentences.documents import check_file, read_bytes, text_of
from fivesentences.errors import InputError

COLUMNS = ("paper", "table", "row", "dataset", "split", "method", "setting", "direction", "metric", "value")
PART = ("dataset", "split", "setting", "method")
Values = dict[tuple[str, str], float | None]
# The papers' names of datasets, as roles of a study.
ROLES = {
    "Flickr30K": "flickr30k",
    "MSCOCO": "coco",
    "Wikipedia": "wikipedia",
    "NUS-WIDE-10k": "nus_wide_10k",
    "NUS-WIDE (10 classes, single-label, full)": "nus_wide",
    "Pascal Sentences": "pascal",
}
# Settings that tell the rows of a paper apart, and how a reader sees their values.
SETTINGS: dict[str, Callable[[str], str | None]] = {
    "architecture": str,
    "daa_semantic_metric": str,
    "tau": "τ = {}".format,
    "sampling": str,
    "original_triplet_kept": {"yes": "with the triplet", "no": "without the triplet"}.get,
    "alpha(t)": "α = {}".format,
    "lambda": "λ = {}".format,
}


def with_details(name: str, *details: str | None) -> str:
    """Return ``name (detail, other)`` without empty details."""
    named = ", ".join(filter(None, details))
    return f"{name} ({named})" if named else name


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table; ``values`` are by (direction or "", metric), None where the paper has a dash."""

    row: str
    dataset: str
    split: str
    method: str
    setting: Mapping[str, str]
    values: Mapping[tuple[str, str], float | None] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """Role that the paper's dataset plays in a study, such as ``flickr30k``."""
        return ROLES.get(self.dataset, self.dataset.lower())

    @property
    def fraction(self) -> float:
        """Share of the training data, in (0, 1]; 1 where the paper does not say."""
        return float(self.setting.get("train_fraction", "100%").removesuffix("%")) / 100

    @property
    def captions_per_image(self) -> int | None:
        """Number of captions used of each training image (five are 100% in DAA); None: all."""
        share = self.setting.get("train_caption_fraction", "100%").removesuffix("%")
        return None if share == "100" else round(5 * float(share) / 100)

    @property
    def label(self) -> str:
        """The method, with the settings that tell a reader the paper's rows apart."""
        said = (say(self.setting[key]) for key, say in SETTINGS.items() if key in self.setting)
        return with_details(self.method, *said)

    @property
    def gallery(self) -> str:
        """Dataset and split in words, such as ``Flickr30K 1K test``."""
        return f"{self.dataset} {self.split}".strip()


class PublishedTable(dict[str, PublishedRow]):
    """Rows of a published table by name; asking for an unknown name is an error that names the table or figure."""

    def __init__(self, rows: Mapping[str, PublishedRow], where: str) -> None:
        super().__init__(rows)
        self._where = where

    def __missing__(self, row: str) -> PublishedRow:
        raise InputError(f"{self._where} names the published row '{row}', but the table has only: {', '.join(self)}.")

    def of_role(self, number: str, role: str) -> PublishedRow | None:
        """Find a row by its number and role; None if the paper has no such row for that role."""
        return next((row for name, row in self.items() if name.split(" ")[0] == number and row.role == role), None)


def read_published(path: Path | str, rows: Literal["rows", "columns"] = "rows", where: str = "") -> PublishedTable:
    """Read a published table, by row and in file order.

    The key is the column ``row``. Where one published row spans several datasets, splits or settings, each of these is
    a row of its own here, and its key says which: ``1 5K test``, ``1 MSCOCO``.

    With ``rows="columns"`` the published rows are what our table has as columns: the key is then the column ``method``,
    and a metric is named with its published row, as in ``n_items 3``.

    Args:
        path: The CSV.
        rows: Role of the published rows in our table: rows or columns.
        where: The table or figure that is compared, for messages.

    Raises:
        InputError: If the file or a column is missing, a value is not a number, or a number is there twice.
    """
    check_file(path, "a study's `published` names one of its folder")
    lines = csv.DictReader(text_of(read_bytes(path), path).splitlines())
    missing = [column for column in COLUMNS if column not in (lines.fieldnames or ())]
    if missing:
        raise InputError(f"{path}: the column '{missing[0]}' is missing; columns are {', '.join(COLUMNS)}.")
    parts: dict[str, dict[tuple[str, ...], Values]] = {}
    for number, line in enumerate(lines, start=2):
        if None in line.values() or None in line:
            raise InputError(f"{path}: line {number} does not have {len(COLUMNS)} fields.")
        values = parts.setdefault(line["row"], {}).setdefault(tuple(line[column] for column in PART), {})
        key = (line["direction"], line["metric"])
        if key in values:
            raise InputError(f"{path}: line {number} gives {' '.join(key).strip()} of row {line['row']} a second time.")
        try:
            values[key] = float(line["value"]) if line["value"] else None
        except ValueError:
            raise InputError(f"{path}: line {number}: '{line['value']}' is not a number.") from None
    return PublishedTable(_by_method(parts) if rows == "columns" else _by_row(parts), where)


def _by_row(parts: Mapping[str, Mapping[tuple[str, ...], Values]]) -> dict[str, PublishedRow]:
    found = {}
    for row, of_row in parts.items():
        # Only what tells the parts of a row apart goes into their names.
        telling = [index for index in range(3) if len({part[index] for part in of_row}) > 1]
        for part, values in of_row.items():
            dataset, split, setting, method = part
            name = " ".join([row, *(part[index] for index in telling)])
            settings = dict(one.split("=", 1) for one in setting.split(";") if "=" in one)
            found[name] = PublishedRow(name, dataset, split, method, settings, values)
    return found


def _by_method(parts: Mapping[str, Mapping[tuple[str, ...], Values]]) -> dict[str, PublishedRow]:
    found: dict[str, PublishedRow] = {}
    for row, of_row in parts.items():
        for (dataset, split, _, method), values in of_row.items():
            named = {(direction, f"{metric} {row}"): value for (direction, metric), value in values.items()}
            before = found[method].values if method in found else {}
            found[method] = PublishedRow(method, dataset, split, method, {}, {**before, **named})
    return found
