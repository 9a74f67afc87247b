"""A run's similarities -> all its numbers, as one JSON file; all runs -> one tidy table; what judges say of phi."""

from fivesentences.evaluation.agreement import agreement, read_agreement, write_agreement
from fivesentences.evaluation.comparing import compare
from fivesentences.evaluation.protocols import PROTOCOLS, evaluate, score
from fivesentences.evaluation.run import evaluate_run, evaluate_similarity
from fivesentences.evaluation.tidy import collect, summary, write_tidy

__all__ = [
    "PROTOCOLS",
    "agreement",
    "collect",
    "compare",
    "evaluate",
    "evaluate_run",
    "evaluate_similarity",
    "read_agreement",
    "score",
    "summary",
    "write_agreement",
    "write_tidy",
]
