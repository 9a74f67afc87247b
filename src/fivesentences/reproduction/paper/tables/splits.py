"""How many images and captions each split of the scale's datasets has, and how long the captions are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fivesentences.corpus import Corpus, CorpusSizes
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.tables.table import Cell, Column, Group, Table, TableRow, csv_of
from fivesentences.reproduction.study.exhibits import LengthsTable, SplitsTable

# Each column: what is counted, and the split as a corpus, a reader and a published table call it.
COUNTED = [
    (items, *names)
    for items in ("images", "captions")
    for names in (("train", "training", "train"), ("dev", "validation", "validation"), ("test", "test", "test"))
]
KEYS = ("role", "dataset", "folds", "row", "published_row", "items", "split")
VALUES = {"value": "value", "published": "published", "difference": "difference"}
LENGTHS = {"images": 0, "captions": 0, "words per caption": 1}  # each column, and its digits after the point


def splits_table(spec: SplitsTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with the sizes of the scale's corpora."""
    sizes, label_of = {path.stem: CorpusSizes.read(path) for path in numbers}, context.study.label_of
    published = context.published_rows(spec)
    columns = tuple(
        Column((items.capitalize(), shown), f"{items} {shown}", {"items": items, "split": split}, "neither", 0)
        for items, split, shown, _ in COUNTED
    )
    rows = []
    for row in (row for row in spec.rows if row.role in context.scale.roles):
        dataset, cells = context.scale.roles[row.role], []
        theirs = published[row.published].values if row.published else {}
        for items, split, _, name in COUNTED:
            value = getattr(sizes[dataset], items).get(split)
            if value is not None and split == "test":
                value //= row.folds or 1
            printed = theirs.get(("", f"n_{name}_{items}"))
            compared = dataset == row.role and value is not None and printed is not None
            cells.append(Cell(value, published=printed, difference=value - printed if compared else None))
        label = label_of(dataset) + ("" if row.folds is None else f", one of {row.folds} folds")
        keys = {"role": row.role, "dataset": dataset, "folds": row.folds or ""}
        rows.append(TableRow("ours", (label,), keys, row.published or "", dataset == row.role, tuple(cells)))
    groups = (Group("Datasets of the scale", {}, tuple(rows)),) if rows else ()
    notes = [_how_read(label_of(name), one) for name, one in sizes.items() if one.read_as]
    csv = csv_of(KEYS, VALUES)
    return Table(*context.texts(spec), ("Dataset",), columns, groups, (*notes, *spec.notes), 0, csv)


def lengths_table(spec: LengthsTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Count the words of captions, as white space parts them, in the corpora that have the split."""
    columns = tuple(
        Column((name.capitalize(),), name, {"quantity": name}, "neither", digits) for name, digits in LENGTHS.items()
    )
    rows, notes = [], []
    for corpus in map(Corpus.read, numbers):
        if spec.split not in corpus.splits:
            continue
        part = corpus.split(spec.split)
        words = sum(len(caption.split()) for caption in part.captions) / part.n_captions
        cells = tuple(map(Cell, (part.n_images, part.n_captions, words)))
        keys = {"dataset": corpus.name, "split": spec.split}
        rows.append(TableRow("ours", (context.study.label_of(corpus.name),), keys, "", False, cells))
        notes.append(f"{rows[-1].labels[0]}: the {spec.split} split.")
    groups = (Group("Datasets of the scale", {}, tuple(rows)),) if rows else ()
    csv = csv_of(("dataset", "split", "quantity"), {"value": "value"})
    return Table(*context.texts(spec), ("Dataset",), columns, groups, (*notes, *spec.notes), 1, csv)


def _how_read(label: str, sizes: CorpusSizes) -> str:
    released, captions = sizes.read_as.get("order") == "released", sizes.read_as.get("captions_per_image")
    order = "images of restval after the other training images, as released" if released else "in file order"
    kept = "all captions" if captions == "all" else f"the first {captions} captions of each image"
    return f"{label}: {order}; {kept}."
