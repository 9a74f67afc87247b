"""Where the time of a VSE++ training run on a CPU goes, and what helps.

python benchmarks/bench_vsepp_cpu.py [--rounds 15] [--two-cores]

Batches of the sizes of 10% of Flickr8k: 128 captions of 12.7 words on average, 800 words, image vectors of 1,280
numbers, embedding 256, loss of the hardest negative; 24 steps per epoch, dev 1,000 images x 5,000 captions. Nothing is
read. On one core CPU seconds are compared, medians of rounds in which every way has its turn; on two cores wall time,
the best step of some seconds. Other work on the machine disturbs the first little, and the second where it has more
threads than cores are idle: run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from statistics import median

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from captions import machine
from fivesentences.losses import TripletLoss
from fivesentences.metrics import rsum
from fivesentences.models import Matcher, build_model
from fivesentences.models.matching import l2_normalised
from fivesentences.models.recurrence import GRU
from fivesentences.models.vsepp import VSEPP
from fivesentences.training.adam import Adam
from fivesentences.training.batches import EncodedCaptions, batches_of
from fivesentences.training.loop import reproducible
from fivesentences.training.scoring import similarity_of

BATCH, WORDS, IMAGE, EMBEDDING, WORD = 128, 800, 1280, 256, 300
TRAIN, DEV = (600, 3000), (1000, 5000)  # images, captions
STEPS = 4  # of each turn
SECONDS = 6.0  # of each process on two cores
RATE, CLIP = 0.001, 2.0
ARITHMETIC = {"MKL": "highest", "oneDNN": "medium"}
Batch = tuple[Tensor, Tensor, Tensor]  # images, tokens, lengths


class Data:
    """Images of random numbers and captions of random words, whose lengths are distributed as Flickr8k's."""

    def __init__(self, sizes: tuple[int, int], seed: int = 0):
        rng = np.random.default_rng(seed)
        lengths = np.clip(np.rint(rng.gamma(11.3, 1.127, sizes[1])), 4, 35).astype(np.int64)
        numbers = rng.integers(4, WORDS, lengths.sum())
        self.captions = EncodedCaptions(numbers, np.cumsum(lengths) - lengths, lengths)
        self.images = torch.from_numpy(rng.normal(size=(sizes[0], IMAGE)).astype(np.float32))
        self.image_of_caption = np.arange(sizes[1]) // (sizes[1] // sizes[0])
        self.extras: dict[str, Tensor] = {}

    def batches(self, seed: int) -> Iterator[Batch]:
        """Full batches of a run, epoch after epoch."""
        epoch = 0
        while True:
            for rows in batches_of(np.random.default_rng([seed, epoch]).permutation(len(self.captions)), BATCH):
                if len(rows) == BATCH:
                    yield (self.images[torch.from_numpy(self.image_of_caption[rows])], *self.captions.batch(rows))
            epoch += 1


def fresh(seed: int, unrolled: bool = True) -> Matcher:
    torch.manual_seed(seed)
    made = build_model("vsepp", image_dim=IMAGE, vocabulary_size=WORDS, embedding=EMBEDDING, word=WORD)
    for module in made.modules():
        if isinstance(module, GRU):
            module.unrolled = unrolled
    return made


LOSS = TripletLoss(negatives="hardest")


class OneRun:
    """A run as the training loop steps it."""

    def __init__(self, data: Data, seed: int = 0, unrolled: bool = True):
        self.model = fresh(seed, unrolled)
        self.batches: list[Iterator[Batch]] = [data.batches(seed)]
        self._optimizer = Adam(self.model.parameters())
        self.seconds = dict.fromkeys(("batch", "forward: GRU", "forward: rest", "backward", "clip and Adam"), 0.0)

    def step(self) -> float:
        """Train on the next batch; its loss."""
        started = time.process_time()

        def took(what: str) -> None:
            nonlocal started
            now = time.process_time()
            self.seconds[what] += now - started
            started = now

        images, tokens, lengths = next(self.batches[0])
        took("batch")
        captions = self.model.encode_captions(tokens, lengths)
        took("forward: GRU")
        loss = LOSS(self.model.similarity(self.model.encode_images(images), captions))
        value = float(loss.item())
        took("forward: rest")
        self._optimizer.zero_grad()
        loss.backward()
        took("backward")
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self._optimizer.step(RATE)
        took("clip and Adam")
        return value


# --- several seeds side by side -------------------------------------------------------------------------------


class PackedVSEPP(VSEPP):
    """VSE++ of captions that are packed already, with no step that depends on the data: so that ``vmap`` can map it."""

    def forward(self, images: Tensor, words: Tensor, last: Tensor, sizes: list[int]) -> Tensor:  # type: ignore[override]
        """Similarity ``[B, B]`` of ``words`` ``[words of all captions]``; ``last[i]``, where caption i ends in them."""
        gru = self.sentence
        steps = (self.words(words) @ gru.weight_ih_l0.T + gru.bias_ih_l0).split(sizes)
        states, state = [], torch.zeros(sizes[0], EMBEDDING)
        for step, size in zip(steps, sizes, strict=True):
            state = state[:size]
            state = gated(step, state @ gru.weight_hh_l0.T + gru.bias_hh_l0, state)
            states.append(state)
        captions = l2_normalised(torch.cat(states)[last])
        return self.encode_images(images) @ captions.T


def gated(step: Tensor, recurrent: Tensor, state: Tensor) -> Tensor:
    """The next state of a GRU; arguments ``[..., 3 width]``, ``[..., 3 width]``, ``[..., width]``."""
    width = state.shape[-1]
    gates = torch.sigmoid(step[..., : 2 * width] + recurrent[..., : 2 * width])
    new = torch.tanh(torch.addcmul(step[..., 2 * width :], gates[..., :width], recurrent[..., 2 * width :]))
    return torch.lerp(new, state, gates[..., width:])


class SideBySide:
    """k runs in one process: one weight ``[k, ...]`` for k models, their products batched."""

    def __init__(self, data: Data, k: int, way: str):
        models = [fresh(seed) for seed in range(k)]
        stacked, _ = stack_module_state(models)
        self.weights = {name: weight.detach().requires_grad_() for name, weight in stacked.items()}
        self._optimizer = Adam(self.weights.values())
        self.batches = [data.batches(seed) for seed in range(k)]
        self._scores = {"bmm": batched_products, "vmap": mapped}[way]

    def step(self) -> list[float]:
        """Train each run on its next batch; their losses."""
        scores = self._scores(self.weights, *together([next(batches) for batches in self.batches]))
        losses = torch.stack([LOSS(one) for one in scores])
        values = [float(value) for value in losses.tolist()]
        self._optimizer.zero_grad()
        losses.sum().backward()
        self._clip()
        self._optimizer.step(RATE)
        return values

    @torch.no_grad()
    def _clip(self) -> None:
        gradients = [weight.grad for weight in self.weights.values() if weight.grad is not None]
        norms = torch.stack([torch.linalg.vector_norm(one.flatten(1), dim=1) for one in gradients])
        factor = (CLIP / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp(max=1)  # [k]
        for one in gradients:
            one.mul_(factor.view(-1, *[1] * (one.dim() - 1)))


def together(batches: list[Batch]) -> tuple[Tensor, Tensor, Tensor, list[int]]:
    """Images ``[k, B, 1280]``, packed words ``[k, N]``, where each caption ends ``[k, B]``, and rows of each word.

    The captions of a seed are sorted by length. A place has as many rows as the seed with the most captions that long;
    the others read padding there, which no result depends on.
    """
    orders = [lengths.argsort(descending=True, stable=True) for _, _, lengths in batches]
    lengths = torch.stack([lengths[order] for (_, _, lengths), order in zip(batches, orders, strict=True)])
    tokens = torch.zeros(len(batches), BATCH, int(lengths.max()), dtype=torch.long)
    for seed, ((_, given, _), order) in enumerate(zip(batches, orders, strict=True)):
        tokens[seed, :, : given.shape[1]] = given[order]
    places = torch.arange(tokens.shape[2])
    sizes = (lengths[:, :, None] > places).sum(dim=1).amax(dim=0).tolist()
    words = torch.cat([tokens[:, :size, place] for place, size in enumerate(sizes)], dim=1)
    starts = torch.tensor([0, *sizes]).cumsum(0)
    last = starts[lengths - 1] + torch.arange(BATCH)
    images = torch.stack([images[order] for (images, _, _), order in zip(batches, orders, strict=True)])
    return images, words, last, sizes


def batched_products(
    weights: Mapping[str, Tensor], images: Tensor, words: Tensor, last: Tensor, sizes: list[int]
) -> Tensor:
    """Similarities ``[k, B, B]``, by ``torch.baddbmm``."""

    def linear(rows: Tensor, weight: str, bias: str) -> Tensor:
        return torch.baddbmm(weights[bias][:, None], rows, weights[weight].transpose(1, 2))

    k = len(images)
    numbers = words + WORDS * torch.arange(k)[:, None]
    vectors = nn.functional.embedding(numbers, weights["words.weight"].flatten(0, 1))
    steps = linear(vectors, "sentence.weight_ih_l0", "sentence.bias_ih_l0").split(sizes, dim=1)
    states, state = [], torch.zeros(k, sizes[0], EMBEDDING)
    for step, size in zip(steps, sizes, strict=True):
        state = state[:, :size]
        state = gated(step, linear(state, "sentence.weight_hh_l0", "sentence.bias_hh_l0"), state)
        states.append(state)
    flat = torch.cat(states, dim=1).flatten(0, 1)
    captions = l2_normalised(flat[last + sum(sizes) * torch.arange(k)[:, None]])
    seen = l2_normalised(linear(images, "image_projection.weight", "image_projection.bias"))
    return torch.bmm(seen, captions.transpose(1, 2))


SKELETON = PackedVSEPP(fresh(0).spec, image_dim=IMAGE, vocabulary_size=WORDS)  # type: ignore[arg-type]


def mapped(weights: Mapping[str, Tensor], images: Tensor, words: Tensor, last: Tensor, sizes: list[int]) -> Tensor:
    """Similarities ``[k, B, B]``, by ``torch.func.vmap`` over one model."""

    def one(weight: dict[str, Tensor], image: Tensor, word: Tensor, end: Tensor) -> Tensor:
        scores: Tensor = functional_call(SKELETON, weight, (image, word, end, sizes))
        return scores

    found: Tensor = vmap(one)(dict(weights), images, words, last)
    return found


# --- measuring ------------------------------------------------------------------------------------------------


@contextmanager
def products_by(library: str) -> Iterator[None]:
    torch.set_float32_matmul_precision(ARITHMETIC[library])
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


def in_turn(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median CPU milliseconds of a call of each; every round calls each once, after a first call that is not timed."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            started = time.process_time()
            way()
            if number:
                took[name].append(1e3 * (time.process_time() - started))
    return {name: median(times) for name, times in took.items()}


def several(step: Callable[[], object], library: str, count: int = STEPS) -> Callable[[], None]:
    def run() -> None:
        with products_by(library):
            for _ in range(count):
                step()

    return run


def bench_products() -> None:
    generator = torch.Generator().manual_seed(0)
    print("\nA product [1626 words, 300] x [300, 768], against the same in float64:")
    rows, weight = torch.randn(1626, WORD, generator=generator), torch.randn(WORD, 3 * EMBEDDING, generator=generator)
    exact = rows.double() @ weight.double()
    ways = {library: several(lambda: rows @ weight, library, 20) for library in ARITHMETIC}
    took = in_turn(ways, 15)
    for library in ARITHMETIC:
        with products_by(library):
            error = (rows @ weight - exact).abs()
        print(
            f"  {library:6} {took[library] / 20:5.2f} ms, error / sd of the result: largest "
            f"{float(error.max() / exact.std()):.1e}, mean {float(error.mean() / exact.std()):.1e}"
        )
    print(f"  oneDNN's takes 1/{took['MKL'] / took['oneDNN']:.2f} of the time")


def bench_step(data: Data, rounds: int) -> float:
    print(f"\nA training step, batch of {BATCH}, ms of CPU on one core:")
    runs = {(library, unrolled): OneRun(data, 0, unrolled) for library in ARITHMETIC for unrolled in (False, True)}
    names = {key: f"{key[0]}, {'unrolled GRU' if key[1] else 'nn.GRU'}" for key in runs}
    took = in_turn({names[key]: several(run.step, key[0]) for key, run in runs.items()}, rounds)
    first = took[names["MKL", False]]
    for key, run in runs.items():
        total = sum(run.seconds.values())
        shares = ", ".join(f"{what} {100 * seconds / total:.0f}%" for what, seconds in run.seconds.items())
        ms = took[names[key]]
        print(f"  {names[key]:20} {ms / STEPS:6.1f}  {first / ms:4.2f}x   {shares}")
    losses = {key: [OneRun(data, 0, key[1]), key[0]] for key in runs}
    apart = []
    for run, library in losses.values():
        with products_by(library):
            apart.append([run.step() for _ in range(10)])
    print(f"  the four losses of the tenth step differ by {np.ptp([one[-1] for one in apart]) / apart[0][-1]:.0e}")
    return took[names["oneDNN", True]] / STEPS


def bench_dev(rounds: int, step: float) -> None:
    data, trained = Data(DEV, seed=1), fresh(0)

    def score() -> None:
        with products_by("oneDNN"):
            rsum(similarity_of(trained, data), image_of_caption=data.image_of_caption)  # type: ignore[arg-type]

    ms = in_turn({"dev": score}, max(3, rounds // 3))["dev"]
    epoch = step * -(-TRAIN[1] // BATCH)
    print(f"\nAn epoch at 10%: 24 steps {epoch:.0f} ms, dev ({DEV[0]} x {DEV[1]}) scored once {ms:.0f} ms")
    for every in (1, 5, 10):
        print(f"  scored every {every:2} epochs: {100 * ms / (ms + every * epoch):.0f}% of the time")


def bench_side_by_side(data: Data, rounds: int) -> None:
    print("\nSeeds side by side on one core, ms of CPU per step and seed, oneDNN:")
    try:
        models, batch = [fresh(0), fresh(1)], next(data.batches(0))
        with warnings.catch_warnings(action="ignore"):
            vmap(lambda weights: functional_call(models[0], weights, batch))(stack_module_state(models)[0])
    except RuntimeError as error:
        print(f"  vmap of the model as it is: refused ({str(error).splitlines()[0][:90]})")
    for k in (2, 4, 8):
        alone = [OneRun(data, seed) for seed in range(k)]
        many = {way: SideBySide(data, k, way) for way in ("bmm", "vmap")}
        with products_by("oneDNN"):
            expected = [[run.step() for run in alone] for _ in range(5)]
            apart = max(
                abs(value / right - 1)
                for runs in many.values()
                for losses in expected
                for value, right in zip(runs.step(), losses, strict=True)
            )
        assert apart < 1e-4, f"{k} seeds side by side are other runs: the losses differ by {apart:.0e}"
        ways = {way: several(runs.step, "oneDNN") for way, runs in many.items()}
        took = in_turn({"alone": several(partial(each_in_turn, alone), "oneDNN"), **ways}, max(3, rounds // k))
        ratios = ", ".join(f"{way} {took[way] / STEPS / k:.1f} ({took['alone'] / took[way]:.2f}x)" for way in many)
        print(
            f"  k = {k}: one after the other {took['alone'] / STEPS / k:.1f}, {ratios}; losses of five steps differ by "
            f"at most {apart:.0e}"
        )


def each_in_turn(runs: list[OneRun]) -> None:
    for run in runs:
        run.step()


def worker(k: int, threads: int) -> None:
    """A process of its own: wall seconds per step and seed, the best of some seconds; starts when it is told to."""
    with reproducible(threads, torch.device("cpu"), "fast"):
        data = Data(TRAIN)
        batch = next(
            data.batches(0)
        )  # always the same, so that the best step is not the one with the shortest captions
        runs = OneRun(data) if k == 1 else SideBySide(data, k, "bmm")
        runs.batches = [repeat(batch)] * k
        runs.step()
        print("ready", flush=True)
        sys.stdin.readline()
        best, until = float("inf"), time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            started = time.perf_counter()
            runs.step()
            best = min(best, (time.perf_counter() - started) / k)
        print(json.dumps(best), flush=True)


def at_once(kinds: list[tuple[int, int]]) -> float:
    """Steps per second of wall time of some processes that run at once, each with (seeds, threads)."""
    children = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker", str(k), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for k, threads in kinds
    ]
    speed = 0.0
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        out, _ = child.communicate()
        speed += 1 / json.loads(out)
    return speed


def bench_two_cores() -> None:
    print("\nTwo cores, training steps per second of wall time (all seeds together), oneDNN, unrolled GRU:")
    ways = {
        "one process, one thread": [(1, 1)],
        "one process, two threads": [(1, 2)],
        "one process, two threads, 4 seeds side by side": [(4, 2)],
        "one process, two threads, 8 seeds side by side": [(8, 2)],
        "two processes, one thread each": [(1, 1)] * 2,
        "two processes, one thread each, 4 seeds side by side in each": [(4, 1)] * 2,
    }
    first = None
    for name, kinds in ways.items():
        speed = at_once(kinds)
        first = first or speed
        print(f"  {name:60} {speed:5.0f}  {speed / first:4.2f}x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--two-cores", action="store_true", help="only the comparison on two cores")
    parser.add_argument("--worker", type=int, nargs=2, metavar=("SEEDS", "THREADS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(*arguments.worker)
        return
    print(f"{machine()}, torch {torch.__version__}")
    if arguments.two_cores:
        bench_two_cores()
        return
    with reproducible(1, torch.device("cpu")):
        data = Data(TRAIN)
        bench_products()
        step = bench_step(data, arguments.rounds)
        bench_dev(arguments.rounds, step)
        bench_side_by_side(data, arguments.rounds)
    bench_two_cores()


if __name__ == "__main__":
    main()
