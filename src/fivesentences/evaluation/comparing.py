"""Two models on the same test split: for every metric, does one differ from the other by more than chance?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.evaluation.protocols import (
    GALLERY_COLUMNS,
    about_of,
    checked_phis,
    checked_split,
    galleries,
    matrix_of,
    protocol_named,
    sentences,
)
from fivesentences.metrics import Evaluator, QueryValues
from fivesentences.metrics.comparison import RESAMPLES, paired_tests
from fivesentences.metrics.frame import MetricFrame, said_once
from fivesentences.metrics.ranking import checked_choice

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("metric", "direction", "phi", "formula", "ground_truth", "m")
Key = tuple[str, str, str, str, str, int]


def compare(
    a: ArrayLike,
    b: ArrayLike,
    phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
    protocol: str | None = None,
    image_of_caption: ArrayLike | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    ms: Sequence[int] = (1,),
    asp: bool = False,
    asp_ties: Sequence[str] = ("index",),
    sr_ground_truth: Sequence[str] = ("removed",),
    method: str = "permutation",
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[], object] | None = None,
) -> pd.DataFrame:
    """A paired test of two models for every metric, from its value for each query.

    An image and its captions, as queries of either direction, are one cluster: they are flipped or drawn together.
    Rsum, which is no mean of queries, is tested through each image's share of it. The p values are not adjusted for
    the number of metrics.

    Args:
        a: ``[images, captions]`` similarity of one model.
        b: Of the other, same images and captions.
        phis: As in ``score``: adds N@k (released formula, ground truth kept and removed) and SR@k.
        protocol: As in ``score``; folds are scored by themselves.
        image_of_caption: ``[captions]``; default equal image-major blocks.
        ks: Cut-offs.
        ms: Sizes of the relevant set of semantic recall.
        asp: Whether to add ASP, which takes longest.
        asp_ties: Its rules for ties, of "index" and "average".
        sr_ground_truth: Which of "kept" and "removed" semantic recall to test.
        method: As in ``metrics.comparison.paired_test``, and so all that follow.
        resamples: How many.
        confidence: Of the interval.
        seed: Of the resampling.
        progress: Called after each gallery and similarity.

    Returns:
        One row a metric: metric, direction, phi, formula, ground_truth, m, a, b, difference (a - b), low, high, p, n,
        clusters, and the columns of ``protocols.GALLERY_COLUMNS``; ``frame.attrs`` holds these too, and method,
        resamples, confidence and seed. Printed, what is the same in all rows stands below the table.

    Raises:
        InputError: If shapes disagree or do not fit the protocol, a value is not finite, or an option is none.
    """
    for kept in sr_ground_truth:
        checked_choice("sr_ground_truth", kept, ("kept", "removed"))
    matrices = [matrix_of(given, name) for name, given in (("a", a), ("b", b))]
    if matrices[0].shape != matrices[1].shape:
        raise InputError(
            f"a is {list(matrices[0].shape)} but b is {list(matrices[1].shape)}; two models are compared on the same "
            "images and captions."
        )
    n_images, n_captions = matrices[0].shape
    chosen = None if protocol is None else protocol_named(protocol)
    pairing = checked_split(chosen, image_of_caption, n_images, n_captions)
    named = checked_phis(phis, n_images, n_captions)
    found: list[dict[Key, list[NDArray[np.float64]]]] = [{}, {}]
    clusters = []
    parts = galleries(chosen, pairing, n_images)
    for gallery in parts:
        evaluator = Evaluator(
            {name: phi[gallery.captions, gallery.images] for name, phi in named.items()} or None,
            gallery.image_of_caption,
            ks=ks,
            ms=ms,
            formulas=("released",),
            styles=("recall",),
            asp_ties=asp_ties if asp and named else (),
        )
        images = np.arange(gallery.images.stop - gallery.images.start)
        clusters.append(gallery.images.start + np.concatenate([images, gallery.image_of_caption]))
        for name, values, matrix in zip("ab", found, matrices, strict=True):
            with gallery.located(name):
                of_queries = evaluator.per_query(matrix[gallery.images][:, gallery.captions])
            for key, row in _rows(of_queries, gallery.image_of_caption, len(images), sr_ground_truth).items():
                values.setdefault(key, []).append(row)
            if progress is not None:
                progress()
    keys = list(found[0])
    rows_a, rows_b = (np.stack([np.concatenate(values[key]) for key in keys]) for values in found)
    tests = paired_tests(rows_a, rows_b, method, np.concatenate(clusters), resamples, confidence, seed)
    table = [
        {
            **dict(zip(KEYS, key, strict=True)),
            "a": float(np.nanmean(row_a)),
            "b": float(np.nanmean(row_b)),
            "difference": test.difference,
            "low": np.nan if test.low is None else test.low,
            "high": np.nan if test.high is None else test.high,
            "p": test.p,
            "n": test.n,
            "clusters": test.clusters,
        }
        for key, row_a, row_b, test in zip(keys, rows_a, rows_b, tests, strict=True)
    ]
    about = about_of(chosen, parts, n_images, n_captions)
    frame = MetricFrame(table).assign(**{column: about[column] for column in GALLERY_COLUMNS})
    notes = [
        *sentences(about),
        f"Paired {method} test, {tests[0].resamples:,} {'sign flips' if method == 'permutation' else 'draws'}; "
        f"{tests[0].clusters:,} images, each with its captions, are the clusters; low to high: {100 * confidence:g} % "
        f"interval; p is not adjusted for {len(table)} metrics.",
    ]
    frame.attrs.update(about, method=method, resamples=tests[0].resamples, confidence=confidence, seed=seed)
    frame.attrs.update(said_once(notes, (*GALLERY_COLUMNS, "clusters")))
    return frame


def _rows(
    of_queries: Sequence[QueryValues], pairing: NDArray[np.int64], n_images: int, sr_ground_truth: Sequence[str]
) -> dict[Key, NDArray[np.float64]]:
    """Per metric ``[images + captions]`` values: of images as queries, then of captions; NaN where there is none."""
    n_captions = len(pairing)
    rows: dict[Key, NDArray[np.float64]] = {}
    share_of_rsum = np.zeros(n_images)
    for query in of_queries:
        metric, values = query["metric"], query["values"]
        # Shares of recalled ground truth say what recall says.
        if metric.startswith("true ") or (metric.startswith("SR@") and query["ground_truth"] not in sr_ground_truth):
            continue
        row = np.full(n_images + n_captions, np.nan)
        row[slice(None, n_images) if query["direction"] == "i2t" else slice(n_images, None)] = values
        key = (metric, query["direction"], query["phi"], query["formula"], query["ground_truth"], query["m"])
        rows[key] = row
        if metric.startswith("R@"):
            per_image = values
            if query["direction"] == "t2i":  # whose mean over images is the mean over captions
                per_image = np.bincount(pairing, weights=values, minlength=n_images) * n_images / n_captions
            share_of_rsum += per_image
    rsum = np.full(n_images + n_captions, np.nan)
    rsum[:n_images] = share_of_rsum
    rows["Rsum", "", "", "", "", 0] = rsum
    return rows
