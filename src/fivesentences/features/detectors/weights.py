"""Weights of detectors from files that somebody else wrote: read without running anything, and fitted key by key."""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from fivesentences.documents import check_file
from fivesentences.errors import InputError, first_of, reason_of
from fivesentences.seals import check_zip

LARGEST = 4 << 30  # bytes; the largest of these networks has a sixteenth
SHOWN = 3  # names per kind of mistake
COUNTER = ".num_batches_tracked"  # of batch normalisation; no number depends on it
_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # what torch wrote at the beginning of a file before version 1.6
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def read_weights(path: Path | str) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file, by name.

    Raises:
        InputError: If the file is missing or is not a complete safetensors file.
    """
    check_file(path)
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        what = f"it is not a complete safetensors file ({reason_of(error)})"
        raise InputError(what, where=path, cure="fetch it again") from None


def read_state(path: Path | str) -> dict[str, Tensor]:
    """Read the tensors of a file of weights, by name.

    Args:
        path: A safetensors file; a file of ``torch.save``; or a pickle of numpy arrays, as detectron2's conversions
            are. The last two may hold the weights under ``model``.

    Raises:
        InputError: If the file is missing, damaged or too large, holds objects other than tensors and arrays (nothing
            in it is run), or no weights.
    """
    path = Path(path)
    check_file(path)
    if path.stat().st_size > LARGEST:
        raise InputError(f"it has {path.stat().st_size:,} bytes; no detector's weights have.", where=path)
    if path.suffix == ".safetensors":
        return read_weights(path)
    with path.open("rb") as file:
        head = file.read(len(_LEGACY))
    content = _torch_content(path) if head.startswith(b"PK") or head == _LEGACY else _pickled_arrays(path)
    if isinstance(content, Mapping) and isinstance(content.get("model"), Mapping):
        content = content["model"]
    state = {str(key): _tensor(value) for key, value in content.items()} if isinstance(content, Mapping) else {}
    odd = [key for key, value in state.items() if value is None]
    if odd or not state:
        held = f"'{odd[0][:80]}', which is no tensor" if odd else "no weights"
        raise InputError(f"it holds {held}", where=path, cure="give a file of a network's weights by name")
    return {key: value for key, value in state.items() if value is not None}


def fill(network: nn.Module, path: Path | str, what: str) -> None:
    """Load the weights of a file into a network, see ``read_state`` and ``fit``."""
    fit(network, read_state(path), path, what)


def fit(network: nn.Module, state: Mapping[str, Tensor], where: Path | str, what: str) -> None:
    """Load tensors into a network, in evaluation mode; every key and shape must be the network's.

    ``gamma`` and ``beta`` at the end of a key stand for ``weight`` and ``bias``; counters of batches are optional.

    Args:
        network: Its tensors are replaced; it may stand on the device ``meta``.
        state: Tensors by name; half precision becomes float32.
        where: Their file.
        what: Name of the network in an error.

    Raises:
        InputError: If a tensor is missing, unknown, of another shape, or not finite.
    """
    wanted = network.state_dict()
    counters = {key for key in wanted if key.endswith(COUNTER)}
    norms = {key.removesuffix("running_mean") for key in wanted if key.endswith(".running_mean")}
    state = {key if key in wanted else _renamed(key): value for key, value in state.items()}
    state = {key: value for key, value in state.items() if key.removesuffix(COUNTER[1:]) not in norms}
    needed = {key: value for key, value in wanted.items() if key not in counters}
    shapes = [
        f"'{key}' {list(state[key].shape)} in place of {list(value.shape)}"
        for key, value in needed.items()
        if key in state and state[key].shape != value.shape
    ]
    kinds = {
        "missing": [f"'{key[:80]}'" for key in needed if key not in state],
        "unknown": [f"'{key[:80]}'" for key in state if key not in needed],
        "of another shape": shapes,
    }
    if any(kinds.values()):
        listed = ", ".join(f"{len(some):,} {kind} ({first_of(some, SHOWN)})" for kind, some in kinds.items() if some)
        raise InputError(
            f"its {len(state):,} tensors are not the {len(needed):,} of {what}: {listed}",
            where=where,
            cure="give the weights of this network and flavour",
        )
    for key, value in needed.items():
        is_float = state[key].dtype in _FLOATS
        if is_float != value.dtype.is_floating_point or (is_float and not _is_finite(state[key])):
            raise InputError(f"'{key}' is not made of finite floating-point numbers; fetch it again.", where=where)
    counted = {key: torch.zeros_like(wanted[key], device="cpu") for key in counters}
    if any(value.is_meta for value in wanted.values()):
        # A copy, and float32 like the network: what is read may be float16, or a view of the file.
        fitting = {key: state[key].to(value.dtype, copy=True) for key, value in needed.items()}
        network.load_state_dict(fitting | counted, strict=True, assign=True)
    else:  # into the tensors that are there: VGG-19 has 575 MB, and each process of an extraction loads it
        network.load_state_dict({key: state[key] for key in needed} | counted, strict=True)
    network.requires_grad_(False).eval()


def _is_finite(tensor: Tensor) -> bool:
    """Return True if every value is finite; in parts, since torch copies what it looks at."""
    return all(bool(torch.isfinite(part).all()) for part in torch.split(tensor.flatten(), 1 << 22))


class _Dtype:
    """Stands for a numpy type while it is unpickled."""

    def __init__(self, text: Any, *_: object):
        self.value = np.dtype(str(text))
        if self.value.kind not in "biuf":
            raise pickle.UnpicklingError(f"holds an array of {self.value}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.value = self.value.newbyteorder(state[1])


class _Array:
    """Stands for a numpy array while it is unpickled: numpy's own functions believe what a pickle says of memory."""

    def __init__(self, *_: object):
        self.value: np.ndarray | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, data = state
        self.value = _array(data, kind, shape, "F" if fortran else "C").value

    @classmethod
    def of(cls, value: np.ndarray) -> _Array:
        made = cls()
        made.value = value
        return made


def _array(data: Any, kind: _Dtype, shape: tuple[int, ...] = (), order: Any = "C") -> _Array:
    raw = data.encode("latin-1") if isinstance(data, str) else bytes(data)  # Python 2 pickled bytes as text
    return _Array.of(np.frombuffer(raw, kind.value).reshape(shape, order=order))


class _Unpickler(pickle.Unpickler):
    """Reads a pickle of numpy arrays; nothing that it names is imported or called, but for the stand-ins here."""

    STAND_INS: Mapping[tuple[str, str], Any] = {
        ("_codecs", "encode"): lambda text, _: text.encode("latin-1"),
        ("collections", "OrderedDict"): dict,
        ("numpy", "dtype"): _Dtype,
        ("numpy", "ndarray"): _Array,
        ("multiarray", "_reconstruct"): _Array,
        ("multiarray", "scalar"): lambda kind, data: _array(data, kind),
        ("numeric", "_frombuffer"): _array,
    }

    def find_class(self, module: str, name: str) -> Any:
        short = module.removeprefix("numpy.core.").removeprefix("numpy._core.")
        if (short, name) not in self.STAND_INS:
            raise pickle.UnpicklingError(f"asks for {module}.{name}")
        return self.STAND_INS[short, name]


def _pickled_arrays(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            return _Unpickler(file, encoding="latin-1").load()
        except pickle.UnpicklingError as error:
            what = f"this pickle is refused, and nothing in it was run ({str(error)[:80]})."
            raise InputError(what, where=path) from None
        except Exception:  # a pickle that was made to break its reader ends it in any way
            raise InputError("this is not a complete pickle of arrays", where=path, cure="fetch it again") from None


def _torch_content(path: Path) -> Any:
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                    raise InputError("it unpacks to more than any detector's weights.", where=path)
        check_zip(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL ([\w.]+)", str(error))  # torch's message goes on to say how to load it all the same
        reason = f"it holds {f'a {found[1]}' if found else 'more than tensors'}"
        raise InputError(f"it is refused, and nothing in it was run: {reason}.", where=path) from None
    except Exception:  # a damaged file can fail in any way
        raise InputError("this is not a whole file of torch.save", where=path, cure="fetch it again") from None


def _tensor(value: Any) -> Tensor | None:
    if isinstance(value, Tensor):
        return value if value.layout == torch.strided and not value.is_quantized else None
    if isinstance(value, _Array) and value.value is not None:
        return torch.from_numpy(value.value.astype(value.value.dtype.newbyteorder("="), copy=True))
    return None


def _renamed(key: str) -> str:
    stem, dot, last = key.rpartition(".")
    return stem + dot + {"gamma": "weight", "beta": "bias"}.get(last, last)
