"""VSRN's captioner: it generates the caption from the image's relation features, as a further training loss.

Source: Li et al., "Visual Semantic Reasoning for Image-Text Matching", section 3.3, and the released code
(github.com/KunpengLi1994/VSRN), whose numbers ``vsrn_f30k.npz`` and ``vsrn_coco.npz`` hold.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Captioner(nn.Module):
    """Linear and GRU over the regions; a second GRU writes words and attends over the outputs of the first.

    Teacher forcing only: the word before the one to be written is always the true one.

    Args:
        region_dim: Length of a region's vector.
        vocabulary_size: Number of words.
        hidden: State of both GRUs.
        word: Length of a word vector; the captioner has its own.
        longest: Most words written, ``<start>`` and ``<end>`` included, at least 2; longer captions are cut.
        dropout: Share of each GRU's input set to 0 in training.
    """

    def __init__(self, *, region_dim: int, vocabulary_size: int, hidden: int, word: int, longest: int, dropout: float):
        super().__init__()
        self.longest, self.dropout = longest, dropout
        self.projection = nn.Linear(region_dim, hidden)
        self.reader = nn.GRU(hidden, hidden, batch_first=True)
        self.words = nn.Embedding(vocabulary_size, word)
        self.attention = nn.Linear(2 * hidden, hidden)
        self.attention_score = nn.Linear(hidden, 1, bias=False)
        self.writer = nn.GRUCell(word + hidden, hidden)
        self.out = nn.Linear(hidden, vocabulary_size)
        nn.init.xavier_normal_(self.projection.weight)  # these two as released; the rest is torch's own
        nn.init.xavier_normal_(self.out.weight)

    def loss(self, regions: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of the true words, summed over words and divided by the number of captions.

        The first padding after ``<end>`` is a word to be written too, as released.

        Args:
            regions: ``[captions, regions, region_dim]``, the image of each caption.
            labels: ``[captions, longest + 1]`` word ids as ``caption_labels`` makes them.

        Returns:
            A scalar, about ten times a mean over words.
        """
        counted = _counted(labels)[:, 1:-1]  # [captions, longest - 1], True where the word at t + 1 counts
        steps = int(counted.sum(dim=1).max())  # later steps would be multiplied by 0
        states = self._states(regions, labels[:, :steps])
        counted = counted[:, :steps]
        logits = self.out(states[counted])  # [counted words, vocabulary]
        return functional.cross_entropy(logits, labels[:, 1 : steps + 1][counted], reduction="sum") / len(labels)

    def log_probabilities(self, regions: Tensor, labels: Tensor) -> Tensor:
        """``[captions, longest - 1, vocabulary]``, log-probabilities of each next word, given the true ones before."""
        return functional.log_softmax(self.out(self._states(regions, labels[:, : self.longest - 1])), dim=-1)

    def _states(self, regions: Tensor, written: Tensor) -> Tensor:
        """``[captions, steps, hidden]``, the writer's state after each of the words ``written`` ``[captions, steps]``.

        Everything that does not depend on the state is computed before the loop over steps: the words' share of the
        gates and the regions' share of the attention. The rest of a step is one product with the state.
        """
        read, last = self.reader(self._dropped(self.projection(regions)))  # [captions, regions, hidden]
        state: Tensor = last[0]
        hidden, word = state.shape[1], self.words.embedding_dim
        weight, bias = self.attention.weight, self.attention.bias
        seen = functional.linear(read, weight[:, :hidden], bias)
        by_word, by_context = self.writer.weight_ih[:, :word], self.writer.weight_ih[:, word:]
        from_words = functional.linear(self._dropped(self.words(written)), by_word, self.writer.bias_ih)
        by_state = torch.cat([self.writer.weight_hh, weight[:, hidden:]])  # [3 + 1 times hidden, hidden]
        state_bias = torch.cat([self.writer.bias_hh, bias.new_zeros(hidden)])
        states = []
        for from_word in from_words.unbind(dim=1):
            from_state = functional.linear(state, by_state, state_bias)
            asked = from_state[:, None, 3 * hidden :]
            attention = self.attention_score(torch.tanh(seen + asked)).softmax(dim=1)  # [captions, regions, 1]
            context = self._dropped(torch.bmm(attention.transpose(1, 2), read)[:, 0])  # [captions, hidden]
            given = from_word + functional.linear(context, by_context)
            state = _gru_step(given, from_state[:, : 3 * hidden], state)
            states.append(state)
        return torch.stack(states, dim=1)

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout, self.training)


def caption_labels(caption_tokens: Tensor, caption_lengths: Tensor, longest: int) -> Tensor:
    """Return the captioner's targets: the caption's own word ids, ``[captions, longest + 1]``, 0 after the end.

    A caption of more than ``longest`` words is cut there, and the last remaining word becomes its ``<end>``.

    Args:
        caption_tokens: ``[captions, longest of the batch]`` int64, ``<start>`` to ``<end>``.
        caption_lengths: ``[captions]`` int64, both included.
        longest: Most words kept.
    """
    kept = caption_lengths.to(caption_tokens.device).clamp(max=longest)
    width = min(caption_tokens.shape[1], longest)
    labels = caption_tokens.new_zeros(len(caption_tokens), longest + 1)
    labels[:, :width] = caption_tokens[:, :width]
    ends = caption_tokens.gather(1, caption_lengths.to(caption_tokens.device)[:, None] - 1)
    return labels.scatter(1, kept[:, None] - 1, ends)


def _counted(labels: Tensor) -> Tensor:
    """True where a label counts: up to and including the first 0."""
    before = torch.ones_like(labels[:, :1], dtype=torch.bool)
    return torch.cat([before, (labels != 0).cumprod(dim=1)[:, :-1].bool()], dim=1)


def _gru_step(given: Tensor, from_state: Tensor, state: Tensor) -> Tensor:
    """One step of a GRU, given its two products with biases, each ``[captions, 3 hidden]`` (in torch's order)."""
    reset_given, update_given, new_given = given.chunk(3, dim=1)
    reset_state, update_state, new_state = from_state.chunk(3, dim=1)
    new = torch.tanh(new_given + torch.sigmoid(reset_given + reset_state) * new_state)
    # Under autocast on CUDA, cuDNN gives the first state in float16, be the products in bfloat16.
    return torch.lerp(new, state.to(new.dtype), torch.sigmoid(update_given + update_state))
