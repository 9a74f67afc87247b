"""The hinges of a Semantic Adaptive Margin on batches of training captions, for what their margins are made of.

Negatives, margins and phi come from the classes with which runs are trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fivesentences.config import Hyperparameters
from fivesentences.corpus import Corpus, training_part
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.losses import LossSpec
from fivesentences.losses.semantic_adaptive_margin import Hinges, SemanticAdaptiveMargin, scaled
from fivesentences.training.batch_phi import BatchPhi, open_phis
from fivesentences.training.batches import batches_of, training_order
from fivesentences.training.checkpoint import TrainedModel
from fivesentences.training.data import Loader, Split, extras_of
from fivesentences.training.objective import Objective

Values = NDArray[np.float64]


@dataclass(frozen=True)
class HingeValues:
    """Numbers of many hinges, those of i2t and t2i alike; each ``[hinges]``.

    Attributes:
        group: Which batch and direction a hinge belongs to.
        phi_positive: phi of the positive that its margin was made from, before it was scaled.
        phi_negative: phi of the negative that its margin was made from, likewise.
        phi_own_negative: phi of the negative that the hinge compares with its positive; another one where the rules
            cross or spread margins.
        positive: What the positive adds to the margin, before a cap.
        negative: What the negative takes from it.
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


def batches_of_epochs(
    settings: Hyperparameters, lengths: NDArray[np.int64], image_of_caption: NDArray[np.int64], seed: int, at_least: int
) -> Iterator[NDArray[np.int64]]:
    """The batches of the first whole epochs of a run, as training draws them.

    Args:
        settings: The run's, as ``training_order``, and the next two.
        lengths: ``[captions]``.
        image_of_caption: ``[captions]``, at least 2 captions.
        seed: The run's.
        at_least: So many epochs that they have so many batches together. A last batch of a single caption, which has no
            hinges, is left out.
    """
    captions, size = len(image_of_caption), settings.batch_size
    of_epoch = captions // size + (captions % size > 1)
    for epoch in range(-(-at_least // of_epoch)):
        for rows in batches_of(training_order(settings, lengths, image_of_caption, seed, epoch), size):
            if len(rows) > 1:
                yield rows


def hinges_of_captions(
    loss: LossSpec,
    part: Corpus,
    phis: Mapping[str, BatchPhi],
    settings: Hyperparameters,
    *,
    batches: int,
    seed: int = 0,
) -> HingeValues:
    """Hinges with randomly drawn negatives, for which no model is needed.

    Args:
        loss: With a SAM whose margins are adaptive and whose negatives are random.
        part: The training captions of a run.
        phis: Each phi of these captions that the loss reads, by its key.
        settings: How batches are drawn; captions of similar length do not share a batch here.
        batches: So many at least, in whole epochs.
        seed: Of the order of the captions, and of the negatives.

    Raises:
        InputError: If the loss has no such margins.
    """
    sam, objective = _sam_of(loss, phis, seed)
    if sam.negatives != "random":
        raise InputError(
            f"the negatives of '{loss.folder}' are chosen by similarity, so its margins are those of a trained run."
        )
    pairing = part.image_of_caption
    lengths = np.ones(part.n_captions, dtype=np.int64)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        found = []
        for rows in batches_of_epochs(settings, lengths, pairing, seed, batches):
            nothing = torch.zeros(len(rows), len(rows))  # random negatives depend on the size of the batch alone
            found.append(_of_batch(sam, objective.phi(loss.phi_keys, rows), nothing, known=False))
    return _joined(found, sam.largest_margin)


def hinges_of_run(
    trained: TrainedModel, whole: Corpus, features: Path, *, batches: int, phi_files: Mapping[str, Path] | None = None
) -> HingeValues:
    """The hinges of a finished run's own SAM, with its weights, on its own training captions.

    Args:
        trained: The run's model.
        whole: The whole training split.
        features: What the run was trained on.
        batches: So many at least, in whole epochs.
        phi_files: See ``open_phis``.

    Raises:
        InputError: If a file is missing or damaged, or the run's loss has no adaptive margins.
    """
    spec = trained.spec
    split = _training_captions(trained, whole, features)
    keys = [] if spec.loss.sam is None else spec.loss.sam.phi_keys
    sam, objective = _sam_of(spec.loss, open_phis(keys, split.corpus, phi_files, whole), spec.seed)
    rows = batches_of_epochs(spec.training, split.captions.lengths, split.image_of_caption.numpy(), spec.seed, batches)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(spec.seed)
        found = []
        for batch in Loader(split, torch.device("cpu")).batches(rows):
            scores = trained.model.training_scores(batch.images, batch.tokens, batch.lengths, **batch.extras)
            found.append(_of_batch(sam, objective.phi(keys, batch.rows), scores.similarity.float()))
    return _joined(found, sam.largest_margin)


def _training_captions(trained: TrainedModel, whole: Corpus, features: Path) -> Split:
    """A run's own training captions with what its model reads of them."""
    spec = trained.spec
    part = training_part(whole, spec.fraction, spec.captions_per_image, spec.training.draw, spec.seed)
    extras = extras_of(spec.model, trained.concepts, part.captions, part.image_of_caption, "training")
    table = FeatureTable.open(features)
    return Split.of(part, table, trained.preparation, trained.vocabulary, extras)


def _sam_of(loss: LossSpec, phis: Mapping[str, BatchPhi], seed: int) -> tuple[SemanticAdaptiveMargin, Objective]:
    """The SAM of a loss alone, and what computes its phi of a batch."""
    if loss.sam is None or loss.sam.margins != "adaptive":
        raise InputError(f"the loss '{loss.folder}' has no adaptive margins; name one with sam, margins: adaptive.")
    objective = Objective(LossSpec(triplet=None, sam=loss.sam), phis, seed)
    (sam,) = objective.semantic
    assert isinstance(sam, SemanticAdaptiveMargin)
    return sam, objective


def _of_batch(
    sam: SemanticAdaptiveMargin, phi: Tensor, similarity: Tensor, *, known: bool = True
) -> tuple[HingeValues, HingeValues]:
    """The hinges of a batch, i2t and t2i; their group is 0.

    Args:
        sam: The loss.
        phi: ``[B captions, B images]``.
        similarity: ``[B images, B captions]``.
        known: Whether the similarity is a model's.
    """
    chosen = sam.choose(similarity, phi)
    margins = sam.margins_of(phi, chosen)
    i2t, t2i = sam.hinges(chosen)
    return (
        _values(sam, phi, similarity if known else None, i2t, margins[0], i2t.caption, i2t.image),
        _values(sam, phi, similarity if known else None, t2i, margins[1], t2i.image, t2i.caption),
    )


def _values(
    sam: SemanticAdaptiveMargin,
    phi: Tensor,
    similarity: Tensor | None,
    hinges: Hinges,
    margins: Tensor,
    negative: Tensor,
    positive: Tensor,
) -> HingeValues:
    """Of one direction; ``negative`` and ``positive`` are the samples that the hinge itself compares."""
    read = scaled(phi, sam.scaling)
    gap = torch.full((len(phi),), torch.nan)
    if similarity is not None:
        gap = similarity.diagonal()[hinges.positive] - similarity[hinges.image, hinges.caption]
    return HingeValues(
        group=np.zeros(len(phi), dtype=np.int64),
        phi_positive=_array(phi.diagonal()[hinges.margin]),
        phi_negative=_array(phi[hinges.margin_negative, hinges.margin]),
        phi_own_negative=_array(phi[negative, positive]),
        positive=sam.mean_margin + _array(read.diagonal()[hinges.margin]) / sam.temperature,
        negative=_array(read[hinges.margin_negative, hinges.margin]) / sam.temperature,
        margin=_array(margins[hinges.margin]),
        gap=_array(gap),
        cap=sam.largest_margin,
    )


def _array(tensor: Tensor) -> Values:
    return tensor.double().numpy()


def _joined(batches: list[tuple[HingeValues, HingeValues]], cap: float | None) -> HingeValues:
    """All hinges in one, each batch and direction a group."""
    parts = [of_direction for of_batch in batches for of_direction in of_batch]
    names = [field.name for field in fields(HingeValues) if field.name not in ("group", "cap")]
    sizes = [len(part) for part in parts]
    return HingeValues(
        group=np.repeat(np.arange(len(parts)), sizes),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
        cap=cap,
    )
