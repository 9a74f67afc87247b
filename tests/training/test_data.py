"""Concepts and labels of captions, the similarity of a split in blocks, and the dev scores of the released code."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fivesentences.corpus import Corpus
from fivesentences.models import build_model, model_spec
from fivesentences.models.concepts import ConceptGraph
from fivesentences.semantics import cider_matrix
from fivesentences.training import scoring
from fivesentences.training.batches import EncodedCaptions
from fivesentences.training.data import RunData, Split
from fivesentences.training.scoring import DevScores
from fivesentences.training.vocabulary import words_of


@pytest.fixture
def data_of(grid_inputs, model_spec_of):
    def read(**settings):
        spec = model_spec_of("cvse", fraction=0.5)
        return RunData.read(spec.model_copy(update={"model": model_spec("cvse", **settings)}), *grid_inputs)

    return read


def test_concepts_are_words_of_the_runs_own_training_captions(data_of):
    data = data_of(most_concepts=8)
    expected = ConceptGraph.of_captions(data.train.corpus.captions, size=8)
    assert data.concepts is not None and data.concepts.words == expected.words
    assert len(data.concepts) == 8


def test_concepts_may_be_those_of_the_whole_training_split(data_of):
    data = data_of(most_concepts=8, concept_captions="all")
    assert data.concepts is not None and len(data.train.corpus.captions) < len(data.whole_train.captions)
    named = ConceptGraph.labels_of(data.concepts, data.whole_train.captions)
    assert data.concepts.totals.tolist() == named.sum(axis=0).tolist()  # counted in every caption


def test_a_test_caption_is_labelled_by_its_own_words_and_a_training_caption_by_its_images(data_of):
    data = data_of(most_concepts=8)
    number = data.concepts.number
    for split, with_others in ((data.test, False), (data.dev, False), (data.train, True)):
        labels = split.extras["concept_labels"].numpy()
        for row, caption in enumerate(split.corpus.captions):
            image = split.image_of_caption[row]
            told = [c for c, i in zip(split.corpus.captions, split.image_of_caption, strict=True) if i == image]
            words = {word for text in (told if with_others else [caption]) for word in words_of(text)}
            assert {word for word in number if labels[row, number[word]]} == words & set(number)


def test_wrong_pairs_are_in_training_alone_and_are_those_of_the_seed(grid_inputs, model_spec_of):
    clean, noisy, again = (
        RunData.read(model_spec_of("cvse", fraction=1.0, seed=1, noise=noise), *grid_inputs)
        for noise in (0.0, 0.5, 0.5)
    )
    assert noisy.train.corpus.caption_ids == again.train.corpus.caption_ids != clean.train.corpus.caption_ids
    assert sorted(noisy.train.corpus.captions) == sorted(clean.train.corpus.captions)
    assert torch.equal(noisy.train.image_of_caption, clean.train.image_of_caption)
    for split in ("dev", "test"):
        assert getattr(noisy, split).corpus.captions == getattr(clean, split).corpus.captions
    # The words that a model reads are those of the caption in its new place.
    place = noisy.train.corpus.caption_ids.index(clean.train.corpus.caption_ids[0])
    assert np.array_equal(noisy.train.captions[place : place + 1].batch([0])[0], clean.train.captions[:1].batch([0])[0])


# --- scores -------------------------------------------------------------------------------------------------


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


def released_sum(similarity: np.ndarray, phi: np.ndarray, discounted: bool) -> float:
    """Sum of NCS as in ``metrics/metric.py`` of the release ("softer"), its "softer order" where discounted."""

    def of(values: np.ndarray, k: int) -> float:
        weights = [math.log2(k - place + 1) if discounted else 1.0 for place in range(k)]
        return float(np.mean([weight * value for weight, value in zip(weights, values[:k], strict=True)]))

    total = 0.0
    for scores, meaning in ((similarity, phi.T), (similarity.T, phi)):
        for k in (1, 5, 10):
            shares = []
            for row, of_row in zip(scores, meaning, strict=True):
                found = of_row[np.argsort(row)[::-1]]
                shares.append(of(found, k) / (of(np.sort(of_row)[::-1], k) + 1e-10))
            total += 100.0 * float(np.mean(shares))
    return total


@pytest.mark.parametrize(
    ("selection", "column"), [("ncs", "dev_Nsum"), ("ncs_discounted", "dev_Nsum_discounted"), ("rsum", "dev_Rsum")]
)
def test_scores_are_those_of_the_release(inputs_in, tmp_path, selection, column):
    dev = Corpus.read(inputs_in(tmp_path, sizes=(20, 12, 8)).corpus).split("dev")
    phi = cider_matrix(dev.captions, dev.image_of_caption)
    scores = DevScores(selection, dev)
    assert scores.column == column
    for seed in range(3):
        similarity = np.random.default_rng(seed).random((12, 36))
        found = scores(similarity)
        assert set(found) == {"dev_Rsum", column}
        if selection != "rsum":
            expected = released_sum(similarity, phi, discounted=selection == "ncs_discounted")
            assert found[column] == pytest.approx(expected, abs=1e-8)
