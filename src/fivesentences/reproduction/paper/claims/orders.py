"""Claims of how metrics order models, tested by models that people ordered (``benchmarks/people``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.config.types import as_list
from fivesentences.metrics.model_orders import Agreement
from fivesentences.reproduction.paper.claims.judging import Tested, with_verdict
from fivesentences.reproduction.paper.claims.verdicts import Effect, Over, rank_correlation
from fivesentences.reproduction.paper.claims.writing import FORMAT, counts_of
from fivesentences.reproduction.study.claims import AnyTest, OrdersTest, RanksTest
from fivesentences.reproduction.study.exhibits import ColumnSpec
from fivesentences.reproduction.study.study import PaperClaims
from fivesentences.storage import write_json

OVER: Over = "families of models and queries"


def write_claims_of_orders(
    path: Path,
    about: Mapping[str, str],
    papers: Sequence[PaperClaims],
    agreements: Mapping[str, Mapping[str, Agreement]],
    images: int,
    means: Mapping[str, NDArray[np.float64]],
) -> None:
    """Write what ``ledger`` reads beside the claims of the scales.

    Args:
        path: The JSON file.
        about: ``scale`` (a name that no scale has), ``title`` and ``page``, which shows the numbers: its address from
            the folder of the ledger.
        papers: Claims of the papers.
        agreements: How far each metric orders models as people do, by which pairs of models count, and by metric.
        images: Number of test images.
        means: ``[families]`` means over seeds by the name of a metric and its own items, such as ``Rsum kept`` and, by
            CIDEr, ``Nsum removed``.
    """
    claims = [
        with_verdict(paper, one, tested)
        for paper in papers
        for one in paper.claims.claims
        if (tested := list(_tested(one.test, agreements, images, means)))
    ]
    write_json(path, {"format": FORMAT, **about, "counts": counts_of(claims), "claims": claims}, indent=None)


def _tested(
    test: AnyTest,
    agreements: Mapping[str, Mapping[str, Agreement]],
    images: int,
    means: Mapping[str, NDArray[np.float64]],
) -> Iterator[Tested]:
    match test:
        case OrdersTest():
            for models in as_list(test.models):
                of = agreements[models]
                for a, b in test.pairs():
                    pairs = f"pairs of models, {models} ({of[a].pairs:,})"
                    yield f"{a}{f' against {b}' if b else ''}: {pairs}", _effect(of, a, b, images), "", [], ""
        case RanksTest() if {_name(test.x), _name(test.y)} <= set(means):
            x, y = means[_name(test.x)], means[_name(test.y)]
            yield f"{len(x)} families of models", rank_correlation(x, y), "", [], ""


def _name(column: ColumnSpec) -> str:
    return f"{column.metric} {column.ground_truth}" if column.phi is None else ""


def _effect(of: Mapping[str, Agreement], a: str, b: str | None, images: int) -> Effect:
    value, low, high = (of[a].tau, *of[a].interval()) if b is None else of[a].difference(of[b])
    drawn = of[a].draws[:, 0] - (0.0 if b is None else of[b].draws[:, 0])
    error = float(np.nanstd(drawn))
    return Effect(
        value,
        OVER,
        queries=images,
        low=low,
        high=high,
        standard_error=error,
        detectable=2.8 * error,
        a=of[a].tau,
        b=None if b is None else of[b].tau,
    )
