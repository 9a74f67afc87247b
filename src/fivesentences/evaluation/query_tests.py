"""Models on the same test split: for every metric, does one differ from another by more than chance?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.config.metrics import metric_of
from fivesentences.errors import Argument, InputError, counted
from fivesentences.evaluation.protocols import ProtocolScorer, checked_gallery, protocol_named, refuse_evaluation
from fivesentences.metrics import Evaluation, QueryValues
from fivesentences.metrics.comparison import RESAMPLES, PairedTest, holm, paired_tests
from fivesentences.metrics.frame import MetricFrame, stated_once
from fivesentences.metrics.result import GALLERY_COLUMNS, sentences
from fivesentences.metrics.values import KEYS
from fivesentences.retrieval.gallery import Similarity

if TYPE_CHECKING:
    import pandas as pd

NUMBERS_AT_ONCE = 30_000_000  # of the tests of several pairs, in memory at a time
FEWEST_IMAGES = 100  # by whose ranks two models are compared
BY_CHANCE = 2.0  # standard errors of a correlation
NOT_OF_TWO = ["model", "against", "p_holm", "p_holm_all"]


def compare(
    a: Similarity,
    b: Similarity,
    phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
    protocol: str | None = None,
    image_of_caption: ArrayLike | None = None,
    *,
    inference: str = "naive",
    method: str = "permutation",
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[], object] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Test two models for every metric, paired by query, as ``compare_all`` does; p values are not adjusted.

    Args:
        a: ``[images, captions]`` similarity of one model, or a ``Gallery``.
        b: Similarity of the other model, for the same images and captions.
        phis: As in ``evaluate``.
        protocol: As in ``evaluate``.
        image_of_caption: ``[captions]``; default equal image-major blocks.
        inference: How each gallery is read, as in ``evaluate``.
        method: Method of the test; this and the next arguments are those of ``metrics.comparison.paired_test``.
        resamples: Number of flips or draws.
        confidence: Confidence of the interval.
        seed: Seed of the resampling.
        progress: Called after each gallery and similarity.
        options: Further arguments of ``ProtocolScorer``; ``asp_ties=()`` leaves out ASP, which takes longest.

    Returns:
        One row per metric: the keys of ``MetricValue``, a, b, difference (a - b), low, high, p, n, clusters, and the
        columns ``metrics.result.GALLERY_COLUMNS``; ``frame.attrs`` holds these too, and method, resamples, confidence
        and seed. Printed, what is the same in all rows stands below the table.

    Raises:
        InputError: If shapes disagree or do not fit the protocol, a value is not finite, or an option is out of range.
    """
    chosen = None if protocol is None else protocol_named(protocol)
    whole = checked_gallery(a, image_of_caption, phis, chosen, name="a")
    refuse_evaluation(b, "b")
    other = whole.with_similarity(b, name="b")
    scorer = ProtocolScorer(whole, chosen, **options)
    how: dict[str, Any] = {"inference": inference, "queries": True, "progress": progress}
    models = {"a": scorer(whole, **how), "b": scorer(other, **how)}
    frame = compare_all(
        models, whole.image_of_caption, method=method, resamples=resamples, confidence=confidence, seed=seed
    )
    about = models["a"].about
    hang = [f"{name}: {note}" for name, model in models.items() for note in model.about["notes"]]
    apart = disagreements(frame)
    notes = [
        *sentences(about),
        *hang,
        frame.attrs["notes"][0],
        *apart,
        f"p is not adjusted for {counted(len(frame), 'metric')}.",
    ]
    two = frame.drop(columns=NOT_OF_TWO).assign(**{column: about[column] for column in GALLERY_COLUMNS})
    once = (*GALLERY_COLUMNS, "clusters", "style", "weighting", "discount")
    two.attrs.update(about | stated_once(notes, once))
    return two


def compare_all(
    models: Mapping[str, Evaluation],
    image_of_caption: ArrayLike,
    *,
    against: str | None = None,
    method: str = "permutation",
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[], object] | None = None,
) -> pd.DataFrame:
    """Test every two models for every metric, paired by query, and adjust for the number of tests.

    An image and its captions, as queries of either direction, are one cluster: they are flipped or drawn together.
    Sums over directions, which are not means over queries, are tested through each image's share of them. Holm's method
    adjusts p twice: ``p_holm`` for the pairs of models that are compared by one metric, and ``p_holm_all`` for all
    pairs and metrics together.

    Args:
        models: By name, evaluations of the same images and captions with the values of every query, as
            ``ProtocolScorer`` returns them; metrics that one of them lacks are not tested.
        image_of_caption: ``[captions]`` image index of each caption.
        against: The only model with which the others are compared; default every pair.
        method: Method of the test; this and the next arguments are those of ``metrics.comparison.paired_test``.
        resamples: Number of flips or draws.
        confidence: Confidence of the interval.
        seed: Seed of the resampling.
        progress: Called after each pair.

    Returns:
        One row per metric and pair, pairs of a metric together: the keys of ``MetricValue``, model, against, a and b
        (their values), difference (a - b), low, high, p, p_holm, p_holm_all, n, clusters.

    Raises:
        InputError: If there are fewer than two models, there is no model ``against``, or an option is out of range.
    """
    if len(models) < 2:
        raise InputError(f"there is {len(models)} model; a comparison needs at least two.")
    if against is not None and against not in models:
        raise InputError(f"is '{against}', which is none of {', '.join(models)}.", where=Argument("against"))
    first = next(iter(models.values()))
    pairing = np.asarray(image_of_caption)
    images, captions = first.scored["i2t"], first.scored["t2i"]
    owner = np.searchsorted(images, pairing[captions])  # of each image among those that are scored
    of_model = {name: _rows(one.queries, owner, len(images)) for name, one in models.items()}
    keys = [key for key in next(iter(of_model.values())) if all(key in found for found in of_model.values())]
    rows = {name: np.stack([found[key] for key in keys]) for name, found in of_model.items()}
    clusters = np.concatenate([images, pairing[captions]])
    pairs = [(a, b) for a, b in itertools.combinations(models, 2) if against in (None, a, b)]
    pairs = [(b, a) if against == a else (a, b) for a, b in pairs]
    # All pairs see the same flips, so several are tested at the cost of little more than one.
    at_once = max(1, NUMBERS_AT_ONCE // (len(keys) * max(resamples, len(clusters))))
    table: list[dict[str, Any]] = []
    for start in range(0, len(pairs), at_once):
        some = pairs[start : start + at_once]
        of_a, of_b = (np.concatenate([rows[pair[side]] for pair in some]) for side in (0, 1))
        tests = iter(paired_tests(of_a, of_b, method, clusters, resamples, confidence, seed))
        for a, b in some:
            for at, key in enumerate(keys):
                test = next(tests)
                about = {**dict(zip(KEYS, key, strict=True)), "model": a, "against": b}
                table.append({**about, **_tested(rows[a][at], rows[b][at], test), "at": at})
            if progress is not None:
                progress()
    frame = MetricFrame(table).sort_values("at", kind="stable", ignore_index=True)
    after_p = list(frame.columns).index("p") + 1
    frame.insert(after_p, "p_holm", frame.groupby("at")["p"].transform(holm))
    frame.insert(after_p + 1, "p_holm_all", holm(frame["p"].to_numpy()))
    of = f"{counted(len(pairs), 'pair')} of models"
    notes = [
        f"Paired {method} tests, {test.resamples:,} {'sign flips' if method == 'permutation' else 'draws'}; "
        f"{test.clusters:,} images, each with its captions, are the clusters; low to high: {100 * confidence:g} % "
        "interval.",
        f"p_holm: Holm's correction for the {of} of each metric; p_holm_all: for all {len(table):,} tests, {of} by "
        f"{len(keys)} metrics.",
    ]
    frame.attrs.update(method=method, resamples=test.resamples, confidence=confidence, seed=seed)
    frame.attrs.update(pairs=len(pairs), metrics=len(keys), **stated_once(notes, ("clusters",)))
    return frame.drop(columns="at")


def unlike(models: Mapping[str, Evaluation], image_of_caption: NDArray[np.int64]) -> list[str]:
    """Return a sentence on each model whose queries rank own items well, but others than those of the first model do.

    What is hard for one model is hard for another, so that ranks of own items correlate, by 0.6 for the two models of
    ``fivesentences example``. If they do not, queries of one file are in another order, and paired tests mean nothing.

    Args:
        models: By name, evaluations of the same images and captions with the values of every query.
        image_of_caption: ``[captions]`` image index of each caption.
    """
    import scipy.stats  # takes a fifth of a second

    known = {name: _difficulty(one, image_of_caption) for name, one in models.items()}
    (first, of_first), *others = [(name, one) for name, one in known.items() if one is not None] or [("", np.zeros(0))]
    notes = []
    for name, of_other in others if len(of_first) >= FEWEST_IMAGES else ():
        correlation = float(scipy.stats.spearmanr(of_first, of_other).statistic)
        if correlation * np.sqrt(len(of_first)) < BY_CHANCE:
            notes.append(
                f"{name} and {first}: own items rank well, but what is hard for one is not for the other (Spearman's "
                f"correlation {correlation:.2f} over {len(of_first):,} images, from image 0 on), as if their images "
                "came in different orders; p pairs them by their order, so check it."
            )
    return notes


def _difficulty(model: Evaluation, pairing: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return ``[images]`` logarithms of ranks, as queries and of their captions; None if hardly better than chance."""
    ranks = {query["direction"]: query["values"] for query in model.queries if query["metric"] == "Mean r"}
    if set(ranks) != {"i2t", "t2i"} or 4 * float(np.mean(ranks["t2i"])) > len(ranks["i2t"]):
        return None
    owner = np.searchsorted(model.scored["i2t"], pairing[model.scored["t2i"]])
    of_captions = np.bincount(owner, np.log(ranks["t2i"])) / np.bincount(owner)
    return np.asarray(np.log(ranks["i2t"]) + of_captions)


def disagreements(tests: pd.DataFrame) -> list[str]:
    """Return a sentence on intervals that leave out 0 although p is not small, or contain it although p is.

    Args:
        tests: As ``compare_all`` returns them, of one pair of models.
    """
    alpha = 1 - tests.attrs["confidence"]
    outside = (tests["low"] > 0) | (tests["high"] < 0)
    apart = tests[tests["low"].notna() & (outside != (tests["p"] < alpha))]
    if apart.empty:
        return []
    named = ", ".join(
        f"{row.metric} {row.direction or 'of both directions'} (p = {row.p:.4f})"
        for row in apart.drop_duplicates(["metric", "direction", "p"]).itertuples()
    )
    two = " come from two tests, a bootstrap and sign flips, which" if tests.attrs["method"] == "permutation" else ""
    return [f"Interval and p{two} disagree about 0 for {named}; report p."]


def _tested(row_a: NDArray[np.float64], row_b: NDArray[np.float64], test: PairedTest) -> dict[str, Any]:
    """Return the means of two models by a metric, and the test of their difference, as columns of a table."""
    low, high = (np.nan if end is None else end for end in (test.low, test.high))
    return {
        "a": float(np.nanmean(row_a)), "b": float(np.nanmean(row_b)), "difference": test.difference, "low": low,
        "high": high, "p": test.p, "n": test.n, "clusters": test.clusters,
    }  # fmt: skip


def _rows(
    of_queries: Sequence[QueryValues], pairing: NDArray[np.int64], n_images: int
) -> dict[tuple[Any, ...], NDArray[np.float64]]:
    """Return ``[images + captions]`` values of each metric: of images as queries, then of captions; NaN elsewhere.

    Sums over directions come last, as each image's share of them.
    """
    n_captions = len(pairing)
    rows: dict[tuple[Any, ...], NDArray[np.float64]] = {}
    shares: dict[tuple[Any, ...], NDArray[np.float64]] = {}
    for query in of_queries:
        values = query["values"]
        row = np.full(n_images + n_captions, np.nan)
        row[slice(None, n_images) if query["direction"] == "i2t" else slice(n_images, None)] = values
        key = tuple(query[name] for name in KEYS)  # type: ignore[literal-required]
        rows[key] = row
        if (of_sum := metric_of(query["metric"]).sum) and np.isfinite(values).all():
            per_image = values
            if query["direction"] == "t2i":  # whose mean over images is the mean over captions
                per_image = np.bincount(pairing, weights=values, minlength=n_images) * n_images / n_captions
            share = shares.setdefault((of_sum, "", *key[2:]), np.full(n_images + n_captions, np.nan))
            share[:n_images] = np.where(np.isnan(share[:n_images]), 0.0, share[:n_images]) + per_image
    return rows | shares
