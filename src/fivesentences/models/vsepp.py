"""VSE++: one vector per image, one per caption, and their dot product.

Source: Faghri et al., "VSE++: Improving Visual-Semantic Embeddings with Hard Negatives", and its released code
(github.com/fartashf/vsepp), whose numbers ``vsepp.npz`` holds. Xavier initialisation and temporal pooling: Liu and Ye,
"A Strong and Robust Baseline for Text-Image Matching", sections 2.1 and 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from fivesentences.config.reading import check
from fivesentences.models.matching import Matcher, dot_products, l2_normalised, load_released, shape_of
from fivesentences.models.recurrence import GRU
from fivesentences.models.specs import VSEPPSpec
from fivesentences.models.words import packed

RELEASED_NAMES = {"img_enc.fc.": "image_projection.", "txt_enc.embed.": "words.", "txt_enc.rnn.": "sentence."}


class VSEPP(Matcher):
    """VSE++ (Faghri et al. 2018): one vector per image, one per caption, and their dot product.

    Image: linear, L2 norm. Caption: word vectors, GRU, state at the last true word (or the mean or the largest values
    of the states at all true words), L2 norm.

    Args:
        spec: Its settings and widths.
        image_dim: Length of an image feature vector.
        vocabulary_size: Number of words.
    """

    spec: VSEPPSpec

    def __init__(self, spec: VSEPPSpec, *, image_dim: int, vocabulary_size: int):
        super().__init__(spec)
        self.image_projection = nn.Linear(image_dim, spec.embedding)
        self.words = nn.Embedding(vocabulary_size, spec.word)
        # torch's own initialisation, as released
        self.sentence = GRU(spec.word, spec.embedding, spec.layers, batch_first=True)
        nn.init.xavier_uniform_(self.image_projection.weight)
        nn.init.zeros_(self.image_projection.bias)
        if spec.initialisation == "xavier":
            nn.init.xavier_uniform_(self.words.weight)
            for name, weight in self.sentence.named_parameters():
                draw = nn.init.zeros_ if name.startswith("bias") else nn.init.xavier_uniform_
                for gate in weight.detach().chunk(3):  # three matrices, each with a fan-in and fan-out of its own
                    draw(gate)
        else:
            nn.init.uniform_(self.words.weight, -0.1, 0.1)

    @classmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """The model with released weights (``img_enc.fc``, ``txt_enc.embed``, ``txt_enc.rnn``); sizes from shapes."""
        embedding, image_dim = shape_of(state_dict, "img_enc.fc.weight", "VSE++")
        vocabulary_size, word = shape_of(state_dict, "txt_enc.embed.weight", "VSE++")
        layers = max(sum(key.startswith("txt_enc.rnn.weight_ih_l") for key in state_dict), 1)
        spec = check(VSEPPSpec, {"embedding": embedding, "word": word, "layers": layers} | options, "VSE++")
        model = cls(spec, image_dim=image_dim, vocabulary_size=vocabulary_size)
        load_released(model, state_dict, RELEASED_NAMES, "VSE++")
        return model

    def encode_images(self, images: Tensor) -> Tensor:
        """Map ``[images, image_dim]`` -> ``[images, embedding]``."""
        vectors: Tensor = self.image_projection(images.to(self.image_projection.weight.dtype))
        if self.spec.normalise_images:
            vectors = l2_normalised(vectors)
        return vectors.abs() if self.spec.use_abs else vectors

    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """Map ``[captions, longest]``, ``[captions]`` -> ``[captions, embedding]``."""
        states, last = self.sentence(packed(self.words(caption_tokens), caption_lengths))
        vectors = l2_normalised(last[-1] if self.spec.pooling == "last" else self._pooled(states))
        return vectors.abs() if self.spec.use_abs else vectors

    def _pooled(self, states: PackedSequence) -> Tensor:
        """Return the mean or largest values of the states at each caption's true words: ``[captions, embedding]``."""
        if self.spec.pooling == "max":
            padded, _ = pad_packed_sequence(states, batch_first=True, padding_value=-torch.inf)
            return padded.amax(dim=1)
        padded, lengths = pad_packed_sequence(states, batch_first=True)
        return padded.sum(dim=1) / lengths[:, None].to(padded)

    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        """Map ``[images, embedding]``, ``[captions, embedding]`` -> ``[images, captions]``."""
        if self.spec.measure == "cosine":
            return dot_products(images, captions)
        excess = (captions[None, :, :] - images[:, None, :]).clamp(min=0)  # [images, captions, embedding]
        excess_length: Tensor = torch.linalg.vector_norm(excess, dim=2)
        return -excess_length
