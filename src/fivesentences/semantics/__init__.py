"""Captions to phi matrices: how well each caption fits each image, judged by the images' own captions."""

from fivesentences.semantics.batch_cider import BatchCider
from fivesentences.semantics.cider import cider_matrix
from fivesentences.semantics.phi import SEMANTIC_METRICS, read_phi, read_phi_note, write_phi

__all__ = ["SEMANTIC_METRICS", "BatchCider", "cider_matrix", "read_phi", "read_phi_note", "write_phi"]
