"""Every model of the registry trains, can be stopped at any moment, and scores from its files what it scored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from fivesentences.config.features import FeatureSpec
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.losses import LossSpec
from fivesentences.models import MODELS, model_spec
from fivesentences.training import data as data_module
from fivesentences.training import load_trained, train_run
from fivesentences.training.data import RunData

pytestmark = pytest.mark.parametrize("name", MODELS)


@pytest.mark.slow
def test_it_learns(name, inputs_of, model_spec_of, tmp_path):
    spec = model_spec_of(name, epochs=20, loss=LossSpec(triplet="all"))
    train_run(spec, *inputs_of(name), tmp_path)
    history = pd.read_csv(tmp_path / "history.csv")
    assert history["loss"].iloc[-1] < 0.8 * history["loss"].iloc[0]


def test_its_files_score_what_the_run_scored(name, inputs_of, model_spec_of, tmp_path):
    inputs = inputs_of(name)
    train_run(model_spec_of(name, epochs=2), *inputs, tmp_path)
    trained, test = load_trained(tmp_path), Corpus.read(inputs.corpus).split("test")
    assert trained.spec == model_spec_of(name, epochs=2)
    rows = FeatureTable.open(inputs.features).rows(test.images["image_id"].tolist())
    images = torch.from_numpy(trained.preparation.apply(rows))
    tokens = [torch.tensor(trained.vocabulary.encode(caption)) for caption in test.captions]
    padded = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True)
    lengths = torch.tensor([len(caption) for caption in tokens])
    with torch.inference_mode():
        scores = trained.model(images, padded, lengths, **trained.extras(test.captions, test.image_of_caption))
    np.testing.assert_allclose(scores.numpy(), np.load(tmp_path / "similarity_test.npy"), atol=1e-5)


@pytest.mark.slow
def test_killed_between_two_batches_it_ends_with_the_bits_of_one_left_alone(
    name, inputs_of, model_spec_of, assert_a_kill_changes_no_bit
):
    assert_a_kill_changes_no_bit(model_spec_of(name, epochs=2), inputs_of(name), batches=7)


@pytest.mark.slow
def test_features_that_are_read_batch_by_batch_give_the_bits_of_those_in_memory(
    name, inputs_of, model_spec_of, tmp_path, outputs_of, monkeypatch
):
    spec = model_spec_of(name, epochs=2)
    train_run(spec, *inputs_of(name), tmp_path / "held")
    monkeypatch.setattr(data_module, "HELD_IN_MEMORY", 0)
    assert not isinstance(RunData.read(spec, *inputs_of(name)).train.images, torch.Tensor)
    train_run(spec, *inputs_of(name), tmp_path / "read")
    assert outputs_of(tmp_path / "read") == outputs_of(tmp_path / "held")


@pytest.mark.slow
def test_features_of_the_other_layout_end_in_one_sentence(name, inputs, grid_inputs, spec_of, tmp_path):
    model = model_spec(name)
    wrong = grid_inputs if model.layout == "global" else inputs
    with pytest.raises(InputError, match=rf"set features\.layout to '{model.layout}'"):
        train_run(spec_of(model=model, features=FeatureSpec(extractor="counts")), *wrong, tmp_path)
