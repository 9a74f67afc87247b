"""The hinges that are measured are those of the loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec, SemanticAdaptiveMargin
from fivesentences.losses.semantic_adaptive_margin import BY_PHI
from fivesentences.reproduction.evaluation.scoring import score_split
from fivesentences.training import hinges as module
from fivesentences.training.batch_phi import open_phis
from fivesentences.training.batches import batches_of
from fivesentences.training.checkpoint import load_trained
from fivesentences.training.hinges import batches_of_epochs, hinges_of_captions, hinges_of_run
from fivesentences.training.run import train_run

SWITCHED = ["positive", "t2i_search", "margin_negative", "margin_of"]
OTHER = {"positive": "skipped", "t2i_search": "rows", "margin_negative": "crossed", "margin_of": "column"}
RULES = [{}, *({name: OTHER[name]} for name in SWITCHED), OTHER]
SPECS = [
    *(
        SemanticAdaptiveMargin(temperature=5, negatives=negatives, max_margin=0.3, **rules)
        for negatives in ("random", "closest", "furthest")
        for rules in RULES
    ),
    *(SemanticAdaptiveMargin(temperature=5, negatives=negatives) for negatives in BY_PHI),
    *(SemanticAdaptiveMargin(temperature=5, scaling=scaling) for scaling in ("standardised", "ranked")),
]


def order_of(captions: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(captions)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: ",".join(spec.parts))
def test_the_loss_is_the_sum_of_the_measured_hinges_and_a_margin_the_sum_of_its_parts(spec):
    draw = torch.Generator().manual_seed(1)
    similarity = torch.rand(9, 9, generator=draw)
    phi = 2 * torch.rand(9, 9, generator=draw) + 2 * torch.eye(9)
    sam = spec.build()
    torch.manual_seed(3)
    loss = float(sam(similarity, phi))
    torch.manual_seed(3)
    found = module._joined([module._of_batch(sam, phi, similarity)], sam.largest_margin)
    assert len(found) == 18 and found.group.tolist() == [0] * 9 + [1] * 9
    assert spec.weight * np.clip(found.margin - found.gap, 0, None).sum() == pytest.approx(loss, rel=1e-6)
    capped = np.minimum(found.positive - found.negative, np.inf if sam.largest_margin is None else sam.largest_margin)
    np.testing.assert_allclose(found.margin, capped, atol=1e-6)
    if not spec.switched:
        assert found.phi_negative.tolist() == found.phi_own_negative.tolist()


@pytest.mark.parametrize("captions", [39, 33])  # with 16 per batch: a small last batch, and one of a single caption
def test_batches_are_those_of_whole_epochs_of_training(captions, spec_of):
    found = list(batches_of_epochs(captions, spec_of().training.batch_size, 5, at_least=4))
    expected = [rows for epoch in (0, 1) for rows in batches_of(order_of(captions, 5, epoch), 16) if len(rows) > 1]
    assert [rows.tolist() for rows in found] == [rows.tolist() for rows in expected]


def test_gaps_of_a_run_are_those_of_the_similarity_that_evaluation_reads(spec_of, inputs, tmp_path):
    loss = LossSpec(sam=SemanticAdaptiveMargin(negatives="closest"))
    spec = spec_of(epochs=1, loss=loss)
    train_run(spec, *inputs, tmp_path)
    part = Corpus.read(inputs.corpus).split("train")
    trained = load_trained(tmp_path)
    found = hinges_of_run(trained, part, inputs.features, batches=1)
    similarity = torch.from_numpy(score_split(tmp_path, "train")[1])  # [images, captions]
    (phi,) = open_phis(["cider"], part).values()
    margins, gaps = [], []
    for rows in batches_of(order_of(part.n_captions, spec.seed, 0), 16):
        images, block = part.image_of_caption[rows], torch.from_numpy(phi(rows))
        of_batch = similarity[images][:, rows]
        for scores in (of_batch, of_batch.T):
            for query in range(len(rows)):
                others = [item for item in range(len(rows)) if item != query]
                negative = max(others, key=lambda item: float(scores[query, item]))
                gaps.append(float(of_batch[query, query] - scores[query, negative]))
                margins.append(float(block[query, query] - block[negative, query]) / 10)
    np.testing.assert_allclose(found.gap, gaps, atol=1e-5)
    np.testing.assert_allclose(found.margin, margins, atol=1e-5)


def test_what_has_no_adaptive_margins_or_needs_a_model_is_refused(inputs, spec_of):
    part = Corpus.read(inputs.corpus).split("train")
    phis = open_phis(["cider"], part)
    settings = {"batch_size": spec_of().training.batch_size, "batches": 1}
    for loss in (
        LossSpec(),
        LossSpec(sam=SemanticAdaptiveMargin(margins="fixed")),
        LossSpec(sam=SemanticAdaptiveMargin(margins="shuffled")),
    ):
        with pytest.raises(InputError, match="adaptive"):
            hinges_of_captions(loss, part, phis, **settings)
    with pytest.raises(InputError, match="similarity"):
        hinges_of_captions(LossSpec(sam=SemanticAdaptiveMargin(negatives="closest")), part, phis, **settings)
