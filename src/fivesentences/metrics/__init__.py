"""Numbers from a similarity matrix: recall, semantic recall, NCS and ASP in percent, ranks from 1, and many more.

And from pairs of a score and a human judgement: correlations with their intervals.

Everywhere ``similarity`` is ``[images, captions]`` and ``phi`` ``[captions, images]``; equal scores are ordered by
index, lower first (``TIE_RULE``).
"""

from fivesentences.metrics.asp import ASP_TIES, SemanticRanks, asp, asp_values, mean_phi
from fivesentences.metrics.comparison import PairedTest, paired_test, paired_tests
from fivesentences.metrics.correlation import STATISTICS, Correlation, correlation, correlations
from fivesentences.metrics.evaluator import Evaluator, QueryValues, evaluate_frame
from fivesentences.metrics.frame import MetricValue, as_frame
from fivesentences.metrics.ncs import ncs, nsum
from fivesentences.metrics.ranking import TIE_RULE
from fivesentences.metrics.recall import RankStatistics, rank_statistics, recall_at_k, rsum, true_recall_at_k
from fivesentences.metrics.semantic_recall import semantic_recall

__all__ = [
    "ASP_TIES",
    "STATISTICS",
    "TIE_RULE",
    "Correlation",
    "Evaluator",
    "MetricValue",
    "PairedTest",
    "QueryValues",
    "RankStatistics",
    "SemanticRanks",
    "as_frame",
    "asp",
    "asp_values",
    "correlation",
    "correlations",
    "evaluate_frame",
    "mean_phi",
    "ncs",
    "nsum",
    "paired_test",
    "paired_tests",
    "rank_statistics",
    "recall_at_k",
    "rsum",
    "semantic_recall",
    "true_recall_at_k",
]
