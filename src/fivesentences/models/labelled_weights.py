"""Weights in safetensors with a label: one JSON entry of metadata that says what they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fivesentences.errors import InputError
from fivesentences.storage import replacing

FORMAT = 1
KEY = "fivesentences"  # one metadata entry: safetensors writes several in no fixed order


def write_labelled(path: Path, tensors: Mapping[str, Tensor], label: Mapping[str, Any]) -> None:
    """Write tensors and their label, whole or not at all; equal content, equal bytes."""
    with replacing(path) as temporary:
        # Not save_file: it makes files that only their owner may read.
        temporary.write_bytes(save(dict(tensors), {KEY: json.dumps({"format": FORMAT, **label}, sort_keys=True)}))


def read_labelled(path: Path, what: str, cure: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Label and tensors of such a file.

    Args:
        path: The file.
        what: What it should be, for the error: "a run".
        cure: What to do about a file that is none, for the error: "train the run again".

    Raises:
        InputError: If the file is missing, damaged or of another format.
    """
    try:
        with safe_open(path, framework="pt") as file:
            label = json.loads((file.metadata() or {}).get(KEY, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is not a whole safetensors file ({error}); {cure}.") from None
    if label.get("format") != FORMAT:
        raise InputError(f"{path} is not {what} of format {FORMAT}; {cure}.")
    return label, tensors
