"""Captions as one vector per word: word vectors, then a GRU in one or both directions."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from fivesentences.models.matching import shape_of
from fivesentences.models.recurrence import GRU


class WordStates(nn.Module):
    """Word vectors -> dropout -> GRU; two directions are averaged, so that both are ``embedding`` wide.

    Word vectors are drawn from U(-0.1, 0.1), the GRU as torch draws it (SCAN, SGR and SAF as released).

    Args:
        vocabulary_size: Number of words.
        word: Length of a word vector.
        embedding: Length of a word's state.
        layers: GRU layers.
        bidirectional: Whether the GRU also reads each caption backward, from its last true word.
        dropout: Share of the entries of word vectors that are dropped in training.
    """

    def __init__(
        self, vocabulary_size: int, word: int, embedding: int, layers: int, bidirectional: bool, dropout: float = 0.0
    ):
        super().__init__()
        self.words = nn.Embedding(vocabulary_size, word)
        self.dropout = nn.Dropout(dropout)
        self.sentence = GRU(word, embedding, layers, batch_first=True, bidirectional=bidirectional)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)

    def forward(self, caption_tokens: Tensor, caption_lengths: Tensor) -> Tensor:
        """``[captions, longest]``, ``[captions]`` -> ``[captions, longest, embedding]``, zeros after each end."""
        vectors = self.dropout(self.words(caption_tokens))
        states, _ = pad_packed_sequence(self.sentence(packed(vectors, caption_lengths))[0], batch_first=True)
        if self.sentence.bidirectional:
            forward, backward = states.chunk(2, dim=2)
            states = (forward + backward) / 2
        return states


def packed(vectors: Tensor, caption_lengths: Tensor) -> PackedSequence:
    """Return ``[captions, longest, width]`` without what stands behind each caption's end, which a GRU then skips.

    To pad every caption to the longest would cost more than twice as much.
    """
    return pack_padded_sequence(vectors, caption_lengths.cpu(), batch_first=True, enforce_sorted=False)


def word_sizes(state_dict: Mapping[str, Tensor], embed: str, rnn: str, title: str) -> tuple[int, dict[str, int | bool]]:
    """Number of words and settings of ``WordStates`` in released weights ``embed`` and ``rnn``, prefixes with a dot.

    Raises:
        InputError: If a weight is missing.
    """
    vocabulary_size, word = shape_of(state_dict, f"{embed}weight", title)
    shape_of(state_dict, f"{rnn}weight_ih_l0", title)
    inputs = [key.removeprefix(rnn) for key in state_dict if key.startswith(f"{rnn}weight_ih_l")]
    return vocabulary_size, {
        "word": word,
        "layers": sum(not name.endswith("_reverse") for name in inputs),
        "bidirectional": any(name.endswith("_reverse") for name in inputs),
    }


def inside(lengths: Tensor, longest: int) -> Tensor:
    """Return ``[captions, longest]``, True where a position is a word."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]
