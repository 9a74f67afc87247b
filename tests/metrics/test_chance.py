"""The expectation over random rankings is the mean over all orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from fivesentences.errors import InputError
from fivesentences.metrics.category import expected_average_precision


@pytest.mark.parametrize(("relevant", "gallery"), [(1, 1), (1, 5), (2, 6), (5, 6), (6, 6)])
def test_it_is_the_mean_over_every_order(relevant, gallery):
    labels = [1] * relevant + [0] * (gallery - relevant)
    scores = [average_precision_score(labels, order) for order in permutations(range(gallery))]
    assert expected_average_precision([relevant], gallery)[0] == pytest.approx(np.mean(scores), abs=1e-12)


def test_nothing_relevant_is_nothing_found_and_impossible_counts_are_refused():
    assert expected_average_precision([0, 3], 3).tolist() == pytest.approx([0, 1])
    with pytest.raises(InputError, match="outside 0 to 3"):
        expected_average_precision([4], 3)
    with pytest.raises(InputError, match="at least one"):
        expected_average_precision([0], 0)
