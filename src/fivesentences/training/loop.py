"""One run in memory: a plain PyTorch loop whose whole state can be saved after any batch.

Not Lightning: its checkpoints do not resume exactly in the middle of an epoch (the order of the rest of the epoch, the
running loss and the random negatives would differ), and it costs seconds at every start, which a demo of a dozen
runs of a minute would feel.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fivesentences.config import LossSpec, RunSpec
from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.losses import SemanticAdaptiveMargin, TripletLoss
from fivesentences.models import build_model
from fivesentences.semantics import BatchCider
from fivesentences.training.adam import Adam
from fivesentences.training.batches import batches_of, epoch_order
from fivesentences.training.checkpoint import ResumeFolder
from fivesentences.training.data import RunData
from fivesentences.training.scoring import similarity_of
from fivesentences.training.selection import DevScores

DROP = 0.1  # the learning rate falls to this share of itself once


class Objective:
    """The loss of a run: a triplet loss, a Semantic Adaptive Margin, or their sum."""

    def __init__(self, spec: LossSpec, captions: list[str], image_of_caption: np.ndarray):
        self._triplet = None if spec.triplet is None else TripletLoss(spec.margin, spec.triplet)
        self._sam: SemanticAdaptiveMargin | None = None
        if spec.sam is not None:
            sam = spec.sam
            self._sam = SemanticAdaptiveMargin(sam.temperature, sam.negatives, sam.variant, sam.weight, sam.max_margin)
            # Document frequencies and references are those of the run's own training captions, as released.
            self._cider = BatchCider(captions, image_of_caption)

    def __call__(self, similarity: Tensor, rows: np.ndarray) -> Tensor:
        """The loss of a batch, summed: ``similarity`` ``[B, B]`` of the training captions ``rows`` ``[B]``."""
        loss = similarity.new_zeros(()) if self._triplet is None else self._triplet(similarity)
        if self._sam is not None:
            phi = torch.from_numpy(np.ascontiguousarray(self._cider.batch(rows), dtype=np.float32))
            loss = loss + self._sam(similarity, phi.to(similarity.device))
        return loss


class Training:
    """Everything that changes while a run trains.

    Attributes:
        epoch: Finished epochs.
        step: Finished batches of the epoch under way.
        history: One row an epoch: epoch (from 1), learning_rate, loss (mean a caption), dev scores.
        best: Weights of the epoch with the best dev score (the first of equals), None before the first epoch ends.
    """

    def __init__(self, spec: RunSpec, data: RunData, device: torch.device):
        self.spec, self.data, self.device = spec, data, device
        torch.manual_seed(spec.seed)
        self.model = build_model(
            spec.model.name,
            image_dim=data.train.images.shape[-1],
            vocabulary_size=len(data.vocabulary),
            **spec.model.model_dump(exclude={"name"}),
        ).to(device)
        self.optimizer = Adam(self.model.parameters())
        self.objective = Objective(spec.loss, data.train.corpus.captions, data.train.corpus.image_of_caption)
        self.scores = DevScores(spec.selection, data.dev.corpus)
        self.images = data.train.images.to(device)
        self.epoch = self.step = 0
        self.loss_sum = 0.0
        self.best: dict[str, Tensor] | None = None
        self.best_score = -math.inf
        self.history: list[dict[str, float]] = []

    @property
    def batches(self) -> int:
        """Batches an epoch; the last, smaller one counts and is trained on."""
        return math.ceil(len(self.data.train.captions) / self.spec.batch_size)

    # --- the loop -------------------------------------------------------------------------------------------

    def train(self, resume: ResumeFolder, seconds_between_saves: float, label: str = "train") -> None:
        """Train to the end, from wherever the state stands.

        Raises:
            InputError: If the loss or the weights stop being finite.
        """
        saved = time.monotonic()
        done = self.epoch * self.batches + self.step
        with Bar(label, self.spec.epochs * self.batches, done) as bar:
            while self.epoch < self.spec.epochs:
                order = epoch_order(len(self.data.train.captions), self.spec.seed, self.epoch)
                for rows in batches_of(order, self.spec.batch_size, first=self.step):
                    self._train_batch(rows)
                    bar.advance(1, self._note())
                    if time.monotonic() - saved >= seconds_between_saves:
                        resume.save(self.state())
                        saved = time.monotonic()
                self._end_epoch()
                resume.save(self.state())
                saved = time.monotonic()

    def learning_rate(self) -> float:
        """The rate of the epoch under way."""
        dropped = self.epoch >= self.spec.drop_after * self.spec.epochs
        return self.spec.learning_rate * (DROP if dropped else 1.0)

    def _train_batch(self, rows: np.ndarray) -> None:
        self.model.train()
        train = self.data.train
        tokens, lengths = train.captions.batch(rows)
        images = self.images[train.image_of_caption[torch.from_numpy(rows)].to(self.device)]
        loss = self.objective(self.model(images, tokens.to(self.device), lengths), rows)
        value = loss.item()
        if not math.isfinite(value):
            self._diverged(f"the loss is {value}")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), self.spec.gradient_clip)
        self.optimizer.step(self.learning_rate())
        self.loss_sum += value
        self.step += 1

    def _end_epoch(self) -> None:
        similarity = similarity_of(self.model, self.data.dev)
        if not np.isfinite(similarity).all():
            self._diverged("the dev similarity is not finite")
        scores = self.scores(similarity)
        loss = self.loss_sum / len(self.data.train.captions)
        row = {"epoch": self.epoch + 1, "learning_rate": self.learning_rate(), "loss": loss, **scores}
        self.history.append(row)
        if scores[self.scores.column] > self.best_score:
            self.best_score = scores[self.scores.column]
            self.best = deepcopy(self.model.state_dict())
        self.epoch, self.step, self.loss_sum = self.epoch + 1, 0, 0.0

    def _note(self) -> str:
        seen = min(self.step * self.spec.batch_size, len(self.data.train.captions))
        note = f"epoch {self.epoch + 1}/{self.spec.epochs}  loss {self.loss_sum / seen:.3f}"
        return note + (f"  dev Rsum {self.history[-1]['dev_Rsum']:.1f}" if self.history else "")

    def _diverged(self, what: str) -> None:
        raise InputError(
            f"{self.spec.name}: {what} in epoch {self.epoch + 1}, batch {self.step + 1}, "
            f"at learning_rate {self.spec.learning_rate:g}; lower the rate."
        )

    # --- its state ------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it, as tensors, numbers and text."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "loss_sum": self.loss_sum,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "cuda_random": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
            "best": self.best,
            "best_score": self.best_score,
            "history": self.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.step, self.loss_sum = state["epoch"], state["step"], state["loss_sum"]
        self.best, self.best_score, self.history = state["best"], state["best_score"], state["history"]
        torch.set_rng_state(state["random"])
        if state["cuda_random"] is not None:
            torch.cuda.set_rng_state(state["cuda_random"], self.device)


@contextmanager
def reproducible(threads: int, device: torch.device) -> Iterator[None]:
    """A block whose results depend on its inputs alone; torch's settings and generator are given back afterwards.

    On CPU equal inputs give equal bits. On CUDA most operations do; one that has no deterministic kernel warns.
    """
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    cuda = [device] if device.type == "cuda" else []
    if cuda:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts
    with torch.random.fork_rng(devices=cuda):
        torch.set_num_threads(threads)
        # Not use_deterministic_algorithms: it sets the same but imports torch's compiler, seconds a run.
        torch.set_deterministic_debug_mode("warn" if cuda else "error")
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        try:
            yield
        finally:
            torch.set_num_threads(before[0])
            torch.set_deterministic_debug_mode(before[1])
            torch.utils.deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
