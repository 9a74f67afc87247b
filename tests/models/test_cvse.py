"""CVSE: its graph and checkpoints against the release, and what it does beyond; other released numbers: test_parity."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.models import build_model, from_released
from fivesentences.models.concepts import ConceptGraph
from fivesentences.models.cvse import TWINS
from fivesentences.models.label_completion import complete_labels


@pytest.fixture
def released(released_of):
    return released_of("cvse")


@pytest.mark.parity
def test_adjacency_of_counts_is_the_released_one(released):
    counts, totals = released.arrays["in/counts/adj_all"], released.arrays["in/counts/nums"]
    words = tuple(map(str, range(len(totals))))
    graph = ConceptGraph(
        words, released.arrays["in/concept_input_emb"], counts.astype(np.int64), totals.astype(np.int64)
    )
    hparams = released.hparams
    ours = graph.adjacency(hparams["adj_threshold"], hparams["rescale_t"], hparams["rescale_p"])
    np.testing.assert_allclose(ours, released.arrays["param/C_GCN.adj_all"], atol=1e-6)


@pytest.mark.parity
def test_either_name_of_a_tied_weight_is_enough(released):
    state = released.weights(torch.float64)
    half = {name: value for name, value in state.items() if not name.startswith(tuple(TWINS.values()))}
    vectors = released.arrays["in/concept_input_emb"]
    similarities = [
        from_released("cvse", given, concept_vectors=vectors)(
            *released.inputs(torch.float64), **released.extras(torch.float64)
        )
        .detach()
        .numpy()
        for given in (state, half)
    ]
    np.testing.assert_array_equal(*similarities)


@pytest.mark.parity
def test_released_weights_that_do_not_fit_are_refused_in_a_sentence(released):
    state, vectors = released.weights(), released.arrays["in/concept_input_emb"]
    with pytest.raises(InputError, match="no checkpoint holds them"):
        from_released("cvse", state)
    with pytest.raises(InputError, match="concept_vectors"):
        from_released("cvse", state, concept_vectors=vectors[:, :-1])
    with pytest.raises(InputError, match="caption_attention"):
        bad = {name: value for name, value in state.items() if not name.startswith("T_self_atten_enhance.")}
        from_released("cvse", bad, concept_vectors=vectors)
    with pytest.raises(InputError, match="sim_enc"):
        from_released("cvse", state | {"sim_enc.weight": torch.zeros(1)}, concept_vectors=vectors)


# --- beyond the release --------------------------------------------------------------------------------------


def toy_graph(count=6):
    rng = np.random.default_rng(0)
    together = rng.integers(0, 9, (count, count))
    together = np.triu(together, 1) + np.triu(together, 1).T
    words = tuple(f"word{number}" for number in range(count))
    return ConceptGraph(words, rng.normal(size=(count, 5)).astype(np.float32), together, np.full(count, 20))


def toy_model(**options):
    sizes = {"embedding": 12, "word": 6, "regions": 3}
    return build_model("cvse", image_dim=8, vocabulary_size=20, concepts=toy_graph(), **(sizes | options))


def toy_batch(batch=4, seed=0):
    rng = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 6, (batch,), generator=rng)
    tokens = torch.randint(4, 20, (batch, 5), generator=rng) * (torch.arange(5) < lengths[:, None])
    labels = torch.randint(0, 2, (batch, 6), generator=rng)
    return torch.randn(batch, 3, 8, generator=rng), tokens, lengths, labels


def test_labels_are_completed_after_a_first_pass_and_given_to_a_second():
    _, tokens, lengths, labels = toy_batch(12)
    images = torch.randn(5, 3, 8, generator=torch.Generator().manual_seed(1))
    model = toy_model().eval()
    with torch.inference_mode():
        encoded = model.encode_images(images)
        first = model.encode_captions(tokens, lengths, concept_labels=labels)
        of_images, of_captions = (model.fused(levels, model.spec.alpha_at_test).numpy() for levels in (encoded, first))
        completed = torch.from_numpy(complete_labels(labels, of_images, of_captions).labels)
        second = model.encode_captions(tokens, lengths, concept_labels=completed)
    assert (completed >= labels).all() and (completed > labels).any()
    torch.testing.assert_close(second.instance, first.instance)
    assert not torch.allclose(second.consensus, first.consensus)


def test_words_start_from_given_vectors_and_the_others_from_a_normal_distribution():
    model = toy_model()
    vectors = np.full((20, 6), 7.0)
    known = np.arange(20) < 5
    model.start_words_from(vectors, known)
    weight = model.text.words.weight.detach()
    assert (weight[:5] == 7).all() and 0.7 < weight[5:].std().item() < 1.3
    with pytest.raises(InputError, match="word vectors are"):
        model.start_words_from(vectors[:3], known)


def test_images_with_another_number_of_regions_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="regions=5"):
        toy_model().encode_images(torch.zeros(2, 5, 8))
