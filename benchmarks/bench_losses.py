"""Losses of a batch of 128, against DAA's loss as released reimplemented; and what a file of prepared CIDEr saves.

python benchmarks/bench_losses.py [--device cuda]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from captions import flickr8k_train, machine, peak_bytes
from fivesentences.losses import InfoNCE, SemanticAdaptiveMargin, SoftRankLoss, TripletLoss
from fivesentences.semantics import BatchCider


def reimplemented(similarity: Tensor, semantics: Tensor, temperature: float = 1e-3, weight: float = 25.0) -> Tensor:
    """DAA's loss with B x B x B tensors, repeated, masked and kept for autograd; both matrices [image, caption]."""

    def ranks(scores: Tensor) -> Tensor:
        size = len(scores)
        mask = (1.0 - torch.eye(size, device=scores.device)).unsqueeze(0).repeat(size, 1, 1)
        others = scores.T.unsqueeze(1).repeat(1, size, 1)  # the missing transpose
        own = scores.unsqueeze(2).repeat(1, 1, size)
        exponent = torch.clamp(-(others - own) / temperature, min=-50, max=50)
        return (1.0 / (1.0 + torch.exp(exponent)) * mask).sum(dim=2) + 1.0

    def one(scores: Tensor, meant: Tensor) -> Tensor:
        ours, theirs = ranks(scores), ranks(meant)
        return weight * (1 - (torch.min(ours, theirs) / torch.max(ours, theirs)).mean())

    return one(similarity, semantics) + one(similarity.T, semantics.T)


def milliseconds(loss: Callable[[Tensor], Tensor], similarity: Tensor, repeat: int) -> tuple[float, float]:
    """Best of several calls: forward, forward and backward."""
    wait = torch.cuda.synchronize if similarity.is_cuda else lambda: None
    forward, both = [], []
    for _ in range(repeat):
        scores = similarity.clone().requires_grad_()
        wait()
        started = time.perf_counter()
        value = loss(scores)
        wait()
        middle = time.perf_counter()
        value.backward()  # type: ignore[no-untyped-call]
        wait()
        forward.append(1e3 * (middle - started))
        both.append(1e3 * (time.perf_counter() - started))
    return min(forward), min(both)


def agree(ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], similarity: Tensor) -> float:
    """Largest difference of the gradients, relative to the largest one."""
    gradients = []
    for loss in (ours, theirs):
        scores = similarity.clone().requires_grad_()
        gradients.append(torch.autograd.grad(loss(scores), scores)[0])
    return float((gradients[0] - gradients[1]).abs().max() / gradients[1].abs().max())


def bench_losses(size: int, repeat: int, device: str) -> None:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.nn.functional.normalize(torch.randn(2, size, 32, generator=generator), dim=2)
    similarity = (vectors[0] @ vectors[1].T + 0.3 * torch.eye(size)).to(device)
    phi = (torch.rand(size, size, generator=generator) ** 4 + 3 * torch.eye(size)).to(device)
    ranks = {
        "DAA as released, reimplemented": lambda s: reimplemented(s, phi.T),
        "SoftRankLoss, released": lambda s: SoftRankLoss(variant="released")(s, phi),
        "SoftRankLoss, paper": lambda s: SoftRankLoss()(s, phi),
    }
    times = {name: milliseconds(loss, similarity, repeat) for name, loss in ranks.items()}
    base = times["DAA as released, reimplemented"]
    print(f"\nB = {size}, {device}, {torch.get_num_threads()} threads, best of {repeat}: forward; forward and backward")
    for name, (forward, both) in times.items():
        print(f"  {name:32} {forward:8.2f} ms ({base[0] / forward:4.1f}x) {both:8.2f} ms ({base[1] / both:4.1f}x)")
    difference = agree(ranks["SoftRankLoss, released"], ranks["DAA as released, reimplemented"], similarity)
    print(f"  gradients of the two released ones differ by {difference:.1e} of the largest")
    for name, loss in {
        "TripletLoss, hardest": TripletLoss(margin=0.2, negatives="hardest"),
        "TripletLoss, k = 3": TripletLoss(margin=0.2, negatives=3),
        "SemanticAdaptiveMargin, closest": lambda s: SemanticAdaptiveMargin(temperature=10, negatives="closest")(
            s, phi
        ),
        "SemanticAdaptiveMargin, shuffled": lambda s: SemanticAdaptiveMargin(
            temperature=10, negatives="closest", margins="shuffled"
        )(s, phi),
        "InfoNCE": InfoNCE(),
    }.items():
        forward, both = milliseconds(loss, similarity, repeat)
        print(f"  {name:32} {forward:8.2f} ms         {both:8.2f} ms")


def bench_prepared_cider() -> None:
    name, captions, image_of_caption = flickr8k_train()
    started = time.perf_counter()
    fresh = BatchCider(captions, image_of_caption)
    computed = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cider.npz"
        fresh.write(path)
        started = time.perf_counter()
        read = BatchCider.read(path, captions, image_of_caption)
        taken = time.perf_counter() - started
        size = path.stat().st_size / 1e6
    rows = np.arange(0, len(fresh), max(1, len(fresh) // 128))[:128]
    assert (read.batch(rows) == fresh.batch(rows)).all()
    print(
        f"\nCIDEr of {name}, {len(captions):,} captions: prepared in {computed:.2f} s, read from a file of "
        f"{size:.0f} MB in {taken:.2f} s (its captions' sha256 included)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128, help="pairs of a batch (default 128)")
    parser.add_argument("--repeat", type=int, default=10, help="calls of each loss (default 10)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default cpu)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(machine() + f", torch {torch.__version__}")
    bench_losses(arguments.size, arguments.repeat, arguments.device)
    bench_prepared_cider()
    print(f"peak memory {peak_bytes() / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
