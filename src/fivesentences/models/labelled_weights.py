"""Weights in safetensors with a label: one JSON entry of the file's metadata that describes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fivesentences.documents import check_file, parse_json
from fivesentences.errors import InputError
from fivesentences.seals import BLOCK, checksum_of_blocks
from fivesentences.storage import replacing

KEY = "fivesentences"  # one metadata entry: safetensors writes several in no fixed order


def write_labelled(path: Path, tensors: Mapping[str, Tensor], label: Mapping[str, Any]) -> None:
    """Write tensors and their label, completely or not at all; equal content gives equal bytes.

    Args:
        path: The file.
        tensors: By name.
        label: Plain data, its ``format`` among them.
    """
    with replacing(path) as temporary:
        # Not save_file, which makes files that only their owner may read.
        label = {**label, "checksum": _checksum_of(tensors, label)}
        temporary.write_bytes(save(dict(tensors), {KEY: json.dumps(label, sort_keys=True)}))


def _checksum_of(tensors: Mapping[str, Tensor], label: Mapping[str, Any]) -> str:
    def blocks() -> Iterator[bytes | memoryview]:
        names = sorted(tensors)
        about = [(name, str(tensors[name].dtype), list(tensors[name].shape)) for name in names]
        yield json.dumps([label, about], sort_keys=True).encode()
        for name in names:
            content = tensors[name].reshape(-1).view(torch.uint8).numpy()
            yield from (content[start : start + BLOCK].data for start in range(0, len(content), BLOCK))

    return checksum_of_blocks(blocks())


def read_labelled(path: Path, what: str, version: int, cure: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Label and tensors of such a file.

    Args:
        path: The file.
        what: Its kind, for the error: "a run".
        version: The ``format`` that its label should have.
        cure: Advice about any other file, for the error: "train the run again".

    Raises:
        InputError: If the file is missing, damaged or of another format, or a tensor is not finite.
    """
    check_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            label = parse_json((file.metadata() or {}).get(KEY, "{}"), f"{path}, label", cure)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is not a whole safetensors file ({error}); {cure}.") from None
    if not isinstance(label, dict) or label.get("format") != version:
        raise InputError(f"{path} is not {what} of format {version}; {cure}.")
    check_finite(tensors, path, cure)
    if label.pop("checksum", None) not in (None, _checksum_of(tensors, label)):
        raise InputError("it differs from what was written: it is damaged, or was edited", where=path, cure=cure)
    return label, tensors


def check_finite(tensors: Mapping[str, Tensor], where: Path | str, cure: str) -> None:
    """Check that every number of some tensors is finite.

    Args:
        tensors: By name, in any numeric type.
        where: The file that they come from.
        cure: Advice about it, for the error.

    Raises:
        InputError: Names the first tensor with NaN or inf, and how many of its numbers are.
    """
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and (count := int(torch.count_nonzero(~torch.isfinite(tensor)))):
            what = f"{name} holds {count:,} NaN or inf among {tensor.numel():,} numbers"
            raise InputError(what, where=where, cure=cure)
