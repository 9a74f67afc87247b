"""Published numbers: the transcribed tables of ``config/published``, one CSV per table and one line per number."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fivesentences.documents import check_file, read_bytes, text_of
from fivesentences.errors import InputError
from fivesentences.study.exhibits import AlsoPublished

COLUMNS = ("paper", "table", "row", "dataset", "split", "method", "setting", "direction", "metric", "value")
# The parts of one row of a CSV by (dataset, split, setting, method): values by (direction, metric).
Parts = dict[tuple[str, ...], dict[tuple[str, str], float | None]]
# The papers' names of datasets, as roles of a study.
ROLES = {
    "Flickr30K": "flickr30k",
    "MSCOCO": "coco",
    "Wikipedia": "wikipedia",
    "NUS-WIDE-10k": "nus_wide_10k",
    "NUS-WIDE (10 classes, single-label, full)": "nus_wide",
    "Pascal Sentences": "pascal",
}


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
        """The role that the paper's dataset plays in a study, such as ``flickr30k``."""
        return ROLES.get(self.dataset, self.dataset.lower())

    @property
    def fraction(self) -> float:
        """Share of the training data, in (0, 1]; 1 where the paper does not say."""
        return float(self.setting.get("train_fraction", "100%").removesuffix("%")) / 100

    @property
    def captions_per_image(self) -> int | None:
        """How many captions of each training image were used (five are 100% in DAA); None: all."""
        share = self.setting.get("train_caption_fraction", "100%").removesuffix("%")
        return None if share == "100" else round(5 * float(share) / 100)

    @property
    def label(self) -> str:
        """The method, with the settings that tell a reader the paper's rows apart."""
        triplet = {"yes": "with the triplet", "no": "without the triplet", None: None}
        settings = (
            self.setting.get("architecture"),
            self.setting.get("daa_semantic_metric"),
            f"τ = {self.setting['tau']}" if "tau" in self.setting else None,
            self.setting.get("sampling"),
            triplet[self.setting.get("original_triplet_kept")],
            f"α = {self.setting['alpha(t)']}" if "alpha(t)" in self.setting else None,
            f"λ = {self.setting['lambda']}" if "lambda" in self.setting else None,
        )
        named = ", ".join(setting for setting in settings if setting)
        return self.method + (f" ({named})" if named else "")

    @property
    def gallery(self) -> str:
        """Dataset and split in words, such as ``Flickr30K 1K test``."""
        return f"{self.dataset} {self.split}".strip()


def read_published(path: Path | str, rows: Literal["rows", "columns"] = "rows") -> dict[str, PublishedRow]:
    """Read a published table, by row and in file order.

    The key is the column ``row``. Where one published row spans several datasets, splits or settings, each of these is
    a row of its own here, and its key says which: ``1 5K test``, ``1 MSCOCO``.

    With ``rows="columns"`` the published rows are what our table has as columns: the key is then the column ``method``,
    and a metric is named with its published row, as in ``n_items 3``.

    Raises:
        InputError: If the file or a column is missing, a value is not a number, or a number is there twice.
    """
    parts: dict[str, Parts] = {}
    for number, line in _lines(path):
        part = tuple(line[column] for column in ("dataset", "split", "setting", "method"))
        values = parts.setdefault(line["row"], {}).setdefault(part, {})
        key = (line["direction"], line["metric"])
        if key in values:
            raise InputError(f"{path}: line {number} gives {' '.join(key).strip()} of row {line['row']} a second time.")
        values[key] = _number(line["value"], f"{path}: line {number}")
    return _by_method(parts) if rows == "columns" else _by_row(parts)


def _by_row(parts: Mapping[str, Parts]) -> dict[str, PublishedRow]:
    found: dict[str, PublishedRow] = {}
    for row, of_row in parts.items():
        # Only what tells the parts of a row apart goes into their names.
        telling = [index for index in range(3) if len({part[index] for part in of_row}) > 1]
        for part, values in of_row.items():
            dataset, split, setting, method = part
            name = " ".join([row, *(part[index] for index in telling)])
            settings = dict(one.split("=", 1) for one in setting.split(";") if "=" in one)
            found[name] = PublishedRow(name, dataset, split, method, settings, values)
    return found


def _by_method(parts: Mapping[str, Parts]) -> dict[str, PublishedRow]:
    found: dict[str, PublishedRow] = {}
    for row, of_row in parts.items():
        for (dataset, split, _, method), values in of_row.items():
            named = {(direction, f"{metric} {row}"): value for (direction, metric), value in values.items()}
            before = found[method].values if method in found else {}
            found[method] = PublishedRow(method, dataset, split, method, {}, {**before, **named})
    return found


def _lines(path: Path | str) -> Iterator[tuple[int, dict[str, str]]]:
    check_file(path, "a study's `published` names one of its folder")
    text = text_of(read_bytes(path), path)
    lines = csv.DictReader(text.splitlines())
    missing = [column for column in COLUMNS if column not in (lines.fieldnames or ())]
    if missing:
        raise InputError(f"{path}: the column '{missing[0]}' is missing; columns are {', '.join(COLUMNS)}.")
    for number, line in enumerate(lines, start=2):
        if None in line.values() or None in line:
            raise InputError(f"{path}: line {number} does not have {len(COLUMNS)} fields.")
        yield number, line


def _number(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where} has the value '{text}', which is not a number.") from None


def published_row(published: Mapping[str, PublishedRow], row: str, where: str) -> PublishedRow:
    """The published row of that name.

    Raises:
        InputError: If there is no such row; ``where`` says who asked.
    """
    if row not in published:
        raise InputError(f"{where} names the published row '{row}', but the table has only: {', '.join(published)}.")
    return published[row]


def also_published(
    named: Iterable[str | AlsoPublished], published: Mapping[str, PublishedRow], where: str
) -> list[tuple[PublishedRow, tuple[str, ...]]]:
    """Published rows that a table shows without a row of ours, each with the roles whose rows it stands below.

    Raises:
        InputError: If there is no such row.
    """
    found = []
    for one in named:
        row = published_row(published, one if isinstance(one, str) else one.row, f"{where}.also_published")
        found.append((row, (row.role,) if isinstance(one, str) else tuple(one.roles)))
    return found
