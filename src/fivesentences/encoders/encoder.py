"""Interface of every dual encoder, and code that all of them share."""

from __future__ import annotations

import importlib.metadata
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor

from fivesentences.encoders.spec import PLACE, EncoderSpec
from fivesentences.errors import InputError, reason_of, shortage
from fivesentences.features.exactness import exact

LARGEST = 8192  # pixels of a prepared image's side, or patches of it; models take some hundred


class Encoder(ABC):
    """Turns images and captions into vectors of one space, whose cosines say how well they fit.

    Attributes:
        spec: Which encoder it is, and how it is run.
        device: ``cpu`` or ``cuda``.
        tokenizer: The tokenizer of the model's library.
        max_length: Tokens of a caption that are read, special ones included.
        facts: Everything that the vectors depend on, for the note beside them: library and its version, model,
            revision, weights with their SHA-256, preprocessing, tokenizer, max_length.
    """

    tokenizer: Any
    max_length: int
    facts: dict[str, Any]

    def __init__(self, spec: EncoderSpec, device: str):
        self.spec, self.device = spec, device

    @abstractmethod
    def prepare(self, image: Image.Image) -> Any:
        """Prepare an RGB image as the model takes it."""

    @abstractmethod
    def image_vectors(self, prepared: Sequence[Any]) -> Tensor:
        """Compute ``[n, dim]`` of prepared images."""

    @abstractmethod
    def text_vectors(self, texts: list[str]) -> Tensor:
        """Compute ``[n, dim]`` of captions within the prompt."""

    def images(self, prepared: Sequence[Any]) -> npt.NDArray[np.float32]:
        """Compute float32 vectors ``[n, dim]`` of prepared images, of any length."""
        return self._computed(self.image_vectors, prepared)

    def captions(self, captions: Sequence[str]) -> npt.NDArray[np.float32]:
        """Compute float32 vectors ``[n, dim]`` of captions, of any length; the prompt is applied."""
        return self._computed(self.text_vectors, self.prompted(captions))

    def prompted(self, captions: Sequence[str]) -> list[str]:
        """Put captions into the prompt."""
        return [self.spec.prompt.replace(PLACE, caption) for caption in captions]

    def truncated(self, captions: Sequence[str]) -> int:
        """Count the captions that, within the prompt, are longer than the model reads."""
        tokens = self.tokenizer(self.prompted(captions), padding=False, truncation=False, verbose=False)
        return sum(len(one) > self.max_length for one in tokens["input_ids"])

    def _computed(self, vectors_of: Callable[[Any], Tensor], items: Any) -> npt.NDArray[np.float32]:
        """Compute without gradients and TF32, in the precision that was asked for."""
        dtype = getattr(torch, self.spec.precision)
        try:
            with exact(), torch.autocast(self.device, dtype=dtype, enabled=dtype != torch.float32):
                return vectors_of(items).float().cpu().numpy()  # type: ignore[no-any-return]
        except Exception as error:  # of torch or the model's library: pixels or tokens that the model does not take
            raise unreadable(self.spec.encoder, error) from None

    def check(self) -> None:
        """Check that the model takes what its preprocessing and its tokenizer make, before anything costly is done.

        Raises:
            InputError: If it does not, or the preprocessing would make images of more than ``LARGEST`` pixels a side.
        """
        sizes = {key: value for key, value in self.facts["preprocessing"].items() if "size" in key or "patches" in key}
        area = "merge_size" in sizes  # of models whose "edges" are numbers of pixels
        for key, value in sizes.items():
            for number in value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]:
                if isinstance(number, int | float) and not area and not 0 <= number <= LARGEST:
                    what = f"its preprocessing has {key} {number}; images of at most {LARGEST:,} pixels a side are made"
                    raise InputError(what, where=self.spec.encoder, cure="fetch it or save it again")
        try:
            prepared = self.prepare(Image.new("RGB", (64, 48)))
        except Exception as error:
            raise unreadable(self.spec.encoder, error) from None
        self.images([prepared])
        self.captions(["a photograph"])

    def _set_length(self, usual: int, longest: int) -> None:
        """Set how many tokens are read.

        Raises:
            InputError: If more are asked for than the model has positions.
        """
        if (asked := self.spec.max_length) is not None and asked > longest:
            raise InputError(f"max_length is {asked}, but {self.spec.encoder} reads at most {longest} tokens.")
        self.max_length = self.spec.max_length or usual


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of installed packages."""
    return {package: importlib.metadata.version(package) for package in packages}


def check_parameters(model: torch.nn.Module, weights: Sequence[Path], where: str) -> None:
    """Check that weights can fill a model, which was made without memory on the device ``meta``.

    Raises:
        InputError: If the model has more parameters than the files have bytes.
    """
    count, size = sum(one.numel() for one in model.parameters()), sum(path.stat().st_size for path in weights)
    if count > size:
        what = f"its configuration is of {count:,} parameters, but its weights have {size:,} bytes"
        raise InputError(what, where=where, cure="fetch it or save it again")


def unreadable(where: str, error: Exception) -> InputError:
    """Return the error about a model that a library does not load, or that does not run."""
    return shortage(error, where) or InputError(
        f"this model cannot be loaded or run ({reason_of(error)})", where=where, cure="fetch it or save it again"
    )
