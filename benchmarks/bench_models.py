"""SCAN, SGR and SAF on a batch against the released way, a loop over captions, reimplemented.

    python benchmarks/bench_models.py                      # on the CPU: 128 x 128, 36 regions, 1024 dimensions
    python benchmarks/bench_models.py --device cuda        # training steps, a 5,000 x 25,000 matrix

Each side of each comparison runs in a process of its own, so that its peak memory is its own; inputs and weights are
the same, and scores and gradients are compared. The loop is credible only while its CPU seconds are near those of the
released functions themselves (``RELEASED``, measured once on 2 cores of an AMD EPYC; they repeat within 30%).

Losses: ``hardest`` is what all of these models train with; ``all`` gives every pair a gradient. SGR's backward pass
visits only pairs that have one, unless its ``few_gradients`` is off, as it is here for ``all``.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from captions import machine, peak_bytes
from fivesentences.losses import TripletLoss
from fivesentences.models import build_model
from fivesentences.models.attention import EPS, SLOPE
from fivesentences.models.matching import Matcher
from fivesentences.models.scan import Words
from fivesentences.models.similarity_vectors import AttentionPooling, CaptionParts, ImageParts
from fivesentences.models.words import inside

# CPU seconds of the released functions: forward without gradient, forward and backward of the hinge loss.
RELEASED = {"scan-t2i": (3.0, 10.0), "scan-i2t": (3.3, None), "sgr": (9.1, 45.5), "saf": (5.6, 18.0)}
ASKED = {"scan-t2i": 3, "scan-i2t": 3, "sgr": 2, "saf": 2}
WHAT = ("forward", "hardest", "all")
REGIONS, EMBEDDING = 36, 1024


# --- the released way -----------------------------------------------------------------------------------------------


def normalised(vectors: Tensor, dim: int = -1) -> Tensor:
    return vectors / (vectors.pow(2).sum(dim=dim, keepdim=True).sqrt() + EPS)


def attend(queries: Tensor, contexts: Tensor, temperature: float) -> Tensor:
    """One caption with every image: ``[images, N, D]``, ``[images, M, D]`` -> attended vectors ``[images, N, D]``."""
    raw = nn.functional.leaky_relu(torch.bmm(contexts, queries.transpose(1, 2)), SLOPE)
    raw = normalised(raw, dim=2).transpose(1, 2).contiguous()  # [images, N, M]
    weights = torch.softmax(raw * temperature, dim=2).transpose(1, 2).contiguous()
    return torch.bmm(contexts.transpose(1, 2), weights).transpose(1, 2)


def loop_scan(model: Any, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
    columns = []
    for caption, length in enumerate(lengths.tolist()):
        repeated = words[caption, :length][None].repeat(len(regions), 1, 1)
        queries, contexts = (repeated, regions) if model.spec.direction == "t2i" else (regions, repeated)
        attended = attend(queries, contexts, model.softmax_temperature)
        dot = (queries * attended).sum(dim=2)
        cosine = dot / (queries.norm(2, dim=2) * attended.norm(2, dim=2)).clamp(min=EPS)
        pooled = cosine.mul(model.pooling_temperature).exp().sum(dim=1, keepdim=True).log()
        columns.append(pooled / model.pooling_temperature)
    return torch.cat(columns, dim=1)


def pooled(pooling: AttentionPooling, items: Tensor) -> Tensor:
    mean = items.mean(dim=1)
    local = torch.tanh(pooling.local_norm(pooling.local(items)))
    overall = torch.tanh(pooling.overall_norm(pooling.overall(mean)))[:, None].repeat(1, items.shape[1], 1)
    weights = torch.softmax(pooling.score(local * overall).squeeze(2), dim=1)
    return normalised((weights[:, :, None] * items).sum(dim=1))


def loop_vectors(model: Any, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
    columns, overall = [], pooled(model.image_pooling, regions)
    for caption, length in enumerate(lengths.tolist()):
        of_caption = words[caption, :length][None]
        of_overall = pooled(model.caption_pooling, of_caption)
        repeated = of_caption.repeat(len(regions), 1, 1)
        context = normalised(attend(repeated, regions, model.spec.temperature))
        local = normalised(model.local_gap(torch.pow(context - repeated, 2)))
        whole = normalised(model.overall_gap(torch.pow(overall - of_overall, 2)))
        vectors = torch.cat([whole[:, None], local], dim=1)
        columns.append(torch.sigmoid(model.evaluation(reasoned(model, vectors))))
    return torch.cat(columns, dim=1)


def reasoned(model: Any, vectors: Tensor) -> Tensor:
    if hasattr(model, "steps"):
        for step in model.steps:
            edges = torch.softmax(torch.bmm(step.query(vectors), step.key(vectors).transpose(1, 2)), dim=2)
            vectors = torch.relu(step.out(torch.bmm(edges, vectors)))
        return vectors[:, 0]
    gate = torch.sigmoid(model.gate_norm(model.gate(vectors).transpose(1, 2)))  # [images, 1, vectors]
    gate = gate / (gate.abs().sum(dim=2, keepdim=True) + EPS)
    return normalised(torch.matmul(gate, vectors).squeeze(1))


# --- ours, from the same regions and words --------------------------------------------------------------------------


def batched(model: Any, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
    if not hasattr(model, "image_pooling"):
        return model.similarity(regions, Words(words, lengths))
    overall = model.image_pooling(regions, regions.mean(dim=1))
    mean = words.sum(dim=1) / lengths[:, None]
    of_captions = model.caption_pooling(words, mean, inside(lengths, words.shape[1]))
    return model.similarity(ImageParts(regions, overall), CaptionParts(words, of_captions, lengths))


# --- measuring ------------------------------------------------------------------------------------------------------


def model_of(name: str, embedding: int, image_dim: int = 8) -> Matcher:
    torch.manual_seed(0)
    kind, _, direction = name.partition("-")
    options: dict[str, Any] = {"direction": direction} if kind == "scan" else {"dropout": 0.0, "regions": REGIONS}
    return build_model(kind, image_dim=image_dim, vocabulary_size=1000, embedding=embedding, **options)


def made(images: int, captions: int, embedding: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random regions, words (7 to 17 a caption, 12 on average) and lengths, longest first."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(7, 18, (captions,), generator=generator).sort(descending=True).values
    regions = normalised(torch.randn(images, REGIONS, embedding, generator=generator))
    words = normalised(torch.randn(captions, int(lengths[0]), embedding, generator=generator))
    return regions, words * inside(lengths, words.shape[1])[:, :, None], lengths


def score_by(side: str, name: str) -> Callable[..., Tensor]:
    if side == "ours":
        return batched
    return loop_scan if name.startswith("scan") else loop_vectors


def child(arguments: argparse.Namespace) -> None:
    """One side of one model: seconds, peak memory, and scores and gradients in a file."""
    name, side, batch = arguments.model, arguments.side, arguments.batch
    score, model = score_by(side, name), model_of(name, EMBEDDING).train()
    regions, words, lengths = made(batch, batch, EMBEDDING)
    score(
        model, regions[:4].clone().requires_grad_(), words[:4], lengths[:4]
    ).sum().backward()  # threads and libraries wake up
    seconds, found = {}, {}
    for what in WHAT:
        best = [np.inf, np.inf]
        model.few_gradients = what != "all"  # type: ignore[assignment]  # SGR's switch
        for _ in range(arguments.repeat if side == "ours" else 1):
            leaves = [regions.clone().requires_grad_(), words.clone().requires_grad_()]
            model.zero_grad()
            wall, processor = time.perf_counter(), time.process_time()
            if what == "forward":
                with torch.no_grad():
                    found["scores"] = score(model, *leaves, lengths).numpy()
            else:
                TripletLoss(margin=0.2, negatives=what)(score(model, *leaves, lengths)).backward()
            took = [time.perf_counter() - wall, time.process_time() - processor]
            best = np.minimum(best, took).tolist()
        seconds[what] = best
        if what != "forward":
            parts = dict(zip(("regions", "words"), leaves, strict=True)) | dict(model.named_parameters())
            leaves[1].grad *= inside(lengths, words.shape[1])[
                :, :, None
            ]  # no word, no gradient: the loop never sees it
            found |= {f"{what}/{key}": part.grad.numpy() for key, part in parts.items() if part.grad is not None}
    np.savez(arguments.out, **found)
    print(json.dumps({"seconds": seconds, "peak": peak_bytes() / 1e9, "threads": torch.get_num_threads()}))


def difference(ours: Path, loop: Path, begin: str) -> float:
    """Largest difference of an array, as a share of its largest entry, or of a hundredth of the largest of all.

    Several biases have no effect in theory, and a gradient of rounding errors.
    """
    with np.load(ours) as first, np.load(loop) as second:
        keys = [key for key in second.files if key.startswith(begin) and key in first.files]
        return max(
            float(np.abs(first[key] - second[key]).max() / max(np.abs(second[key]).max(), 1e-2 * largest))
            for largest in [max(float(np.abs(second[key]).max()) for key in keys)]
            for key in keys
        )


def on_cpu(models: list[str], batch: int, repeat: int) -> None:
    print(f"{batch} images x {batch} captions of 7 to 17 words, {REGIONS} regions, {EMBEDDING} dimensions, float32")
    for name in models:
        with tempfile.TemporaryDirectory() as folder:
            results = {}
            for side in ("loop", "ours"):
                out = Path(folder, f"{side}.npz")
                settings = ["--model", name, "--side", side, "--batch", str(batch), "--repeat", str(repeat)]
                command = [sys.executable, __file__, *settings, "--out", str(out)]
                results[side] = json.loads(
                    subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                )
            ours, loop = results["ours"], results["loop"]
            print(f"\n{name}: {ours['threads']} threads; asked for {ASKED[name]} times the loop")
            for number, what in enumerate(WHAT):
                (our_wall, our_cpu), (wall, cpu) = ours["seconds"][what], loop["seconds"][what]
                title = "forward" if what == "forward" else f"forward + backward, {what} negatives"
                line = f"  {title:38} loop {wall:5.1f} s ({cpu:5.1f} CPU)  ours {our_wall:5.2f} s ({our_cpu:5.2f} CPU)"
                line += f"  {wall / our_wall:4.1f} times ({cpu / our_cpu:4.1f} by CPU)"
                released = RELEASED[name][min(number, 1)]
                if released and batch == 128:
                    line += f"; released {released} s CPU, loop {100 * (cpu / released - 1):+.0f}%"
                print(line)
            errors = {
                what: difference(Path(folder, "ours.npz"), Path(folder, "loop.npz"), what)
                for what in ("scores", "hardest", "all")
            }
            print("  largest difference: " + ", ".join(f"{what} {error:.1e}" for what, error in errors.items()))
            print(f"  peak memory of the process: loop {loop['peak']:.2f} GB, ours {ours['peak']:.2f} GB", flush=True)


# --- on a GPU -------------------------------------------------------------------------------------------------------


@contextmanager
def precision(name: str, device: torch.device) -> Iterator[None]:
    """float32, TF32 products, or bfloat16 autocast."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    try:
        with torch.autocast(device.type, torch.bfloat16) if name == "bf16" else nullcontext():
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def synchronised(device: torch.device, work: Callable[[], Any], repeat: int) -> float:
    """Best seconds of ``repeat`` calls, after one that is not counted."""
    best = np.inf
    for counted in range(repeat + 1):
        torch.cuda.synchronize(device)
        started = time.perf_counter()
        work()
        torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - started) if counted else best
    return float(best)


def training_step(model: Any, score: Callable[..., Tensor], given: tuple[Tensor, ...], optimizer: Any) -> None:
    images, tokens, lengths = given
    encoded, texts = model.encode_images(images), model.encode_captions(tokens, lengths)
    if score is batched:
        similarity = model.similarity(encoded, texts)
    else:
        similarity = score(model, encoded if isinstance(encoded, Tensor) else encoded[0], texts[0], lengths)
    optimizer.zero_grad()
    TripletLoss(margin=0.2, negatives="hardest")(similarity.float()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()


def gpu_training(name: str, batch: int, device: torch.device) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of a training step (encoders, scores, hardest negatives, backward, clip, Adam) and peak GB, by side."""
    model = model_of(name, EMBEDDING, image_dim=2048).to(device).train()
    _, _, lengths = made(1, batch, 4)
    tokens = torch.randint(4, 1000, (batch, int(lengths[0]))) * inside(lengths, int(lengths[0]))
    given = (torch.randn(batch, REGIONS, 2048, device=device), tokens.to(device), lengths)
    optimizer = torch.optim.Adam(model.parameters(), 2e-4)
    seconds, peaks = {}, {}
    for side in ("loop", "ours"):
        torch.cuda.reset_peak_memory_stats(device)
        step = functools.partial(training_step, model, score_by(side, name), given, optimizer)
        seconds[side] = synchronised(device, step, 5)
        peaks[side] = torch.cuda.max_memory_allocated(device) / 1e9
    return seconds, peaks


@torch.inference_mode()
def gpu_gallery(name: str, gallery: tuple[int, int], sample: int, device: torch.device) -> tuple[dict[str, float], int]:
    """Seconds of the whole matrix by side, and captions that the loop's are extrapolated from."""
    model = model_of(name, EMBEDDING).to(device).eval()
    regions, words, lengths = (part.to(device) for part in made(*gallery, EMBEDDING))
    some = torch.arange(0, gallery[1], max(1, gallery[1] // sample), device=device)

    def ours() -> None:
        for start in range(0, gallery[1], 256):  # captions by length, as a gallery is scored
            rows = slice(start, start + 256)
            batched(model, regions, words[rows, : int(lengths[start])], lengths[rows])

    def loop() -> None:
        for shard in regions.split(128):  # the released evaluation's shards
            score_by("loop", name)(model, shard, words[some], lengths[some])

    seconds = {"ours": synchronised(device, ours, 1), "loop": synchronised(device, loop, 1)}
    seconds["loop"] *= gallery[1] / len(some)
    return seconds, len(some)


def on_gpu(models: list[str], batch: int, device: torch.device, gallery: tuple[int, int], sample: int) -> None:
    print(f"{torch.cuda.get_device_name(device)}; asked for 5 times a training step, 10 times a gallery's matrix")
    for name in models:
        for kind in ("fp32", "tf32", "bf16"):
            with precision(kind, device):
                seconds, peaks = gpu_training(name, batch, device)
                print(
                    f"{name} {kind}: training step, loop {1e3 * seconds['loop']:.1f} ms, ours "
                    f"{1e3 * seconds['ours']:.1f} ms, {seconds['loop'] / seconds['ours']:.1f} times; "
                    f"peak {peaks['loop']:.1f} and {peaks['ours']:.1f} GB",
                    flush=True,
                )
                torch.cuda.reset_peak_memory_stats(device)
                seconds, captions = gpu_gallery(name, gallery, sample, device)
                print(
                    f"{name} {kind}: {gallery[0]:,} x {gallery[1]:,}, loop {seconds['loop']:.0f} s (extrapolated from "
                    f"{captions} captions), ours {seconds['ours']:.1f} s, {seconds['loop'] / seconds['ours']:.1f} "
                    f"times; peak of both {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB, gallery included",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(RELEASED), choices=list(RELEASED))
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument(
        "--repeat", type=int, default=2, help="times that ours is measured; the best counts (default 2)"
    )
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument("--gallery", type=int, nargs=2, default=(5000, 25000), help="images and captions (cuda)")
    parser.add_argument("--sample", type=int, default=64, help="captions that the loop scores of the gallery (cuda)")
    for hidden in ("--model", "--side", "--out"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        child(arguments)
        return
    print(machine())
    if arguments.device == "cpu":
        on_cpu(arguments.models, arguments.batch, arguments.repeat)
    else:
        device = torch.device(arguments.device)
        on_gpu(arguments.models, arguments.batch, device, tuple(arguments.gallery), arguments.sample)
    print(f"load at the end: {machine()}")


if __name__ == "__main__":
    main()
