"""SCAN's blocks against one another; released numbers: test_parity."""

from __future__ import annotations

import torch

from fivesentences.models import build_model
from fivesentences.models.attention import attended, attention_weights, raw_attention
from fivesentences.models.scan import Words


def test_cosines_from_the_gram_matrix_keep_float32_accuracy_in_1024_dimensions():
    generator = torch.Generator().manual_seed(0)
    regions = torch.nn.functional.normalize(torch.randn(6, 36, 1024, generator=generator), dim=2)
    words = torch.nn.functional.normalize(torch.randn(8, 12, 1024, generator=generator), dim=2)
    lengths = torch.full((8,), 12)
    for direction in ("t2i", "i2t"):
        model = build_model("scan", image_dim=3, vocabulary_size=9, embedding=1024, word=2, direction=direction)
        single = model.similarity(regions, Words(words, lengths))
        contexts, queries = (
            (regions.double(), words.double()) if direction == "t2i" else (words.double(), regions.double())
        )
        weights = attention_weights(raw_attention(contexts, queries), model.softmax_temperature)
        vectors = attended(weights, contexts)  # [X, Y, N, D]
        cosine = torch.nn.functional.cosine_similarity(queries[None], vectors, dim=3)
        scale = model.pooling_temperature
        direct = (torch.logsumexp(scale * cosine, dim=2) / scale).to(torch.float32)
        torch.testing.assert_close(single, direct if direction == "t2i" else direct.T, rtol=1e-5, atol=0)
