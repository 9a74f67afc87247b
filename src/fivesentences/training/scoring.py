"""The similarity of every image of a split with every caption."""

from __future__ import annotations

import numpy as np
import torch

from fivesentences.models import Matcher
from fivesentences.training.batches import batches_by_length
from fivesentences.training.data import Split

IMAGES_AT_ONCE = 512
CAPTIONS_AT_ONCE = 256


def similarity_of(model: Matcher, split: Split) -> np.ndarray:
    """``[images, captions]`` float32, the model in eval mode."""
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        starts = range(0, len(split.images), IMAGES_AT_ONCE)
        images = torch.cat(
            [model.encode_images(split.images[start : start + IMAGES_AT_ONCE].to(device)) for start in starts]
        )
        similarity = torch.empty(len(images), len(split.captions))
        for rows in batches_by_length(split.captions.lengths, CAPTIONS_AT_ONCE):
            tokens, lengths = split.captions.batch(rows)
            captions = model.encode_captions(tokens.to(device), lengths)
            similarity[:, torch.from_numpy(rows)] = model.similarity(images, captions).float().cpu()
    model.train(was_training)
    return similarity.numpy()
