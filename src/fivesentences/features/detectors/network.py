"""The bottom-up attention network: Faster R-CNN on the fourth stage of a ResNet-101, with classes and attributes.

Modules are named so that their keys are those of the published weights. Everything is frozen; nothing here trains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.ops import roi_pool

from fivesentences.config.types import FlavourName
from fivesentences.errors import InputError, did_you_mean
from fivesentences.features.detectors import boxes

ANCHORS = 12  # per cell
BLOCKS = (3, 4, 23, 3)  # of ResNet-101
POOLED = 14  # cells along a side of a pooled region


@dataclass(frozen=True)
class Flavour:
    """How weights of one conversion are named, laid out and meant to be used; the defaults are those of ``d2``.

    Attributes:
        name: ``d2`` for weights named as by detectron2 and Hugging Face, ``caffe`` for those that keep Caffe's layout.
        pixels_inclusive: Whether a box ends on its last pixel (Caffe: width = x2 - x1 + 1) or behind it (x2 - x1).
        background_first: Whether background is class 0 or the last class; "no attribute" stands likewise.
        paired_objectness: Whether an anchor has two scores, all of the background before all of objects.
        box_weights: Divisors of the regressed dx, dy, dw and dh of a class.
        smallest_side: Smallest side of a proposal, in pixels of the original image; 0 drops only empty boxes.
        embedding: Key of the class embedding that the attribute head reads, within the box predictor.
        attribute_hidden: Key of the first layer of the attribute head.
        attribute_scores: Key of the second.
    """

    name: FlavourName = "d2"
    pixels_inclusive: bool = False
    background_first: bool = False
    paired_objectness: bool = False
    box_weights: tuple[float, float, float, float] = (10.0, 10.0, 5.0, 5.0)
    smallest_side: float = 0.0
    embedding: str = "cls_embedding"
    attribute_hidden: str = "fc_attr"
    attribute_scores: str = "attr_score"


FLAVOURS: dict[FlavourName, Flavour] = {
    "d2": Flavour(),
    "caffe": Flavour(
        name="caffe",
        pixels_inclusive=True,
        background_first=True,
        paired_objectness=True,
        box_weights=(1.0, 1.0, 1.0, 1.0),
        smallest_side=16.0,
        embedding="cls_embed",
        attribute_hidden="attr_linear1",
        attribute_scores="attr_linear2",
    ),
}


def flavour_named(name: str) -> Flavour:
    """Return the flavour of a name.

    Raises:
        InputError: If there is none of this name.
    """
    known = get_args(FlavourName)
    if name not in known:
        raise InputError(f"flavour is '{name}'", cure=did_you_mean(name, known) or f"choose {' or '.join(known)}")
    return FLAVOURS[name]  # type: ignore[index]


@dataclass(frozen=True)
class Widths:
    """Numbers of channels and classes; the defaults are those of the published weights.

    Attributes:
        stem: After the first convolution.
        bottleneck: Within the blocks of the first stage; doubled from stage to stage.
        out: The same for the first stage.
        proposals: Within the proposal network.
        classes: Without background.
        attributes: Without "no attribute".
        embedding: Embedding of the class, as the attribute head reads it.
        attribute_hidden: Within the attribute head.
    """

    stem: int = 64
    bottleneck: int = 64
    out: int = 256
    proposals: int = 512
    classes: int = 1600
    attributes: int = 400
    embedding: int = 256
    attribute_hidden: int = 512

    @classmethod
    def of(cls, state: Mapping[str, Tensor], flavour: Flavour) -> Widths:
        """Return the widths that tensors have; the published ones where a key is missing, which ``fit`` then names."""
        published, heads = cls(), "roi_heads.box_predictor"
        places = {  # of each width: a tensor, its axis, and what is not counted
            "stem": ("backbone.stem.conv1.weight", 0, 0),
            "bottleneck": ("backbone.res2.0.conv1.weight", 0, 0),
            "out": ("backbone.res2.0.conv3.weight", 0, 0),
            "proposals": ("proposal_generator.rpn_head.conv.weight", 0, 0),
            "classes": (f"{heads}.cls_score.weight", 0, 1),
            "attributes": (f"{heads}.{flavour.attribute_scores}.weight", 0, 1),
            "embedding": (f"{heads}.{flavour.embedding}.weight", 1, 0),
            "attribute_hidden": (f"{heads}.{flavour.attribute_hidden}.weight", 0, 0),
        }
        found = dict[str, int]()
        for name, (key, axis, more) in places.items():
            shape = state[key].shape if key in state else ()
            found[name] = shape[axis] - more if len(shape) > axis and shape[axis] > more else getattr(published, name)
        return cls(**found)


class Proposals(NamedTuple):
    """Boxes that may hold an object, best first.

    Attributes:
        boxes: ``[n, 4]`` in pixels of the resized image.
        scores: ``[n]``: logits (``d2``) or probabilities (``caffe``) of being an object.
    """

    boxes: Tensor
    scores: Tensor


class Recognised(NamedTuple):
    """Output of the heads for ``n`` regions.

    Attributes:
        classes: ``[n, classes]`` probabilities, which with the background's sum to 1.
        attributes: ``[n, attributes]`` probabilities of attributes.
        deltas: ``[n, 4 * classes]`` regressed boxes, see ``boxes.decode``.
    """

    classes: Tensor
    attributes: Tensor
    deltas: Tensor


class ConvNorm(nn.Conv2d):
    """A convolution without bias, and the batch normalisation behind it with frozen statistics."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1, padding: int = 0, dilation: int = 1):
        super().__init__(inputs, outputs, size, stride, padding, dilation, bias=False)
        self.norm = FrozenNorm(outputs)

    def forward(self, maps: Tensor) -> Tensor:  # noqa: D102
        return self.norm(super().forward(maps))  # type: ignore[no-any-return]


class FrozenNorm(nn.Module):
    """Batch normalisation by stored statistics."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int):
        super().__init__()
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((channels,), value))

    def forward(self, maps: Tensor) -> Tensor:  # noqa: D102
        return functional.batch_norm(maps, self.running_mean, self.running_var, self.weight, self.bias, eps=1e-5)


class Bottleneck(nn.Module):
    """A residual block; as in Caffe, its first convolution has the stride."""

    def __init__(self, inputs: int, inner: int, outputs: int, stride: int = 1, dilation: int = 1):
        super().__init__()
        self.shortcut = ConvNorm(inputs, outputs, 1, stride) if inputs != outputs else None
        self.conv1 = ConvNorm(inputs, inner, 1, stride)
        self.conv2 = ConvNorm(inner, inner, 3, padding=dilation, dilation=dilation)
        self.conv3 = ConvNorm(inner, outputs, 1)

    def forward(self, maps: Tensor) -> Tensor:  # noqa: D102
        past = maps if self.shortcut is None else self.shortcut(maps)
        inner = self.conv2(self.conv1(maps).relu_()).relu_()
        return self.conv3(inner).add_(past).relu_()  # type: ignore[no-any-return]


def stage(inputs: int, inner: int, outputs: int, blocks: int, stride: int, dilation: int = 1) -> nn.Sequential:
    """Return the blocks of one stage; the first has the stride."""
    first = Bottleneck(inputs, inner, outputs, stride, dilation)
    return nn.Sequential(first, *(Bottleneck(outputs, inner, outputs, 1, dilation) for _ in range(blocks - 1)))


class Stem(nn.Module):
    """The first convolution and the pooling behind it, which rounds sizes up."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv1 = ConvNorm(3, channels, 7, stride=2, padding=3)

    def forward(self, images: Tensor) -> Tensor:  # noqa: D102
        return functional.max_pool2d(self.conv1(images).relu_(), kernel_size=3, stride=2, ceil_mode=True)


class Backbone(nn.Module):
    """Images to the map of the fourth stage, 16 pixels per cell."""

    def __init__(self, widths: Widths):
        super().__init__()
        inner, out = widths.bottleneck, widths.out
        self.stem = Stem(widths.stem)
        self.res2 = stage(widths.stem, inner, out, BLOCKS[0], stride=1)
        self.res3 = stage(out, 2 * inner, 2 * out, BLOCKS[1], stride=2)
        self.res4 = stage(2 * out, 4 * inner, 4 * out, BLOCKS[2], stride=2)

    def forward(self, images: Tensor) -> Tensor:  # noqa: D102
        return self.res4(self.res3(self.res2(self.stem(images))))  # type: ignore[no-any-return]


class CellAnchors(nn.Module):
    """The table of anchors, which published weights contain under the key ``0``."""

    def __init__(self, flavour: Flavour):
        super().__init__()
        self.register_buffer("0", torch.from_numpy(boxes.cell_anchors(flavour.name)).float())

    def table(self) -> Tensor:
        """Return ``[anchors, 4]`` of the cell at the origin."""
        return self.get_buffer("0")


class AnchorGenerator(nn.Module):
    """Holds the table of anchors, for the sake of its key."""

    def __init__(self, flavour: Flavour):
        super().__init__()
        self.cell_anchors = CellAnchors(flavour)

    def forward(self, height: int, width: int) -> Tensor:
        """Return the anchors of a map: ``[height * width * anchors, 4]``."""
        table = self.cell_anchors.table()
        return torch.from_numpy(boxes.grid(table.cpu().numpy(), height, width)).to(table.device)


class ProposalHead(nn.Module):
    """Scores and deltas of every anchor."""

    def __init__(self, flavour: Flavour, inputs: int, hidden: int):
        super().__init__()
        self.conv = nn.Conv2d(inputs, hidden, 3, padding=1)
        self.objectness_logits = nn.Conv2d(hidden, ANCHORS * (2 if flavour.paired_objectness else 1), 1)
        self.anchor_deltas = nn.Conv2d(hidden, 4 * ANCHORS, 1)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``[n, 12 or 24, height, width]`` and ``[n, 48, height, width]``."""
        hidden = self.conv(maps).relu_()
        return self.objectness_logits(hidden), self.anchor_deltas(hidden)


class ProposalGenerator(nn.Module):
    """The proposal network."""

    def __init__(self, flavour: Flavour, inputs: int, hidden: int):
        super().__init__()
        self.flavour = flavour
        self.anchor_generator = AnchorGenerator(flavour)
        self.rpn_head = ProposalHead(flavour, inputs, hidden)

    def forward(
        self, maps: Tensor, size: tuple[int, int], scale: float, candidates: int, most: int, threshold: float
    ) -> list[Proposals]:
        """Propose boxes.

        Args:
            maps: ``[images, channels, height, width]``.
            size: Height and width of the resized images.
            scale: By how much they were enlarged; ``caffe`` measures the smallest proposals in the original image.
            candidates: How many of the best anchors compete.
            most: How many boxes are proposed.
            threshold: Overlap above which the less probable box is dropped.
        """
        logits, deltas = self.rpn_head(maps)
        grid, inclusive = self.anchor_generator(*maps.shape[2:]), self.flavour.pixels_inclusive
        proposals = []
        for scores, moved in zip(self._scores(logits), _by_anchor(deltas, 4), strict=True):
            order = torch.argsort(scores, descending=True, stable=True)
            if not inclusive:  # Caffe lets those that are too small drop out before it counts
                order = order[:candidates]
            found = boxes.decode(grid[order], moved[order], inclusive=inclusive)
            found = boxes.clip(found, *size, inclusive=inclusive)
            stays = boxes.large_enough(found, self.flavour.smallest_side * scale, inclusive)
            found, scores = found[stays][:candidates], scores[order][stays][:candidates]
            keep = boxes.nms(found, scores, threshold, inclusive)[:most]
            proposals.append(Proposals(found[keep], scores[keep]))
        return proposals

    def _scores(self, logits: Tensor) -> Tensor:
        """Return ``[images, anchors of the whole map]``."""
        if not self.flavour.paired_objectness:
            return _by_anchor(logits, 1)[..., 0]
        images, _, height, width = logits.shape
        pairs = logits.reshape(images, 2, ANCHORS, height, width).softmax(dim=1)  # background, object
        return _by_anchor(pairs[:, 1], 1)[..., 0]


def _by_anchor(maps: Tensor, values: int) -> Tensor:
    """Return ``[images, anchors * values, height, width]`` as ``[images, height * width * anchors, values]``."""
    images, channels, height, width = maps.shape
    each = maps.reshape(images, channels // values, values, height, width)
    return each.permute(0, 3, 4, 1, 2).reshape(images, -1, values)


class BoxPredictor(nn.Module):
    """Classes, attributes and regressed boxes of pooled regions."""

    def __init__(self, flavour: Flavour, inputs: int, widths: Widths):
        super().__init__()
        self.flavour, self.class_count = flavour, widths.classes
        self.cls_score = nn.Linear(inputs, widths.classes + 1)
        self.bbox_pred = nn.Linear(inputs, 4 * (widths.classes + (1 if flavour.background_first else 0)))
        self.add_module(flavour.embedding, nn.Embedding(widths.classes + 1, widths.embedding))
        self.add_module(flavour.attribute_hidden, nn.Linear(inputs + widths.embedding, widths.attribute_hidden))
        self.add_module(flavour.attribute_scores, nn.Linear(widths.attribute_hidden, widths.attributes + 1))

    def forward(self, features: Tensor) -> Recognised:
        """Run the heads on features ``[n, dim]``."""
        logits = self.cls_score(features)
        probabilities = logits.softmax(dim=1)
        attributes = self.attribute_logits(features, logits.argmax(dim=1))
        deltas = self.bbox_pred(features)
        if self.flavour.background_first:
            return Recognised(probabilities[:, 1:], attributes.softmax(dim=1)[:, 1:], deltas[:, 4:])
        # The released code drops "no attribute" before the softmax here, and after it above.
        return Recognised(probabilities[:, :-1], attributes[:, :-1].softmax(dim=1), deltas)

    def attribute_logits(self, features: Tensor, classes: Tensor) -> Tensor:
        """Return ``[n, attributes + 1]`` of features ``[n, dim]`` and classes ``[n]``, counted with background."""
        flavour = self.flavour
        embedded = self.get_submodule(flavour.embedding)(classes)
        hidden = self.get_submodule(flavour.attribute_hidden)(torch.cat((features, embedded), dim=1)).relu()
        return self.get_submodule(flavour.attribute_scores)(hidden)  # type: ignore[no-any-return]


class RegionHeads(nn.Module):
    """Pooled regions to features, and these to classes."""

    def __init__(self, flavour: Flavour, widths: Widths):
        super().__init__()
        # The fifth stage keeps the size of its input and dilates its 3 x 3 convolutions instead.
        self.res5 = stage(4 * widths.out, 8 * widths.bottleneck, 8 * widths.out, BLOCKS[3], stride=1, dilation=2)
        self.box_predictor = BoxPredictor(flavour, 8 * widths.out, widths)

    def forward(self, maps: Tensor, found: Tensor, chunk: int = 50) -> Tensor:
        """Features of boxes: ``[n, dim]``, the mean over a region, not negative and not normalised.

        Args:
            maps: ``[1, channels, height, width]``.
            found: ``[n, 4]`` boxes in pixels of the resized image.
            chunk: Boxes at once; a region takes some 4 MB.
        """
        parts = [self.res5(pool(maps, part)).mean(dim=(2, 3)) for part in torch.split(found, chunk)]
        return torch.cat(parts) if parts else maps.new_zeros((0, self.box_predictor.cls_score.in_features))


def pool(maps: Tensor, found: Tensor) -> Tensor:
    """RoIPool of boxes ``[n, 4]``, corners rounded to cells: ``[n, channels, 14, 14]``."""
    pooled: Tensor = roi_pool(maps, [found], output_size=POOLED, spatial_scale=1 / boxes.STRIDE)
    return pooled


class BottomUpNetwork(nn.Module):
    """The whole network, in evaluation mode and without gradients, with weights that are still to be loaded."""

    def __init__(self, flavour: Flavour, widths: Widths | None = None):
        super().__init__()
        widths = Widths() if widths is None else widths
        self.flavour, self.widths = flavour, widths
        self.backbone = Backbone(widths)
        self.proposal_generator = ProposalGenerator(flavour, 4 * widths.out, widths.proposals)
        self.roi_heads = RegionHeads(flavour, widths)
        self.requires_grad_(False).eval()
