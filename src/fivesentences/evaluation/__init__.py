"""Every number of a similarity, of runs as JSON and of all runs as one tidy table; phi compared with human judges."""

from fivesentences.evaluation.agreement import agreement, read_agreement, write_agreement
from fivesentences.evaluation.coco_ids import coco_test_ids
from fivesentences.evaluation.comparing import compare
from fivesentences.evaluation.eccv_caption import eccv, eccv_positives, packaged_positives
from fivesentences.evaluation.positives import cxc_positives
from fivesentences.evaluation.protocols import PROTOCOLS, evaluate
from fivesentences.evaluation.run import Evaluated, evaluate_runs
from fivesentences.evaluation.tidy import collect, read_evaluations, summary, tidy_of, write_tidy

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
    "packaged_positives",
    "read_agreement",
    "read_evaluations",
    "summary",
    "tidy_of",
    "write_agreement",
    "write_tidy",
]
