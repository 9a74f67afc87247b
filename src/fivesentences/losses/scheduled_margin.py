"""The scheduled adaptive margin (sched_sam, eq. 3 to 10), every piece a function, and the loss made of them.

A batch has B documents, an image and a text each. ``[a, n]`` means anchor a and negative n, documents of different
category. Pieces: ``distances`` and ``feature_term`` (eq. 8), ``centroids`` (eq. 9), ``centroid_term`` (eq. 10),
``ScheduledAdaptiveMargin.margins`` (eq. 6, whose ``activation`` is beside the settings, and 7), ``hinges_of`` and their
sums (eq. 5). All keep the dtype and device of what they are given and let gradients through.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor

from fivesentences.config.reading import check
from fivesentences.errors import Argument, InputError
from fivesentences.losses.scheduled_margin_spec import FeatureNorm, ScheduledMarginSpec

Limits = tuple[float, float]  # distances that become 0 and 1
Both = tuple[Tensor, Tensor]  # of images as anchors, of texts as anchors


def distances(left: Tensor, right: Tensor | None = None) -> Tensor:
    """Euclidean distances of feature vectors.

    Args:
        left: ``[N, features]``.
        right: ``[M, features]``; default ``left``, and then the diagonal is exactly 0.

    Returns:
        ``[N, M]``, at least 0. Computed in float64 through a matrix product, as differences of all pairs would need
        the memory of ``[N, M, features]``; two equal vectors may be 1e-7 of their length apart.
    """
    own = right is None
    centre = left.double().mean(0)  # distances stay the same, and smaller numbers cancel less
    first = left.double() - centre
    second = first if right is None else right.double() - centre
    squares = (first @ second.T).mul_(-2).add_((first**2).sum(1)[:, None]).add_((second**2).sum(1))
    if own:
        squares.fill_diagonal_(0)
    return squares.clamp_(min=0).sqrt_().to(left.dtype)


def different_category(anchors: Tensor, negatives: Tensor | None = None) -> Tensor:
    """Return ``[a, n]`` True where two documents differ in category; both arguments are numbers of categories."""
    return anchors[:, None] != (anchors if negatives is None else negatives)


def extremes(distance: Tensor, different: Tensor, first: int = 0) -> tuple[float, float, float]:
    """Return the lowest distance of two documents, the highest distance, and the highest between two categories.

    Args:
        distance: ``[a, n]``.
        different: ``[a, n]`` as ``different_category`` returns it.
        first: Column of the first anchor's own document; those of the others follow.
    """
    others = distance.clone()
    others[:, first : first + len(distance)].fill_diagonal_(torch.inf)
    cross = float(distance[different].max()) if different.any() else 0.0
    return float(others.min()), float(distance.max()), cross


def limits_of(norm: FeatureNorm, low: float, high: float, cross: float) -> Limits:
    """Return the distances that become 0 and 1, of what ``extremes`` returns; see ``feature_term``."""
    return low if norm.endswith("minmax") and math.isfinite(low) else 0.0, cross if norm == "max_cross" else high


def feature_limits(image: Tensor, text: Tensor, norm: FeatureNorm, different: Tensor) -> tuple[Limits, ...]:
    """Limits of the mean of both modalities, or of each modality for the norms named so; see ``feature_term``."""
    parts = (image, text) if norm.startswith("modality") else ((image + text) / 2,)
    return tuple(limits_of(norm, *extremes(part, different)) for part in parts)


def feature_term(image: Tensor, text: Tensor, limits: tuple[Limits, ...]) -> Tensor:
    """f_ms: the distance of original features, averaged over modalities and brought to 0..1 (eq. 8).

    The paper does not say how it is brought to 0..1. ``feature_limits`` has five readings: ``max`` divides the mean
    by its maximum; ``max_cross`` by that of pairs of different category, and cuts off at 1; ``minmax`` subtracts the
    minimum over pairs of two documents first; ``modality_max`` and ``modality_minmax`` do so in each modality before
    they are averaged. For eq. 8 read over the anchor's modality alone, give that modality twice.

    Args:
        image: ``[a, n]`` distances of images.
        text: ``[a, n]`` distances of texts.
        limits: Limits of the whole corpus or of the batch; distances outside them are cut off.

    Returns:
        ``[a, n]`` in 0..1.
    """
    if len(limits) == 1:
        return _scaled((image + text) / 2, limits[0])
    return (_scaled(image, limits[0]) + _scaled(text, limits[1])) / 2


def _scaled(distance: Tensor, limits: Limits) -> Tensor:
    low, high = limits
    if not high > low:  # all are equal: nothing tells one pair from another
        return torch.zeros_like(distance)
    return ((distance - low) / (high - low)).clamp(0, 1)


def unit(vectors: Tensor) -> Tensor:
    """Vectors scaled to length 1; a vector of zeros stays one."""
    scaled: Tensor = vectors / vectors.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(vectors.dtype).tiny)
    return scaled


def centroids(outputs: Tensor, categories: Tensor, n_categories: int, of: Literal["unit", "raw"] = "unit") -> Tensor:
    """Return the mean output of each category in one modality (eq. 9), never scaled to length 1 again.

    Args:
        outputs: ``[N, D]`` before their L2 norm; with ``of="unit"`` vectors of length 1 do as well.
        categories: ``[N]`` numbers from 0 to ``n_categories - 1``.
        n_categories: C.
        of: ``"unit"`` scales outputs to length 1 first, ``"raw"`` takes them as they are.

    Returns:
        ``[C, D]``; zeros for a category without documents.
    """
    vectors = unit(outputs) if of == "unit" else outputs
    member = torch.nn.functional.one_hot(categories, n_categories).to(vectors.dtype)  # [N, C]
    return (member.T @ vectors) / member.sum(0).clamp(min=1)[:, None]


def centroid_term(image: Tensor, text: Tensor, similarity: Literal["cosine", "dot"] = "cosine") -> Tensor:
    """f_mc: the distance of two categories' centroids, averaged over modalities (eq. 10).

    Args:
        image: ``[C, D]`` centroids of images.
        text: ``[C, D]`` centroids of texts.
        similarity: ``"cosine"``, whose diagonal is 0; or ``"dot"``, the plain product, whose diagonal is not.

    Returns:
        ``[C, C]``, the mean of ``1 - (1 + s) / 2``: in 0..1 for the cosine, and for dot products of vectors no longer
        than 1. A category without documents is 0.5 from all others.
    """
    both = (unit(image), unit(text)) if similarity == "cosine" else (image, text)
    terms = [1 - (1 + vectors @ vectors.T) / 2 for vectors in both]
    term = (terms[0] + terms[1]) / 2
    if similarity == "cosine":
        term = term * (1 - torch.eye(len(term), dtype=term.dtype, device=term.device))
    return term


def hinges_of(similarity: Tensor, margins: Both, chosen: tuple[Tensor, Tensor] | None = None) -> Both:
    """``max(0, margin - s(anchor, positive) + s(anchor, negative))``: images as anchors, texts as anchors (eq. 3, 5).

    Args:
        similarity: ``[B images, B texts]``, documents on the diagonal.
        margins: ``[a, n]`` of each direction; the second has texts as anchors.
        chosen: ``[B, K]`` positions of each anchor's negatives in the batch, for each direction; default all B.

    Returns:
        Twice ``[B, B]`` or ``[B, K]``, the row being the anchor.
    """
    own, found = similarity.diagonal(), []
    for direction, (scores, margin) in enumerate(zip((similarity, similarity.T), margins, strict=True)):
        if chosen is not None:
            scores, margin = scores.gather(1, chosen[direction]), margin.gather(1, chosen[direction])
        found.append((margin - own[:, None] + scores).clamp(min=0))
    return found[0], found[1]


def one_negative(categories: Tensor, draws: Tensor) -> Tensor:
    """Return a random item of another category for each anchor.

    Args:
        categories: ``[B]`` numbers.
        draws: ``[B]`` random numbers in [0, 1).

    Returns:
        ``[B, 1]`` positions in the batch; any position for an anchor that has no such item.
    """
    order = torch.argsort(categories, stable=True)
    ordered = categories[order].contiguous()
    start = torch.searchsorted(ordered, categories)
    size = torch.searchsorted(ordered, categories, right=True) - start
    # As if the block of the anchor's own category were cut out of the ordered batch.
    place = (draws.double() * (len(categories) - size)).long()
    place = place + size * (place >= start)
    return order[place.clamp(max=len(categories) - 1)][:, None]


class ScheduledAdaptiveMargin:
    """Triplets of two modalities whose margin moves from a fixed one to an adaptive one (sched_sam, eq. 5 to 10).

    The functions are those of ``fivesentences.losses.scheduled_margin``::

        loss = ScheduledAdaptiveMargin(epochs=100, feature_share=0.05, start=0.4, steepness=0.1)
        image_distance, text_distance = distances(images), distances(texts)              # [N, N], once
        limits = feature_limits(image_distance, text_distance, "max", different_category(categories))
        ...
        clusters = centroid_term(centroids(V, categories, C), centroids(T, categories, C))   # [C, C], every epoch
        ...
        features = feature_term(image_distance[rows][:, rows], text_distance[rows][:, rows], limits)  # every batch
        loss(v @ t.T, categories[rows], epoch, features, clusters.detach())

    Gradients reach the margin only through what it is made of: detach ``clusters`` to hold it constant, as eq. 5 is
    usually read.

    Args:
        epochs: n_e, the number of epochs that the schedule is made for.
        seed: Seed of the random choices of ``negatives="one"`` and ``shuffled=True``, which have streams of their own.
        **settings: Fields of ``ScheduledMarginSpec``, such as ``margin`` or ``start``.

    Raises:
        InputError: If a setting is unknown or out of range.
    """

    def __init__(self, epochs: int = 100, seed: int = 0, **settings: Any):
        self.spec = check(ScheduledMarginSpec, settings, "ScheduledAdaptiveMargin")
        if epochs < 1:
            raise InputError(f"is {epochs}; give at least 1.", where=Argument("epochs"))
        self.epochs = epochs
        self._choice, self._shuffle = torch.Generator(), torch.Generator()
        self._choice.manual_seed(2 * seed)
        self._shuffle.manual_seed(2 * seed + 1)

    def __call__(
        self,
        similarity: Tensor,
        categories: Tensor,
        epoch: int,
        features: Tensor | Both | None = None,
        clusters: Tensor | None = None,
    ) -> Tensor:
        """Compute the loss, a scalar.

        Args:
            similarity: ``[B images, B texts]``, in -1..1, documents on the diagonal.
            categories: ``[B]`` numbers, rows of ``clusters``.
            epoch: From 1 to ``epochs``.
            features: ``[B, B]`` feature term, or one for each direction (images as anchors, texts as anchors).
            clusters: ``[C, C]`` centroid term.

        Returns:
            The sum of both directions over B (``reduction="batch"``, the paper's 1/b), or the sum of the two means
            over triplets (``"triplets"``). 0 where all documents have one category.

        Raises:
            InputError: If the adaptive margin lacks a term that it reads.
        """
        spec, different = self.spec, different_category(categories)
        margins = self.margins(categories, different, epoch, features, clusters, self._shuffle)
        if spec.negatives == "one":
            draws = [torch.rand(len(categories), generator=self._choice).to(categories.device) for _ in range(2)]
            chosen = one_negative(categories, draws[0]), one_negative(categories, draws[1])
            hinges = hinges_of(similarity, margins, chosen)
            kept = [h * different.gather(1, c) for h, c in zip(hinges, chosen, strict=True)]
        else:
            kept = [h * different for h in hinges_of(similarity, margins)]
        if spec.negatives == "hardest":
            kept = [h.max(dim=1, keepdim=True).values for h in kept]
        total = kept[0].sum() + kept[1].sum()
        if spec.reduction == "batch":
            return total / len(categories)
        some = different.any(1).sum() if spec.negatives != "all" else different.sum()
        return total / some.clamp(min=1)

    def margins(
        self,
        categories: Tensor,
        different: Tensor,
        epoch: int,
        features: Tensor | Both | None = None,
        clusters: Tensor | None = None,
        shuffle: torch.Generator | None = None,
    ) -> Both:
        """f_m of every pair (eq. 6 and 7): ``[a, n]`` with images as anchors, and with texts as anchors.

        Args:
            categories: As in ``__call__``.
            different: ``[a, n]`` as ``different_category`` returns it.
            epoch: As in ``__call__``.
            features: As in ``__call__``.
            clusters: As in ``__call__``.
            shuffle: Generator of the control that exchanges adaptive margins between pairs of different category.

        Raises:
            InputError: As ``__call__``.
        """
        spec, alpha = self.spec, self.spec.alpha(epoch, self.epochs)
        if spec.toward != "adaptive":
            value = alpha * (spec.constant or 0.0) + (1 - alpha) * spec.margin
            same = torch.full(different.shape, value, device=different.device, dtype=torch.get_default_dtype())
            return same, same
        missing = [(spec.reads_features and features is None, "features")]
        missing += [(spec.reads_centroids and clusters is None, "clusters")]
        for lacks, name in missing:
            if lacks:
                raise InputError("is missing, but the adaptive margin reads it.", where=Argument(name))
        found, share = [], spec.feature_share
        for term in features if isinstance(features, tuple) else (features,):
            parts = [share * term] if spec.reads_features and term is not None else []
            if spec.reads_centroids and clusters is not None:
                parts.append((1 - share) * clusters[categories[:, None], categories])
            adaptive = parts[0] if len(parts) == 1 else parts[0] + parts[1]
            if spec.shuffled:
                order = torch.randperm(int(different.sum()), generator=shuffle).to(different.device)
                pairs, adaptive = adaptive[different][order], adaptive.clone()
                adaptive[different] = pairs
            found.append(alpha * adaptive + (1 - alpha) * spec.margin)
        return found[0], found[-1]
