"""Dual encoders of sentence-transformers: models that take images and texts."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from fivesentences.encoders.encoder import (
    Settings,
    check_installed,
    checked_length,
    inference,
    unreadable,
    without_bars,
)
from fivesentences.encoders.encoder import versions as versions_of
from fivesentences.encoders.naming import EncoderName
from fivesentences.encoders.sources import WEIGHTS, find_source
from fivesentences.errors import InputError

SHORT_NAMES = "sentence-transformers"  # the organisation of models that are named without one


class SentenceTransformersEncoder:
    """A ``SentenceTransformer`` that takes images too, such as ``clip-ViT-B-32``."""

    def __init__(self, name: EncoderName, settings: Settings):
        """Load the model.

        Raises:
            InputError: If sentence-transformers is missing, there is no such model, it takes no images, it is made of
                modules that are not the library's own, or more tokens are asked for than it reads.
        """
        check_installed("sentence_transformers", "sentence-transformers")
        import torch
        from sentence_transformers import SentenceTransformer

        self.settings = settings
        repository = name.model if "/" in name.model else f"{SHORT_NAMES}/{name.model}"
        found = find_source(_folder_or(name.model, repository), settings.revision, WEIGHTS, below=True)
        try:
            with without_bars(), _reports() as reports:
                self.model = SentenceTransformer(
                    str(found.folder), device=settings.device, trust_remote_code=False, local_files_only=True,
                    model_kwargs={"dtype": torch.float32}, processor_kwargs={"backend": "pil"},
                ).eval()  # fmt: skip
        except Exception as error:  # of transformers, torch or the library: it depends on what is wrong
            raise unreadable(name.model, error) from None
        if any("MISSING" in report for report in reports):
            raise InputError(
                "its weights do not fill it, and the rest would be random", where=name.model, cure="save it again"
            )
        if not self.model.supports("image"):
            raise InputError(
                f"it takes {', '.join(map(str, self.model.modalities))} but no images",
                where=name.model,
                cure="name a model of both, such as clip-ViT-B-32",
            )
        longest = _longest(self.model)
        self.max_length = checked_length(settings.max_length, longest, longest, str(name))
        self.model.max_seq_length = self.max_length
        default = self.model.default_prompt_name
        self.facts: Mapping[str, Any] = {
            "library": "sentence_transformers",
            "versions": versions_of("sentence-transformers", "transformers", "tokenizers", "torch"),
            "model": name.model,
            "model_class": " + ".join(type(module).__name__ for module in self.model),
            **found.facts(),
            "preprocessing": _preprocessing(self.model.processor),
            "tokenizer": type(self.model.tokenizer).__name__,
            "max_length": self.max_length,
            "model_prompt": self.model.prompts.get(default) if default else None,
        }

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image itself: the library prepares it together with others."""
        return image

    def images(self, prepared: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """As in ``Encoder``."""
        return self._encoded(list(prepared))

    def captions(self, captions: Sequence[str]) -> npt.NDArray[np.float32]:
        """As in ``Encoder``."""
        return self._encoded(self.settings.prompted(captions))

    def _encoded(self, items: list[Any]) -> npt.NDArray[np.float32]:
        with inference(self.settings):
            rows = self.model.encode(
                items, batch_size=len(items), show_progress_bar=False, convert_to_tensor=True,
                normalize_embeddings=False,
            )  # fmt: skip
        return np.asarray(rows.float().cpu().numpy(), dtype=np.float32)

    def truncated(self, captions: Sequence[str]) -> int:
        """As in ``Encoder``."""
        tokenizer = self.model.tokenizer
        tokens = tokenizer(self.settings.prompted(captions), padding=False, truncation=False, verbose=False)
        return sum(len(one) > self.max_length for one in tokens["input_ids"])


@contextmanager
def _reports() -> Iterator[list[str]]:
    """What transformers reports about weights meanwhile: sentence-transformers does not pass on what is missing."""
    logger = logging.getLogger("transformers.modeling_utils")
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    listener, level, passed_on = Listener(), logger.level, logger.propagate
    logger.addHandler(listener)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
        logger.propagate = passed_on


def _longest(model: Any) -> int:
    """How many tokens a model reads: what it was saved with, but no more than it has positions."""
    config = getattr(model.transformers_model, "config", None)
    positions = getattr(getattr(config, "text_config", config), "max_position_embeddings", None)
    known = [number for number in (model.max_seq_length, positions) if number is not None]
    if not known:
        raise InputError("it does not say how many tokens it reads; set its max_seq_length and save it again.")
    return int(min(known))


def _folder_or(model: str, repository: str) -> str:
    return model if Path(model).is_dir() else repository


def _preprocessing(processor: Any) -> dict[str, Any]:
    of_images = getattr(processor, "image_processor", processor)
    return dict(json.loads(of_images.to_json_string())) if hasattr(of_images, "to_json_string") else {}
