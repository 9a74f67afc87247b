"""A run's similarities -> all its numbers, as one JSON file; all runs -> one tidy table."""

from fivesentences.evaluation.run import evaluate_run, evaluate_similarity
from fivesentences.evaluation.tidy import collect, summary, write_tidy

__all__ = ["collect", "evaluate_run", "evaluate_similarity", "summary", "write_tidy"]
