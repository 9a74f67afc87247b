"""The scheduled adaptive margin (sched_sam, eq. 3 to 10), every piece a function, and the loss made of them.

A batch has B documents, an image and a text each. ``[a, n]`` means anchor a and negative n, documents of different
category. Pieces: ``distances`` and ``feature_term`` (eq. 8), ``centroids`` (eq. 9), ``centroid_term`` (eq. 10),
``adaptive_margin`` (eq. 7), ``activation`` and ``scheduled_margin`` (eq. 6), ``hinges`` and their sums (eq. 5). All
keep the dtype and device of what they are given and let gradients through.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from fivesentences.config.reading import check
from fivesentences.config.types import Positive, Share, Strict
from fivesentences.errors import Argument, InputError
from fivesentences.losses.loss import torch

if TYPE_CHECKING:
    from torch import Tensor

FeatureNorm = Literal["max", "max_cross", "minmax", "modality_max", "modality_minmax"]
Both = tuple["Tensor", "Tensor"]  # of images as anchors, of texts as anchors


def activation(t: float, start: float, steepness: float, epochs: int) -> float:
    """alpha(t): how far the scheduled margin has moved to the one that it leads to (eq. 6).

    Args:
        t: The epoch, any number.
        start: fₐ, in 0..1: the share of the epochs at which alpha is 1/2.
        steepness: k, per epoch, above 0.
        epochs: nₑ: how many epochs there are.

    Returns:
        ``1 / (1 + exp(-k (t - fₐ nₑ)))``, in 0..1; it never overflows.
    """
    x = steepness * (t - start * epochs)
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)  # of a negative number: at most 1
    return grown / (1.0 + grown)


class ScheduledMarginSpec(Strict):
    """Triplets of two modalities whose margin moves from a fixed one to another while training goes on."""

    margin: Positive = Field(default=1.0, description="m: the fixed margin, before the schedule is active")
    toward: Literal["nothing", "adaptive", "constant"] = Field(
        default="adaptive", description="where the schedule leads; `nothing`: the margin stays fixed"
    )
    constant: float | None = Field(default=None, gt=0, description="the constant that the schedule leads to")
    shuffled: bool = Field(
        default=False, description="a control: in each batch anew, each pair has the adaptive margin of another pair"
    )
    start: Share = Field(default=0.4, description="fₐ: the share of the epochs at which the schedule is half active")
    steepness: Positive = Field(default=0.1, description="k, per epoch")
    first_epoch: Literal[0, 1] = Field(default=0, description="t of the first epoch, which the paper leaves open")
    always: bool = Field(default=False, description="α = 1 from the first epoch, as in the paper's ablation")
    feature_share: Share = Field(default=0.05, description="λ: weight of the distance of features in the mix")
    feature_norm: FeatureNorm = Field(
        default="max",
        description="what distances of features are divided by to reach 0..1: their maximum, or that of pairs of "
        "different category (max_cross), less their minimum (minmax), or likewise in each modality",
    )
    feature_scope: Literal["corpus", "batch"] = Field(
        default="corpus",
        description="the pairs that `feature_norm` reads: of all training documents, or of the batch",
    )
    centroids: Literal["unit", "raw"] = Field(default="unit", description="of outputs after or before the L2 norm")
    centroid_similarity: Literal["cosine", "dot"] = Field(default="cosine", description="of two centroids")
    refresh: Literal["epoch", "step"] = Field(default="epoch", description="when centroids are computed again")
    anchor: Literal["both", "own"] = Field(
        default="both", description="eq. 8's distance: the mean of both modalities, or that of the anchor's alone"
    )
    negatives: Literal["all", "hardest", "one"] = Field(
        default="all",
        description="items of another category in the batch: all, the one with the largest hinge, or one at random",
    )
    reduction: Literal["batch", "triplets"] = Field(
        default="batch", description="what the sum of hinges is divided by: the batch size, or the number of triplets"
    )

    @model_validator(mode="after")
    def _constant_where_it_leads(self) -> ScheduledMarginSpec:
        if (self.toward == "constant") != (self.constant is not None):
            raise ValueError("constant belongs to toward: constant, which needs it")
        if self.shuffled and self.toward != "adaptive":
            raise ValueError("shuffled belongs to toward: adaptive; only adaptive margins differ between pairs")
        if self.always and self.toward == "nothing":
            raise ValueError("always belongs to a margin that leads somewhere, but toward is nothing")
        return self

    def alpha(self, epoch: int, epochs: int) -> float:
        """alpha of an epoch; 0 where the margin stays fixed, 1 where the schedule is always active.

        Args:
            epoch: From 1 to ``epochs``, as in a history.
            epochs: How many there are.
        """
        if self.toward == "nothing":
            return 0.0
        if self.always:
            return 1.0
        return activation(epoch - 1 + self.first_epoch, self.start, self.steepness, epochs)

    @property
    def reads_features(self) -> bool:
        """Whether the margin depends on distances of features."""
        return self.toward == "adaptive" and self.feature_share > 0

    @property
    def reads_centroids(self) -> bool:
        """Whether the margin depends on the centroids of categories."""
        return self.toward == "adaptive" and self.feature_share < 1


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
    """``[a, n]`` True where two documents differ in category; both arguments are numbers of categories."""
    return anchors[:, None] != (anchors if negatives is None else negatives)


@dataclass(frozen=True)
class Limits:
    """What distances are brought to 0..1 by: ``low`` becomes 0, ``high`` becomes 1."""

    low: float
    high: float

    def scaled(self, distance: Tensor) -> Tensor:
        """Distances in 0..1; those outside the limits (of documents that the limits are not from) are cut off."""
        if not self.high > self.low:  # all are equal: nothing tells one pair from another
            return torch.zeros_like(distance)
        return ((distance - self.low) / (self.high - self.low)).clamp(0, 1)


def limits_of(distance: Tensor, norm: FeatureNorm, different: Tensor) -> Limits:
    """Limits of one matrix of distances; see ``feature_term``.

    Args:
        distance: ``[N, N]``.
        norm: As in ``feature_term``.
        different: ``[N, N]`` as ``different_category`` returns it; only ``max_cross`` reads it.
    """
    if norm == "max_cross":
        of_pairs = distance[different]
        return Limits(0.0, float(of_pairs.max()) if len(of_pairs) else 0.0)
    high = float(distance.max())
    if norm in ("max", "modality_max") or len(distance) < 2:
        return Limits(0.0, high)
    others = distance.clone().fill_diagonal_(torch.inf)
    return Limits(float(others.min()), high)


def feature_limits(image: Tensor, text: Tensor, norm: FeatureNorm, different: Tensor) -> tuple[Limits, ...]:
    """Limits of the mean of both modalities, or of each modality for the norms named so; see ``feature_term``."""
    if norm.startswith("modality"):
        return limits_of(image, norm, different), limits_of(text, norm, different)
    return (limits_of((image + text) / 2, norm, different),)


def feature_term(image: Tensor, text: Tensor, limits: tuple[Limits, ...]) -> Tensor:
    """f_ms: the distance of original features, averaged over modalities and brought to 0..1 (eq. 8).

    The paper does not say how it is brought to 0..1. ``feature_limits`` has five readings: ``max`` divides the mean
    by its maximum; ``max_cross`` by that of pairs of different category, and cuts off at 1; ``minmax`` subtracts the
    minimum over pairs of two documents first; ``modality_max`` and ``modality_minmax`` do so in each modality before
    they are averaged. For eq. 8 read over the anchor's modality alone, give that modality twice.

    Args:
        image: ``[a, n]`` distances of images.
        text: ``[a, n]`` distances of texts.
        limits: Of the whole corpus or of the batch.

    Returns:
        ``[a, n]`` in 0..1.
    """
    if len(limits) == 1:
        return limits[0].scaled((image + text) / 2)
    return (limits[0].scaled(image) + limits[1].scaled(text)) / 2


def unit(vectors: Tensor) -> Tensor:
    """Vectors scaled to length 1; a vector of zeros stays one."""
    scaled: Tensor = vectors / vectors.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(vectors.dtype).tiny)
    return scaled


def centroids(outputs: Tensor, categories: Tensor, n_categories: int, of: Literal["unit", "raw"] = "unit") -> Tensor:
    """The mean output of each category in one modality (eq. 9), never scaled to length 1 again.

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
    terms = []
    for vectors in (image, text):
        if similarity == "cosine":
            vectors = unit(vectors)
        s = vectors @ vectors.T
        terms.append(1 - (1 + s) / 2)
    term = (terms[0] + terms[1]) / 2
    if similarity == "cosine":
        term = term * (1 - torch.eye(len(term), dtype=term.dtype, device=term.device))
    return term


def adaptive_margin(features: Tensor, centroids: Tensor, feature_share: float) -> Tensor:
    """f_am: ``lambda f_ms + (1 - lambda) f_mc`` (eq. 7), for two terms of equal shape."""
    return feature_share * features + (1 - feature_share) * centroids


def scheduled_margin(toward: Tensor, alpha: float, margin: float) -> Tensor:
    """f_m: ``alpha f_am + (1 - alpha) m`` (eq. 6), f_am being what the schedule leads to."""
    return alpha * toward + (1 - alpha) * margin


def shuffled(margins: Tensor, different: Tensor, order: Tensor) -> Tensor:
    """Margins exchanged between the pairs of different category: each pair has that of another.

    Args:
        margins: ``[a, n]``.
        different: ``[a, n]``.
        order: A permutation of as many numbers as there are pairs of different category.
    """
    result = margins.clone()
    result[different] = margins[different][order]
    return result


def hinges(scores: Tensor, positives: Tensor, margins: Tensor) -> Tensor:
    """``max(0, margin - s(anchor, positive) + s(anchor, negative))``, the summand of eq. 3 and 5.

    Args:
        scores: ``[a, n]`` similarity of each anchor to items of the other modality.
        positives: ``[a]`` similarity to the anchor's own image or text.
        margins: ``[a, n]``, or a number.
    """
    return (margins - positives[:, None] + scores).clamp(min=0)


def hinges_of(similarity: Tensor, margins: Both, chosen: tuple[Tensor, Tensor] | None = None) -> Both:
    """Hinges of both directions: images as anchors, texts as anchors.

    Args:
        similarity: ``[B images, B texts]``, documents on the diagonal.
        margins: ``[a, n]`` of each direction; the second has texts as anchors.
        chosen: ``[B, K]`` positions of each anchor's negatives in the batch, for each direction; default all B.

    Returns:
        Twice ``[B, B]`` or ``[B, K]``, the row being the anchor.
    """
    own = similarity.diagonal()
    found = []
    for direction, scores in enumerate((similarity, similarity.T)):
        margin = margins[direction]
        if chosen is not None:
            scores, margin = scores.gather(1, chosen[direction]), margin.gather(1, chosen[direction])
        found.append(hinges(scores, own, margin))
    return found[0], found[1]


def all_negatives(hinge: Tensor, different: Tensor) -> Tensor:
    """``[a, n]`` hinges of every item of another category; the others become 0."""
    return hinge * different


def hardest_negatives(hinge: Tensor, different: Tensor) -> Tensor:
    """``[a, 1]`` the largest hinge of each anchor; 0 for an anchor without an item of another category."""
    return all_negatives(hinge, different).max(dim=1, keepdim=True).values


def one_negative(categories: Tensor, draws: Tensor) -> Tensor:
    """A random item of another category for each anchor.

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
        seed: Of the random choices of ``negatives="one"`` and ``shuffled=True``, which have streams of their own.
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
        different = different_category(categories)
        margins = self.margins(categories, different, epoch, features, clusters, self._shuffle)
        if self.spec.negatives == "one":
            draws = [torch.rand(len(categories), generator=self._choice).to(categories.device) for _ in range(2)]
            chosen = one_negative(categories, draws[0]), one_negative(categories, draws[1])
            found = hinges_of(similarity, margins, chosen)
            kept = tuple(all_negatives(h, different.gather(1, c)) for h, c in zip(found, chosen, strict=True))
        elif self.spec.negatives == "hardest":
            kept = tuple(hardest_negatives(h, different) for h in hinges_of(similarity, margins))
        else:
            kept = tuple(all_negatives(h, different) for h in hinges_of(similarity, margins))
        total = kept[0].sum() + kept[1].sum()
        if self.spec.reduction == "batch":
            return total / len(categories)
        some = different.any(1).sum() if self.spec.negatives != "all" else different.sum()
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
        """f_m of every pair: ``[a, n]`` with images as anchors, and with texts as anchors.

        Args:
            categories: As in ``__call__``.
            different: ``[a, n]``.
            epoch: As in ``__call__``.
            features: As in ``__call__``.
            clusters: As in ``__call__``.
            shuffle: Generator of the control that shuffles margins over pairs.

        Raises:
            InputError: As ``__call__``.
        """
        spec, alpha = self.spec, self.spec.alpha(epoch, self.epochs)
        if spec.toward != "adaptive":
            value = alpha * (spec.constant or 0.0) + (1 - alpha) * spec.margin
            same = torch.full(different.shape, value, device=different.device, dtype=torch.get_default_dtype())
            return same, same
        if spec.reads_features and features is None:
            raise InputError("is missing, but the adaptive margin reads it.", where=Argument("features"))
        if spec.reads_centroids and clusters is None:
            raise InputError("is missing, but the adaptive margin reads it.", where=Argument("clusters"))
        of_pair = None if clusters is None else clusters[categories[:, None], categories]
        terms = features if isinstance(features, tuple) else (features,)
        found = []
        for term in terms:
            first = term if spec.reads_features else 0 * of_pair  # type: ignore[operator]
            second = of_pair if spec.reads_centroids else 0 * term  # type: ignore[operator]
            adaptive = adaptive_margin(first, second, spec.feature_share)  # type: ignore[arg-type]
            if spec.shuffled:
                order = torch.randperm(int(different.sum()), generator=shuffle).to(different.device)
                adaptive = shuffled(adaptive, different, order)
            found.append(scheduled_margin(adaptive, alpha, spec.margin))
        return found[0], found[-1]
