"""Image features from networks that timm knows: pooled vectors or the map of the last layer."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from fivesentences.config.types import Layout
from fivesentences.errors import InputError
from fivesentences.storage import sha256_of

# Images per forward pass. On a CPU small batches stay in the cache (MobileNetV2, one core: 49 images/s with 8,
# 32 with 32). Both are fixed, not tuned at run time, because sums depend on them in the last digit.
CPU_BATCH, GPU_BATCH = 8, 64


@dataclass(frozen=True)
class Origin:
    """How a file of weights wants its network built and its images prepared, where timm's own are not meant."""

    network: str
    arguments: dict[str, Any] = field(hash=False)
    preprocessing: dict[str, Any] = field(hash=False)


# By the SHA-256 of the file. Nothing inside such a file says how it was trained.
ORIGINS = {
    # MobileNetV2 from TensorFlow Lite: batch normalisation is folded into the convolutions (the file holds
    # identity ones, with the folded biases as theirs), TensorFlow's "same" padding, input in [-1, 1] at 224 x 224
    # without a crop.
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
    ),
}


class Network:
    """A timm network as an extractor.

    ``describe`` returns float32: ``[images, dim]`` for the layout ``global``, which is what the network's
    classifier reads (the mean over the map for most; fc7 after its ReLU, 4,096 numbers, for VGG), or
    ``[images, regions, dim]`` for ``grid``, the last layer's map row by row from the top left.
    """

    def __init__(self, name: str, layout: Layout, weights: Path | None, device: str = "cpu"):
        """Build the network.

        Raises:
            InputError: If timm does not know the name, the weights are not this network's, or no weights were
                given and timm's own could not be downloaded.
        """
        import torch

        self.layout = layout
        self.on_accelerator = device != "cpu"
        self.module, self.preprocessing = load(name, weights)
        self.module = self.module.to(device=device, memory_format=torch.channels_last)
        self._device = device
        self._transform = _transform(self.preprocessing)
        mean, std = (torch.tensor(self.preprocessing[key], device=device) * 255 for key in ("mean", "std"))
        self._mean, self._std = mean[:, None, None], std[:, None, None]

    def prepare(self, image: Image.Image) -> npt.NDArray[np.uint8]:
        """An RGB image resized and cropped as the weights want it: ``[3, height, width]``."""
        return np.asarray(self._transform(image), dtype=np.uint8)

    def describe(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Describe prepared images ``[n, 3, height, width]``."""
        import torch

        size = GPU_BATCH if self.on_accelerator else CPU_BATCH
        threads = torch.get_num_threads()
        # One thread on a CPU: work is shared out by chunks, and sums then do not depend on how many cores there are.
        torch.set_num_threads(1)
        try:
            with (
                torch.inference_mode(),
                torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False, allow_tf32=False),
            ):
                parts = [self._forward(batch[start : start + size]) for start in range(0, len(batch), size)]
        finally:
            torch.set_num_threads(threads)
        return np.concatenate(parts)

    def _forward(self, batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        import torch

        pixels = torch.from_numpy(np.ascontiguousarray(batch)).to(self._device).float()
        pixels = ((pixels - self._mean) / self._std).contiguous(memory_format=torch.channels_last)
        maps = self.module.forward_features(pixels)
        if self.layout == "global":
            rows = self.module.forward_head(maps, pre_logits=True)
        elif maps.ndim == 4:
            # Most networks put channels second; those that put them last say so.
            last = getattr(self.module, "output_fmt", "NCHW") == "NHWC"
            rows = maps.flatten(1, 2) if last else maps.flatten(2).transpose(1, 2)
        else:  # transformers: [n, tokens, dim], class and register tokens first
            rows = maps[:, getattr(self.module, "num_prefix_tokens", 0) :]
        return rows.float().cpu().numpy()  # type: ignore[no-any-return]


def check_name(name: str, others: tuple[str, ...] = ()) -> None:
    """Make sure that timm has a network of this name.

    Raises:
        InputError: If not, with the nearest names of timm's and of ``others``.
    """
    import timm

    if timm.is_model(name):
        return
    known = [*others, *timm.list_models()]
    close = difflib.get_close_matches(name, known, n=3) or ["vgg19", "resnet152", "mobilenetv2_100"]
    shown = ", ".join(f"'{match}'" for match in close)
    raise InputError(f"extractor '{name}' is neither {' nor '.join(others) or 'ours'} nor a timm network; "
                     f"did you mean {shown}?")  # fmt: skip


def load(name: str, weights: Path | None) -> tuple[Any, dict[str, Any]]:
    """A network in evaluation mode with its weights, and how it wants its images prepared (timm's data config).

    Weights from a file must fit to the last key and shape. Images are prepared as timm says for that name,
    unless the file is one of ``ORIGINS``.

    Raises:
        InputError: As ``Network``.
    """
    import timm
    from timm.data.config import resolve_model_data_config

    check_name(name)
    if weights is None:
        try:
            module = timm.create_model(name, pretrained=True)
        except Exception as error:  # urllib's, requests', httpx's, huggingface_hub's: whatever timm uses this year
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise InputError(
                f"timm's weights of '{name}' could not be loaded ({reason}); connect to the network once, "
                f"or give a .safetensors file of this network as `weights`."
            ) from None
        return module.eval(), resolve_model_data_config(module)  # type: ignore[no-untyped-call]

    origin = ORIGINS.get(sha256_of(weights)) if Path(weights).is_file() else None
    module = timm.create_model(name, pretrained=False, **(origin.arguments if origin else {}))
    _fill(module, name, weights, origin)
    if origin:
        return module.eval(), origin.preprocessing
    return module.eval(), resolve_model_data_config(module)  # type: ignore[no-untyped-call]


def _fill(module: Any, name: str, weights: Path, origin: Origin | None) -> None:
    state = read_weights(weights)
    if origin is not None and origin.network != name:
        raise InputError(f"{weights} holds weights of '{origin.network}', not of '{name}'.")
    wanted = module.state_dict()
    missing, unexpected = sorted(wanted.keys() - state.keys()), sorted(state.keys() - wanted.keys())
    reshaped = [key for key in wanted.keys() & state.keys() if wanted[key].shape != state[key].shape]
    if missing or unexpected or reshaped:
        key = (missing + unexpected + reshaped)[0]
        raise InputError(
            f"{weights} does not fit the network '{name}': {len(missing)} tensors are missing, {len(unexpected)} "
            f"unknown and {len(reshaped)} of another shape (such as '{key}'); give this network's own weights."
        )
    if origin is None and _is_folded(state):
        raise InputError(
            f"{weights}: batch normalisation is folded into the convolutions, so the file was converted and its "
            "padding and input range are unknown; use the file listed in config/datasets.yaml or timm's own."
        )
    module.load_state_dict(state, strict=True)  # casts float16 to the module's float32


def _is_folded(state: dict[str, Any]) -> bool:
    """Whether all batch norms are identities apart from their biases (which a fresh network's are not)."""
    stems = [key.removesuffix("running_mean") for key in state if key.endswith("running_mean")]
    return bool(stems) and all(
        not state[f"{stem}running_mean"].any()
        and bool((state[f"{stem}running_var"] == 1).all())
        and bool(state[f"{stem}bias"].any())
        for stem in stems
    )


def read_weights(weights: Path) -> dict[str, Any]:
    """The tensors of a safetensors file.

    Raises:
        InputError: If the file is missing or is no whole safetensors file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(weights)
    except FileNotFoundError:
        raise InputError(f"{weights}: there is no such file of weights.") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{weights} is not a whole safetensors file ({error}); fetch it again.") from None


def save_weights(module: Any, path: Path) -> None:
    """Write a network's tensors as safetensors, so that workers need not download them again."""
    from safetensors.torch import save_file

    save_file({key: tensor.detach().cpu().contiguous().clone() for key, tensor in module.state_dict().items()}, path)


def digest(module: Any) -> str:
    """SHA-256 over the names and values of a network's tensors."""
    total = hashlib.sha256()
    for key, tensor in sorted(module.state_dict().items()):
        total.update(key.encode())
        total.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return total.hexdigest()


def best_device() -> str:
    """``cuda`` where torch finds such a device, else ``cpu``."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _transform(preprocessing: dict[str, Any]) -> Any:
    from timm.data.transforms_factory import create_transform

    keys = ("input_size", "interpolation", "mean", "std", "crop_pct", "crop_mode")
    settings = {key: preprocessing[key] for key in keys if key in preprocessing}
    # "Prefetcher" transforms end with bytes: a quarter of what floats would cost between processes.
    return create_transform(**settings, is_training=False, use_prefetcher=True)
