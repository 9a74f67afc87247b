"""What every dual encoder can do, and what is the same for all of them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np
import numpy.typing as npt
from PIL import Image

from fivesentences.config.types import Precision
from fivesentences.encoders.naming import PLACE, EncoderName
from fivesentences.errors import InputError, need

if TYPE_CHECKING:
    from fivesentences.encoders.spec import EncoderSpec

EXTRA = "encoders"


@dataclass(frozen=True)
class Settings:
    """How to run an encoder.

    Attributes:
        device: ``cpu`` or ``cuda``.
        precision: ``float32``, or mixed precision (torch's autocast) with ``bfloat16`` or ``float16``. Weights are
            float32 in any case.
        prompt: What every caption is put into, such as ``a photo of {}``.
        max_length: Tokens of a caption, special ones included, beyond which it is cut; default the model's own.
        revision: Branch, tag or commit of a repository of the Hub.

    Raises:
        InputError: If a value is none of these.
    """

    device: str = "cpu"
    precision: Precision = "float32"
    prompt: str = PLACE
    max_length: int | None = None
    revision: str | None = None

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise InputError(f"precision is '{self.precision}'; it must be one of {', '.join(get_args(Precision))}.")
        if self.prompt.count(PLACE) != 1:
            raise InputError(
                f"the prompt {self.prompt!r} has {self.prompt.count(PLACE)} places for a caption",
                cure="write {} once, such as 'a photo of {}'",
            )
        if self.max_length is not None and self.max_length < 3:
            raise InputError(f"max_length is {self.max_length}; a caption with its special tokens has at least 3.")

    @classmethod
    def of(cls, spec: EncoderSpec, device: str) -> Settings:
        """Settings of an encoder of a study on a device."""
        return cls(device, spec.precision, spec.prompt, spec.max_length, spec.revision)

    def prompted(self, captions: Sequence[str]) -> list[str]:
        """Captions within the prompt."""
        return [self.prompt.replace(PLACE, caption) for caption in captions]


class Encoder(Protocol):
    """Turns images and captions into vectors of one space, whose cosines say how well they fit.

    Attributes:
        facts: Everything that the vectors depend on, for the note beside them: library and its version, model,
            revision, weights with their SHA-256, preprocessing, tokenizer, max_length.
    """

    facts: Mapping[str, Any]

    def prepare(self, image: Image.Image) -> Any:
        """An RGB image as the model takes it."""

    def images(self, prepared: Sequence[Any]) -> npt.NDArray[np.float32]:
        """Vectors ``[n, dim]`` of prepared images, of any length."""

    def captions(self, captions: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors ``[n, dim]`` of captions, of any length; the prompt is applied."""

    def truncated(self, captions: Sequence[str]) -> int:
        """How many of these captions, within the prompt, are longer than the model reads."""


def load_encoder(name: EncoderName, settings: Settings, sha256: str | None = None) -> Encoder:
    """Load an encoder; nothing that a model brings along is run.

    Weights are read from safetensors, or by ``torch.load`` with ``weights_only``; ``trust_remote_code`` is never set.

    Args:
        name: Which one.
        settings: How to run it.
        sha256: What the SHA-256 of its weights must be (of the file, or of the list of files).

    Raises:
        InputError: If its library is not installed, it cannot be found or loaded, is no dual encoder, or has other
            weights.
    """
    encoder = _loaded(name, settings)
    found = encoder.facts["weights_sha256"]
    if sha256 is not None and sha256.lower() != found:
        raise InputError(f"the SHA-256 of the weights of {name} is {found}, not {sha256}; these are other weights.")
    return encoder


def _loaded(name: EncoderName, settings: Settings) -> Encoder:
    if name.library == "open_clip":
        from fivesentences.encoders.of_open_clip import OpenClipEncoder

        return OpenClipEncoder(name, settings)
    if name.library == "transformers":
        from fivesentences.encoders.of_transformers import TransformersEncoder

        return TransformersEncoder(name, settings)
    from fivesentences.encoders.of_sentence_transformers import SentenceTransformersEncoder

    return SentenceTransformersEncoder(name, settings)


@contextmanager
def inference(settings: Settings) -> Iterator[None]:
    """No gradients, the precision that was asked for, and no TF32 where that is float32."""
    import torch

    from fivesentences.features.exactness import exact

    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[settings.precision]
    with (
        exact(),
        torch.autocast(settings.device, dtype=dtype, enabled=settings.precision != "float32"),
    ):
        yield


@contextmanager
def without_bars() -> Iterator[None]:
    """transformers shows no progress bar of its own while weights are loaded."""
    from transformers.utils import logging

    bars: Any = logging  # untyped
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def as_rows(tensor: Any) -> npt.NDArray[np.float32]:
    """A tensor ``[n, dim]`` in float32 on the CPU."""
    rows: npt.NDArray[np.float32] = tensor.float().cpu().numpy()
    return rows


def check_installed(package: str, library: str) -> None:
    """Ask for a library of the extra ``encoders``.

    Raises:
        InputError: If it is not installed.
    """
    need(package, EXTRA, f"an encoder of {library}")


def versions(*packages: str) -> dict[str, str]:
    """Versions of installed packages."""
    return {package: importlib.metadata.version(package) for package in packages}


def checked_length(asked: int | None, usual: int, longest: int, model: str) -> int:
    """How many tokens a model reads.

    Raises:
        InputError: If more are asked for than it has positions.
    """
    if asked is not None and asked > longest:
        raise InputError(f"max_length is {asked}, but {model} reads at most {longest} tokens.")
    return asked or usual


def unreadable(where: str, error: Exception) -> InputError:
    """What is wrong with a model that a library does not load, in its own words."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:300]
    return InputError(f"this model cannot be loaded ({reason})", where=where, cure="fetch it or save it again")
