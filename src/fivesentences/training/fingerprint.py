"""Everything that the bits of a run depend on, so that earlier work is used for the same run only."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch

import fivesentences
from fivesentences.documents import check_file
from fivesentences.features.precomp import read_precomp
from fivesentences.plan.runs import RunSpec
from fivesentences.storage import sha256_of

# Rooms of the package whose code affects how a run is trained.
ROOMS = ("corpus", "features", "losses", "metrics", "models", "retrieval", "semantics", "training")


def fingerprint(
    spec: RunSpec, corpus: Path, features: Path, device: torch.device, phi_files: Mapping[str, Path] | None = None
) -> dict[str, str]:
    """Settings, content of the input files, code and versions of a run; the keys are words for a sentence.

    Prepared CIDEr (``.npz``) is left out: it changes no bit, and the file says which captions it was made from.
    """
    read = {f"the matrix of {name}": path for name, path in (phi_files or {}).items() if path.suffix == ".npy"}
    if (glove := spec.model.concept_options.glove) is not None:
        read["the GloVe file"] = glove
    return {name: content_of(path) for name, path in read.items()} | {
        "the run's settings": spec.model_dump_json(),
        "the corpus file": content_of(corpus),
        "the features file": _features(features),
        "the features' table of images": content_of(features.with_suffix(".images.parquet")),
        "the code of fivesentences": code_of(ROOMS),
        "the version of fivesentences": version("fivesentences"),
        "the version of torch": str(torch.__version__),
        "the device": f"{device.type} {platform.machine()}",
    }


def differences(known: Mapping[str, str], now: Mapping[str, str], apart: Collection[str] = ()) -> list[str]:
    """The keys in which two fingerprints differ, including those of only one (a matrix that is no longer given).

    Args:
        known: The fingerprint of earlier work.
        now: The fingerprint of the work to be done.
        apart: Keys that are not compared.
    """
    return [key for key in {**now, **known} if key not in apart and known.get(key) != now.get(key)]


def _features(path: Path) -> str:
    """Hash of the features; those of a precomp folder are in files that a small ``.json`` names."""
    if path.suffix != ".json":
        return content_of(path)
    digest = hashlib.sha256(content_of(path).encode())
    for file in (file for split in read_precomp(path).splits for file in split.files):
        digest.update(content_of(file).encode())
    return digest.hexdigest()


def content_of(path: Path) -> str:
    """SHA-256 of a file; several runs of a process read the same large features and hash them once."""
    check_file(path)
    status = path.stat()
    return _sha256_of_state(path, status.st_size, status.st_mtime_ns)


@cache
def _sha256_of_state(path: Path, size: int, time: int) -> str:
    return sha256_of(path)


@cache
def code_of(rooms: tuple[str, ...]) -> str:
    """Hash of the modules of some rooms, because the version stays the same while they are being edited.

    Args:
        rooms: Folders of the package.
    """
    package = Path(fivesentences.__file__).parent
    digest = hashlib.sha256()
    for path in (path for room in rooms for path in sorted((package / room).rglob("*.py"))):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
