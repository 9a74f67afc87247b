"""Everything that the bits of a run depend on, so that earlier work is used for the same run only."""

from __future__ import annotations

import ast
import hashlib
import platform
from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError

import fivesentences
from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.features.precomp import read_precomp
from fivesentences.losses import LossTerm
from fivesentences.models import ModelSpec
from fivesentences.storage import sha256_of
from fivesentences.study.runs import RunSpec, SubspaceRun

PACKAGE = Path(fivesentences.__file__).parent
# Rooms of the package whose code affects how every run is trained; of losses and models a run has only its own.
ROOMS = ("corpus", "features", "metrics", "retrieval", "semantics", "training")
# Modules that name every loss or model: one more there changes no run. What they say of a run is in its settings.
LISTS = {f"fivesentences.{name}" for name in ("losses", "losses.spec", "models", "models.registry")}
SETTINGS = "the run's settings"
_SETTINGS: TypeAdapter[RunSpec | SubspaceRun] = TypeAdapter(RunSpec | SubspaceRun)


def fingerprint(
    spec: RunSpec, corpus: Path, features: Path, device: torch.device, phi_files: Mapping[str, Path] | None = None
) -> dict[str, str]:
    """Settings, content of the input files, code and versions of a run; the keys are words for a sentence.

    Prepared CIDEr (``.npz``) is left out: it changes no bit, and the file says which captions it was made from.
    """
    read = {f"the matrix of {name}": path for name, path in (phi_files or {}).items() if path.suffix == ".npy"}
    if (glove := spec.model.concept_options.glove) is not None:
        read["the GloVe file"] = glove
    if (words := spec.training.vocabulary) is not None:
        read["the vocabulary file"] = words
    return {name: content_of(path) for name, path in read.items()} | {
        SETTINGS: spec.model_dump_json(),
        "the corpus file": content_of(corpus),
        "the features file": _features(features),
        "the features' table of images": content_of(features.with_suffix(".images.parquet")),
        "the code of fivesentences": code_of(ROOMS, modules_of(spec)),
        "the version of fivesentences": version("fivesentences"),
        "the version of torch": str(torch.__version__),
        "the device": f"{device.type} {platform.machine()}",
    }


def differences(known: Mapping[str, str], now: Mapping[str, str], apart: Collection[str] = ()) -> list[str]:
    """The keys in which two fingerprints differ, including those of only one (a matrix that is no longer given).

    Settings are compared by what they mean: one that the package had not yet when they were recorded has its default.

    Args:
        known: The fingerprint of earlier work.
        now: The fingerprint of the work to be done.
        apart: Keys that are not compared.
    """
    return [key for key in {**now, **known} if key not in apart and not _same(key, known.get(key), now.get(key))]


def _same(key: str, known: str | None, now: str | None) -> bool:
    if known == now or key != SETTINGS or known is None or now is None:
        return known == now
    try:
        first, second = (_SETTINGS.validate_json(text) for text in (known, now))
    except (ValidationError, InputError):  # a setting that there is no more, or a damaged record
        return False
    return first.model_dump_json() == second.model_dump_json()


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


def modules_of(spec: RunSpec) -> tuple[str, ...]:
    """The modules of losses and models that a run has: its own, those that training needs, and what these import."""
    kinds: list[ModelSpec | LossTerm] = [spec.model, *spec.loss.terms]
    own = {name for kind in kinds for name in (type(kind).__module__, kind.implementation.partition(":")[0])}
    of_training = {name for path in (PACKAGE / "training").rglob("*.py") for name in _imported(path)}
    found: set[str] = set()
    todo = {name for name in own if _file_of(name).is_file()} | of_training
    while todo:
        found |= todo
        todo = {name for module in todo for name in _imported(_file_of(module))} - found
    return tuple(sorted(found))


@cache
def _imported(path: Path) -> frozenset[str]:
    """The modules of losses and models that a module imports, anywhere in it; ``LISTS`` are left out."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    beginnings = tuple(f"fivesentences.{room}." for room in ("losses", "models"))
    known = {name for name in names if name.startswith(beginnings) and _file_of(name).is_file()}
    return frozenset(known - LISTS)


def _file_of(module: str) -> Path:
    """The file of a module of the package."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def code_of(rooms: tuple[str, ...], modules: tuple[str, ...] = ()) -> str:
    """Hash of the modules of some rooms, because the version stays the same while they are being edited.

    Args:
        rooms: Folders of the package.
        modules: Names of further modules of the package.
    """
    paths = [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]
    digest = hashlib.sha256()
    for path in (*paths, *map(_file_of, modules)):
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
