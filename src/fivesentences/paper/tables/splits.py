"""How many images and captions each split of the scale's datasets has, beside what a paper says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fivesentences.corpus import CorpusSizes
from fivesentences.paper.context import Context
from fivesentences.paper.numbers.published import PublishedRow, published_row
from fivesentences.paper.tables.table import Cell, Column, Group, Table, TableRow
from fivesentences.study.exhibits import SplitsRowSpec, SplitsTable

ITEMS = ("images", "captions")
# Splits by their names in a corpus, as a reader and as a published table call them.
SPLITS = {"train": ("training", "train"), "dev": ("validation", "validation"), "test": ("test", "test")}
CSV = (
    *((key, "") for key in ("role", "dataset", "folds", "row", "published_row", "items", "split")),
    ("value", "value"),
    ("published", "published"),
    ("difference", "difference"),
)


def splits_table(spec: SplitsTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with the sizes of the scale's corpora."""
    sizes = {path.stem: CorpusSizes.read(path) for path in numbers}
    published = context.published_rows(spec)
    columns = tuple(
        Column((items.capitalize(), split), f"{items} {split}", {"items": items, "split": name}, "neither", 0)
        for items in ITEMS
        for name, (split, _) in SPLITS.items()
    )
    rows = []
    for row in spec.rows:
        dataset = context.scale.roles.get(row.role)
        if dataset is None:
            continue
        theirs = None if row.published is None else published_row(published, row.published, context.where(spec))
        cells = tuple(_cells(sizes[dataset], row, theirs, dataset == row.role))
        label = context.study.label_of(dataset) + ("" if row.folds is None else f", one of {row.folds} folds")
        keys = {"role": row.role, "dataset": dataset, "folds": row.folds or ""}
        rows.append(TableRow("ours", (label,), keys, row.published or "", dataset == row.role, cells))
    groups = (Group("Datasets of the scale", {}, tuple(rows)),) if rows else ()
    notes = (
        *(_how_read(context.study.label_of(name), one) for name, one in sizes.items() if one.read_as),
        *spec.notes,
    )
    return Table(*context.texts(spec), ("Dataset",), columns, groups, notes, 0, CSV)


def _cells(sizes: CorpusSizes, row: SplitsRowSpec, theirs: PublishedRow | None, same_data: bool) -> Iterator[Cell]:
    for items in ITEMS:
        counted = getattr(sizes, items)
        for split, (_, published_name) in SPLITS.items():
            value = counted.get(split)
            if value is not None and split == "test":
                value //= row.folds or 1
            published = None if theirs is None else theirs.values.get(("", f"n_{published_name}_{items}"))
            compared = same_data and value is not None and published is not None
            yield Cell(value, published=published, difference=value - published if compared else None)


def _how_read(label: str, sizes: CorpusSizes) -> str:
    order, captions = sizes.read_as.get("order"), sizes.read_as.get("captions_per_image")
    ordered = (
        "images of restval after the other training images, as released" if order == "released" else "in file order"
    )
    kept = "all captions" if captions == "all" else f"the first {captions} captions of each image"
    return f"{label}: {ordered}; {kept}."
