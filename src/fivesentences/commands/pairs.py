"""`fivesentences pairs`: a similarity against pairs that people rated or contrasted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from fivesentences.commands.annotations import read_list
from fivesentences.commands.arguments import numbers_of
from fivesentences.commands.sheets import Outputs, Read, number
from fivesentences.console import working
from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_matrix
from fivesentences.evaluation.rated_pairs import cxc_within, pair_wins, read_contrasts, task_of, undecidable
from fivesentences.metrics.sheet import Sheet
from fivesentences.semantics.caption_file import read_pairing

CHANCE = {"text": 25, "image": 25, "group": 16.7, "accuracy": 50}  # percent
DIGITS = {"queries": 0, "pairs": 0, "Spearman": 4}


def pairs(
    similarity: Annotated[str, typer.Argument(metavar="SIMILARITY")],
    file: Annotated[Path, typer.Argument(metavar="PAIRS")],
    *,
    ids: Path | None = None,
    image_of_caption: Path | None = None,
    ks: str = "1,5,10",
    outputs: Outputs,
) -> None:
    """Score a model on rated or contrasted pairs: CxC within a modality, Winoground, SugarCrepe.

    PAIRS is a CSV, whose columns say which task it is.

    image1,image2 or caption1,caption2 (and agg_score): sis_test.csv or
    sts_test.csv of Crisscrossed Captions. The similarity is of images with
    images, or captions with captions. Reported are recall of the other items,
    where a pair rated 3 or more is a match, and Spearman's correlation of the
    similarity with the ratings.

    image_0,image_1,caption_0,caption_1: examples of Winoground, by index from 0
    into the similarity [images, captions]: text, image and group score.

    image,caption,foil: an image, its caption and a wrong one, likewise by index,
    as in SugarCrepe: accuracy. Equal scores count as wrong. With a column
    category there is a row for each.

    Args:
        similarity: Matrix, .npy, .npz, .json, .csv or .pt; larger is more similar.
        file: The pairs, .csv.
        ids: CxC: COCO id of each row, one per line; default: Karpathy's order of COCO's test split.
        image_of_caption: CxC's captions: index of each caption's image; captions of one image are matches too.
        ks: CxC: cut-offs of recall.

    Examples:

        fivesentences pairs images.npy sis_test.csv

        fivesentences pairs sims.npy winoground.csv --json out.json
    """
    read: Read = [("similarity", similarity), ("pairs", file), ("ids", ids), ("image_of_caption", image_of_caption)]
    outputs.check(read)
    cutoffs = numbers_of(ks, "--ks")
    rated = task_of(file) in ("images", "captions")
    if not rated and (ids or image_of_caption):
        raise InputError("--ids and --image-of-caption are for pairs of CxC; these are others.", where=file)
    matrix = read_matrix(similarity)
    found: dict[str, dict[str, float]] = {}  # numbers by category
    if rated:
        known = read_list(ids, len(matrix), "ids", "rows")
        owner = None if image_of_caption is None else read_pairing(image_of_caption, len(matrix))
        with working(f"score {similarity}"):
            found["all"] = cxc_within(matrix, file, known, cutoffs, image_of_caption=owner)
        also = ", or captions of one image" if image_of_caption else ""
        notes = [
            f"R@k: percent of the queries with a match among the first k; a match is a pair rated 3 or more{also}."
        ]
        notes += [] if ids else ["No --ids given: rows are taken to be in Karpathy's order of COCO's test split."]
    else:
        contrasts, categories = read_contrasts(file)
        wins = pair_wins(matrix, contrasts)
        for kind in [*filter(None, dict.fromkeys(categories)), "all"]:
            chosen = np.array([kind in (one, "all") for one in categories])
            found[kind] = {name: 100.0 * float(won[chosen].mean()) for name, won in wins.items()}
            found[kind]["pairs"] = int(chosen.sum())
        notes = [f"In percent; by chance {', '.join(f'{name} {CHANCE[name]}' for name in wins)}."]
        if alike := undecidable(matrix, contrasts):
            notes.append(f"{alike:,} examples cannot be won: their two images, or captions, have equal scores.")
    cells = [
        [kind, *(number(value, DIGITS.get(name, 2)) for name, value in row.items())] for kind, row in found.items()
    ]
    title = f"{similarity}, {file}: {matrix.shape[0]:,} x {matrix.shape[1]:,}"
    sheet = Sheet(["category"], [("", name) for name in found["all"]], cells, title, notes)
    values = [
        {"category": kind, "metric": name, "value": value} for kind, row in found.items() for name, value in row.items()
    ]
    content = {"similarity": similarity, "pairs": str(file), "values": values}
    tidy = pd.DataFrame(values).assign(similarity=similarity, pairs=str(file))
    outputs.write([sheet], lambda: tidy, content, read)
