"""Dual encoders of sentence-transformers: models that take images and texts."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers.utils import logging as bars

from fivesentences.encoders.encoder import Encoder, unreadable, versions
from fivesentences.encoders.sources import WEIGHTS, ModelFiles, find_source
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.errors import InputError

SHORT_NAMES = "sentence-transformers"  # the organisation of models that are named without one
_UNUSED_LAYER = re.compile(r"(\S*encoder\.layers?\.\d+\.\S+) *\| UNEXPECTED")  # in a report of transformers


def open_model(name: str, revision: str | None, device: str) -> tuple[SentenceTransformer, ModelFiles]:
    """Load a model of sentence-transformers, and say where its files are.

    Args:
        name: A local folder or a repository of the Hugging Face Hub, that of the library's own models without their
            organisation.
        revision: Branch, tag or commit of a repository.
        device: ``cpu`` or ``cuda``.

    Raises:
        InputError: If there is no such model, it is made of modules that are not the library's own, or its weights do
            not fill it.
    """
    repository = name if "/" in name or Path(name).is_dir() else f"{SHORT_NAMES}/{name}"
    source = find_source(repository, revision, WEIGHTS, below=True)
    bars.disable_progress_bar()  # type: ignore[no-untyped-call]
    reports = _Reports()
    logger = logging.getLogger("transformers.modeling_utils")
    logger.setLevel(logging.WARNING)
    logger.addFilter(reports)
    # That nothing is split between processors is no news here.
    logging.getLogger("transformers.distributed.tensor_parallel").setLevel(logging.ERROR)
    try:
        model = SentenceTransformer(
            str(source.folder), device=device, trust_remote_code=False, local_files_only=True,
            model_kwargs={"dtype": torch.float32}, processor_kwargs={"backend": "pil"},
        ).eval()  # fmt: skip
    except Exception as error:  # of transformers, torch or the library: it depends on what is wrong
        raise unreadable(name, error) from None
    finally:
        logger.removeFilter(reports)
    if any("MISSING" in text for text in reports.texts):
        raise InputError("its weights do not fill it, and the rest would be random", where=name, cure="save it again")
    if left := next(filter(None, map(_UNUSED_LAYER.search, reports.texts)), None):
        what = f"its weights have layers that its configuration leaves out (such as {left[1]})"
        raise InputError(what, where=name, cure="fetch it or save it again")
    return model, source


class SentenceTransformersEncoder(Encoder):
    """A ``SentenceTransformer`` that takes images too, such as ``clip-ViT-B-32``."""

    def __init__(self, spec: EncoderSpec, device: str):
        """Load the model.

        Raises:
            InputError: If there is no such model, it takes no images, it is made of modules that are not the library's
                own, its weights do not fill it, or more tokens are asked for than it reads.
        """
        super().__init__(spec, device)
        name = spec.name.model
        self.model, source = open_model(name, spec.revision, device)
        if not self.model.supports("image"):
            held = ", ".join(map(str, self.model.modalities))
            cure = "name a model of both, such as clip-ViT-B-32"
            raise InputError(f"it takes {held} but no images", where=name, cure=cure)
        config = getattr(self.model.transformers_model, "config", None)
        positions = getattr(getattr(config, "text_config", config), "max_position_embeddings", None)
        known = [number for number in (self.model.max_seq_length, positions) if number is not None]
        if not known:
            raise InputError("it does not say how many tokens it reads; set its max_seq_length and save it again.")
        self._set_length(min(known), min(known))
        self.model.max_seq_length = self.max_length
        self.tokenizer = self.model.tokenizer
        default = self.model.default_prompt_name
        images = getattr(self.model.processor, "image_processor", self.model.processor)
        self.facts = {
            "library": "sentence_transformers",
            "versions": versions("sentence-transformers", "transformers", "tokenizers", "torch"),
            "model": name,
            "model_class": " + ".join(type(module).__name__ for module in self.model),
            **source.facts(),
            "preprocessing": json.loads(images.to_json_string()) if hasattr(images, "to_json_string") else {},
            "tokenizer": type(self.tokenizer).__name__,
            "max_length": self.max_length,
            "model_prompt": self.model.prompts.get(default) if default else None,
        }

    def prepare(self, image: Image.Image) -> Image.Image:
        """Return the image itself: the library prepares it together with others."""
        return image

    def image_vectors(self, prepared: Sequence[Any]) -> Tensor:
        """Compute ``[n, dim]`` of images."""
        return self.model.encode(  # type: ignore[no-any-return]
            list(prepared), batch_size=len(prepared), show_progress_bar=False, convert_to_tensor=True,
            normalize_embeddings=False,
        )  # fmt: skip

    def text_vectors(self, texts: list[str]) -> Tensor:
        """Compute ``[n, dim]`` of captions within the prompt."""
        return self.image_vectors(texts)


class _Reports(logging.Filter):
    """Keeps what transformers reports about weights: sentence-transformers does not pass on what is missing."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep a report, and print nothing."""
        self.texts.append(record.getMessage())
        return False
