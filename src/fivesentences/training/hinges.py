"""The hinges of a Semantic Adaptive Margin on batches of training captions, for what their margins are made of.

Negatives, margins and phi come from the classes with which runs are trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fivesentences.corpus import Corpus, training_part
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.losses import LossSpec
from fivesentences.losses.semantic_adaptive_margin import SemanticAdaptiveMargin, scaled
from fivesentences.training.batch_phi import BatchPhi, mean_of_batches, open_phis
from fivesentences.training.batches import batches_of, training_order
from fivesentences.training.checkpoint import TrainedModel
from fivesentences.training.data import Loader, Split, extras_of

Values = NDArray[np.float64]


@dataclass(frozen=True)
class HingeValues:
    """Numbers of many hinges, those of i2t and t2i alike; each ``[hinges]``.

    Attributes:
        group: Number of the batch and direction of each hinge.
        phi_positive: phi of the positive that its margin was made from, before it was scaled.
        phi_negative: phi of the negative that its margin was made from, likewise.
        phi_own_negative: phi of the negative that the hinge compares with its positive; another one where the rules
            cross or spread margins.
        positive: Part that the positive adds to the margin, before a cap.
        negative: Part that the negative takes from it.
        margin: The margin, in units of the similarity.
        gap: Similarity of the positive minus that of the negative; NaN where no model was asked. A hinge is active if
            its margin is larger.
        cap: The largest margin that the loss allows; None: there is none.
    """

    group: NDArray[np.int64]
    phi_positive: Values
    phi_negative: Values
    phi_own_negative: Values
    positive: Values
    negative: Values
    margin: Values
    gap: Values
    cap: float | None

    def __len__(self) -> int:
        return len(self.margin)


def batches_of_epochs(captions: int, size: int, seed: int, at_least: int) -> Iterator[NDArray[np.int64]]:
    """Yield the batches of the first whole epochs of a run, as training draws them.

    Args:
        captions: Number of captions, at least 2.
        size: Pairs of a batch.
        seed: Seed of the run.
        at_least: Minimum number of batches, rounded up to whole epochs. A last batch of a single caption, which has no
            hinges, is left out.
    """
    of_epoch = captions // size + (captions % size > 1)
    for epoch in range(-(-at_least // of_epoch)):
        for rows in batches_of(training_order(captions, seed, epoch), size):
            if len(rows) > 1:
                yield rows


def hinges_of_captions(
    loss: LossSpec, part: Corpus, phis: Mapping[str, BatchPhi], *, batch_size: int, batches: int, seed: int = 0
) -> HingeValues:
    """Measure hinges with randomly drawn negatives, for which no model is needed.

    Args:
        loss: A loss with a SAM whose margins are adaptive and whose negatives are random.
        part: The training captions of a run.
        phis: Each phi of these captions that the loss reads, by its key.
        batch_size: Pairs of a batch.
        batches: Minimum number of batches, rounded up to whole epochs.
        seed: Seed of the order of the captions, and of the negatives.

    Raises:
        InputError: If the loss has no such margins.
    """
    sam, keys = _sam_of(loss, seed)
    if sam.negatives != "random":
        what = "are chosen by similarity, so its margins are those of a trained run"
        raise InputError(f"the negatives of '{loss.folder}' {what}.")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        found = []
        for rows in batches_of_epochs(part.n_captions, batch_size, seed, batches):
            nothing = torch.zeros(len(rows), len(rows))  # random negatives depend on the size of the batch alone
            found.append(_of_batch(sam, _phi(phis, keys, rows), nothing, known=False))
    return _joined(found, sam.largest_margin)


def hinges_of_run(
    trained: TrainedModel, whole: Corpus, features: Path, *, batches: int, phi_files: Mapping[str, Path] | None = None
) -> HingeValues:
    """Measure the hinges of a finished run's own SAM, with its weights, on its own training captions.

    Args:
        trained: The run's model.
        whole: The whole training split.
        features: Features that the run was trained on.
        batches: Minimum number of batches, rounded up to whole epochs.
        phi_files: See ``open_phis``.

    Raises:
        InputError: If a file is missing or damaged, or the run's loss has no adaptive margins.
    """
    spec = trained.spec
    part = training_part(whole, spec.fraction, spec.captions_per_image, spec.training.noise, spec.seed)
    extras = extras_of(spec.model, trained.concepts, part.captions, part.image_of_caption, "training")
    split = Split.of(part, FeatureTable.open(features), trained.preparation, trained.vocabulary, extras)
    sam, keys = _sam_of(spec.loss, spec.seed)
    phis = open_phis(keys, split.corpus, phi_files, whole)
    rows = batches_of_epochs(part.n_captions, spec.training.batch_size, spec.seed, batches)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(spec.seed)
        found = []
        for batch in Loader(split, torch.device("cpu")).batches(rows):
            scores = trained.model.training_scores(batch.images, batch.tokens, batch.lengths, **batch.extras)
            found.append(_of_batch(sam, _phi(phis, keys, batch.rows), scores.similarity.float()))
    return _joined(found, sam.largest_margin)


def _sam_of(loss: LossSpec, seed: int) -> tuple[SemanticAdaptiveMargin, list[str]]:
    """Return the SAM of a loss, and the keys of the phi that it reads."""
    if loss.sam is None or loss.sam.margins != "adaptive":
        raise InputError(f"the loss '{loss.folder}' has no adaptive margins; name one with sam, margins: adaptive.")
    return loss.sam.build(seed), loss.sam.phi_keys


def _phi(phis: Mapping[str, BatchPhi], keys: Sequence[str], rows: NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(mean_of_batches([phis[key] for key in keys], rows))


def _of_batch(
    sam: SemanticAdaptiveMargin, phi: Tensor, similarity: Tensor, *, known: bool = True
) -> list[dict[str, Values]]:
    """Measure the hinges of a batch, i2t and t2i.

    Args:
        sam: The loss.
        phi: ``[B captions, B images]``.
        similarity: ``[B images, B captions]``.
        known: Whether the similarity is a model's.
    """
    chosen = sam.choose(similarity, phi)
    read, found = scaled(phi, sam.scaling), []
    for side, hinges, margins in zip(("i2t", "t2i"), sam.hinges(chosen), sam.margins_of(phi, chosen), strict=True):
        pair = (hinges.caption, hinges.image) if side == "i2t" else (hinges.image, hinges.caption)
        gap = similarity.diagonal()[hinges.positive] - similarity[hinges.image, hinges.caption]
        values = {
            "phi_positive": phi.diagonal()[hinges.margin],
            "phi_negative": phi[hinges.margin_negative, hinges.margin],
            "phi_own_negative": phi[pair],
            "positive": read.diagonal()[hinges.margin],
            "negative": read[hinges.margin_negative, hinges.margin],
            "margin": margins[hinges.margin],
            "gap": gap if known else torch.full_like(gap, torch.nan),
        }
        arrays: dict[str, Values] = {name: value.double().numpy() for name, value in values.items()}
        arrays["positive"] = sam.mean_margin + arrays["positive"] / sam.temperature
        arrays["negative"] = arrays["negative"] / sam.temperature
        found.append(arrays)
    return found


def _joined(batches: Iterable[list[dict[str, Values]]], cap: float | None) -> HingeValues:
    """Join all hinges, each batch and direction a group."""
    parts = [of_direction for of_batch in batches for of_direction in of_batch]
    return HingeValues(
        group=np.repeat(np.arange(len(parts)), [len(part["margin"]) for part in parts]),
        **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
        cap=cap,
    )
