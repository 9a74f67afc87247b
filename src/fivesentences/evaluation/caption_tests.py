"""Systems that captioned the same images: by every metric, does one differ from another by more than chance?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fivesentences.errors import Argument, InputError
from fivesentences.metrics.comparison import RESAMPLES, holm, paired_tests
from fivesentences.semantics.captioning import CaptionScores

if TYPE_CHECKING:
    import pandas as pd


def compare_captions(
    systems: Mapping[str, Mapping[str, CaptionScores]],
    *,
    against: str | None = None,
    method: str = "permutation",
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Test every two systems for every metric, paired by image, and adjust for the number of pairs by Holm's method.

    The tests compare means over the captions' own scores. These are the scores of the set, but for BLEU and METEOR,
    whose score of a set adds up counts first.

    Args:
        systems: By name, the scores of captions of the same images in the same order, by metric.
        against: The only system with which the others are compared; default every pair.
        method: Method of the test; this and the next arguments are those of ``metrics.comparison.paired_test``.
        resamples: Number of flips or draws.
        confidence: Confidence of the interval.
        seed: Seed of the resampling.

    Returns:
        One row per metric and pair, pairs of a metric together: metric, model, against, difference (of the means), low,
        high, p, p_holm (adjusted for the pairs of systems that are compared by the metric), n. ``attrs`` has method,
        resamples, confidence, seed and pairs.

    Raises:
        InputError: If there are fewer than two systems, there is no system ``against``, they were scored by other
            metrics or on other images, or an option is out of range.
    """
    import pandas as pd

    if len(systems) < 2:
        raise InputError(f"there is {len(systems)} system; a comparison needs at least two.")
    if against is not None and against not in systems:
        raise InputError(f"is '{against}', which is none of {', '.join(systems)}.", where=Argument("against"))
    metrics = list(next(iter(systems.values())))
    sizes = {(name, len(one.each)) for scores in systems.values() for name, one in scores.items()}
    if len(sizes) > len(metrics) or any(list(scores) != metrics for scores in systems.values()):
        raise InputError("the systems have other metrics or numbers of images; score the same images alike.")
    each = {name: np.stack([one.each for one in scores.values()]) for name, scores in systems.items()}
    pairs = [(a, b) for a, b in itertools.combinations(systems, 2) if against in (None, a, b)]
    pairs = [(b, a) if against == a else (a, b) for a, b in pairs]
    rows: list[dict[str, Any]] = []
    tried = 0
    for a, b in pairs:
        found = paired_tests(each[a], each[b], method, None, resamples, confidence, seed)
        tried = found[0].resamples
        for metric, test in zip(metrics, found, strict=True):
            of_test = {"difference": test.difference, "low": test.low, "high": test.high, "p": test.p, "n": test.n}
            rows.append({"metric": metric, "model": a, "against": b, **of_test})
    frame = pd.DataFrame(rows)
    frame["p_holm"] = frame.groupby("metric")["p"].transform(lambda of_metric: holm(of_metric.to_numpy()))
    frame = frame.sort_values("metric", key=lambda names: names.map(metrics.index), kind="stable")
    how = {"method": method, "resamples": tried, "confidence": confidence, "seed": seed, "pairs": len(pairs)}
    frame.attrs.update(how)
    return frame.reset_index(drop=True)
