from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.paper.figures.lines import spread_apart


@given(st.lists(st.floats(0, 10), min_size=1, max_size=11))
def test_labels_keep_their_order_and_distance_and_move_only_if_they_must(values):
    values = sorted(values)
    places = spread_apart(values, 0.9, 0.0, 10.0)
    assert (np.diff(places) >= 0.9 - 1e-9).all()
    assert min(places) >= 0 and max(places) <= 10 + 1e-9
    if (np.diff(values) >= 0.9).all():
        assert places == pytest.approx(values, abs=1e-9)
