"""The similarity of every image of a split to every caption."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import torch

from fivesentences.console import Bar
from fivesentences.models import Matcher
from fivesentences.models.matching import concatenate
from fivesentences.training.batches import batches_by_length
from fivesentences.training.data import Split

IMAGES_AT_ONCE = 512
CAPTIONS_AT_ONCE = 256


def similarity_of(model: Matcher, split: Split, label: str = "") -> np.ndarray:
    """``[images, captions]`` float32, scored by the model in eval mode.

    Images are encoded once; captions are scored in blocks of similar length.

    Args:
        model: Any model.
        split: Images and captions, and what else the model reads of each caption.
        label: Text before a progress bar; empty: there is no bar.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    bar = Bar(label, len(split.captions)) if label else None
    with torch.inference_mode(), bar or nullcontext():
        starts = range(0, len(split.images), IMAGES_AT_ONCE)
        images = concatenate(
            [model.encode_images(split.images[start : start + IMAGES_AT_ONCE].to(device)) for start in starts]
        )
        similarity = torch.empty(len(split.images), len(split.captions))
        for rows in batches_by_length(split.captions.lengths, CAPTIONS_AT_ONCE):
            tokens, lengths = split.captions.batch(rows)
            columns = torch.from_numpy(rows)
            of_captions = {name: values[columns].to(device) for name, values in split.extras.items()}
            captions = model.encode_captions(tokens.to(device), lengths, **of_captions)
            similarity[:, columns] = model.similarity(images, captions).float().cpu()
            if bar is not None:
                bar.advance(len(rows))
    model.train(was_training)
    return similarity.numpy()
