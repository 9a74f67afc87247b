"""From embeddings to scores: similarity in blocks, re-scoring at inference, and what hubs there are.

Everywhere ``similarity`` is ``[images, captions]`` and each image stands there once. Inverted softmax, CSLS and
assignment are transductive: they read all queries of the test set. Needs neither torch nor the metrics.
"""

from fivesentences.retrieval.assignment import Assignment, assignment, best_assignment
from fivesentences.retrieval.csls import csls
from fivesentences.retrieval.hubness import Hubness, hubness, hubness_of_ranking
from fivesentences.retrieval.inverted_softmax import inverted_softmax
from fivesentences.retrieval.rescoring import INFERENCE, PER_DIRECTION, TRANSDUCTIVE, naive, rescore
from fivesentences.retrieval.similarity import cosine_similarity, unique_images

__all__ = [
    "INFERENCE",
    "PER_DIRECTION",
    "TRANSDUCTIVE",
    "Assignment",
    "Hubness",
    "assignment",
    "best_assignment",
    "cosine_similarity",
    "csls",
    "hubness",
    "hubness_of_ranking",
    "inverted_softmax",
    "naive",
    "rescore",
    "unique_images",
]
