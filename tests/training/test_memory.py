"""The memory of recent batches that FNE draws negatives from."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.training.batches import batches_of, training_order
from fivesentences.training.data import RunData
from fivesentences.training.loop import Training

CPU = torch.device("cpu")
FNE = LossSpec(triplet=None, fne_memory={"size": 20, "momentum": 0.9, "pairs": 2})


@pytest.fixture
def training_of(inputs_of, model_spec_of):
    def training(name: str = "vsepp", loss: LossSpec = FNE) -> Training:
        spec = model_spec_of(name, loss=loss)
        return Training(spec, RunData.read(spec, *inputs_of(name)), CPU)

    return training


def batches(training: Training, epoch: int = 0):
    order = training_order(len(training.data.train.captions), 0, epoch)
    return training.loader.batches(batches_of(order, training.settings.batch_size))


def test_the_memory_holds_the_newest_items_by_a_copy_that_follows_the_model(training_of):
    training = training_of()
    memory, seen = training.memory, []
    copy = {name: value.clone() for name, value in memory.copy.named_parameters()}
    training.epoch = 1
    for batch in batches(training):
        with torch.no_grad():
            for name, value in training.model.named_parameters():
                copy[name] = 0.9 * copy[name] + 0.1 * value
        training._train_batch(batch)
        images = memory.copy.encode_images(batch.images)
        captions = memory.copy.encode_captions(batch.tokens, batch.lengths)
        of = training.data.train.image_of_caption[batch.rows]
        seen = [*zip(captions, images, of, strict=True), *seen][:20]
        for name, value in memory.copy.named_parameters():
            torch.testing.assert_close(value, copy[name])
        for kept, wanted in zip(memory.kept, zip(*seen, strict=True), strict=True):
            torch.testing.assert_close(kept, torch.stack(wanted))
    assert len(memory.kept[0]) == 20


def test_similarities_are_of_the_model_against_the_memory(training_of):
    training = training_of()
    memory, kept = training.memory, None
    for batch in batches(training):
        scores, remembered = memory.scores(training.model, batch, filling=True)
        images = training.model.encode_images(batch.images).detach().numpy()
        captions = training.model.encode_captions(batch.tokens, batch.lengths).detach().numpy()
        of_captions = memory.copy.encode_captions(batch.tokens, batch.lengths).numpy()
        of_images = memory.copy.encode_images(batch.images).numpy()
        of = training.data.train.image_of_caption[batch.rows].numpy()
        new = [of_captions, of_images, of]
        all_of = new if kept is None else [np.concatenate(pair) for pair in zip(new, kept, strict=True)]
        np.testing.assert_allclose(scores.similarity.detach(), images @ captions.T, atol=1e-6)
        np.testing.assert_allclose(remembered.captions.detach(), images @ all_of[0].T, atol=1e-6)
        np.testing.assert_allclose(remembered.images.detach(), captions @ all_of[1].T, atol=1e-6)
        np.testing.assert_array_equal(remembered.same, of[:, None] == all_of[2])
        kept = [part[:20] for part in all_of]


def test_the_first_epoch_is_that_of_the_hardest_negative(training_of):
    with_memory, hardest = training_of(), training_of(loss=LossSpec(triplet="hardest"))
    for training in (with_memory, hardest):
        for batch in batches(training):
            training._train_batch(batch)
    for one, other in zip(with_memory.model.parameters(), hardest.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert with_memory.memory.kept == ()


def test_a_run_goes_on_from_its_state_with_the_same_bits(training_of):
    whole, halves = training_of(), training_of()
    for training in (whole, halves):
        training.epoch = 1
    order = list(batches(whole)) + list(batches(whole, 1))
    torch.manual_seed(0)
    for batch in order:
        whole._train_batch(batch)
    torch.manual_seed(0)
    for batch in order[:4]:
        halves._train_batch(batch)
    state = halves.state()
    rest = training_of()
    rest.restore(state)
    for batch in order[4:]:
        rest._train_batch(batch)
    assert whole.loss_sum == rest.loss_sum
    for one, other in zip(whole.model.parameters(), rest.model.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["scan", "cvse", "vsrn"])
def test_a_model_without_one_vector_per_item_is_named(training_of, name):
    with pytest.raises(InputError, match=name):
        training = training_of(name)
        training._train_batch(next(iter(batches(training))))
