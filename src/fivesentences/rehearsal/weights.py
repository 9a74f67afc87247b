"""Weights of a rehearsal: random numbers under the keys and in the shapes of the real networks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from fivesentences.errors import InputError, install
from fivesentences.storage import replacing


def write_weights(path: Path, network: str, seed: int) -> None:
    """A safetensors file that timm loads as the weights of one of its networks.

    Matrices and convolutions are scaled so that numbers neither vanish nor explode on their way (He et al. 2015); what
    belongs to batch normalisation leaves its input as it is.

    Args:
        path: The file.
        network: As timm names it, such as ``vgg19``.
        seed: The same gives the same bytes.

    Raises:
        InputError: If timm is not installed.
    """
    try:
        import timm
        import torch
        from safetensors.torch import save_file
    except ImportError:
        raise InputError(f"weights of {network} need timm", cure=install("train")) from None

    with torch.device("meta"):  # the names and shapes alone: to initialise VGG19 takes longer than to draw it
        shapes = {key: tensor.shape for key, tensor in timm.create_model(network).state_dict().items()}
    rng, tensors = np.random.default_rng(seed), {}
    for key, shape in shapes.items():
        if len(shape) > 1:
            scale = math.sqrt(2 / math.prod(shape[1:]))
            tensors[key] = torch.from_numpy(rng.standard_normal(tuple(shape), dtype=np.float32)).mul_(scale)
        elif key.endswith("num_batches_tracked"):
            tensors[key] = torch.zeros(shape, dtype=torch.int64)
        else:
            ones = key.endswith("running_var") or (key.endswith("weight") and len(shape) == 1)
            tensors[key] = torch.full(shape, float(ones))
    with replacing(path) as temporary:
        save_file(tensors, temporary)
