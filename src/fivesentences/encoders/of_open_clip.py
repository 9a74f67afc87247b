"""Dual encoders of open_clip, by an architecture and weights, or from a folder or repository with both."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from fivesentences.encoders.encoder import Settings, as_rows, check_installed, checked_length, inference, unreadable
from fivesentences.encoders.encoder import versions as versions_of
from fivesentences.encoders.naming import IN_FOLDER, EncoderName
from fivesentences.encoders.sources import combined, find_source
from fivesentences.errors import InputError, did_you_mean
from fivesentences.storage import sha256_of

WEIGHTS = (
    ("open_clip_model*.safetensors",), ("model*.safetensors",), ("open_clip_pytorch_model*.bin",),
    ("pytorch_model*.bin", "*.pt"),
)  # fmt: skip


class OpenClipEncoder:
    """A model of open_clip."""

    def __init__(self, name: EncoderName, settings: Settings):
        """Load the model.

        Raises:
            InputError: If open_clip is missing, there is no such architecture, tag or file, the weights do not fit, or
                more tokens are asked for than the model reads.
        """
        check_installed("open_clip", "open_clip")
        import open_clip
        from open_clip import transform

        self.settings = settings
        self._name = str(name)
        given, weights, revision = _found(name, settings)
        identifier = name.model if name.is_architecture else f"{IN_FOLDER}{given}"
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                self.model = open_clip.create_model(
                    identifier, name.weights if _is_tag(name) else None, device=settings.device, precision="fp32",
                    load_weights=_is_tag(name), pretrained_text=False, weights_only=True,
                )  # fmt: skip
            if not _is_tag(name):
                open_clip.load_checkpoint(self.model, str(weights), strict=True, weights_only=True, device="cpu")
        except Exception as error:  # of torch, safetensors or open_clip: it depends on what is wrong with the file
            raise unreadable(self._name, error) from None
        self.model.eval()
        self.warnings = sorted({str(one.message) for one in said if "QuickGELU" in str(one.message)})
        preprocessing = dict(self.model.visual.preprocess_cfg)
        known = {field.name for field in fields(transform.PreprocessCfg)}
        of_images = transform.PreprocessCfg(**{key: value for key, value in preprocessing.items() if key in known})
        self.transform = transform.image_transform_v2(of_images, is_train=False)
        try:
            self.tokenizer = open_clip.get_tokenizer(identifier)
        except Exception as error:  # of the Hub, from which some architectures take their tokenizer
            raise unreadable(self._name, error) from None
        longest = int(self.tokenizer.context_length)
        self.max_length = checked_length(settings.max_length, longest, longest, self._name)
        hashes = {weights.name: sha256_of(weights)}
        self.facts: Mapping[str, Any] = {
            "library": "open_clip",
            "versions": versions_of("open_clip_torch", "torch", "torchvision", "timm"),
            "model": name.model,
            "model_class": type(self.model).__name__,
            "pretrained": name.weights,
            "revision": revision,
            "weights": hashes,
            "weights_sha256": combined(hashes),
            "preprocessing": {key: preprocessing[key] for key in sorted(preprocessing)},
            "tokenizer": _tokenizer_name(self.tokenizer),
            "max_length": self.max_length,
            **({"warnings": self.warnings} if self.warnings else {}),
        }

    def prepare(self, image: Image.Image) -> npt.NDArray[np.float32]:
        """Pixels ``[3, height, width]``."""
        pixels: npt.NDArray[np.float32] = self.transform(image).numpy()
        return pixels

    def images(self, prepared: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        """As in ``Encoder``."""
        import torch

        pixels = torch.from_numpy(np.stack(prepared)).to(self.settings.device)
        with inference(self.settings):
            return as_rows(self.model.encode_image(pixels))

    def captions(self, captions: Sequence[str]) -> npt.NDArray[np.float32]:
        """As in ``Encoder``."""
        texts = self.settings.prompted(captions)
        tokens = self._padded(self.tokenizer(texts, context_length=self.max_length)).to(self.settings.device)
        with inference(self.settings):
            return as_rows(self.model.encode_text(tokens))

    def truncated(self, captions: Sequence[str]) -> int:
        """As in ``Encoder``."""
        # open_clip's tokenizers cut silently: with four times the room, what stands behind the end has been cut.
        more = 4 * self.max_length
        padding = self.tokenizer([""], context_length=more)[0, -1]
        behind = self.tokenizer(self.settings.prompted(captions), context_length=more)[:, self.max_length :]
        return int((behind != padding).any(dim=1).sum())

    def _padded(self, tokens: Any) -> Any:
        """Tokens at the full length of the context, which most text towers insist on."""
        import torch

        longest = int(self.tokenizer.context_length)
        if tokens.shape[1] == longest:
            return tokens
        padding = int(self.tokenizer([""], context_length=longest)[0, -1])
        return torch.nn.functional.pad(tokens, (0, longest - tokens.shape[1]), value=padding)


def _is_tag(name: EncoderName) -> bool:
    return name.is_architecture and not Path(name.weights or "").is_file()


def _found(name: EncoderName, settings: Settings) -> tuple[Path | None, Path, str | None]:
    """The folder of a model that is no architecture, its file of weights, and its revision if it has one."""
    import open_clip

    if not name.is_architecture:
        source = find_source(name.model, settings.revision, WEIGHTS)
        return source.folder, source.weights[0], source.revision
    if settings.revision is not None:
        raise InputError(
            f"{name} is fetched by open_clip, which takes no revision",
            cure="pin the weights by --sha256, or name a repository, open_clip:hf-hub:ORG/NAME",
        )
    if open_clip.get_model_config(name.model) is None:
        hint = did_you_mean(name.model, open_clip.list_models())
        raise InputError(f"open_clip has no architecture '{name.model}'; {hint or 'see open_clip.list_models()'}.")
    assert name.weights is not None
    if Path(name.weights).is_file():
        return None, Path(name.weights), None
    config = open_clip.get_pretrained_cfg(name.model, name.weights)
    if not config:
        tags = open_clip.list_pretrained_tags_by_model(name.model)
        hint = did_you_mean(name.weights, tags) or f"its tags are {', '.join(tags)}" if tags else "it has no tags"
        raise InputError(f"'{name.weights}' is neither a file nor a tag of open_clip's {name.model}; {hint}.")
    try:
        path = Path(open_clip.download_pretrained(config))
    except Exception as error:  # of urllib or huggingface_hub: whatever open_clip uses at the moment
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
        raise InputError(
            f"the weights of {name} could not be fetched ({reason})",
            cure="connect to the internet once, or name a local checkpoint, open_clip:MODEL/FILE",
        ) from None
    # In the Hub's cache a file stands in a folder that is called like the commit.
    commit = path.parent.name if path.parent.parent.name == "snapshots" else None
    return None, path, commit


def _tokenizer_name(tokenizer: Any) -> str:
    inner = getattr(tokenizer, "tokenizer", None)
    return type(tokenizer).__name__ + (f" ({type(inner).__name__})" if inner is not None else "")
