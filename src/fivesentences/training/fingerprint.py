"""What the bits of a run depend on, so that work of an earlier process is used for the same run only."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch

import fivesentences
from fivesentences.config import RunSpec
from fivesentences.storage import sha256_of

# Rooms of the package whose code has a part in training a run.
ROOMS = ("corpus", "features", "losses", "metrics", "models", "retrieval", "semantics", "training")


def fingerprint(spec: RunSpec, corpus: Path, features: Path, device: torch.device) -> dict[str, str]:
    """Settings, content of the input files, code and versions of a run; the keys name them in a sentence."""
    return {
        "the run's settings": spec.model_dump_json(),
        "the corpus file": _sha256(corpus),
        "the features file": _sha256(features),
        "the features' table of images": _sha256(features.with_suffix(".images.parquet")),
        "the code of fivesentences": _code(),
        "the version of fivesentences": version("fivesentences"),
        "the version of torch": str(torch.__version__),
        "the device": f"{device.type} {platform.machine()}",
    }


def _sha256(path: Path) -> str:
    """The content of a file; several runs of a process read the same large features, and hash them once."""
    status = path.stat()
    return _sha256_of_state(path, status.st_size, status.st_mtime_ns)


@cache
def _sha256_of_state(path: Path, size: int, time: int) -> str:
    return sha256_of(path)


@cache
def _code() -> str:
    """Hash of the modules that train, since a version stands still while somebody changes them."""
    package = Path(fivesentences.__file__).parent
    digest = hashlib.sha256()
    for path in _sources(package):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _sources(package: Path) -> Iterable[Path]:
    return (path for room in ROOMS for path in sorted((package / room).rglob("*.py")))
