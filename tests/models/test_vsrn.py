"""VSRN and its captioner; released numbers: test_parity."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.models import from_released
from fivesentences.models.captioner import Captioner, caption_labels


@pytest.mark.parity
@pytest.mark.parametrize("file", ["vsrn_f30k", "vsrn_coco"])
def test_a_checkpoint_without_captioner_scores_the_same_and_has_no_loss_of_its_own(released_of, file):
    released = released_of(file)
    weights = released.weights(torch.float64)
    model = from_released("vsrn", {name: value for name, value in weights.items() if "caption_model" not in name})
    scores = model.training_scores(*released.inputs(torch.float64))
    assert model.captioner is None and scores.extra is None
    np.testing.assert_allclose(scores.similarity.detach().numpy(), released.arrays["out64/sim"], atol=1e-9)


def test_a_caption_that_is_too_long_is_cut_and_still_ends():
    tokens = torch.tensor([[1, 5, 6, 7, 8, 2], [1, 9, 8, 2, 0, 0], [1, 5, 2, 0, 0, 0]])
    labels = caption_labels(tokens, torch.tensor([6, 4, 3]), longest=4)
    assert labels.tolist() == [[1, 5, 6, 2, 0], [1, 9, 8, 2, 0], [1, 5, 2, 0, 0]]


def test_the_captioner_writes_as_an_ordinary_gru_with_attention_step_by_step():
    torch.manual_seed(0)
    captioner = Captioner(region_dim=5, vocabulary_size=11, hidden=4, word=3, longest=6, dropout=0.2).double().eval()
    regions = torch.randn(2, 7, 5, dtype=torch.float64)
    labels = torch.tensor([[1, 4, 6, 8, 10, 2, 0], [1, 5, 2, 0, 0, 0, 0]])
    read, last = captioner.reader(captioner.projection(regions))
    state = last[0]
    total = 0.0
    for step in range(5):
        asked = torch.cat([read, state[:, None, :].expand_as(read)], dim=2)
        weights = captioner.attention_score(torch.tanh(captioner.attention(asked))).softmax(dim=1)
        context = (weights * read).sum(dim=1)
        state = captioner.writer(torch.cat([captioner.words(labels[:, step]), context], dim=1), state)
        logits = captioner.out(state)
        for row, last in enumerate((4, 2)):  # the second caption writes one pad behind its end
            if step <= last:
                total = total + torch.nn.functional.cross_entropy(logits[row], labels[row, step + 1])
    assert captioner.loss(regions, labels).item() == pytest.approx(total.item() / 2, rel=1e-12)
