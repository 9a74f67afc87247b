"""A run's similarities -> all its numbers, as one JSON file; all runs -> one tidy table; what judges say of phi."""

from fivesentences.evaluation.agreement import agreement, read_agreement, write_agreement
from fivesentences.evaluation.comparing import compare
from fivesentences.evaluation.eccv_caption import coco_test_ids, eccv, eccv_positives, packaged_positives
from fivesentences.evaluation.positives import cxc_positives
from fivesentences.evaluation.protocols import PROTOCOLS, evaluate, score
from fivesentences.evaluation.run import Evaluated, evaluate_runs, evaluate_similarity
from fivesentences.evaluation.tidy import collect, summary, write_tidy

__all__ = [
    "PROTOCOLS",
    "Evaluated",
    "agreement",
    "coco_test_ids",
    "collect",
    "compare",
    "cxc_positives",
    "eccv",
    "eccv_positives",
    "evaluate",
    "evaluate_runs",
    "evaluate_similarity",
    "packaged_positives",
    "read_agreement",
    "score",
    "summary",
    "write_agreement",
    "write_tidy",
]
