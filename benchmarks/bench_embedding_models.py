"""A training batch of VSE++, VSRN and CVSE, forward and backward, beside the released steps reimplemented.

python benchmarks/bench_embedding_models.py            # 128 pairs, 36 regions, full widths: some 3 minutes on 2 cores
python benchmarks/bench_embedding_models.py --small    # seconds, to see that it runs
python benchmarks/bench_embedding_models.py --device cuda --repeats 20

Both sides use the same weights and give the same loss and gradients, which is checked; dropout is off for that. Each
runs in a process of its own, so that its peak memory is its own. "Released style" is what the descriptions in
tests/fixtures say the released code computes, product by product: VSRN's captioner takes all 59 steps and projects
each to the vocabulary, CVSE multiplies every item with every concept feature by feature and walks its graph twice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from captions import machine, peak_bytes
from fivesentences.losses import TripletLoss
from fivesentences.models import CVSE, VSEPP, VSRN, build_model
from fivesentences.models.captioner import caption_labels
from fivesentences.models.concepts import ConceptGraph

Batch = dict[str, Tensor]
RANK = TripletLoss(margin=0.2, negatives="hardest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(LOSSES), default=list(LOSSES))
    parser.add_argument("--small", action="store_true", help="16 pairs and narrow models")
    parser.add_argument("--repeats", type=int, default=1, help="timed calls of each side; the best counts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=None, help="CPU threads (default: torch's)")
    parser.add_argument("--side", choices=("ours", "released"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(one_side(arguments)))
        return
    print(machine() + f", torch {torch.__version__}, {arguments.device}")
    size, widths = sizes(arguments.small)
    print(f"{size['batch']} pairs, {size['regions']} regions of {size['image_dim']}, captions of 7 to 17 words")
    for name in arguments.models:
        told = {side: in_a_process(name, side, sys.argv[1:]) for side in ("released", "ours")}
        ours, theirs = told["ours"], told["released"]
        apart = max(abs(ours[what] / theirs[what] - 1) for what in ("loss", "gradient"))
        print(
            f"{name}, {widths[name]['embedding']} dimensions: released style {theirs['seconds']:.3g} s "
            f"({theirs['cpu_seconds']:.1f} s of CPU), peak {theirs['peak_gb']:.2f} GB; ours {ours['seconds']:.3g} s "
            f"({ours['cpu_seconds']:.1f} s), peak {ours['peak_gb']:.2f} GB; ratio "
            f"{theirs['seconds'] / ours['seconds']:.2f}; loss and gradient norm differ by {apart:.0e}",
            flush=True,
        )


def in_a_process(name: str, side: str, given: list[str]) -> dict[str, float]:
    options = [word for word in given if word != "--models" and word not in LOSSES]
    command = [sys.executable, __file__, "--models", name, "--side", side, *options]
    result: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def sizes(small: bool) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """The batch, and each model's widths."""
    if small:
        batch = {"batch": 16, "regions": 36, "image_dim": 64, "vocabulary": 500, "concepts": 50}
        return batch, {"vsepp": {"embedding": 32}, "vsrn": {"embedding": 64}, "cvse": {"embedding": 32}}
    batch = {"batch": 128, "regions": 36, "image_dim": 2048, "vocabulary": 8000, "concepts": 300}
    return batch, {"vsepp": {"embedding": 1024}, "vsrn": {"embedding": 2048}, "cvse": {"embedding": 1024}}


def one_side(arguments: argparse.Namespace) -> dict[str, float]:
    """Best wall and CPU seconds of a forward and backward pass, peak memory, loss and length of the gradient."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    name, device = arguments.models[0], torch.device(arguments.device)
    model, batch = model_and_batch(name, arguments.small, device)
    loss_of = LOSSES[name][arguments.side]
    best = (float("inf"), float("inf"))
    for _ in range(arguments.repeats + (device.type == "cuda")):  # the first call on a GPU compiles
        model.zero_grad()
        started, cpu = time.perf_counter(), time.process_time()
        loss = loss_of(model, batch)
        loss.backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - started, time.process_time() - cpu))
    peak = peak_bytes()
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated()
    gradients = [parameter.grad.norm() for parameter in model.parameters() if parameter.grad is not None]
    length = torch.stack(gradients).norm().item()
    return {
        "seconds": best[0],
        "cpu_seconds": best[1],
        "peak_gb": peak / 1e9,
        "loss": loss.item(),
        "gradient": length,
    }


def model_and_batch(name: str, small: bool, device: torch.device) -> tuple[torch.nn.Module, Batch]:
    """The same weights and the same random batch for both sides; dropout off, batch norm in training mode."""
    size, widths = sizes(small)
    torch.manual_seed(0)
    options: dict[str, Any] = dict(widths[name])
    if name == "vsrn":
        options["caption_dropout"] = 0.0
    if name == "cvse":
        options |= {"dropout": 0.0, "concepts": random_graph(size["concepts"])}
    model = build_model(name, image_dim=size["image_dim"], vocabulary_size=size["vocabulary"], **options)
    if isinstance(model, VSRN):  # fresh blocks are the identity, which would hide them from the check
        for block in model.relations:
            torch.nn.init.constant_(block.norm.weight, 0.5)
    lengths = torch.randint(9, 20, (size["batch"],)).sort(descending=True).values  # <start> and <end> included
    tokens = torch.randint(4, size["vocabulary"], (size["batch"], int(lengths[0])))
    tokens *= torch.arange(tokens.shape[1]) < lengths[:, None]
    shape = (
        (size["batch"], size["image_dim"]) if name == "vsepp" else (size["batch"], size["regions"], size["image_dim"])
    )
    batch = {
        "images": torch.randn(shape),
        "tokens": tokens,
        "labels": torch.randint(0, 2, (size["batch"], size["concepts"])).float(),
    }
    moved = {key: value.to(device) for key, value in batch.items()}
    return model.train().to(device), moved | {"lengths": lengths}


def random_graph(count: int) -> ConceptGraph:
    rng = np.random.default_rng(0)
    together = np.triu(rng.integers(0, 40, (count, count)), 1)
    words = tuple(f"word{number}" for number in range(count))
    vectors = rng.normal(size=(count, 300)).astype(np.float32)
    return ConceptGraph(words, vectors, together + together.T, np.full(count, 100))


def ours(model: Any, batch: Batch) -> Tensor:
    extras = {"concept_labels": batch["labels"]} if isinstance(model, CVSE) else {}
    scores = model.training_scores(batch["images"], batch["tokens"], batch["lengths"], **extras)
    loss = sum((weight * RANK(similarity) for weight, similarity in scores.ranked), torch.zeros(()))
    return loss if scores.extra is None else loss + scores.extra


# --- the released steps ---------------------------------------------------------------------------------------


def unit(vectors: Tensor, dim: int = -1) -> Tensor:
    return vectors / vectors.pow(2).sum(dim=dim, keepdim=True).sqrt()


def released_hinge(similarity: Tensor) -> Tensor:
    positive = similarity.diagonal()[:, None]
    own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    to_captions = (0.2 + similarity - positive).clamp(min=0).masked_fill(own, 0)
    to_images = (0.2 + similarity - positive.T).clamp(min=0).masked_fill(own, 0)
    return to_captions.max(dim=1).values.sum() + to_images.max(dim=0).values.sum()


def released_sentences(words: torch.nn.Embedding, gru: torch.nn.GRU, batch: Batch) -> Tensor:
    packed = pack_padded_sequence(words(batch["tokens"]), batch["lengths"], batch_first=True)
    states, _ = pad_packed_sequence(gru(packed)[0], batch_first=True)
    last = (batch["lengths"].to(states.device) - 1)[:, None, None].expand(-1, 1, states.shape[2])
    return unit(states.gather(1, last)[:, 0])


def released_vsepp(model: VSEPP, batch: Batch) -> Tensor:
    images = unit(model.image_projection(batch["images"]))
    return released_hinge(images @ released_sentences(model.words, model.sentence, batch).T)


def released_vsrn(model: VSRN, batch: Batch) -> Tensor:
    assert model.captioner is not None and model.image_norm is not None

    def convolved(layer: torch.nn.Linear, features: Tensor) -> Tensor:
        return functional.conv1d(features, layer.weight[:, :, None], layer.bias)

    features = model.image_projection(batch["images"]).transpose(1, 2)  # [images, width, regions]
    for block in model.relations:
        affinity = convolved(block.theta, features).transpose(1, 2) @ convolved(block.phi, features)
        told = affinity / features.shape[2] @ convolved(block.value, features).transpose(1, 2)
        features = block.norm(convolved(block.out, told.transpose(1, 2).contiguous())) + features
    regions = unit(features.transpose(1, 2), dim=1)
    images = unit(model.image_norm(model.gathering(regions)[1][0]))
    retrieval = released_hinge(images @ released_sentences(model.words, model.sentence, batch).T)

    captioner = model.captioner
    labels = caption_labels(batch["tokens"], batch["lengths"], captioner.longest)
    read, state = captioner.reader(captioner.projection(regions))
    state, steps = state[0], []
    for step in range(captioner.longest - 1):
        asked = torch.cat([read, state[:, None, :].repeat(1, read.shape[1], 1)], dim=2)
        scores = captioner.attention_score(torch.tanh(captioner.attention(asked.view(-1, asked.shape[2]))))
        weights = scores.view(len(read), -1).softmax(dim=1)
        context = torch.bmm(weights[:, None, :], read)[:, 0]
        state = captioner.writer(torch.cat([captioner.words(labels[:, step]), context], dim=1), state)
        steps.append(captioner.out(state).log_softmax(dim=1)[:, None])
    log_probabilities = torch.cat(steps, dim=1)
    ends = (labels == 0).long().argmax(dim=1)  # the first pad, which counts
    mask = (torch.arange(labels.shape[1], device=labels.device) <= ends[:, None]).float()
    picked = log_probabilities.gather(2, labels[:, 1:-1, None])[:, :, 0]
    return retrieval - (picked * mask[:, 1:-1]).sum() / len(labels)


def released_cvse(model: CVSE, batch: Batch) -> Tensor:
    def pooled(attention: Any, items: Tensor, whole: Tensor) -> Tensor:
        seen, asked = attention.item(items), attention.whole(whole)
        if attention.items is not None:
            seen, asked = attention.item_norm(seen), attention.whole_norm(asked)
        asked = torch.tanh(asked)[:, None, :].repeat(1, items.shape[1], 1)
        weights = attention.score(torch.tanh(seen) * asked)[:, :, 0].softmax(dim=1)
        return unit((weights[:, :, None] * items).sum(dim=1))

    def scored(consensus: Any, basis: Tensor, instance: Tensor) -> Tensor:
        concepts = torch.tanh(consensus.item_norm(consensus.item(basis)))
        items = torch.tanh(consensus.whole_norm(consensus.whole(instance)))[:, None, :].repeat(1, len(basis), 1)
        return (10 * consensus.score(concepts * items)[:, :, 0]).softmax(dim=1)

    def mixture(weights: Tensor, basis: Tensor) -> Tensor:
        return unit((weights[:, :, None] * unit(basis)).sum(dim=1))

    regions = unit(model.image_projection(batch["images"]))
    packed = pack_padded_sequence(model.text.words(batch["tokens"]), batch["lengths"], batch_first=True)
    states, _ = pad_packed_sequence(model.text.sentence(packed)[0], batch_first=True)
    words = (states[:, :, : states.shape[2] // 2] + states[:, :, states.shape[2] // 2 :]) / 2
    words = words / (torch.linalg.vector_norm(words, dim=2, keepdim=True) + 1e-12)
    image = pooled(model.image_attention, regions, regions.mean(dim=1))
    caption = pooled(model.caption_attention, words, unit(words.mean(dim=1)))
    seen_basis, caption_basis = model.concepts(), model.concepts()
    seen = scored(model.image_consensus, seen_basis, image)
    told = 0.35 * (10 * batch["labels"]).softmax(dim=1) + 0.65 * scored(model.caption_consensus, caption_basis, caption)
    seen_as, caption_as = mixture(seen, seen_basis), mixture(told, caption_basis)
    fused_image, fused_caption = (unit(0.85 * a + 0.15 * b) for a, b in ((image, seen_as), (caption, caption_as)))
    ranked = 3 * released_hinge(fused_image @ fused_caption.T) + 5 * released_hinge(image @ caption.T)
    divergence = (told * (told.log() - seen.log())).sum()
    return ranked + released_hinge(seen_as @ caption_as.T) + 2 * divergence


LOSSES: dict[str, dict[str, Callable[[Any, Batch], Tensor]]] = {
    "vsepp": {"ours": ours, "released": released_vsepp},
    "cvse": {"ours": ours, "released": released_cvse},
    "vsrn": {"ours": ours, "released": released_vsrn},
}

if __name__ == "__main__":
    main()
