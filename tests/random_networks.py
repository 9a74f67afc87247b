"""Networks of timm with random weights, and the files that they are in."""

from __future__ import annotations

from pathlib import Path

import timm
import torch
from safetensors.torch import save_file


def fresh(name: str, folder: Path) -> tuple[torch.nn.Module, Path]:
    """A network with random weights, and the file they are in."""
    torch.manual_seed(0)
    module = timm.create_model(name, pretrained=False).eval()
    path = folder / f"{name}.safetensors"
    save_file(module.state_dict(), path)
    return module, path
