"""One run in memory: a plain PyTorch loop whose complete state can be saved after any batch.

Not Lightning: its checkpoints do not resume exactly in the middle of an epoch (the order of the rest of the epoch, the
running loss and the random negatives would differ), and every start takes seconds longer, which adds up in a demo of
dozens of runs of a minute.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from fivesentences.config.types import TrainingPrecision
from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.models.matching import FEW
from fivesentences.models.recurrence import GRU
from fivesentences.training.adam import Adam
from fivesentences.training.batch_phi import open_phis
from fivesentences.training.batches import batches_of, training_order
from fivesentences.training.checkpoint import ResumeFolder
from fivesentences.training.data import Batch, Loader, RunData
from fivesentences.training.jobs import Stop
from fivesentences.training.memory import Memory
from fivesentences.training.objective import Objective
from fivesentences.training.scoring import DevScores, autocast, similarity_of
from fivesentences.training.spec import RunSpec

COUNTED = ("epoch", "step", "loss_sum", "best", "best_score", "history")  # of a run's state, beside weights
SHARE_OF_SAVING = 0.02  # of the time of training, at most, within an epoch
DROP = 0.1  # the learning rate falls to this share of itself


class Training:
    """Everything that changes while a run trains.

    Args:
        spec: Settings.
        data: Its data.
        device: Where it trains.
        phi_files: See ``open_phis``.

    Attributes:
        epoch: Finished epochs.
        step: Finished batches of the current epoch.
        history: One row per epoch: epoch (from 1), learning_rate, loss (mean per caption), dev scores where dev was
            scored, and what the loss itself learns.
        best: Weights of the epoch with the best dev score (the first of equals); None before dev is first scored.
    """

    def __init__(self, spec: RunSpec, data: RunData, device: torch.device, phi_files: Mapping[str, Path] | None = None):
        self.spec, self.settings, self.data, self.device = spec, spec.training, data, device
        torch.manual_seed(spec.seed)
        *regions, image_dim = data.train.images.shape[1:]
        self.model = spec.model.build(
            image_dim=image_dim,
            vocabulary_size=len(data.vocabulary),
            regions=regions[0] if regions else None,
            concepts=data.concepts,
        ).to(device)
        for module in self.model.modules():
            if isinstance(module, GRU):
                module.unrolled = spec.training.arithmetic == "fast" and device.type == "cpu"  # CUDA has its own
        phis = open_phis(spec.loss.phi_keys, data.train.corpus, phi_files, data.whole_train)
        self.objective = Objective(spec.loss, phis, spec.seed)
        # A loss may have parameters (a learned temperature); most have none.
        self.optimizer = Adam([*self.model.parameters(), *self.objective.parameters()])
        self.memory: Memory | None = None
        if (of_memory := spec.loss.fne_memory) is not None:
            self.memory = Memory(self.model, of_memory.size, of_memory.momentum, data.train.image_of_caption)
        self.dev = data.dev.first(spec.training.selection_images)
        self.scores = DevScores(spec.training.selection, self.dev.corpus)
        self.loader = Loader(data.train, device)
        self.epoch = self.step = 0
        self.loss_sum = 0.0
        self.best: dict[str, Tensor] | None = None
        self.best_score = -math.inf
        self.history: list[dict[str, float]] = []

    @property
    def batches(self) -> int:
        """Batches per epoch; the last, smaller one counts and is trained on."""
        return math.ceil(len(self.data.train.captions) / self.settings.batch_size)

    # --- the loop -------------------------------------------------------------------------------------------

    def train(
        self,
        resume: ResumeFolder,
        seconds_between_saves: float,
        label: str = "train",
        on_epoch: Callable[[list[dict[str, float]]], None] = lambda history: None,
        stop: Stop | None = None,
    ) -> None:
        """Train from the current state to the end.

        Args:
            resume: Where the state is saved.
            seconds_between_saves: How often it is saved within an epoch, 0 after every batch; less often where a save
                would take more than 2% of the time, such as the 1.9 GB of VSRN on a slow disk.
            label: Text before the progress bar.
            on_epoch: Called with the history after each epoch.
            stop: Asked after each batch whether to save the state and end.

        Raises:
            InputError: If the loss or the weights are no longer finite.
            Stopped: If ``stop`` was asked to; the state is saved.
        """
        stop, saved, pause = stop or Stop(), time.monotonic(), seconds_between_saves
        train, done = self.data.train, self.epoch * self.batches + self.step
        with Bar(label, self.settings.epochs * self.batches, done) as bar:
            while self.epoch < self.settings.epochs:
                order = training_order(len(train.captions), self.spec.seed, self.epoch)
                for batch in self.loader.batches(batches_of(order, self.settings.batch_size, first=self.step)):
                    self._train_batch(batch)
                    bar.advance(1, self._note())
                    began = time.monotonic()
                    if stop.asked or began - saved >= pause:
                        resume.save(self.state())
                        saved = time.monotonic()
                        if seconds_between_saves:
                            pause = max(seconds_between_saves, (saved - began) / SHARE_OF_SAVING)
                    stop.check(self._saved(resume))
                self._end_epoch()
                on_epoch(self.history)
                resume.save(self.state())
                saved = time.monotonic()
                if self.epoch < self.settings.epochs:  # to score dev may take a while; after the last epoch, finish
                    stop.check(self._saved(resume))

    def _saved(self, resume: ResumeFolder) -> str:
        where = f"epoch {self.epoch + 1} of {self.settings.epochs}, batch {self.step} of {self.batches}"
        return f"the state of {self.spec.name} ({where}) is saved in {resume.path}"

    def learning_rate(self, drop: float = DROP) -> float:
        """Return the rate of the current epoch, where it falls to this share of itself at each drop."""
        if self.settings.drop_every is not None:
            return self.settings.learning_rate * drop ** (self.epoch // self.settings.drop_every)
        dropped = self.epoch >= self.settings.epochs / 2
        return self.settings.learning_rate * (drop if dropped else 1.0)

    def _train_batch(self, batch: Batch) -> None:
        self.model.train()
        remembered = None
        with autocast(self.device, self.settings.precision):
            if self.memory is None:
                scores = self.model.training_scores(batch.images, batch.tokens, batch.lengths, **batch.extras)
            else:
                scores, remembered = self.memory.scores(self.model, batch, filling=self.epoch > 0)
        watched = scores.similarity if self.model.few_gradients is not None else None
        if watched is not None:
            watched.retain_grad()  # type: ignore[no-untyped-call]
        loss = self.objective(scores, batch.rows, remembered)
        value = loss.item()
        if not math.isfinite(value):
            self._diverged(f"the loss is {value}")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._clip_and_step()
        # Let the model compute the next batch as suits the share of pairs that received a gradient in this one. This is
        # measured rather than derived from the loss: the sum over all negatives reaches every pair of a fresh model,
        # and few pairs of one that has learned. A last, smaller batch says nothing about a full one.
        if watched is not None and watched.grad is not None and len(watched) == self.settings.batch_size:
            self.model.few_gradients = int(watched.grad.count_nonzero()) < FEW * watched.numel()
        self.loss_sum += value
        self.step += 1

    def _clip_and_step(self) -> None:
        """Clip the gradients and move the weights, those that the model treats otherwise in their own way."""
        treatments = self.model.treatments()
        if not treatments:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.gradient_clip)
            self.optimizer.step(self.learning_rate())
            return
        treatment_of = {id(weight): one for one in treatments for weight in one.parameters}
        times = {key: one.times if one.clipped else 0 for key, one in treatment_of.items()}
        # As a list of parameters that names one twice is clipped: its norm counts twice, and it is scaled twice.
        listed = [weight for weight in self.model.parameters() for _ in range(times.get(id(weight), 1))]
        nn.utils.clip_grad_norm_(listed, self.settings.gradient_clip, foreach=False)
        self.optimizer.step(self.learning_rate(), [p for p in self.optimizer.parameters if id(p) not in treatment_of])
        for one in treatments:
            for _ in range(one.times):
                self.optimizer.step(self.learning_rate(one.drop or DROP), one.parameters)

    def _end_epoch(self) -> None:
        rate, loss = self.learning_rate(), self.loss_sum / len(self.data.train.captions)
        row = {"epoch": self.epoch + 1, "learning_rate": rate, "loss": loss}
        if row["epoch"] % self.settings.score_every == 0 or row["epoch"] == self.settings.epochs:
            similarity = similarity_of(self.model, self.dev, precision=self.settings.precision)
            if not np.isfinite(similarity).all():
                self._diverged("the dev similarity is not finite")
            row |= self.scores(similarity)
            if row[self.scores.column] > self.best_score:
                self.best_score = row[self.scores.column]
                self.best = deepcopy(self.model.state_dict())
        self.history.append(row | self.objective.learned())
        self.epoch, self.step, self.loss_sum = self.epoch + 1, 0, 0.0

    def _note(self) -> str:
        seen = min(self.step * self.settings.batch_size, len(self.data.train.captions))
        note = f"epoch {self.epoch + 1}/{self.settings.epochs}  loss {self.loss_sum / seen:.3f}"
        scored = [row["dev_Rsum"] for row in self.history if "dev_Rsum" in row]
        return note + (f"  dev Rsum {scored[-1]:.1f}" if scored else "")

    def _diverged(self, what: str) -> None:
        where = f"epoch {self.epoch + 1}, batch {self.step + 1}, at learning_rate {self.settings.learning_rate:g}"
        raise InputError(f"{self.spec.name}: {what} in {where}; lower the rate.")

    # --- its state ------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the complete state, as tensors, numbers and text."""
        return {
            **{name: getattr(self, name) for name in COUNTED},
            "model": self.model.state_dict(),
            "few_gradients": self.model.few_gradients,  # either way gives other bits
            "optimizer": self.optimizer.state,
            "objective": self.objective.state(),
            "memory": None if self.memory is None else self.memory.state(),
            "random": torch.get_rng_state(),
            "cuda_random": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.model.load_state_dict(state["model"])
        self.model.few_gradients = state["few_gradients"]
        self.optimizer.restore(state["optimizer"])
        self.objective.restore(state["objective"])
        if self.memory is not None:
            self.memory.restore(state["memory"])
        for name in COUNTED:
            setattr(self, name, state[name])
        torch.set_rng_state(state["random"])
        if state["cuda_random"] is not None:
            torch.cuda.set_rng_state(state["cuda_random"], self.device)


@contextmanager
def reproducible(
    threads: int,
    device: torch.device,
    arithmetic: Literal["reference", "fast"] = "reference",
    precision: TrainingPrecision = "float32",
) -> Iterator[None]:
    """A block whose results depend on its inputs alone; torch's settings and generator are restored afterwards.

    On a CPU equal inputs give equal bits. On CUDA most operations do; those without a deterministic kernel warn.

    Args:
        threads: CPU threads.
        device: Where the block computes.
        arithmetic: ``"fast"``: products on the CPU by oneDNN instead of MKL, which is twice as fast on AMD's processors
            and as exact. A process that used oneDNN before this block keeps its instructions, see below.
        precision: ``"tf32"``: products on CUDA by TF32. (cuDNN's GRUs use it at any precision, as torch has it.)
    """
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    products = torch.get_float32_matmul_precision()
    filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    cuda = [device] if device.type == "cuda" else []
    if cuda:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts
    else:
        # "medium" below would allow bfloat16 where the processor has instructions for it (AMX): errors of 0.4%.
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")  # read when oneDNN starts
    with torch.random.fork_rng(devices=cuda):
        torch.set_num_threads(threads)
        if arithmetic == "fast" and not cuda:  # on CUDA the same word means TF32
            torch.set_float32_matmul_precision("medium")
        elif precision == "tf32" and cuda:
            torch.set_float32_matmul_precision("high")
        # Not use_deterministic_algorithms, which sets the same but imports torch's compiler: see adam.py.
        torch.set_deterministic_debug_mode("warn" if cuda else "error")
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        try:
            yield
        finally:
            torch.set_num_threads(before[0])
            torch.set_float32_matmul_precision(products)
            torch.set_deterministic_debug_mode(before[1])
            torch.utils.deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
