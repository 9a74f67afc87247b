"""CVSE against released numbers, and what it does beyond them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses import SemanticAdaptiveMargin, TripletLoss
from fivesentences.models import build_model, from_released
from fivesentences.models.concepts import ConceptGraph
from fivesentences.models.cvse import RELEASED_NAMES, TWINS, UNUSED
from fivesentences.models.cvse_spec import SAM_FORK
from fivesentences.models.label_completion import complete_labels

# Released names of the options of the Semantic Adaptive Margin; "hard" is the second furthest.
SAM_NEGATIVES = {"soft": "closest", "hard": "furthest"}

RANK = TripletLoss(0.2, "hardest")


@pytest.fixture
def released(released_of):
    return released_of("cvse")


def inputs(released, dtype):
    """Images, captions, lengths, and the extras."""
    return released.inputs(dtype), {"concept_labels": torch.as_tensor(released.arrays["in/concept_labels"]).to(dtype)}


def model_of(released, dtype, training=False, **options):
    hparams = released.hparams
    settings = {
        "alpha": hparams["alpha"],
        "label_ratio": hparams["Concept_label_ratio"],
        "fused_share": hparams["eval_weight_fused"],
        "loss_weights": hparams["loss_weights"],
        "dropout": 0.0 if training else hparams["dropout_rate"],
    }
    vectors = released.arrays["in/concept_input_emb"]
    return released.model("cvse", dtype, training, concept_vectors=vectors, **(settings | options))


def scores_and_losses(model, margin, arguments, extras):
    scores = model.training_scores(*arguments, **extras)
    loss = TripletLoss(margin, "hardest")
    fused, instance, consensus = (similarity for _, similarity in scores.ranked)
    assert fused is scores.similarity
    return scores, {
        "sim_fused": fused,
        "sim_instance": instance,
        "sim_consensus": consensus,
        "loss_rank_fused": loss(fused),
        "loss_rank_instance": loss(instance),
        "loss_rank_consensus": loss(consensus),
        "loss_kl": scores.extra / model.spec.loss_weights[3],
        "loss_total": sum(weight * loss(similarity) for weight, similarity in scores.ranked) + scores.extra,
    }


def details(model, arguments, extras):
    """What a second pass shows; batch-norm statistics move on in training."""
    images, captions, lengths = arguments
    basis = model.concepts()
    regions, words = model.projected_regions(images), model.word_states(captions, lengths)
    caption_mean = words.mean(dim=1)
    caption_mean = caption_mean / torch.linalg.vector_norm(caption_mean, dim=1, keepdim=True)
    of_images, log_seen = model.describe_images(images, basis)
    of_captions, told = model.describe_captions(captions, lengths, extras["concept_labels"], basis)
    ours = {
        "img_regions": regions,
        "img_mean": regions.mean(dim=1),
        "cap_words": words,
        "cap_mean": caption_mean,
        "region_weights": model.image_attention(regions, regions.mean(dim=1))[1],
        "word_weights": model.caption_attention(words, caption_mean)[1],
        "concept_basis": basis,
        "adj_normalised": model.concepts.normalised_adjacency(),
        "concept_scores_v": log_seen.exp(),
        "concept_scores_t": told,
        "sim_final_95_05": model(*arguments, **extras),
    }
    for side, levels in (("v", of_images), ("t", of_captions)):
        ours |= {f"emb_{side}_{level}": getattr(levels, level) for level in ("instance", "consensus")}
        ours[f"emb_{side}_fused"] = model.fused(levels, model.spec.alpha)
    return ours


def sam_fork(released, dtype):
    """The fork's total loss with each sampling, and its parts."""
    hparams = released.hparams
    arguments, extras = inputs(released, dtype)
    assert SAM_FORK["alpha"] == hparams["alpha_sam_fork"]
    model = model_of(released, dtype, **SAM_FORK)
    scores, losses = scores_and_losses(model, hparams["margin"], arguments, extras)
    phi = torch.as_tensor(released.arrays["in/phi"]).to(dtype).T  # the fixture holds [image, caption]
    ours = {"sim_fused": scores.similarity, "loss_without_sam": losses["loss_total"]}
    for theirs, negatives in SAM_NEGATIVES.items():
        sam = SemanticAdaptiveMargin(hparams["tau"], negatives, "released")(scores.similarity, phi)
        ours[f"loss_sam_unweighted_{theirs}"] = sam
        ours[f"loss_total_{theirs}"] = losses["loss_total"] + hparams["cider_weight"] * sam
    return model, ours


@pytest.mark.parity
@pytest.mark.parametrize("out, dtype, atol", [("out64", torch.float64, 1e-9), ("out", torch.float32, 1e-5)])
def test_every_output_equals_the_released_code(released, by_released_name, out, dtype, atol):
    arguments, extras = inputs(released, dtype)
    for prefix, training in (("", False), ("train/", True)):
        model = model_of(released, dtype, training)
        _, ours = scores_and_losses(model, released.hparams["margin"], arguments, extras)
        norms = [(name, value.clone()) for name, value in model.named_buffers() if "norm" in name]
        ours |= {f"bn_after/{name}": value for name, value in by_released_name(norms, RELEASED_NAMES).items()}
        ours |= details(model, arguments, extras)
        released.check_outputs(out, {prefix + name: value for name, value in ours.items()}, atol)
    fork = {f"sam_fork/{name}": value for name, value in sam_fork(released, dtype)[1].items()}
    released.check_outputs(out, fork, max(atol, 1e-6))  # the fork's margins are float32 inside
    # Batch norms of modules that nothing reads: ours has none, and theirs must stay what they were.
    folder = f"{out}/train/bn_after/"
    unread = [key for key in released.keys(out) if key.removeprefix(folder).startswith(UNUSED)]
    for key in unread:
        np.testing.assert_array_equal(released.arrays[key], released.arrays[f"param/{key.removeprefix(folder)}"])
    released.compared.update(unread)
    released.assert_all_compared(out)


@pytest.mark.parity
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_every_gradient_equals_the_released_code(released, gradients_of, dtype, tolerance):
    arguments, extras = inputs(released, dtype)
    runs = []
    for prefix, training in (("loss_total", False), ("train/loss_total", True)):
        model = model_of(released, dtype, training)
        loss = scores_and_losses(model, released.hparams["margin"], arguments, extras)[1]["loss_total"]
        runs.append((prefix, model, loss))
    for theirs in SAM_NEGATIVES:
        model, ours = sam_fork(released, dtype)
        runs.append((f"sam_fork/loss_total_{theirs}", model, ours[f"loss_total_{theirs}"]))
    for folder, model, loss in runs:
        loss.backward()
        encoders_only = folder.startswith("sam_fork/")
        released.check_gradients(folder, gradients_of(model, RELEASED_NAMES), tolerance, partial=encoders_only)
    released.assert_all_compared("grad64")


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
    arguments, extras = inputs(released, torch.float64)
    similarities = [
        from_released("cvse", given, concept_vectors=vectors)(*arguments, **extras).detach().numpy()
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


def test_fresh_weights_are_drawn_as_released():
    torch.manual_seed(3)
    model = build_model("cvse", image_dim=40, vocabulary_size=500, concepts=toy_graph(), embedding=24, word=10)
    bound = math.sqrt(6 / (40 + 24))
    assert 0.95 * bound < model.image_projection.weight.abs().max().item() <= bound
    assert (model.image_projection.bias == 0).all()
    bound = math.sqrt(6 / (500 + 10))
    assert 0.95 * bound < model.text.words.weight.abs().max().item() <= bound
    assert model.concepts.first.abs().max().item() <= 1 / math.sqrt(12)
    assert model.concepts.second.abs().max().item() <= 1 / math.sqrt(24)
    assert model.image_attention.item_norm.num_features == 36
    assert model.image_attention.item.bias.abs().max().item() <= 1 / math.sqrt(24)


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
