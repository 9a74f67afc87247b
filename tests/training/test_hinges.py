"""The hinges that are measured are those of the loss."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec, SamSpec
from fivesentences.losses.semantic_adaptive_margin_spec import BY_PHI
from fivesentences.training import hinges as module
from fivesentences.training.batch_phi import open_phis
from fivesentences.training.batches import batches_of, epoch_order
from fivesentences.training.hinges import batches_of_epochs, hinges_of_captions, hinges_of_run
from fivesentences.training.loop import Training
from fivesentences.training.run import train_run

SWITCHED = ["positive", "t2i_search", "margin_negative", "margin_of"]
OTHER = {"positive": "skipped", "t2i_search": "rows", "margin_negative": "crossed", "margin_of": "column"}
RULES = [
    {name: OTHER[name] for name, on in zip(SWITCHED, which, strict=True) if on} for which in product([0, 1], repeat=4)
]
SPECS = [
    *(SamSpec(temperature=5, negatives=negatives, max_margin=0.3, **rules) for negatives in ("random", "closest", "furthest") for rules in RULES),
    *(SamSpec(temperature=5, negatives=negatives) for negatives in BY_PHI),
    *(SamSpec(temperature=5, scaling=scaling) for scaling in ("standardised", "ranked")),
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: ",".join(spec.parts))
def test_the_loss_is_the_sum_of_the_measured_hinges_and_a_margin_the_sum_of_its_parts(spec):
    draw = torch.Generator().manual_seed(1)
    similarity = torch.rand(9, 9, generator=draw)
    phi = 2 * torch.rand(9, 9, generator=draw) + 2 * torch.eye(9)
    sam = spec.build()
    torch.manual_seed(3)
    loss = float(sam(similarity, phi))
    torch.manual_seed(3)
    found = module._joined([module._of_batch(sam, phi, similarity)], sam.max_margin)
    assert len(found) == 18 and found.group.tolist() == [0] * 9 + [1] * 9
    assert spec.weight * np.clip(found.margin - found.gap, 0, None).sum() == pytest.approx(loss, rel=1e-6)
    capped = np.minimum(found.positive - found.negative, np.inf if sam.max_margin is None else sam.max_margin)
    np.testing.assert_allclose(found.margin, capped, atol=1e-6)
    if spec.rules.margin_negative == "own" and spec.rules.margin_of == "query" and spec.rules.t2i_search == "columns":
        assert found.phi_negative.tolist() == found.phi_own_negative.tolist()


def test_batches_are_those_of_whole_epochs_of_training(make_run):
    training = Training(make_run(), make_run.data(), torch.device("cpu")) if hasattr(make_run, "data") else None
    assert training is None  # the order itself is tested with the loop, which asks the same function
    settings = make_run().training
    owner = np.repeat(np.arange(13), 3)
    found = list(batches_of_epochs(settings, np.ones(39, dtype=np.int64), owner, 5, at_least=4))
    size = settings.batch_size
    expected = [rows for epoch in (0, 1) for rows in batches_of(epoch_order(39, 5, epoch), size)]
    assert [rows.tolist() for rows in found] == [rows.tolist() for rows in expected]
