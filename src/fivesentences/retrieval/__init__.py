"""From embeddings to scores: similarity in blocks, similarity normalisation at inference, and hubness.

Everywhere ``similarity`` is ``[images, captions]`` with one row per image, or a ``Gallery``, which has been checked.
Inverted softmax, CSLS and assignment are transductive: they read all queries of the test set. QB-Norm and dual banks
read queries of the training set instead. Needs neither torch nor the metrics.
"""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily
from fivesentences.retrieval.assignment import Assignment, assignment, best_assignment
from fivesentences.retrieval.csls import csls
from fivesentences.retrieval.hubness import Hubness, hubness
from fivesentences.retrieval.inverted_softmax import inverted_softmax

if TYPE_CHECKING:
    from fivesentences.retrieval.cosine import cosine_similarity, unique_images
    from fivesentences.retrieval.gallery import Gallery
    from fivesentences.retrieval.lists import ItemLists
    from fivesentences.retrieval.query_banks import Bank, dual_bank, qb_norm
    from fivesentences.retrieval.rescoring import INFERENCE, PER_DIRECTION, TRANSDUCTIVE, naive, rescore

__all__ = [
    "INFERENCE", "PER_DIRECTION", "TRANSDUCTIVE", "Assignment", "Bank", "Gallery", "Hubness", "ItemLists",
    "assignment", "best_assignment", "cosine_similarity", "csls", "dual_bank", "hubness", "inverted_softmax", "naive",
    "qb_norm", "rescore", "unique_images",
]  # fmt: skip

__getattr__ = lazily(__name__)
