"""phi matrices from captions: how well each caption fits each image, judged by the image's own captions."""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.semantics.batch_cider import BatchCider
    from fivesentences.semantics.bleu import bleu_matrix
    from fivesentences.semantics.cider import cider_matrix
    from fivesentences.semantics.phi_file import read_phi, read_phi_note, write_phi
    from fivesentences.semantics.registry import SEMANTIC_METRICS, prepare
    from fivesentences.semantics.rouge import rouge_l_matrix
    from fivesentences.semantics.scored import ScoredPhi
    from fivesentences.semantics.spice import spice_matrix
    from fivesentences.semantics.tfidf import tfidf_matrix
    from fivesentences.semantics.top_k import TopK, read_top_k, write_top_k
    from fivesentences.semantics.tuples import Tuples, read_tuples

__all__ = [
    "SEMANTIC_METRICS", "BatchCider", "ScoredPhi", "TopK", "Tuples", "bleu_matrix", "cider_matrix", "prepare",
    "read_phi", "read_phi_note", "read_top_k", "read_tuples", "rouge_l_matrix", "spice_matrix", "tfidf_matrix",
    "write_phi", "write_top_k",
]  # fmt: skip

__getattr__ = lazily(__name__)
