"""VSRN: relations between regions, a GRU that gathers them into one vector, and a captioning loss in training.

Source: Li et al., "Visual Semantic Reasoning for Image-Text Matching", and its released code
(github.com/KunpengLi1994/VSRN), whose numbers ``vsrn_f30k.npz`` and ``vsrn_coco.npz`` hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from fivesentences.config.reading import check
from fivesentences.models.captioner import Captioner, caption_labels
from fivesentences.models.matching import (
    Matcher,
    TrainingScores,
    Treatment,
    batch_normalised,
    dot_products,
    l2_normalised,
    load_released,
    shape_of,
)
from fivesentences.models.specs import VSRNSpec
from fivesentences.models.words import packed

BLOCKS = 4
RELEASED_NAMES = {
    "img_enc.fc.": "image_projection.",
    "img_enc.img_rnn.": "gathering.",
    "img_enc.bn.": "image_norm.",
    "txt_enc.embed.": "words.",
    "txt_enc.rnn.": "sentence.",
    "caption_model.encoder.vid2hid.": "captioner.projection.",
    "caption_model.encoder.rnn.": "captioner.reader.",
    "caption_model.decoder.embedding.": "captioner.words.",
    "caption_model.decoder.attention.linear1.": "captioner.attention.",
    "caption_model.decoder.attention.linear2.": "captioner.attention_score.",
    "caption_model.decoder.rnn.weight_ih_l0": "captioner.writer.weight_ih",
    "caption_model.decoder.rnn.weight_hh_l0": "captioner.writer.weight_hh",
    "caption_model.decoder.rnn.bias_ih_l0": "captioner.writer.bias_ih",
    "caption_model.decoder.rnn.bias_hh_l0": "captioner.writer.bias_hh",
    "caption_model.decoder.out.": "captioner.out.",
} | {
    f"img_enc.Rs_GCN_{block + 1}.{theirs}": f"relations.{block}.{ours}"
    for block in range(BLOCKS)
    for theirs, ours in (("theta.", "theta."), ("phi.", "phi."), ("g.", "value."), ("W.0.", "out."), ("W.1.", "norm."))
}


class VSRN(Matcher):
    """VSRN (Li et al. 2019): regions exchange information and are gathered into one vector per image.

    Image: linear, four relation blocks, GRU over the regions. Caption: GRU, as VSE++. Score: dot product.

    Args:
        spec: Its settings and widths.
        image_dim: Length of a region's feature vector; any number of regions.
        vocabulary_size: Number of words.
    """

    spec: VSRNSpec

    def __init__(self, spec: VSRNSpec, *, image_dim: int, vocabulary_size: int):
        super().__init__(spec)
        embedding = spec.embedding
        self.image_projection = nn.Linear(image_dim, embedding)
        self.relations = nn.ModuleList(RegionRelations(embedding) for _ in range(BLOCKS))
        self.gathering = nn.GRU(embedding, embedding, batch_first=True)
        self.image_norm = nn.BatchNorm1d(embedding) if spec.recipe == "flickr30k" else None
        self.words = nn.Embedding(vocabulary_size, spec.word)
        self.sentence = nn.GRU(spec.word, embedding, batch_first=True)
        self.captioner: Captioner | None = None
        if spec.captioning:
            self.captioner = Captioner(
                region_dim=embedding,
                vocabulary_size=vocabulary_size,
                hidden=spec.caption_hidden,
                word=spec.caption_word,
                longest=spec.caption_longest,
                dropout=spec.caption_dropout,
            )
        nn.init.xavier_uniform_(self.image_projection.weight)
        nn.init.zeros_(self.image_projection.bias)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)

    def treatments(self) -> Sequence[Treatment]:
        """Return the captioner, where its weights stand in the optimiser's list twice, as released."""
        if self.captioner is None or self.spec.captioner_steps == 1:
            return ()
        return [Treatment(tuple(self.captioner.parameters()), times=self.spec.captioner_steps)]

    @classmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """Return the model with released weights (``img_enc``, ``txt_enc`` and, if it is there, ``caption_model``).

        Sizes and recipe are read from the weights. The authors' checkpoints hold no captioner; the model then has
        none and adds no captioning loss in further training.
        """
        embedding, image_dim = shape_of(state_dict, "img_enc.fc.weight", "VSRN")
        vocabulary_size, word = shape_of(state_dict, "txt_enc.embed.weight", "VSRN")
        sizes: dict[str, Any] = {"recipe": "flickr30k" if "img_enc.bn.weight" in state_dict else "coco"}
        if any(name.startswith("caption_model.") for name in state_dict):
            name = "caption_model.decoder.embedding.weight"
            sizes["caption_hidden"], _ = shape_of(state_dict, "caption_model.encoder.vid2hid.weight", "VSRN")
            _, sizes["caption_word"] = shape_of(state_dict, name, "VSRN")
        else:
            sizes["captioning"] = 0.0
        spec = check(VSRNSpec, {"embedding": embedding, "word": word} | sizes | options, "VSRN")
        model = cls(spec, image_dim=image_dim, vocabulary_size=vocabulary_size)
        # A convolution over single regions is a linear layer: [out, in, 1] -> [out, in].
        plain = {
            name: tensor.squeeze(2) if tensor.ndim == 3 and tensor.shape[2] == 1 else tensor
            for name, tensor in state_dict.items()
        }
        load_released(model, plain, RELEASED_NAMES, "VSRN")
        return model

    # --- scores ---------------------------------------------------------------------------------------------

    def encode_images(self, images: Tensor) -> Tensor:
        """Map ``[images, regions, image_dim]`` -> ``[images, embedding]``."""
        return self.gathered(self.related_regions(images))

    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """Map ``[captions, longest]``, ``[captions]`` -> ``[captions, embedding]``."""
        _, last = self.sentence(packed(self.words(caption_tokens), caption_lengths))  # [1, captions, embedding]
        return l2_normalised(last[-1])

    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        """Map ``[images, embedding]``, ``[captions, embedding]`` -> ``[images, captions]``."""
        return dot_products(images, captions)

    def training_scores(
        self, images: Tensor, caption_tokens: Tensor, caption_lengths: Tensor, **extras: Tensor
    ) -> TrainingScores:
        """Return the similarity of a batch of pairs, and the captioning loss as ``extra``.

        Nothing is needed beyond images and captions: the captioner learns to write the caption itself.
        """
        regions = self.related_regions(images)
        similarity = self.similarity(self.gathered(regions), self.encode_captions(caption_tokens, caption_lengths))
        if self.captioner is None:
            return TrainingScores(similarity)
        labels = caption_labels(caption_tokens, caption_lengths, self.captioner.longest)
        return TrainingScores(similarity, extra=self.spec.captioning * self.captioner.loss(regions, labels))

    # --- the steps of an image ------------------------------------------------------------------------------

    def projected_regions(self, images: Tensor) -> Tensor:
        """Map ``[images, regions, image_dim]`` -> ``[images, regions, embedding]``."""
        regions: Tensor = self.image_projection(images.to(self.image_projection.weight.dtype))
        return normalised_over_regions(regions) if self.spec.recipe == "coco" else regions

    def related_regions(self, images: Tensor) -> Tensor:
        """Regions after the relation blocks, ``[images, regions, embedding]``; the captioner reads them too."""
        regions = self.projected_regions(images)
        for block in self.relations:
            regions = block(regions)
        return normalised_over_regions(regions)

    def gathered(self, regions: Tensor) -> Tensor:
        """Return the GRU's last state over the regions in their order, ``[images, embedding]``, of length 1."""
        _, last = self.gathering(regions)
        vectors: Tensor = last[-1]
        if self.image_norm is not None:
            vectors = batch_normalised(self.image_norm, vectors)
        return l2_normalised(vectors)


class RegionRelations(nn.Module):
    """Every region adds a sum over all regions, weighted by affinity: no softmax, divided by the number of regions.

    The batch norm at the end starts at 0, so that a fresh block changes nothing.
    """

    def __init__(self, width: int):
        super().__init__()
        self.theta, self.phi, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm = nn.BatchNorm1d(width)
        nn.init.zeros_(self.norm.weight)
        nn.init.zeros_(self.norm.bias)

    def forward(self, regions: Tensor) -> Tensor:
        """Map ``[images, regions, width]`` -> the same shape."""
        images, count, width = regions.shape
        affinity = torch.bmm(self.theta(regions), self.phi(regions).transpose(1, 2)) / count
        message = self.out(torch.bmm(affinity, self.value(regions)))
        # One statistic per feature, over images and regions alike.
        return batch_normalised(self.norm, message.view(images * count, width)).view_as(regions) + regions


def normalised_over_regions(regions: Tensor) -> Tensor:
    """Scale each feature's values over the regions of an image to length 1; a feature that is 0 everywhere stays so.

    The released code normalises axis 1 here, which holds the regions, where the features were meant. Its published
    numbers come from this, so it is the model.
    """
    length: Tensor = torch.linalg.vector_norm(regions, dim=1, keepdim=True)
    return regions / torch.where(length > 0, length, 1)
