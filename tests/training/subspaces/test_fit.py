"""Which epochs are kept."""

from __future__ import annotations

import pytest

from fivesentences.errors import InputError
from fivesentences.training.subspaces.fit import EpochKeeper


def test_the_best_epochs_and_the_last_are_kept_and_the_first_of_equal_ones():
    state = {"epoch": 0}
    keeper = EpochKeeper(lambda: dict(state))
    for epoch, (quality, loss) in enumerate([(0.2, 3.0), (0.4, 2.0), (0.4, 1.0), (0.3, 1.0)], start=1):
        state["epoch"] = epoch
        keeper.offer(epoch, map=quality, loss=loss)
    assert keeper.epochs == {"last": 4, "map": 2, "loss": 3}
    assert {name: kept["epoch"] for name, kept in keeper.kept.items()} == keeper.epochs
    assert keeper.values == {"map": 0.4, "loss": 1.0}


@pytest.mark.parametrize("values", [{"map": float("nan"), "loss": 1.0}, {"map": 0.1, "loss": float("inf")}])
def test_divergence_is_named(values):
    with pytest.raises(InputError, match="epoch 7"):
        EpochKeeper(dict).offer(7, **values)
