"""Numbers from a similarity matrix: recall, NCS, ASP, PMRP and others in percent, ranks from 1, mAP as fractions.

And from pairs of a score and a human judgement: correlations with their intervals. ``METRICS`` lists every metric.

Everywhere ``similarity`` is ``[images, captions]`` and ``phi`` ``[captions, images]``; equal scores are ordered by
index, lower first (``TIE_RULE``).
"""

from typing import TYPE_CHECKING

from fivesentences.config.metrics import METRICS, Metric, metric_of
from fivesentences.lazy import lazily
from fivesentences.metrics.asp import ASP_TIES, asp, mean_phi
from fivesentences.metrics.ncs import ncs, nsum
from fivesentences.metrics.semantic_recall import semantic_recall

if TYPE_CHECKING:
    from fivesentences.metrics.category import category_map, r_precision
    from fivesentences.metrics.coefficients import STATISTICS, Correlation, correlation, correlations
    from fivesentences.metrics.comparison import PairedTest, holm, paired_test, paired_tests
    from fivesentences.metrics.evaluator import Evaluator
    from fivesentences.metrics.judged import Judged, by_judgements
    from fivesentences.metrics.ndcg import ndcg
    from fivesentences.metrics.plausible_match import pmrp
    from fivesentences.metrics.positives import Positives, map_at_r, r_precision_of, recall_of_positives
    from fivesentences.metrics.ranking import TIE_RULE
    from fivesentences.metrics.recall import RankStatistics, rank_statistics, recall_at_k, rsum, true_recall_at_k
    from fivesentences.metrics.result import Evaluation
    from fivesentences.metrics.values import MetricValue, NoSuchNumber, QueryValues, pick

__all__ = [
    "ASP_TIES", "METRICS", "STATISTICS", "TIE_RULE", "Correlation", "Evaluation", "Evaluator", "Judged", "Metric",
    "MetricValue", "NoSuchNumber", "PairedTest", "Positives", "QueryValues", "RankStatistics", "asp", "by_judgements",
    "category_map", "correlation", "correlations", "holm", "map_at_r", "mean_phi", "metric_of", "ncs", "ndcg", "nsum",
    "paired_test", "paired_tests", "pick", "pmrp", "r_precision", "r_precision_of", "rank_statistics", "recall_at_k",
    "recall_of_positives", "rsum", "semantic_recall", "true_recall_at_k",
]  # fmt: skip

__getattr__ = lazily(__name__)
