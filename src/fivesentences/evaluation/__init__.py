"""Every number of a similarity, under the protocols of benchmarks, and paired tests of two models.

What evaluates the runs of the workflow is in ``fivesentences.reproduction.evaluation``.
"""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.corpus.caption_tables import CaptionTable, read_caption_table
    from fivesentences.evaluation.batches import EmbeddingEvaluator
    from fivesentences.evaluation.people import people_judged
    from fivesentences.evaluation.positives import coco_test_ids, cxc_positives, eccv, packaged_positives
    from fivesentences.evaluation.protocols import PROTOCOLS, evaluate
    from fivesentences.evaluation.query_tests import compare
    from fivesentences.evaluation.rated_pairs import cxc_within, pair_wins, read_contrasts

__all__ = [
    "PROTOCOLS", "CaptionTable", "EmbeddingEvaluator", "coco_test_ids", "compare", "cxc_positives", "cxc_within",
    "eccv", "evaluate", "packaged_positives", "pair_wins", "people_judged", "read_caption_table",
    "read_contrasts",
]  # fmt: skip

__getattr__ = lazily(__name__)
