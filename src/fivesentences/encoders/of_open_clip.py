"""Dual encoders of open_clip, by an architecture and weights, or from a folder or repository with both."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import open_clip
import torch
from open_clip import transform
from PIL import Image
from torch import Tensor

from fivesentences.encoders.encoder import Encoder, check_parameters, unreadable, versions
from fivesentences.encoders.sources import combined, find_source
from fivesentences.encoders.spec import IN_FOLDER, EncoderSpec
from fivesentences.errors import InputError, did_you_mean, reason_of
from fivesentences.storage import sha256_of

WEIGHTS = (
    ("open_clip_model*.safetensors",), ("model*.safetensors",), ("open_clip_pytorch_model*.bin",),
    ("pytorch_model*.bin", "*.pt"),
)  # fmt: skip


class OpenClipEncoder(Encoder):
    """A model of open_clip."""

    def __init__(self, spec: EncoderSpec, device: str):
        """Load the model.

        Raises:
            InputError: If there is no such architecture, tag or file, the weights do not fit, or more tokens are asked
                for than the model reads.
        """
        super().__init__(spec, device)
        _, model, given = spec.name
        is_tag = given is not None and not Path(given).is_file()
        if given is None:
            source = find_source(model, spec.revision, WEIGHTS)
            identifier, weights, revision = f"{IN_FOLDER}{source.folder}", source.weights[0], source.revision
        else:
            weights = _fetched(spec, model, given) if is_tag else Path(given)
            # In the Hub's cache a file stands in a folder that is named after the commit.
            revision = weights.parent.name if weights.parent.parent.name == "snapshots" else None
            identifier = model
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                how: dict[str, Any] = {"precision": "fp32", "pretrained_text": False, "weights_only": True}
                logging.disable(logging.WARNING)  # it warns of a model without weights, which are loaded below
                if not is_tag:
                    with torch.device("meta"):
                        empty = open_clip.create_model(identifier, device="meta", load_weights=False, **how)
                    check_parameters(empty, [weights], spec.encoder)
                self.model = open_clip.create_model(
                    identifier, given if is_tag else None, device=device, load_weights=is_tag, **how
                )
            if not is_tag:
                open_clip.load_checkpoint(self.model, str(weights), strict=True, weights_only=True, device="cpu")
            self.tokenizer = open_clip.get_tokenizer(identifier)
        except InputError:
            raise
        except Exception as error:  # of torch, safetensors, the Hub or open_clip: it depends on what is wrong
            raise unreadable(spec.encoder, error) from None
        finally:
            logging.disable(logging.NOTSET)
        self.model.eval()
        preprocessing = dict(self.model.visual.preprocess_cfg)
        known = {field.name for field in fields(transform.PreprocessCfg)}
        of_images = transform.PreprocessCfg(**{key: value for key, value in preprocessing.items() if key in known})
        self.transform = transform.image_transform_v2(of_images, is_train=False)
        self.longest = int(self.tokenizer.context_length)
        self._set_length(self.longest, self.longest)
        inner = getattr(self.tokenizer, "tokenizer", None)
        hashes = {weights.name: sha256_of(weights)}
        self.facts = {
            "library": "open_clip",
            "versions": versions("open_clip_torch", "torch", "torchvision", "timm"),
            "model": model,
            "model_class": type(self.model).__name__,
            "pretrained": given,
            "revision": revision,
            "weights": hashes,
            "weights_sha256": combined(hashes),
            "preprocessing": {key: preprocessing[key] for key in sorted(preprocessing)},
            "tokenizer": type(self.tokenizer).__name__ + (f" ({type(inner).__name__})" if inner is not None else ""),
            "max_length": self.max_length,
        }
        if odd := sorted({str(one.message) for one in said if "QuickGELU" in str(one.message)}):
            self.facts["warnings"] = odd

    def prepare(self, image: Image.Image) -> npt.NDArray[np.float32]:
        """Prepare pixels ``[3, height, width]``."""
        return self.transform(image).numpy()  # type: ignore[no-any-return]

    def image_vectors(self, prepared: Sequence[npt.NDArray[np.float32]]) -> Tensor:
        """Compute ``[n, dim]`` of prepared images."""
        return self.model.encode_image(torch.from_numpy(np.stack(prepared)).to(self.device))  # type: ignore[no-any-return]

    def text_vectors(self, texts: list[str]) -> Tensor:
        """Compute ``[n, dim]`` of captions within the prompt, padded to the length that most text towers insist on."""
        tokens = self.tokenizer(texts, context_length=self.max_length)
        missing = (0, self.longest - tokens.shape[1])
        padding = int(self.tokenizer([""], context_length=self.longest)[0, -1])
        tokens = torch.nn.functional.pad(tokens, missing, value=padding)
        return self.model.encode_text(tokens.to(self.device))  # type: ignore[no-any-return]

    def truncated(self, captions: Sequence[str]) -> int:
        """Count the captions that, within the prompt, are longer than the model reads."""
        # open_clip's tokenizers cut silently: with four times the room, what stands behind the end has been cut.
        more = 4 * self.max_length
        padding = self.tokenizer([""], context_length=more)[0, -1]
        behind = self.tokenizer(self.prompted(captions), context_length=more)[:, self.max_length :]
        return int((behind != padding).any(dim=1).sum())


def _fetched(spec: EncoderSpec, model: str, tag: str) -> Path:
    """Let open_clip fetch the weights of a tag into its cache."""
    if spec.revision is not None:
        raise InputError(
            f"{spec.encoder} is fetched by open_clip, which takes no revision",
            cure="pin the weights by --sha256, or name a repository, open_clip:hf-hub:ORG/NAME",
        )
    if open_clip.get_model_config(model) is None:
        hint = did_you_mean(model, open_clip.list_models()) or "see open_clip.list_models()"
        raise InputError(f"open_clip has no architecture '{model}'", cure=hint)
    config = open_clip.get_pretrained_cfg(model, tag)
    if not config:
        tags = open_clip.list_pretrained_tags_by_model(model)
        hint = did_you_mean(tag, tags) or f"its tags are {', '.join(tags) or 'none'}"
        raise InputError(f"'{tag}' is neither a file nor a tag of open_clip's {model}", cure=hint)
    try:
        return Path(open_clip.download_pretrained(config))
    except Exception as error:  # of urllib or huggingface_hub: whatever open_clip uses at the moment
        raise InputError(
            f"the weights of {spec.encoder} could not be fetched ({reason_of(error)})",
            cure="connect to the internet once, or name a local checkpoint, open_clip:MODEL/FILE",
        ) from None
