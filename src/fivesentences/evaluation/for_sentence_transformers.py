"""An evaluator of sentence-transformers for models that encode images and captions."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL.Image import Image

from fivesentences.corpus.decoding import decode
from fivesentences.errors import InputError, did_you_mean, need
from fivesentences.evaluation.flat_numbers import flat_numbers
from fivesentences.evaluation.protocols import evaluate

try:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.evaluation import BaseEvaluator
except ImportError:
    need("sentence_transformers", "encoders", "an evaluator for sentence-transformers")
    raise


class ImageTextEvaluator(BaseEvaluator):
    """Scores what a model makes of images and captions, as ``evaluate`` scores their embeddings::

        evaluator = ImageTextEvaluator(images, captions, {"cider": phi}, name="flickr30k")
        evaluator(model)  # {"flickr30k_i2t_R@1": ..., "flickr30k_Rsum": ...}
        SentenceTransformerTrainer(model, args, ..., evaluator=evaluator)

    Images and captions are embedded by ``model.encode``, and compared by cosine similarity.

    Attributes:
        primary_metric: The number that chooses the best model: Rsum, with the prefix; may be set to another one.

    Args:
        images: ``[images]`` files, each decoded when its batch is, or what else the model encodes, such as PIL images.
        captions: ``[captions]`` texts.
        phis: ``{name: [captions, images]}`` or one matrix.
        protocol: A name in ``PROTOCOLS``; default: all images are one gallery.
        image_of_caption: ``[captions]`` image index of each caption; default equal, image-major blocks.
        name: Prefix of the numbers and of the CSV file.
        batch_size: Items that are encoded at a time.
        write_csv: False to write no CSV file where the trainer gives a folder.
        options: Further arguments of ``evaluate``.

    Raises:
        InputError: If a file is missing.
    """

    def __init__(
        self,
        images: Sequence[str | os.PathLike[str] | Any],
        captions: Sequence[str],
        phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
        protocol: str | None = None,
        image_of_caption: ArrayLike | None = None,
        *,
        name: str = "",
        batch_size: int = 32,
        write_csv: bool = True,
        **options: Any,
    ):
        super().__init__()  # type: ignore[no-untyped-call]
        for image in images:
            if isinstance(image, (str, os.PathLike)) and not Path(image).is_file():
                raise InputError("there is no such file", where=image)
        self.images, self.captions, self.name = images, captions, name
        self.batch_size, self.write_csv = batch_size, write_csv
        self.csv_file = f"Image-Text_evaluation{f'_{name}' if name else ''}_results.csv"
        self.primary_metric: str = f"{name}_Rsum" if name else "Rsum"
        self._options = {"phis": phis, "protocol": protocol, "image_of_caption": image_of_caption, **options}

    def __call__(  # type: ignore[override]
        self, model: SentenceTransformer, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return every number by the names of ``flat_numbers``, with the prefix.

        Args:
            model: The model.
            output_path: Folder of the CSV file, to which a line is added.
            epoch: Epoch, for that file.
            steps: Steps in the epoch, for that file.

        Raises:
            InputError: If an image cannot be decoded, there is no ``primary_metric`` among the numbers, or as
                ``evaluate``.
        """
        images = np.concatenate(
            [
                self._encoded(model, [_opened(image) for image in self.images[at : at + self.batch_size]])
                for at in range(0, len(self.images), self.batch_size)
            ]
        )
        found = flat_numbers(evaluate(images, texts=self._encoded(model, self.captions), **self._options))
        metrics: dict[str, float] = self.prefix_name_to_metrics(found, self.name)
        if self.primary_metric not in metrics:
            cure = did_you_mean(self.primary_metric, metrics) or f"there are {', '.join(metrics)}"
            raise InputError(f"primary_metric is {self.primary_metric}, which is not computed", cure=cure)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        if output_path is not None and self.write_csv:
            path = Path(output_path) / self.csv_file
            path.parent.mkdir(parents=True, exist_ok=True)
            headings = [] if path.exists() else [["epoch", "steps", *found]]
            with path.open("a", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([*headings, [epoch, steps, *found.values()]])
        return metrics

    def _encoded(self, model: SentenceTransformer, items: Sequence[Any]) -> NDArray[Any]:
        """Compute ``[items, dim]`` embeddings."""
        return np.asarray(model.encode(list(items), batch_size=self.batch_size, show_progress_bar=False))


def _opened(image: str | os.PathLike[str] | Any) -> Image | Any:
    """Return the photograph of a file, and anything else as it is."""
    return decode(Path(image).read_bytes(), str(image)) if isinstance(image, (str, os.PathLike)) else image
