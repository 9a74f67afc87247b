"""Every number of a similarity, under the protocols of benchmarks, and paired tests of two models.

What evaluates the runs of the workflow is in the modules: ``run``, ``tidy``, ``categories``, ``contrasts``,
``agreement``, ``disagreements``.
"""

from fivesentences.evaluation.batches import EmbeddingEvaluator
from fivesentences.evaluation.comparing import compare
from fivesentences.evaluation.positives import coco_test_ids, cxc_positives, eccv, packaged_positives
from fivesentences.evaluation.protocols import PROTOCOLS, evaluate

__all__ = [
    "PROTOCOLS", "EmbeddingEvaluator", "coco_test_ids", "compare", "cxc_positives", "eccv", "evaluate",
    "packaged_positives",
]  # fmt: skip
