"""Each network's own promises; what all share: test_every_model, released numbers: test_parity."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from fivesentences.errors import InputError
from fivesentences.models import build_model, from_released, model_spec
from fivesentences.models.attention import attended, attention_weights, raw_attention
from fivesentences.models.captioner import Captioner
from fivesentences.models.concepts import ConceptGraph
from fivesentences.models.cvse import TWINS
from fivesentences.models.matching import take
from fivesentences.models.recurrence import GRU
from fivesentences.models.scan import Words
from fivesentences.models.sgr import GraphStep
from fivesentences.models.similarity_vectors import GapProjection
from fivesentences.models.vse_infinity import GeneralisedPooling

# --- VSE++ -----------------------------------------------------------------------------------------------------------


@pytest.mark.parity
def test_released_weights_that_do_not_fit_are_refused_in_a_sentence(released_of):
    good = released_of("vsepp").weights()
    for bad, what in (
        ({k: v for k, v in good.items() if k != "txt_enc.rnn.bias_hh_l0"}, "bias_hh_l0"),
        ({k: v for k, v in good.items() if k != "img_enc.fc.weight"}, "img_enc.fc.weight"),
        ({**good, "sim_enc.weight": good["img_enc.fc.weight"]}, "sim_enc.weight"),
        ({**good, "img_enc.fc.bias": good["img_enc.fc.bias"][:-1]}, "image_projection.bias"),
    ):
        with pytest.raises(InputError, match=what):
            from_released("vsepp", bad)


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
@pytest.mark.parametrize(("layers", "unrolled"), [(1, False), (1, True), (2, False)])
def test_the_caption_vector_is_pooled_over_the_states_of_its_own_words(pooling, layers, unrolled):
    torch.manual_seed(0)
    spec = model_spec("vsepp", embedding=8, word=6, pooling=pooling, layers=layers)
    model = spec.build(image_dim=5, vocabulary_size=12).double()
    model.sentence.unrolled = unrolled
    gru = nn.GRU(6, 8, layers).double()
    gru.load_state_dict(model.sentence.state_dict())
    captions = [[1, 4, 7, 9, 2], [1, 2], [1, 5, 5, 2]]  # padded to the longest below
    tokens = torch.tensor([words + [0] * (5 - len(words)) for words in captions])
    found = model.encode_captions(tokens, torch.tensor([5, 2, 4]))
    for words, vector in zip(captions, found, strict=True):
        states = gru(model.words(torch.tensor(words))[:, None])[0][:, 0]  # one caption by itself: [words, 8]
        of_each = {"last": states[-1], "mean": sum(states) / len(words), "max": states.max(dim=0).values}
        expected = of_each[pooling] / of_each[pooling].norm()
        torch.testing.assert_close(vector, expected, rtol=0, atol=1e-12)


def test_xavier_draws_every_weight_evenly_within_the_bound_of_glorot_and_bengio():
    torch.manual_seed(0)
    spec = model_spec("vsepp", embedding=64, word=40, initialisation="xavier", layers=2)
    model = spec.build(image_dim=30, vocabulary_size=90)
    gates = {
        f"sentence.{name}": weight.detach().chunk(3) for name, weight in model.sentence.named_parameters()
    }  # reset, update and new
    matrices = {"words.weight": (model.words.weight,), "image_projection.weight": (model.image_projection.weight,)}
    for name, parts in (matrices | gates).items():
        for part in parts:
            if "bias" in name:
                assert not part.any(), name
                continue
            bound = math.sqrt(6 / sum(part.shape))  # fan-in and fan-out
            assert 0.98 * bound < part.abs().max().item() <= bound, name
            assert part.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05), name  # of an even distribution


# --- GRU -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("lengths", [[3, 9, 1, 5, 5, 2, 9], [4, 4], [1]])
def test_unrolled_states_and_gradients_are_torchs(bidirectional, layers, lengths):
    torch.manual_seed(0)
    gru = GRU(6, 4, layers, batch_first=True, bidirectional=bidirectional).double()
    words = torch.randn(len(lengths), max(lengths), 6, dtype=torch.float64, requires_grad=True)
    found = []
    for gru.unrolled in (False, True):
        gru.zero_grad()
        words.grad = None
        packed = pack_padded_sequence(words, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        states, last = gru(packed)
        (states.data.sin().sum() + last.cos().sum()).backward()
        gradients = [weight.grad.clone() for weight in gru.parameters()]
        found.append([states.data.detach(), last.detach(), words.grad.clone(), *gradients])
    for torchs, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, torchs, rtol=0, atol=1e-13)


# --- SCAN ------------------------------------------------------------------------------------------------------------


def test_cosines_from_the_gram_matrix_keep_float32_accuracy_in_1024_dimensions():
    generator = torch.Generator().manual_seed(0)
    regions = torch.nn.functional.normalize(torch.randn(6, 36, 1024, generator=generator), dim=2)
    words = torch.nn.functional.normalize(torch.randn(8, 12, 1024, generator=generator), dim=2)
    lengths = torch.full((8,), 12)
    for direction in ("t2i", "i2t"):
        model = build_model("scan", image_dim=3, vocabulary_size=9, embedding=1024, word=2, direction=direction)
        single = model.similarity(regions, Words(words, lengths))
        contexts, queries = (
            (regions.double(), words.double()) if direction == "t2i" else (words.double(), regions.double())
        )
        weights = attention_weights(raw_attention(contexts, queries), model.softmax_temperature)
        vectors = attended(weights, contexts)  # [X, Y, N, D]
        cosine = torch.nn.functional.cosine_similarity(queries[None], vectors, dim=3)
        scale = model.pooling_temperature
        direct = (torch.logsumexp(scale * cosine, dim=2) / scale).to(torch.float32)
        torch.testing.assert_close(single, direct if direction == "t2i" else direct.T, rtol=1e-5, atol=0)


# --- VSRN ------------------------------------------------------------------------------------------------------------


@pytest.mark.parity
@pytest.mark.parametrize("file", ["vsrn_f30k", "vsrn_coco"])
def test_a_checkpoint_without_captioner_scores_the_same_and_has_no_loss_of_its_own(released_of, file):
    released = released_of(file)
    weights = released.weights(torch.float64)
    model = from_released("vsrn", {name: value for name, value in weights.items() if "caption_model" not in name})
    scores = model.training_scores(*released.inputs(torch.float64))
    assert model.captioner is None and scores.extra is None
    np.testing.assert_allclose(scores.similarity.detach().numpy(), released.arrays["out64/sim"], atol=1e-9)


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


# --- CVSE ------------------------------------------------------------------------------------------------------------


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
def test_weights_of_cvse_need_vectors_of_its_concepts(released):
    state, vectors = released.weights(), released.arrays["in/concept_input_emb"]
    with pytest.raises(InputError, match="checkpoint"):
        from_released("cvse", state)
    with pytest.raises(InputError, match="concept_vectors"):
        from_released("cvse", state, concept_vectors=vectors[:, :-1])
    with pytest.raises(InputError, match="sim_enc"):
        from_released("cvse", state | {"sim_enc.weight": torch.zeros(1)}, concept_vectors=vectors)


# --- SGR, SAF --------------------------------------------------------------------------------------------------------


def small(name, **sizes):
    torch.manual_seed(0)
    model = build_model(
        name, image_dim=7, vocabulary_size=40, embedding=6, word=5, similarity_dim=4, regions=3, dropout=0.0, **sizes
    ).double()
    images, lengths = torch.randn(5, 3, 7, dtype=torch.float64), torch.tensor([3, 9, 1, 4, 9, 2])
    captions = torch.randint(3, 40, (6, 9)) * (torch.arange(9) < lengths[:, None])
    return model, (images, captions, lengths)


def gradient_of(model, batch, cotangent):
    model.zero_grad()
    (model(*batch) * cotangent).sum().backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def test_pairs_one_by_one_and_rectangles_give_sgr_the_gradient_of_plain_autograd():
    model, batch = small("sgr")
    cotangent = torch.zeros(5, 6, dtype=torch.float64)
    cotangent[torch.arange(4), torch.tensor([0, 1, 2, 5])] = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
    sparse = gradient_of(model, batch, cotangent)
    # A vanishing gradient everywhere else makes the same sum go through rectangles.
    dense = gradient_of(model, batch, cotangent + 1e-300)
    torch.testing.assert_close(sparse, dense, rtol=1e-10, atol=1e-13)
    model.few_gradients = False
    for block, kept in ((None, None), (50, None), (50, 1)):
        model.block_elements, model.kept_elements = block, kept
        torch.testing.assert_close(gradient_of(model, batch, cotangent), sparse, rtol=1e-10, atol=1e-13)
    model.few_gradients = True
    images, captions, lengths = batch
    parts, texts = model.encode_images(images), model.encode_captions(captions, lengths)
    plain = 0.0
    for image, caption in cotangent.nonzero().tolist():
        words = texts.words[None, caption : caption + 1, : lengths[caption]]
        pair = [tensor[image : image + 1] for tensor in parts]
        score = model.scores(*pair, words, texts.overall[None, caption : caption + 1], None)
        plain = plain + score.squeeze() * cotangent[image, caption]
    model.zero_grad()
    plain.backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    torch.testing.assert_close(sparse, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("shared", [True, False])
def test_the_gap_projection_has_the_gradient_of_finite_differences(shared):
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 2, 4), (3, 2, 5), (1 if shared else 3, 4, 5), (2, 5), (2,)]
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    assert torch.autograd.gradcheck(lambda *given: GapProjection.apply(*given, None), tensors)
    zero = torch.zeros(3, 2, 4, dtype=torch.float64, requires_grad=True)  # attended vectors of length 0
    GapProjection.apply(zero, *tensors[1:], None).sum().backward()
    assert torch.isfinite(zero.grad).all()


def test_one_product_of_query_and_key_is_the_released_attention_of_two():
    torch.manual_seed(0)
    step, nodes = GraphStep(4).double(), torch.randn(3, 5, 4, dtype=torch.float64)
    torch.nn.init.normal_(step.query.bias)
    torch.nn.init.normal_(step.key.bias)
    attention = torch.softmax(step.query(nodes) @ step.key(nodes).transpose(1, 2), dim=2)
    expected = torch.relu(step.out(attention @ nodes))
    torch.testing.assert_close(step(nodes, None, False), expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(step(nodes, None, True), expected[:, :1], rtol=0, atol=1e-13)


def test_running_values_of_saf_move_once_a_caption_in_their_order():
    model, batch = small("saf")
    model.train()
    again, _ = small("saf")
    again.train()
    images, captions = model.encode_images(batch[0]), model.encode_captions(*batch[1:])
    model.similarity(images, captions)
    for caption in range(6):
        again.similarity(images, take(captions, slice(caption, caption + 1)))
    assert model.gate_norm.num_batches_tracked == again.gate_norm.num_batches_tracked == 6
    torch.testing.assert_close(model.gate_norm.running_mean, again.gate_norm.running_mean, rtol=1e-12, atol=0)
    torch.testing.assert_close(model.gate_norm.running_var, again.gate_norm.running_var, rtol=1e-12, atol=0)


# --- VSE∞ ------------------------------------------------------------------------------------------------------------


def vse_infinity(**settings):
    torch.manual_seed(0)
    spec = model_spec("vse_infinity", embedding=8, word=6, **settings)
    return spec.build(image_dim=5, vocabulary_size=12).double()


def test_a_feature_is_the_sum_of_its_values_from_the_largest_on_by_weights_of_a_set_of_that_size():
    torch.manual_seed(0)
    pooling, items, counts = GeneralisedPooling().double(), torch.randn(5, 7, 3).double(), [4, 7, 1, 2, 4]
    found, weights = pooling(items, torch.tensor(counts)), pooling.weights(torch.tensor(counts))
    for values, count, vector, of_set in zip(items.tolist(), counts, found.tolist(), weights.tolist(), strict=True):
        (alone,) = pooling.weights(torch.tensor([count])).tolist()
        assert of_set[:count] == pytest.approx(alone) and of_set[count:] == [0.0] * (7 - count)
        assert sum(alone) == pytest.approx(1)
        for feature in range(3):
            ordered = sorted((item[feature] for item in values[:count]), reverse=True)
            assert vector[feature] == pytest.approx(sum(w * v for w, v in zip(alone, ordered, strict=True)))
    nn.init.zeros_(pooling.score.weight)  # then all ranks are alike
    torch.testing.assert_close(pooling(items, torch.full((5,), 7)), items.mean(dim=1))


def test_the_order_of_regions_and_what_is_drawn_change_no_vector_outside_training():
    model, images = vse_infinity().eval(), torch.randn(4, 6, 5).double()
    tokens, lengths = torch.randint(4, 12, (4, 6)), torch.tensor([6, 6, 6, 6])
    regions, words = model.encode_images(images), model.encode_captions(tokens, lengths)
    torch.testing.assert_close(model.encode_images(images[:, torch.randperm(6)]), regions)
    assert torch.equal(model.encode_captions(tokens, lengths), words)


def test_regions_that_training_leaves_out_are_as_if_an_image_had_none():
    model, images = vse_infinity(drop_regions=0.5), torch.randn(64, 6, 5).double()
    model.train().image_norm.eval()
    torch.manual_seed(1)
    kept = torch.rand(64, 6) > 0.5
    kept[~kept.any(dim=1), 0] = True
    torch.manual_seed(1)
    for image, some, vector in zip(images, kept, model.encode_images(images), strict=True):
        torch.testing.assert_close(vector, model.pooled_regions(image[None, some], some.sum()[None])[0])
    model = vse_infinity(drop_regions=1.0)
    model.image_norm.eval()
    torch.testing.assert_close(model.encode_images(images), model.pooled_regions(images[:, :1], torch.ones(64).long()))


def test_half_of_the_words_that_training_changes_are_hidden_a_tenth_become_any_word_and_the_others_are_left_out():
    captions, longest, share = 3000, 12, 0.2
    model, lengths = vse_infinity(change_words=share), torch.arange(captions) % 7 + 6
    tokens = torch.full((captions, longest), 5) * (torch.arange(longest) < lengths[:, None])
    changed, left = model.changed(tokens, lengths)
    words, inside = int(lengths.sum()), torch.arange(changed.shape[1]) < left[:, None]
    assert (left <= lengths).all() and (changed[~inside] == 0).all()
    shares = {
        "hidden": ((changed == 12) & inside).sum() / words,
        "another": ((changed != 5) & (changed != 12) & inside).sum() / words,
        "left out": 1 - left.sum() / words,
    }
    # Of 13 words that one may become, one is that of the hidden and one what it was.
    expected = {"hidden": share * (0.5 + 0.1 / 13), "another": share * 0.1 * 11 / 13, "left out": share * 0.4}
    for what, value in expected.items():
        assert abs(shares[what].item() - value) < 5 * math.sqrt(value * (1 - value) / words), what
    changed, left = vse_infinity(change_words=1.0).changed(tokens[:, :1], torch.ones(captions).long())
    assert changed.shape == (captions, 1) and (left == 1).all()


@pytest.mark.parity
def test_checkpoints_that_read_photographs_or_captions_by_other_networks_are_refused_in_a_sentence(released_of):
    good = released_of("vse_infinity").weights()
    for key, what in (("txt_enc.bert.pooler.dense.bias", "BERT"), ("img_enc.backbone.top.bias", "photographs")):
        with pytest.raises(InputError, match=rf"{what}; give one .* \(butd_region_bigru\)"):
            from_released("vse_infinity", good | {key: torch.zeros(3)})
