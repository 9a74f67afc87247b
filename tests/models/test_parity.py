"""Every output, loss and gradient that released models gave is ours: one test for the files of all models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from fivesentences.losses import SemanticAdaptiveMargin, TripletLoss
from fivesentences.models import Matcher, cvse, scan, similarity_vectors, vse_infinity, vsepp, vsrn
from fivesentences.models.attention import attended, attention_weights, raw_attention
from fivesentences.models.captioner import caption_labels
from fivesentences.models.matching import l2_normalised, take

NEGATIVES = {"loss_max": "hardest", "loss_sum": "all"}
# Released names of the options of the Semantic Adaptive Margin; "hard" is the second furthest.
SAM_NEGATIVES = {"soft": "closest", "hard": "furthest"}
MODES = (("", False), ("train/", True))


class Loss(NamedTuple):
    """A loss whose gradients a file holds below ``folder``.

    Attributes:
        folder: Below ``grad64``.
        model: Whose weights get a gradient.
        value: The loss.
        leaves: Further tensors that get one.
        partial: Whether the file holds gradients of some weights only.
    """

    folder: str
    model: Matcher
    value: Tensor
    leaves: Mapping[str, Tensor] = {}
    partial: bool = False


def by_released_name(named: Iterable[tuple[str, Tensor]], prefixes: Mapping[str, str]) -> dict[str, Tensor]:
    """Rename weights, buffers or their gradients, given released prefix -> prefix here."""
    found = {}
    for name, value in named:
        fitting = (pair for pair in prefixes.items() if name.startswith(pair[1]))
        theirs, ours = max(fitting, key=lambda pair: len(pair[1]))
        found[theirs + name.removeprefix(ours)] = value
    return found


def triplet(released, name, similarity):
    return TripletLoss(margin=released.hparams["margin"], negatives=NEGATIVES[name])(similarity)


def similarity_and_triplets(released, similarity) -> dict[str, Tensor]:
    """With the gradients of the triplet losses with respect to the similarity."""
    leaf, found = similarity.detach().requires_grad_(), {"sim": similarity}
    for name in NEGATIVES:
        found[name] = triplet(released, name, leaf)
        (found[f"d{name}_dsim"],) = torch.autograd.grad(found[name], leaf)
    return found


class VSEPP:
    names = vsepp.RELEASED_NAMES

    def outputs(self, released, dtype):
        images, captions, lengths = released.inputs(dtype)
        order, bare = {"measure": "order", "use_abs": True}, {"normalise_images": False}
        for prefix, options in (("", {}), ("order/", order), ("no_imgnorm/", bare)):
            model = released.model("vsepp", dtype, **options)
            ours = {"img_emb": model.encode_images(images), "cap_emb": model.encode_captions(captions, lengths)}
            yield prefix, ours | similarity_and_triplets(released, model(images, captions, lengths))

    def losses(self, released, dtype, block):
        for name in NEGATIVES:
            model = released.model("vsepp", dtype)
            yield Loss(name, model, triplet(released, name, model(*released.inputs(dtype))))


class SCAN:
    names = scan.RELEASED_NAMES

    def model_of(self, released, dtype, direction="t2i", **options):
        temperatures = {
            "softmax_temperature": released.hparams["lambda_softmax"][direction],
            "pooling_temperature": released.hparams["lambda_lse"][direction],
        }
        return released.model("scan", dtype, direction=direction, **temperatures, **options)

    def outputs(self, released, dtype):
        keys = [key.split("/", 1)[1] for key in released.keys("out64")]
        yield "", {key: self.output(released, key, dtype) for key in keys}

    def output(self, released, key, dtype):
        """What the project returns for an ``out`` key."""
        images, captions, lengths = released.inputs(dtype)
        kind, *rest = key.split("/")
        bare = {"normalise_images": False, "normalise_captions": False} if kind == "no_norm" else {}
        model = self.model_of(released, dtype, **bare)
        if kind in ("sim", *NEGATIVES):
            settings = dict(zip(("direction", "aggregation", "raw_norm"), rest, strict=False))
            similarity = self.model_of(released, dtype, **settings)(images, captions, lengths)
            return similarity if kind == "sim" else triplet(released, kind, similarity)
        if kind == "pair01":
            direction, what = rest
            model = self.model_of(released, dtype, direction)
            regions = model.encode_images(images[:1])
            words = model.encode_captions(captions, lengths).vectors[1:2, : lengths[1]]
            contexts, queries = (regions, words) if direction == "t2i" else (words, regions)
            weights = attention_weights(raw_attention(contexts, queries), model.softmax_temperature)
            return weights[:, :, 0] if what.startswith("attention") else attended(weights, contexts)[:, 0]
        words = model.encode_captions(captions, lengths)
        return {
            "img_emb": model.encode_images(images),
            "cap_emb": words.vectors,
            "cap_len": words.lengths,
            "img_fc_weight_effective": model.image_projection.weight,
        }[rest[0] if bare else kind]

    def losses(self, released, dtype, block):
        for name, direction, aggregation in {tuple(key.split("/")[1:4]) for key in released.keys("grad64")}:
            model = self.model_of(released, dtype, direction, aggregation=aggregation)
            model.block_elements = model.kept_elements = block
            images, captions, lengths = released.inputs(dtype)
            regions, words = model.encode_images(images), model.encode_captions(captions, lengths)
            leaves = {"img_emb": regions, "cap_emb": words.vectors}
            value = triplet(released, name, model.similarity(regions, words))
            yield Loss(f"{name}/{direction}/{aggregation}", model, value, leaves, partial=True)


class VSRN:
    names = vsrn.RELEASED_NAMES

    def model_of(self, released, dtype, training):
        hparams = released.hparams
        options = {"captioning": hparams["caption_weight"], "caption_longest": hparams["max_len"]}
        options["caption_dropout"] = 0.0 if training else hparams["input_dropout_p"]
        model = released.model("vsrn", dtype, training, **options)
        assert model.spec.recipe == ("coco" if "coco" in hparams["data_name"] else "flickr30k")
        return model

    def outputs(self, released, dtype):
        images, captions, lengths = released.inputs(dtype)
        for prefix, training in MODES:
            model = self.model_of(released, dtype, training)
            scores = model.training_scores(images, captions, lengths)
            retrieval = triplet(released, "loss_max", scores.similarity)
            ours = {
                "sim": scores.similarity,
                "loss_caption": scores.extra / model.spec.captioning,
                "loss_retrieval": retrieval,
                "loss_retrieval_sum": triplet(released, "loss_sum", scores.similarity),
                "loss_total": retrieval + scores.extra,
            }
            buffers = by_released_name(model.named_buffers(), self.names)
            ours |= {f"bn_after/{name}": value.clone() for name, value in buffers.items()}
            # What a second pass shows; batch-norm statistics move on in training.
            projected, related = model.projected_regions(images), model.related_regions(images)
            labels = caption_labels(captions, lengths, model.captioner.longest)
            yield (
                prefix,
                ours
                | {
                    "fc_regions": projected,
                    "gcn1": model.relations[0](projected),
                    "gcn_regions": related,
                    "img_emb": model.encode_images(images),
                    "cap_emb": model.encode_captions(captions, lengths),
                    "caption_logprobs": model.captioner.log_probabilities(related, labels),
                },
            )

    def losses(self, released, dtype, block):
        for prefix, training in MODES:
            model = self.model_of(released, dtype, training)
            scores = model.training_scores(*released.inputs(dtype))
            yield Loss(f"{prefix}loss_total", model, triplet(released, "loss_max", scores.similarity) + scores.extra)


class CVSE:
    names = cvse.RELEASED_NAMES

    def model_of(self, released, dtype, training=False, **options):
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

    def scores_and_losses(self, released, model, dtype):
        scores = model.training_scores(*released.inputs(dtype), **released.extras(dtype))
        levels = [similarity for _, similarity in scores.ranked]
        assert levels[0] is scores.similarity
        ranks = [triplet(released, "loss_max", similarity) for similarity in levels]
        found = {"loss_kl": scores.extra / model.spec.loss_weights[3]}
        for level, similarity, rank in zip(("fused", "instance", "consensus"), levels, ranks, strict=True):
            found |= {f"sim_{level}": similarity, f"loss_rank_{level}": rank}
        weights = (weight for weight, _ in scores.ranked)
        total = sum(weight * rank for weight, rank in zip(weights, ranks, strict=True)) + scores.extra
        return scores, found | {"loss_total": total}

    def details(self, released, model, dtype):
        """What a second pass shows; batch-norm statistics move on in training."""
        (images, captions, lengths), extras = released.inputs(dtype), released.extras(dtype)
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
            "sim_final_95_05": model(images, captions, lengths, **extras),
        }
        for side, levels in (("v", of_images), ("t", of_captions)):
            ours |= {f"emb_{side}_{level}": getattr(levels, level) for level in ("instance", "consensus")}
            ours[f"emb_{side}_fused"] = model.fused(levels, model.spec.alpha)
        return ours

    def sam_fork(self, released, dtype):
        """The fork's total loss with each sampling, and its parts."""
        hparams = released.hparams
        model = self.model_of(released, dtype, alpha=hparams["alpha_sam_fork"])
        scores, losses = self.scores_and_losses(released, model, dtype)
        phi = torch.as_tensor(released.arrays["in/phi"]).to(dtype).T  # the fixture holds [image, caption]
        ours = {"sim_fused": scores.similarity, "loss_without_sam": losses["loss_total"]}
        for theirs, negatives in SAM_NEGATIVES.items():
            sam = SemanticAdaptiveMargin(temperature=hparams["tau"], negatives=negatives, variant="released")(
                scores.similarity, phi
            )
            ours[f"loss_sam_unweighted_{theirs}"] = sam
            ours[f"loss_total_{theirs}"] = losses["loss_total"] + hparams["cider_weight"] * sam
        return model, ours

    def outputs(self, released, dtype):
        for prefix, training in MODES:
            model = self.model_of(released, dtype, training)
            _, ours = self.scores_and_losses(released, model, dtype)
            norms = [(name, value.clone()) for name, value in model.named_buffers() if "norm" in name]
            ours |= {f"bn_after/{name}": value for name, value in by_released_name(norms, self.names).items()}
            yield prefix, ours | self.details(released, model, dtype)
        yield "sam_fork/", self.sam_fork(released, dtype)[1]
        # Batch norms of modules that nothing reads: ours has none, and theirs must stay what they were.
        for key, value in released.arrays.items():
            name = key.partition("/train/bn_after/")[2]
            if name.startswith(cvse.UNUSED):
                np.testing.assert_array_equal(value, released.arrays[f"param/{name}"])
                released.compared.add(key)

    def losses(self, released, dtype, block):
        for prefix, training in MODES:
            model = self.model_of(released, dtype, training)
            yield Loss(f"{prefix}loss_total", model, self.scores_and_losses(released, model, dtype)[1]["loss_total"])
        for theirs in SAM_NEGATIVES:
            model, ours = self.sam_fork(released, dtype)
            folder = f"sam_fork/loss_total_{theirs}"
            yield Loss(folder, model, ours[f"loss_total_{theirs}"], partial=True)  # of the encoders only


class SimilarityVectors:
    """SGR and SAF."""

    def model_of(self, released, dtype, train=False):
        temperature = released.hparams["attention_temperature"]
        name = released.hparams["module_name"].lower()
        model = released.model(name, dtype, train, dropout=0.0, temperature=temperature)
        self.names = similarity_vectors.RELEASED_NAMES | model.released_reasoning(released.weights())[1]
        return model

    def outputs(self, released, dtype):
        images, captions, lengths = released.inputs(dtype)
        model = self.model_of(released, dtype, train=True)
        found = similarity_and_triplets(released, model(images, captions, lengths))
        buffers = by_released_name(model.named_buffers(), self.names)
        yield "train/", found | {f"bn_after/{name}": value for name, value in buffers.items()}
        model = self.model_of(released, dtype)
        yield "", similarity_and_triplets(released, model(images, captions, lengths))
        parts, texts = model.encode_images(images), model.encode_captions(captions, lengths)
        words, overall = texts.words[None, 1:2, : lengths[1]], texts.overall[None, 1:2]
        attention = model.attention(parts.regions, words).flatten(2)
        whole, local = model.gaps(*parts, words, overall)
        yield "", {
            **{"img_emb": parts.regions, "img_glo": parts.overall, "cap_emb": texts.words, "cap_glo": texts.overall},
            "caption1/context_img": l2_normalised(attention.transpose(1, 2) @ parts.regions, similarity_vectors.EPS),
            "caption1/sim_emb": l2_normalised(
                torch.cat([whole[:, :, None], local], dim=2), similarity_vectors.EPS
            )[:, 0],
            "sim_first3_images": model.similarity(take(parts, slice(3)), texts),
        }  # fmt: skip

    def losses(self, released, dtype, block):
        for folder in {key.removeprefix("grad64/").rpartition("/")[0] for key in released.keys("grad64")}:
            mode, _, name = folder.rpartition("/")
            model = self.model_of(released, dtype, train=mode == "train")
            model.block_elements = model.kept_elements = block
            yield Loss(folder, model, triplet(released, name, model(*released.inputs(dtype))))


class VSEInfinity:
    names = vse_infinity.RELEASED_NAMES

    def model_of(self, released, dtype, training):
        return released.model("vse_infinity", dtype, training, drop_regions=0.0, change_words=0.0)

    def encoded(self, released, model, dtype, some):
        """Both encodings of all regions, or of some of each image, and the numbers of regions and words."""
        images, captions, lengths = released.inputs(dtype)
        kept = torch.as_tensor(released.arrays["in/counts"])
        counts = kept if some else torch.full_like(kept, images.shape[1])
        regions, words = model.pooled_regions(images, counts), model.encode_captions(captions, lengths)
        return regions, words, counts, lengths

    def outputs(self, released, dtype):
        for prefix, some, training in (("", False, False), ("some/", True, False), ("train/", True, True)):
            model = self.model_of(released, dtype, training)
            regions, words, counts, lengths = self.encoded(released, model, dtype, some)
            buffers = by_released_name(model.image_norm.named_buffers("image_norm"), self.names)
            yield (
                prefix,
                {
                    "img_emb": regions,
                    "cap_emb": words,
                    "region_weights": model.image_pooling.weights(counts),
                    "word_weights": model.caption_pooling.weights(lengths),
                    **{f"bn_after/{name}": value for name, value in buffers.items()},
                    **similarity_and_triplets(released, model.similarity(regions, words)),
                },
            )
        model = self.model_of(released, dtype, False)
        yield "", {"sim": model(*released.inputs(dtype))}

    def losses(self, released, dtype, block):
        model = self.model_of(released, dtype, True)
        regions, words, _, _ = self.encoded(released, model, dtype, True)
        yield Loss("train/loss_max", model, triplet(released, "loss_max", model.similarity(regions, words)))


OF_FILE = {
    **{"vsepp": VSEPP, "scan_bigru": SCAN, "scan_gru_weightnorm": SCAN, "vsrn_f30k": VSRN, "vsrn_coco": VSRN},
    **{"cvse": CVSE, "sgr": SimilarityVectors, "saf": SimilarityVectors, "vse_infinity": VSEInfinity},
}
BLOCKS = {"scan_bigru": 70, "scan_gru_weightnorm": 70, "sgr": 200, "saf": 200}
PRECISE = {"sam_fork/": 1e-6}  # the fork's margins are float32 inside
# In float32: SGR's last query and key have gradients of a millionth of the largest.
LEAST_SHARE = {(SimilarityVectors, torch.float32): 1e-4}


@pytest.mark.parity
@pytest.mark.parametrize("file", OF_FILE)
@pytest.mark.parametrize("out, dtype, atol", [("out64", torch.float64, 1e-9), ("out", torch.float32, 1e-5)])
def test_every_output_equals_the_released_code(released_of, file, out, dtype, atol):
    released = released_of(file)
    for prefix, ours in OF_FILE[file]().outputs(released, dtype):
        named = {prefix + name: value for name, value in ours.items()}
        released.check_outputs(out, named, max(atol, PRECISE.get(prefix, 0.0)))
    released.assert_all_compared(out)


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.parametrize(
    ("file", "block"), [*((file, None) for file in OF_FILE), *((file, block) for file, block in BLOCKS.items())]
)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_every_gradient_equals_the_released_code(released_of, file, block, dtype, tolerance):
    released, kind = released_of(file), OF_FILE[file]()
    losses: Iterator[Loss] = kind.losses(released, dtype, block)
    for loss in losses:
        for leaf in loss.leaves.values():
            leaf.retain_grad()
        loss.value.backward()
        gradients = ((name, parameter.grad) for name, parameter in loss.model.named_parameters())
        ours = {name: leaf.grad for name, leaf in loss.leaves.items()} | by_released_name(gradients, kind.names)
        least_share = LEAST_SHARE.get((type(kind), dtype), 0.0)
        released.check_gradients(loss.folder, ours, tolerance, least_share, loss.partial)
    released.assert_all_compared("grad64")


@pytest.mark.parity
@pytest.mark.parametrize("file", ["vsrn_f30k", "vsrn_coco"])
def test_labels_of_the_captioner_are_the_released_ones(released_of, file):
    released = released_of(file)
    _, captions, lengths = released.inputs()
    longest = released.hparams["max_len"]
    labels = caption_labels(captions, lengths, longest)
    np.testing.assert_array_equal(labels.numpy(), released.arrays["in/caption_labels"])
    counted = (labels.numpy() != 0).sum(axis=1)[:, None] >= np.arange(longest + 1)
    np.testing.assert_array_equal(counted, released.arrays["in/caption_masks"])
