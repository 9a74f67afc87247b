"""VSE++: one vector an image, one a caption, and their dot product.

Source: Faghri et al., "VSE++: Improving Visual-Semantic Embeddings with Hard Negatives", and its released code
(github.com/fartashf/vsepp), whose numbers ``vsepp.npz`` holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from fivesentences.errors import InputError
from fivesentences.models.matching import Matcher, l2_normalised, load_released, shape_of

RELEASED_NAMES = {"img_enc.fc.": "image_projection.", "txt_enc.embed.": "words.", "txt_enc.rnn.": "sentence."}


class VSEPP(Matcher):
    """Image: linear, L2 norm. Caption: word vectors, GRU, state at the last true word, L2 norm. Score: dot product.

    Args:
        image_dim: Length of an image's feature vector.
        vocabulary_size: Number of words.
        embedding: Length of the common space.
        word: Length of a word vector.
        layers: GRU layers.
        measure: ``"cosine"``, or ``"order"``: minus the length of what of the image exceeds the caption.
        normalise_images: Off, image vectors keep their length (released option ``no_imgnorm``).
        use_abs: Absolute values of both vectors after the norm (released option, meant for ``"order"``).
    """

    def __init__(
        self,
        *,
        image_dim: int,
        vocabulary_size: int,
        embedding: int = 1024,
        word: int = 300,
        layers: int = 1,
        measure: Literal["cosine", "order"] = "cosine",
        normalise_images: bool = True,
        use_abs: bool = False,
    ):
        super().__init__(image_dim=image_dim, vocabulary_size=vocabulary_size)
        if measure not in ("cosine", "order"):
            raise InputError(f"VSE++: measure is {measure!r}; it is 'cosine' or 'order'.")
        self.measure, self.normalise_images, self.use_abs = measure, normalise_images, use_abs
        self.image_projection = nn.Linear(image_dim, embedding)
        self.words = nn.Embedding(vocabulary_size, word)
        self.sentence = nn.GRU(word, embedding, layers, batch_first=True)  # torch's own initialisation, as released
        bound = math.sqrt(6.0 / (image_dim + embedding))
        nn.init.uniform_(self.image_projection.weight, -bound, bound)
        nn.init.zeros_(self.image_projection.bias)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)

    @classmethod
    def from_released(cls, state_dict: Mapping[str, Tensor], **options: Any) -> Self:
        """The model with released weights (``img_enc.fc``, ``txt_enc.embed``, ``txt_enc.rnn``); sizes from shapes."""
        embedding, image_dim = shape_of(state_dict, "img_enc.fc.weight", "VSE++")
        vocabulary_size, word = shape_of(state_dict, "txt_enc.embed.weight", "VSE++")
        model = cls(
            image_dim=image_dim,
            vocabulary_size=vocabulary_size,
            embedding=embedding,
            word=word,
            layers=max(sum(key.startswith("txt_enc.rnn.weight_ih_l") for key in state_dict), 1),
            **options,
        )
        load_released(model, state_dict, RELEASED_NAMES, "VSE++")
        return model

    def encode_images(self, images: Tensor) -> Tensor:
        """``[images, image_dim]`` -> ``[images, embedding]``."""
        vectors: Tensor = self.image_projection(images.to(self.image_projection.weight.dtype))
        if self.normalise_images:
            vectors = l2_normalised(vectors)
        return vectors.abs() if self.use_abs else vectors

    def encode_captions(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """``[captions, longest]``, ``[captions]`` -> ``[captions, embedding]``."""
        # Packing skips the padding: padding every caption to the longest costs more than twice as much.
        packed = pack_padded_sequence(
            self.words(caption_tokens), caption_lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        _, last = self.sentence(packed)  # [layers, captions, embedding]
        vectors = l2_normalised(last[-1])
        return vectors.abs() if self.use_abs else vectors

    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        """``[images, embedding]``, ``[captions, embedding]`` -> ``[images, captions]``."""
        if self.measure == "cosine":
            return images @ captions.T
        excess = (captions[None, :, :] - images[:, None, :]).clamp(min=0)  # [images, captions, embedding]
        excess_length: Tensor = torch.linalg.vector_norm(excess, dim=2)
        return -excess_length
