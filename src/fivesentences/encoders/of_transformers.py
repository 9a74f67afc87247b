"""Dual encoders of Hugging Face transformers: CLIP, SigLIP, SigLIP 2, and the contrastive part of BLIP."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import transformers
from PIL import Image
from torch import Tensor
from transformers.utils import logging

from fivesentences.encoders.encoder import Encoder, check_parameters, unreadable, versions
from fivesentences.encoders.sources import WEIGHTS, ModelFiles, find_source
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.errors import InputError

# BLIP's text encoder has 512 positions; its authors cut captions at 35 tokens in their evaluation of retrieval.
BLIP_TOKENS = 35
CLASSES = {"clip": "CLIPModel", "siglip": "SiglipModel", "siglip2": "Siglip2Model", "blip": "BlipForImageTextRetrieval"}
# SigLIP was trained on captions padded to full length, and without a mask: all positions are attended to, and the
# vector is that of the last one. CLIP takes the end of the text, and BLIP its beginning.
WITHOUT_MASK = ("siglip", "siglip2")
_LAYER = re.compile(r"^(text|vision)_model\.encoder\.layers\.\d+\.")  # a weight of a layer of a dual encoder
LOWER_CASE = ("GemmaTokenizer", "Siglip2Tokenizer")  # tokenizers of SigLIP 2, which was trained on lower case


class TransformersEncoder(Encoder):
    """CLIP, SigLIP, SigLIP 2 or BLIP by its configuration.

    Of BLIP the two projections are used by which its contrastive loss compares images and captions (ITC). Its matching
    head (ITM) reads an image and a caption together and so has no vectors of either.
    """

    def __init__(self, spec: EncoderSpec, device: str):
        """Load the model.

        Raises:
            InputError: If there is no such model, it is of another kind, its weights do not fill it, or more tokens are
                asked for than it reads.
        """
        super().__init__(spec, device)
        model = spec.name.model
        source = find_source(model, spec.revision, WEIGHTS)
        folder, fixed = str(source.folder), {"trust_remote_code": False, "local_files_only": True}
        try:
            config = transformers.AutoConfig.from_pretrained(folder, **fixed)
        except Exception as error:  # whatever a wrong number or too deep nesting ends in
            raise unreadable(model, error) from None
        self.kind = config.model_type
        if self.kind not in CLASSES:
            raise InputError(
                f"this is a model of type '{self.kind}'; dual encoders of transformers that are read are "
                f"{', '.join(CLASSES)}",
                where=model,
                cure="name one of those, or use open_clip: or sentence_transformers:",
            )
        self.model = _loaded(getattr(transformers, CLASSES[self.kind]), config, source, model).to(device)
        try:
            images: Any = transformers.AutoImageProcessor  # untyped
            self.processor = images.from_pretrained(folder, backend="pil", **fixed)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **fixed)
        except Exception as error:  # likewise
            raise unreadable(model, error) from None
        longest = config.text_config.max_position_embeddings
        self._set_length(min(BLIP_TOKENS, longest) if self.kind == "blip" else longest, longest)
        self.lower_case = self.kind in WITHOUT_MASK and type(self.tokenizer).__name__.startswith(LOWER_CASE)
        self.facts = {
            "library": "transformers",
            "versions": versions("transformers", "tokenizers", "torch"),
            "model": model,
            "model_class": CLASSES[self.kind],
            **source.facts(),
            "preprocessing": json.loads(self.processor.to_json_string()),
            "tokenizer": type(self.tokenizer).__name__,
            "lower_case": self.lower_case,
            "max_length": self.max_length,
        }

    def prompted(self, captions: Sequence[str]) -> list[str]:
        """Put captions into the prompt, in lower case for SigLIP 2."""
        texts = super().prompted(captions)
        return [text.lower() for text in texts] if self.lower_case else texts

    def prepare(self, image: Image.Image) -> dict[str, npt.NDArray[Any]]:
        """Prepare pixels ``[3, height, width]``; for SigLIP 2 of flexible resolution patches, their mask and shape."""
        made = self.processor(images=image, return_tensors="np")
        return {key: np.asarray(value[0]) for key, value in made.items()}

    def image_vectors(self, prepared: Sequence[dict[str, npt.NDArray[Any]]]) -> Tensor:
        """Compute ``[n, dim]`` of prepared images."""
        batch = {key: torch.from_numpy(np.stack([one[key] for one in prepared])) for key in prepared[0]}
        batch = {key: tensor.to(self.device) for key, tensor in batch.items()}
        if self.kind == "blip":
            states = self.model.vision_model(pixel_values=batch["pixel_values"]).last_hidden_state
            return self.model.vision_proj(states[:, 0, :])  # type: ignore[no-any-return]
        return self.model.get_image_features(**batch).pooler_output  # type: ignore[no-any-return]

    def text_vectors(self, texts: list[str]) -> Tensor:
        """Compute ``[n, dim]`` of captions within the prompt."""
        batch = self.tokenizer(
            texts, padding="max_length", truncation=True, max_length=self.max_length, return_tensors="pt",
            return_attention_mask=True,
        ).to(self.device)  # fmt: skip
        wanted = ("input_ids",) if self.kind in WITHOUT_MASK else ("input_ids", "attention_mask")
        tokens = {key: batch[key] for key in wanted}
        if self.kind == "blip":
            states = self.model.text_encoder(**tokens).last_hidden_state
            return self.model.text_proj(states[:, 0, :])  # type: ignore[no-any-return]
        return self.model.get_text_features(**tokens).pooler_output  # type: ignore[no-any-return]


def _loaded(kind: Any, config: Any, source: ModelFiles, where: str) -> Any:
    """Load the model in evaluation mode; transformers itself would fill missing weights with random numbers."""
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    level = logging.get_verbosity()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # its report of weights that do not fit has a line each
    try:
        with torch.device("meta"):
            check_parameters(kind(config), source.weights, where)
        model, report = kind.from_pretrained(
            str(source.folder), dtype=torch.float32, local_files_only=True, weights_only=True, output_loading_info=True,
            use_safetensors=source.weights[0].suffix == ".safetensors",
        )  # fmt: skip
    except InputError:
        raise
    except Exception as error:  # what a damaged file raises depends on where it is damaged
        shapes = "ignore_mismatched_sizes" in str(error)
        mismatch = ValueError("the shapes of its weights are not those of its configuration")
        raise unreadable(where, mismatch if shapes else error) from None
    finally:
        logging.set_verbosity(level)  # type: ignore[no-untyped-call]
    wrong = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if wrong:
        raise InputError(
            f"its weights do not fill {kind.__name__}: {len(wrong)} tensors are missing or of another shape (such as "
            f"{wrong[0]})",
            where=where,
            cure="name a model that was trained to compare images with captions",
        )
    if left := sorted(name for name in map(str, report["unexpected_keys"]) if _LAYER.search(name)):
        what = f"its weights have layers that its configuration leaves out ({len(left)} tensors, such as {left[0]})"
        raise InputError(what, where=where, cure="fetch it or save it again")
    return model.eval()
