"""The similarity of every image of a split to every caption, and the dev score by which the best epoch is kept."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import torch

from fivesentences.arrays import new_array
from fivesentences.config.types import DevSelection, TrainingPrecision
from fivesentences.console import Bar
from fivesentences.corpus import Corpus
from fivesentences.metrics.ncs import nsum
from fivesentences.metrics.recall import rsum
from fivesentences.models import Matcher
from fivesentences.models.matching import concatenate
from fivesentences.semantics.cider import cider_matrix
from fivesentences.training.batches import batches_by_length
from fivesentences.training.data import Split

IMAGES_AT_ONCE = 512
CAPTIONS_AT_ONCE = 256
COLUMNS: dict[DevSelection, str] = {"rsum": "dev_Rsum", "ncs": "dev_Nsum", "ncs_discounted": "dev_Nsum_discounted"}


def autocast(device: torch.device, precision: TrainingPrecision) -> torch.autocast:
    """Return a block in which a model scores by bfloat16 where that is its precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


def similarity_of(
    model: Matcher, split: Split, label: str = "", precision: TrainingPrecision = "float32"
) -> np.ndarray:
    """Score a split by the model in eval mode: ``[images, captions]`` float32.

    Images are encoded once; captions are scored in blocks of similar length.

    Args:
        model: Any model.
        split: Images and captions, and further inputs of the model.
        label: Text before a progress bar; empty: there is no bar.
        precision: ``"bf16"``: the model computes under autocast.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    bar = Bar(label, len(split.captions)) if label else None
    with torch.inference_mode(), autocast(device, precision), bar or nullcontext():
        starts = range(0, len(split.images), IMAGES_AT_ONCE)
        images = concatenate(
            [model.encode_images(split.images[start : start + IMAGES_AT_ONCE].to(device)) for start in starts]
        )
        shape = len(split.images), len(split.captions)
        similarity = torch.from_numpy(new_array(shape, np.float32, "similarity"))
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


class DevScores:
    """Scores of a similarity matrix on dev.

    Attributes:
        selection: ``"rsum"``: sum of recall@1, 5, 10 over both directions in percent (0..600), as in all base models.
            ``"ncs"``: sum of NCS@1, 5, 10 with CIDEr, ground truth kept, released formula, over both directions
            (0..600), as ``train_coco.py`` of the released SAM code; the dev phi matrix is computed once.
            ``"ncs_discounted"``: the same with position p (from 0) of k weighted by log2(k - p + 1) (0..600), as its
            ``train_f30k.py``.
    """

    def __init__(self, selection: DevSelection, dev: Corpus):
        self.selection, self._image_of_caption = selection, dev.image_of_caption
        self._phi = None if selection == "rsum" else cider_matrix(dev.captions, dev.image_of_caption)

    @property
    def column(self) -> str:
        """Name of the score that selects."""
        return COLUMNS[self.selection]

    def __call__(self, similarity: np.ndarray) -> dict[str, float]:
        """``dev_Rsum``, and the sum of NCS where it selects, of ``[images, captions]``."""
        scores = {"dev_Rsum": rsum(similarity, image_of_caption=self._image_of_caption)}
        if self._phi is not None:
            discount = "log" if self.selection == "ncs_discounted" else None
            scores[self.column] = nsum(
                similarity, self._phi, image_of_caption=self._image_of_caption, discount=discount
            )
        return scores
