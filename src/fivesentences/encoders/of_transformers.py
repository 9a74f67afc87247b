"""Dual encoders of Hugging Face transformers: CLIP, SigLIP, SigLIP 2, and the contrastive part of BLIP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from fivesentences.encoders.encoder import (
    Settings,
    as_rows,
    check_installed,
    checked_length,
    inference,
    unreadable,
    without_bars,
)
from fivesentences.encoders.encoder import versions as versions_of
from fivesentences.encoders.naming import EncoderName
from fivesentences.encoders.sources import WEIGHTS, Source, find_source
from fivesentences.errors import InputError

# BLIP's text encoder has 512 positions; its authors cut captions at 35 tokens in their evaluation of retrieval.
BLIP_TOKENS = 35
CLASSES = {
    "clip": "CLIPModel",
    "siglip": "SiglipModel",
    "siglip2": "Siglip2Model",
    "blip": "BlipForImageTextRetrieval",
}
# SigLIP was trained on captions padded to full length, and without a mask: all positions are attended to, and the
# vector is that of the last one. CLIP takes the end of the text, and BLIP its beginning.
WITHOUT_MASK = ("siglip", "siglip2")
LOWER_CASE = ("GemmaTokenizer", "Siglip2Tokenizer")  # tokenizers of SigLIP 2, which was trained on lower case


class TransformersEncoder:
    """CLIP, SigLIP, SigLIP 2 or BLIP by its configuration.

    Of BLIP the two projections are used by which its contrastive loss compares images and captions (ITC). Its matching
    head (ITM) reads an image and a caption together and so has no vectors of either.
    """

    def __init__(self, name: EncoderName, settings: Settings):
        """Load the model.

        Raises:
            InputError: If transformers is missing, there is no such model, it is of another kind, its weights do not
                fill it, or more tokens are asked for than it reads.
        """
        check_installed("transformers", "transformers")
        import transformers

        self.settings = settings
        self._source = find_source(name.model, settings.revision, WEIGHTS)
        folder, fixed = str(self._source.folder), {"trust_remote_code": False, "local_files_only": True}
        try:
            config = transformers.AutoConfig.from_pretrained(folder, **fixed)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise unreadable(name.model, error) from None
        self.kind = config.model_type
        if self.kind not in CLASSES:
            raise InputError(
                f"this is a model of type '{self.kind}'; dual encoders of transformers that are read are "
                f"{', '.join(CLASSES)}",
                where=name.model,
                cure="name one of those, or use open_clip: or sentence_transformers:",
            )
        self.model = _loaded(getattr(transformers, CLASSES[self.kind]), self._source, name.model).to(settings.device)
        try:
            images: Any = transformers.AutoImageProcessor  # untyped
            self.processor = images.from_pretrained(folder, backend="pil", **fixed)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **fixed)
        except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
            raise unreadable(name.model, error) from None
        longest = config.text_config.max_position_embeddings
        usual = min(BLIP_TOKENS, longest) if self.kind == "blip" else longest
        self.max_length = checked_length(settings.max_length, usual, longest, str(name))
        self.lower_case = self.kind in WITHOUT_MASK and type(self.tokenizer).__name__.startswith(LOWER_CASE)
        self.facts: Mapping[str, Any] = {
            "library": "transformers",
            "versions": versions_of("transformers", "tokenizers", "torch"),
            "model": name.model,
            "model_class": CLASSES[self.kind],
            **self._source.facts(),
            "preprocessing": json.loads(self.processor.to_json_string()),
            "tokenizer": type(self.tokenizer).__name__,
            "lower_case": self.lower_case,
            "max_length": self.max_length,
        }

    def prepare(self, image: Image.Image) -> dict[str, npt.NDArray[Any]]:
        """Pixels ``[3, height, width]``; for SigLIP 2 of flexible resolution patches, their mask and shape."""
        made = self.processor(images=image, return_tensors="np")
        return {key: np.asarray(value[0]) for key, value in made.items()}

    def images(self, prepared: Sequence[dict[str, npt.NDArray[Any]]]) -> npt.NDArray[np.float32]:
        """As in ``Encoder``."""
        import torch

        batch = {key: torch.from_numpy(np.stack([one[key] for one in prepared])) for key in prepared[0]}
        batch = {key: tensor.to(self.settings.device) for key, tensor in batch.items()}
        with inference(self.settings):
            if self.kind == "blip":
                states = self.model.vision_model(pixel_values=batch["pixel_values"]).last_hidden_state
                return as_rows(self.model.vision_proj(states[:, 0, :]))
            return as_rows(self.model.get_image_features(**batch).pooler_output)

    def captions(self, captions: Sequence[str]) -> npt.NDArray[np.float32]:
        """As in ``Encoder``."""
        tokens = self.tokenizer(
            self._texts(captions),
            padding="max_length",
            truncation=True,
            max_length=self.max_length,
            return_tensors="pt",
            return_attention_mask=True,
        ).to(self.settings.device)
        batch = {"input_ids": tokens["input_ids"]}
        if self.kind not in WITHOUT_MASK:
            batch["attention_mask"] = tokens["attention_mask"]
        with inference(self.settings):
            if self.kind == "blip":
                states = self.model.text_encoder(**batch).last_hidden_state
                return as_rows(self.model.text_proj(states[:, 0, :]))
            return as_rows(self.model.get_text_features(**batch).pooler_output)

    def truncated(self, captions: Sequence[str]) -> int:
        """As in ``Encoder``."""
        tokens = self.tokenizer(self._texts(captions), padding=False, truncation=False, verbose=False)["input_ids"]
        return sum(len(one) > self.max_length for one in tokens)

    def _texts(self, captions: Sequence[str]) -> list[str]:
        texts = self.settings.prompted(captions)
        return [text.lower() for text in texts] if self.lower_case else texts


def _loaded(kind: Any, source: Source, where: str) -> Any:
    """The model in evaluation mode; transformers itself would fill weights that are missing with random numbers."""
    import torch

    safetensors = source.weights[0].suffix == ".safetensors"
    try:
        with without_bars():
            model, report = kind.from_pretrained(
                str(source.folder),
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=safetensors,
                weights_only=True,
                output_loading_info=True,
            )
    except Exception as error:  # what a damaged file raises depends on where it is damaged
        raise unreadable(where, error) from None
    missing = sorted(str(key) for key in report["missing_keys"])
    reshaped = sorted(str(key[0] if isinstance(key, tuple) else key) for key in report["mismatched_keys"])
    if missing or reshaped:
        raise InputError(
            f"its weights do not fill {kind.__name__}: {len(missing)} tensors are missing and {len(reshaped)} of "
            f"another shape (such as '{(missing + reshaped)[0]}')",
            where=where,
            cure="name a model that was trained to compare images with captions",
        )
    return model.eval()
