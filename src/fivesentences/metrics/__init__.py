"""Numbers from a similarity matrix: instance recall, semantic recall and NCS, in percent; ranks start at 1.

And from pairs of a score and a human judgement: correlations with their intervals.

Everywhere ``similarity`` is ``[images, captions]`` and ``phi`` ``[captions, images]``; equal scores are ordered by
index, lower first (``TIE_RULE``).
"""

from fivesentences.metrics.correlation import STATISTICS, Correlation, correlation, correlations
from fivesentences.metrics.evaluator import Evaluator, MetricValue
from fivesentences.metrics.ncs import ncs, nsum
from fivesentences.metrics.ranking import TIE_RULE
from fivesentences.metrics.recall import RankStatistics, rank_statistics, recall_at_k, rsum, true_recall_at_k
from fivesentences.metrics.semantic_recall import semantic_recall

__all__ = [
    "STATISTICS",
    "TIE_RULE",
    "Correlation",
    "Evaluator",
    "MetricValue",
    "RankStatistics",
    "correlation",
    "correlations",
    "ncs",
    "nsum",
    "rank_statistics",
    "recall_at_k",
    "rsum",
    "semantic_recall",
    "true_recall_at_k",
]
