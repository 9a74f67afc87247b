"""How much of a caption is true of an image, for every pair.

``truth[c, i]`` is the share of the claims of caption ``c`` that hold in the scene of image ``i``: in [0, 1], and 1 if
everything that the caption says is true. A claim is one of the caption's tuples with its meaning in the words of
``world``. It holds if all facts that it asserts are facts of the scene; more general words hold too (an *animal* where
there is a dog, *near* where one thing stands in front of another). Nothing is required of what the caption leaves out,
so a vague caption is true of many images, as it would be for a person. A claim about "a dog" holds if it is true of any
dog in the scene; whether the dog in red and the running dog are the same one is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from scipy import sparse

from fivesentences.scenes.world import Fact


def truth_matrix(claims: Sequence[Sequence[tuple[Fact, ...]]], facts_of_image: Sequence[Set[Fact]]) -> np.ndarray:
    """Share of each caption's claims that hold in each scene.

    Args:
        claims: Per caption its claims, each the facts that it asserts; every caption has at least one claim.
        facts_of_image: Per image all facts of its scene (``facts.facts_of``).

    Returns:
        float32 ``[captions, images]`` in [0, 1].
    """
    number_of: dict[tuple[Fact, ...], int] = {}
    rows = [[number_of.setdefault(claim, len(number_of)) for claim in of_caption] for of_caption in claims]
    wanted = {fact for claim in number_of for fact in claim}
    row_of = {fact: row for row, fact in enumerate(wanted)}
    is_fact = np.zeros((len(row_of), len(facts_of_image)), dtype=bool)
    for image, facts in enumerate(facts_of_image):
        is_fact[[row_of[fact] for fact in facts & wanted], image] = True
    holds = np.empty((len(number_of), len(facts_of_image)), dtype=np.float64)
    for claim, number in number_of.items():
        holds[number] = is_fact[[row_of[fact] for fact in claim]].all(axis=0)
    lengths = np.array([len(row) for row in rows])
    counts = sparse.csr_matrix(
        (np.ones(lengths.sum()), np.concatenate(rows).astype(np.int64), np.concatenate([[0], np.cumsum(lengths)])),
        shape=(len(rows), len(number_of)),
    )
    # Whole numbers are divided last, so that a caption without a mistake has exactly 1.
    truth: np.ndarray = ((counts @ holds) / lengths[:, None]).astype(np.float32)
    return truth
