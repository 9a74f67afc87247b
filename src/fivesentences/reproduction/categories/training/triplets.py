"""Training of two networks with triplets, whose margin is fixed or scheduled (sched_sam, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fivesentences.errors import InputError
from fivesentences.losses.scheduled_margin import (
    ScheduledAdaptiveMargin,
    centroid_term,
    centroids,
    different_category,
    distances,
    hinges_of,
    unit,
)
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.reproduction.categories.config import SELECTIONS, Selection, SubspaceTraining
from fivesentences.reproduction.categories.inputs import Inputs, Projector, Vectors
from fivesentences.reproduction.categories.models.specs import TripletNetwork
from fivesentences.reproduction.categories.training.data import (
    TrainingDocuments,
    as_tensor,
    terms_of,
    training_documents,
)
from fivesentences.reproduction.categories.training.fit import (
    EpochKeeper,
    Fit,
    Progress,
    Row,
    categories_of,
    mean_map,
    silent,
)

# What random numbers are for; each purpose has a stream of its own, so that methods of one seed begin with the same
# weights and see the same batches and the same dropout, whatever else their margins draw.
PURPOSES = ("weights", "order", "dropout", "margin", "validation")
CATEGORY_MARGINS = ("epoch", "anchor", "negative", "mean_margin", "pairs", "margin")
ROWS = 512  # that are projected at once where nothing is trained: hidden layers of so many stay in the cache
LEVELS = 1 << 16  # of the random numbers of dropout, two bytes each
SHORTEST = 1e-12  # an output's length is at least that before it divides
Shapes = list[tuple[int, ...]]
Layers = list[Tensor]  # of a network: first layer [inputs, hidden], its bias, second [hidden, outputs], its bias


def random_stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the random numbers of a run for one of ``PURPOSES``."""
    return np.random.default_rng([seed, PURPOSES.index(purpose)])


# --- the network of one modality: tanh, dropout, tanh, L2 norm (section 3.5) ------------------------------------


def shapes_of(inputs: int, hidden: int, outputs: int) -> Shapes:
    """Shapes of the ``Layers`` of a network."""
    return [(inputs, hidden), (hidden,), (hidden, outputs), (outputs,)]


def initial_weights(shapes: Shapes, generator: np.random.Generator) -> Tensor:
    """Weights as Keras begins with: Glorot and Bengio's (2010) uniform distribution for layers, zeros for biases.

    The paper does not say how; it is the default of the library that its other settings point to. All layers are in one
    vector, so that a step is three passes over it.
    """
    parts = []
    for shape in shapes:
        end = math.sqrt(6.0 / sum(shape)) if len(shape) > 1 else 0.0
        parts.append(generator.uniform(-end, end, shape) if end else np.zeros(shape))
    return torch.from_numpy(np.concatenate([part.ravel() for part in parts]).astype(np.float32))


def layers_of(weights: Tensor, shapes: Shapes) -> Layers:
    """Return the layers in a vector of weights, as views."""
    parts = torch.split(weights, [math.prod(shape) for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def dropout_mask(shape: Sequence[int], share: float, generator: np.random.Generator) -> Tensor:
    """Draw a float32 mask with 0 for about ``share`` of its entries and ``1 / (1 - share)`` for the others.

    Two random bytes decide each entry, which costs a quarter of a random float; ``share`` is met within 1 / 65536.
    """
    entries, dropped = math.prod(shape), round(share * LEVELS)
    words = generator.integers(0, 1 << 64, -(-entries // 4), dtype=np.uint64)  # four entries each
    drawn = torch.from_numpy(words.view(np.int16))[:entries].view(*shape)
    return (drawn >= dropped - LEVELS // 2).float().mul_(LEVELS / (LEVELS - dropped))


class Branch:
    """The network of one modality, with its gradients written out.

    Two layers are little arithmetic, of which autograd would be a fifth; a test compares the gradients with autograd's.

    Args:
        weights: Changed in place by training.
        gradients: Vector of the same size, which ``backward`` fills.
        shapes: See ``shapes_of``.
    """

    def __init__(self, weights: Tensor, gradients: Tensor, shapes: Shapes):
        self.layers, self._slopes = layers_of(weights, shapes), layers_of(gradients, shapes)

    def forward(self, inputs: Tensor, dropout: float, generator: np.random.Generator) -> Tensor:
        """Map ``[rows, inputs]`` -> ``[rows, outputs]`` vectors of length 1 in training.

        Args:
            inputs: The rows.
            dropout: Share of hidden units that are left out.
            generator: Draws which ones.
        """
        first, first_bias, second, second_bias = self.layers
        self._inputs, self._hidden = inputs, torch.addmm(first_bias, inputs, first).tanh_()
        self._mask = dropout_mask(self._hidden.shape, dropout, generator) if dropout else None
        self._kept = self._hidden if self._mask is None else self._hidden * self._mask
        self._outputs = torch.addmm(second_bias, self._kept, second).tanh_()
        self._lengths = torch.linalg.vector_norm(self._outputs, dim=1, keepdim=True).clamp_(min=SHORTEST)
        units: Tensor = self._outputs / self._lengths
        self._units = units
        return units

    def backward(self, slope: Tensor) -> None:
        """Fill ``gradients``, given ``[rows, outputs]`` gradients of the loss by what ``forward`` returned."""
        to_first, to_first_bias, to_second, to_second_bias = self._slopes
        slope = slope.addcmul(self._units, (slope * self._units).sum(1, keepdim=True), value=-1).div_(self._lengths)
        slope = torch.ops.aten.tanh_backward(slope, self._outputs)
        torch.mm(self._kept.T, slope, out=to_second)
        torch.sum(slope, 0, out=to_second_bias)
        slope = torch.mm(slope, self.layers[2].T)
        slope = torch.ops.aten.tanh_backward(slope if self._mask is None else slope.mul_(self._mask), self._hidden)
        torch.mm(self._inputs.T, slope, out=to_first)
        torch.sum(slope, 0, out=to_first_bias)


def outputs_of(layers: Layers, inputs: Tensor) -> Tensor:
    """Return ``[documents, outputs]`` outputs before the L2 norm, without dropout, some rows at a time."""
    hidden = (torch.addmm(layers[1], part, layers[0]).tanh_() for part in torch.split(inputs, ROWS))
    return torch.cat([torch.addmm(layers[3], part, layers[2]) for part in hidden]).tanh_()


def nesterov_step(weights: Tensor, gradients: Tensor, velocity: Tensor, rate: float, momentum: float) -> None:
    """Move weights against their gradients by stochastic gradient descent with Nesterov momentum.

    The velocity v becomes ``momentum v + g``, and a weight moves by ``-rate (g + momentum v)``, as in torch; so it is
    in Keras, whose velocity holds the rate, but for the change of the rate from step to step.
    """
    torch.add(gradients, velocity, alpha=momentum, out=velocity)
    weights.sub_(gradients, alpha=rate).sub_(velocity, alpha=rate * momentum)


def network_projector(weights: Tensor, shapes: Shapes) -> Projector:
    """Return both trained networks as a fitted method: vectors of length 1, float32."""
    layers = layers_of(weights, shapes)

    def projected(of_modality: Layers, vectors: Vectors) -> Vectors:
        outputs = outputs_of(of_modality, as_tensor(vectors))
        result: Vectors = outputs.div_(outputs.norm(dim=1, keepdim=True).clamp_(min=SHORTEST)).numpy()
        return result

    return lambda images, texts: (projected(layers[:4], images), projected(layers[4:], texts))


# --- training -----------------------------------------------------------------------------------------------------


def fit_triplets(
    spec: TripletNetwork,
    train: Inputs,
    validation: Inputs,
    seed: int,
    training: SubspaceTraining,
    category_names: Sequence[str],
    progress: Progress = silent,
) -> Fit:
    """Train the two networks; with several ``spec.margins`` once for each.

    Of several margins, each selection keeps the one whose epoch has the highest validation mAP; of equal ones the
    first. Call it within ``training.loop.reproducible`` for equal bits.

    Args:
        spec: The method.
        train: Training documents.
        validation: Validation documents.
        seed: Seed of the weights, the order of documents, dropout, and random negatives.
        training: Epochs, batches and rates; ``spec`` may override some.
        category_names: Names of the categories 0 to C - 1.
        progress: Called after every epoch.

    Returns:
        Projectors ``map``, ``loss`` and ``last``. History, one row per margin and epoch: epoch, learning_rate (of its
        last step), loss (mean over documents of the training loss), validation_loss and validation_map (None where
        not validated), alpha, mean_margin (over all training pairs of different category, with the centroids that the
        epoch began with), margin (m), and selected, the selections whose weights are of this row. Category margins
        where the margin is scheduled: epoch, anchor, negative, mean_margin, pairs, margin.

    Raises:
        InputError: If training diverges, or there are fewer than two training documents.
    """
    if len(train) < 2 or not len(validation):
        raise InputError(f"there are {len(train)} documents to train and {len(validation)} to validate; give 2 and 1.")
    documents = training_documents(train, len(category_names))
    fits = []
    for margin in spec.margins or [spec.loss.margin]:
        loss = spec.loss.model_copy(update={"margin": margin})
        fits.append(_TripletTraining(spec, loss, documents, validation, seed, training))
        fits[-1].fit(category_names, progress)
    projectors: dict[Selection, Projector] = {}
    for selection in SELECTIONS:
        best = max(fits, key=lambda one: one.keeper.kept[selection].map)  # the first of equal ones
        kept = best.keeper.kept[selection]
        projectors[selection] = network_projector(kept.state, best.shapes)
        row = best.keeper.history[kept.epoch - 1]
        row["selected"] = f"{row['selected']} {selection}".strip()
    history = [row for one in fits for row in one.keeper.history]
    return Fit(projectors, history, [row for one in fits for row in one.category_margins])


class _TripletTraining:
    def __init__(
        self,
        spec: TripletNetwork,
        loss: ScheduledMarginSpec,
        documents: TrainingDocuments,
        validation: Inputs,
        seed: int,
        training: SubspaceTraining,
    ):
        self.documents, self.spec, self.seed, self.training = documents, loss, seed, training
        self.rate = spec.learning_rate or training.learning_rate
        hidden, output = spec.hidden or training.hidden, spec.output or training.output
        parts = [shapes_of(one.shape[1], hidden, output) for one in (documents.images, documents.texts)]
        self.shapes = parts[0] + parts[1]
        self.weights = initial_weights(self.shapes, random_stream(seed, "weights"))
        self.gradients, self.velocity = torch.zeros_like(self.weights), torch.zeros_like(self.weights)
        sizes = [sum(map(math.prod, part)) for part in parts]
        self.image, self.text = (
            Branch(*part)
            for part in zip(torch.split(self.weights, sizes), torch.split(self.gradients, sizes), parts, strict=True)
        )
        of_margin = int(random_stream(seed, "margin").integers(2**31))
        self.margin = ScheduledAdaptiveMargin(training.epochs, of_margin, **loss.model_dump(exclude_unset=True))
        self.mean_terms = documents.mean_terms(loss) if loss.reads_features else None
        # [C, C] how many pairs of training documents two different categories have
        self.pairs = (documents.counts[:, None] * documents.counts).fill_diagonal_(0)
        self.steps = 0
        self.keeper = EpochKeeper(training, self.weights.clone)
        self.category_margins: list[Row] = []
        self.held_out = as_tensor(validation.images), as_tensor(validation.texts)
        self.held_out_categories = categories_of(validation)
        self.held_out_features = None
        if loss.reads_features:
            limits = documents.corpus_limits(loss) if loss.feature_scope == "corpus" else None
            image, text = (distances(one) for one in self.held_out)
            self.held_out_features = terms_of(image, text, loss, self.held_out_categories, limits)

    def fit(self, category_names: Sequence[str], progress: Progress) -> None:
        """Train all epochs."""
        order, dropout = random_stream(self.seed, "order"), random_stream(self.seed, "dropout")
        clusters = self.clusters()
        for epoch in range(1, self.training.epochs + 1):
            means = self.mean_margins(epoch, clusters)
            loss = self.train_epoch(epoch, clusters, order, dropout)
            clusters = self.clusters()  # of the weights that are validated now and that the next epoch begins with
            row: Row = {
                "epoch": epoch,
                "learning_rate": self.rate_of(self.steps - 1),
                "loss": loss,
                "alpha": self.spec.alpha(epoch, self.training.epochs),
                "mean_margin": self.mean_of_pairs(means),
                "margin": self.spec.margin,
                "selected": "",
            }
            validated = self.keeper.end(row, partial(self.validate, epoch, clusters))
            if validated and self.spec.toward != "nothing":
                for a, n in self.pairs.nonzero().tolist():
                    of_pair = float(means[a, n]), int(self.pairs[a, n]), self.spec.margin
                    values = epoch, category_names[a], category_names[n], *of_pair
                    self.category_margins.append(dict(zip(CATEGORY_MARGINS, values, strict=True)))
            progress(f"loss {loss:.4g}")

    def train_epoch(
        self, epoch: int, clusters: Tensor | None, order: np.random.Generator, dropout: np.random.Generator
    ) -> float:
        """Return every document once, in batches; returns the mean loss over documents."""
        total, count = 0.0, len(self.documents)
        shuffled = torch.from_numpy(order.permutation(count))
        for number, rows in enumerate(torch.split(shuffled, self.training.batch_size)):
            if number and clusters is not None and self.spec.refresh == "step":
                clusters = self.clusters()
            v = self.image.forward(self.documents.images[rows], self.training.dropout, dropout)
            t = self.text.forward(self.documents.texts[rows], self.training.dropout, dropout)
            similarity = (v @ t.T).requires_grad_()
            features = self.documents.batch_term(rows, self.spec) if self.spec.reads_features else None
            loss = self.margin(similarity, self.documents.categories[rows], epoch, features, clusters)
            (slope,) = torch.autograd.grad(loss, similarity)
            self.image.backward(slope @ t)
            self.text.backward(slope.T @ v)
            nesterov_step(self.weights, self.gradients, self.velocity, self.rate_of(self.steps), self.training.momentum)
            self.steps += 1
            total += len(rows) * float(loss.detach())
        return total / count

    def validate(self, epoch: int, clusters: Tensor | None) -> tuple[float, float]:
        """Return the mean hinge over all triplets of validation documents in both directions, and mean mAP."""
        v, t = (unit(outputs_of(layers, inputs)) for layers, inputs in self.branches(*self.held_out))
        similarity, categories = v @ t.T, self.held_out_categories
        different = different_category(categories)
        shuffle = torch.Generator()
        shuffle.manual_seed(int(random_stream(self.seed, "validation").integers(2**31)) + epoch)
        margins = self.margin.margins(categories, different, epoch, self.held_out_features, clusters, shuffle)
        found = [(hinge * different).sum(dtype=torch.float64) for hinge in hinges_of(similarity, margins)]
        loss = float(found[0] + found[1]) / max(1, 2 * int(different.sum()))
        return loss, mean_map(similarity.numpy(), categories.numpy())

    def rate_of(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0: Keras's decay per step."""
        return self.rate / (1 + self.training.decay * step)

    def branches(self, images: Tensor, texts: Tensor) -> list[tuple[Layers, Tensor]]:
        """Return each modality's weights, and its inputs."""
        return [(self.image.layers, images), (self.text.layers, texts)]

    def clusters(self) -> Tensor | None:
        """The centroid term ``[C, C]`` of the training documents under the current weights, if the margin reads it."""
        if not self.spec.reads_centroids:
            return None
        d = self.documents
        means = [
            centroids(outputs_of(layers, inputs), d.categories, d.n_categories, self.spec.centroids)
            for layers, inputs in self.branches(d.images, d.texts)
        ]
        return centroid_term(means[0], means[1], self.spec.centroid_similarity)

    def mean_margins(self, epoch: int, clusters: Tensor | None) -> Tensor:
        """Return ``[C, C]`` float64 mean margin of a document of one category and one of another."""
        spec, alpha = self.spec, self.spec.alpha(epoch, self.training.epochs)
        toward = torch.full_like(self.pairs, spec.constant or 0.0)
        if self.mean_terms is not None:
            toward += spec.feature_share * self.mean_terms
        if clusters is not None:
            toward += (1 - spec.feature_share) * clusters.double()
        if spec.shuffled:
            toward.fill_(self.mean_of_pairs(toward))
        return alpha * toward + (1 - alpha) * spec.margin

    def mean_of_pairs(self, values: Tensor) -> float:
        """Return the mean over all training pairs of different category of ``[C, C]`` values."""
        return float((values * self.pairs).sum() / self.pairs.sum().clamp(min=1))
