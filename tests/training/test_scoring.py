"""The similarity of a split, scored in blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fivesentences.models import VSEPP, build_model, model_spec
from fivesentences.training import scoring
from fivesentences.training.batches import EncodedCaptions
from fivesentences.training.data import Split


def split_of(images: torch.Tensor, lengths: np.ndarray) -> Split:
    numbers = np.random.default_rng(0).integers(1, 20, size=int(lengths.sum()))
    captions = EncodedCaptions(numbers, np.cumsum(lengths) - lengths, lengths)
    return Split(None, images, captions, torch.arange(len(lengths)) % len(images))


@pytest.mark.parametrize("name", ["vsepp", "scan", "sgr", "saf"])
def test_blocks_of_a_gallery_hold_the_scores_of_the_whole(name, monkeypatch):
    torch.manual_seed(0)
    sizes = {"regions": 3} if name in ("sgr", "saf") else {}
    model = build_model(name, image_dim=6, vocabulary_size=20, embedding=8, word=4, **sizes).train()
    images = torch.randn(7, 6) if model.layout == "global" else torch.randn(7, 3, 6)
    split = split_of(images, np.array([3, 1, 5, 2, 5, 4, 4, 3, 2, 6, 1]))
    monkeypatch.setattr(scoring, "IMAGES_AT_ONCE", 2)
    monkeypatch.setattr(scoring, "CAPTIONS_AT_ONCE", 4)
    in_blocks = scoring.similarity_of(model, split)
    assert model.training and in_blocks.shape == (7, 11) and in_blocks.dtype == np.float32
    with torch.no_grad():
        whole = model.eval()(images, *split.captions.batch(np.arange(11)))
    np.testing.assert_allclose(in_blocks, whole.numpy(), rtol=1e-5, atol=1e-6)


def test_what_a_model_needs_of_captions_reaches_it_in_their_order():
    class Labelled(VSEPP):
        def encode_captions(self, caption_tokens, caption_lengths, concept_labels):
            return super().encode_captions(caption_tokens, caption_lengths) * concept_labels

    model = Labelled(model_spec("vsepp", embedding=8, word=4), image_dim=6, vocabulary_size=20)
    split = split_of(torch.randn(3, 6), np.array([3, 1, 5, 2]))
    labels = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    plain = scoring.similarity_of(model, replace(split, extras={"concept_labels": torch.ones(4, 1)}))
    labelled = scoring.similarity_of(model, replace(split, extras={"concept_labels": labels}))
    np.testing.assert_allclose(labelled, plain * labels[:, 0].numpy(), rtol=1e-6)
