"""How much of a caption is true of an image, for every pair.

``truth[c, i]`` is the share of caption ``c``'s claims that hold in the scene of image ``i``: in [0, 1], 1 when
everything it says is so. A claim is one of the caption's tuples, with what it means in the words of ``world``: it
holds when all facts it asserts are facts of the scene, where more general words hold too (an *animal* where there
is a dog, *near* where one thing stands in front of another). Nothing is asked of what the caption leaves out, so a
vague caption is true of many images, as it is for a person. A claim about "a dog" holds if it is so of any dog
there; that the dog in red and the running dog are one and the same is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from scipy import sparse

from fivesentences.scenes.world import Fact

Meaning = tuple[Fact, ...]


def truth_matrix(meanings: Sequence[Sequence[Meaning]], facts_of_image: Sequence[Set[Fact]]) -> np.ndarray:
    """Share of each caption's claims that hold in each scene.

    Args:
        meanings: Per caption its claims, each the facts it asserts; every caption has at least one claim.
        facts_of_image: Per image all facts of its scene (``world.facts_of``).

    Returns:
        float32 ``[captions, images]`` in [0, 1].
    """
    number_of: dict[Meaning, int] = {}
    rows = [[number_of.setdefault(meaning, len(number_of)) for meaning in meanings_] for meanings_ in meanings]
    wanted = {fact for meaning in number_of for fact in meaning}
    row_of = {fact: row for row, fact in enumerate(wanted)}
    is_fact = np.zeros((len(row_of), len(facts_of_image)), dtype=bool)
    for image, facts in enumerate(facts_of_image):
        is_fact[[row_of[fact] for fact in facts & wanted], image] = True
    holds = np.empty((len(number_of), len(facts_of_image)), dtype=np.float64)
    for meaning, number in number_of.items():
        holds[number] = is_fact[[row_of[fact] for fact in meaning]].all(axis=0)
    lengths = np.array([len(row) for row in rows])
    counts = sparse.csr_matrix(
        (np.ones(lengths.sum()), np.concatenate(rows).astype(np.int64), np.concatenate([[0], np.cumsum(lengths)])),
        shape=(len(rows), len(number_of)),
    )
    # Whole numbers divided last, so that a caption with nothing wrong has exactly 1.
    truth: np.ndarray = ((counts @ holds) / lengths[:, None]).astype(np.float32)
    return truth
