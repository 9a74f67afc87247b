"""Concepts come from training captions; labels at test from a caption alone, unless as released."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.models import MODELS, model_spec
from fivesentences.models.concepts import ConceptGraph
from fivesentences.training import train_run
from fivesentences.training.data import RunData
from fivesentences.training.extras import concepts_of
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


def test_released_labels_leak_at_test(data_of):
    own, leaked = (
        data_of(most_concepts=8, labels=how).test.extras["concept_labels"].numpy() for how in ("paper", "released")
    )
    assert (leaked >= own).all() and leaked.sum() > own.sum()


def test_the_graph_travels_with_the_weights(grid_inputs, model_spec_of, tmp_path):
    from fivesentences.training import load_trained

    spec = model_spec_of("cvse", epochs=1)
    train_run(spec, *grid_inputs, tmp_path)
    theirs, ours = load_trained(tmp_path).concepts, RunData.read(spec, *grid_inputs).concepts
    assert theirs is not None and ours is not None and theirs.words == ours.words
    for name in ("vectors", "together", "totals"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))


def test_a_need_that_training_does_not_know_ends_in_one_sentence(data_of, monkeypatch):
    monkeypatch.setattr(MODELS["vsepp"], "needs", frozenset({"depth_maps"}))
    with pytest.raises(InputError, match="needs depth_maps"):
        concepts_of(model_spec("vsepp"), data_of(most_concepts=8).train.corpus)
