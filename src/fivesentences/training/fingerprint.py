"""Everything that the bits of a run depend on, and the record of a finished run, which says what it was made from."""

from __future__ import annotations

import hashlib
import inspect
import platform
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.losses import Loss
from fivesentences.semantics.registry import SEMANTIC_METRICS, parse_name
from fivesentences.storage import RECORD, content_of, sha256_of, write_record
from fivesentences.study.runs import RunSpec
from fivesentences.training.code import code_behind, syntax_of

if TYPE_CHECKING:
    import torch

# Code that affects how runs are trained.
ROOMS = ("corpus", "features", "losses", "metrics", "models", "retrieval", "semantics", "training")
# Files that name every loss or model: one more there changes no run. What they say of a run is in its settings.
LISTS = frozenset({"losses/__init__.py", "losses/spec.py", "models/__init__.py", "models/specs.py"})
SETTINGS = "the run's settings"
# Modules that decide what is said and how files are written, not what is in them.
WITHOUT_EFFECT = frozenset({"choices.py", "console.py", "errors.py", "lazy.py", "machine.py", "storage.py"})
# A run that was trained on a GPU elsewhere and brought here is as good as one of this machine.
NOT_COMPARED = {"the device", "the version of torch"}
CURE = "copy the whole folder of the run again, or train it again"


def fingerprint(
    spec: BaseModel,
    files: Mapping[str, Path],
    code: str,
    device: torch.device,
    libraries: Iterable[str] = ("fivesentences", "torch"),
) -> dict[str, str]:
    """Collect settings, content of the input files, code and versions of a run; the keys are words for a sentence."""
    return {
        SETTINGS: spec.model_dump_json(),
        **{name: content_of(path) for name, path in files.items()},
        "the code of fivesentences": code,
        **{f"the version of {library}": _version(library) for library in libraries},
        "the device": f"{device.type} {platform.machine()}",
    }


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # an extra: what needs it says so
        return "not installed"


def code_of_run(spec: RunSpec) -> str:
    """Hash the code that trains a run: its model, its losses, and the modules of ``ROOMS`` that training imports."""
    terms = {kind.__module__ for term in spec.loss.terms for kind in type(term).__mro__ if issubclass(kind, Loss)}
    scorers = {f"fivesentences.semantics.{SEMANTIC_METRICS[parse_name(phi).metric].scorer}" for phi in spec.loss.phis}
    modules = {"fivesentences.training.run", spec.model.implementation.partition(":")[0], *terms, *scorers}
    return _code_of(frozenset(modules), type(spec.model))


@cache
def _code_of(modules: frozenset[str], model: type) -> str:
    kinds = [kind for kind in model.__mro__ if kind.__module__.startswith("fivesentences.models")]
    settings = [syntax_of(inspect.getsource(kind)) for kind in kinds]
    return hashlib.sha256("\0".join([code_behind(modules, ROOMS, LISTS), *settings]).encode()).hexdigest()


def differences(
    known: Mapping[str, str], now: Mapping[str, str], settings: type[BaseModel] = RunSpec, apart: Collection[str] = ()
) -> list[str]:
    """List the keys in which two fingerprints differ, including those of only one (a matrix that is no longer given).

    Settings are compared by what they mean: one that the package had not yet when they were recorded has its default.

    Args:
        known: The fingerprint of earlier work.
        now: The fingerprint of the work to be done.
        settings: Type of the settings.
        apart: Keys that are not compared.
    """

    def same(key: str) -> bool:
        texts = [known.get(key), now.get(key)]
        if texts[0] == texts[1] or key != SETTINGS:
            return texts[0] == texts[1]
        try:
            first, second = (settings.model_validate_json(text or "") for text in texts)
        except (ValidationError, InputError):  # a setting that no longer exists, or a damaged record
            return False
        return first.model_dump_json() == second.model_dump_json()

    return [key for key in {**now, **known} if key not in apart and not same(key)]


def finish(folder: Path, made_from: dict[str, str], names: Collection[str]) -> dict[str, str]:
    """Record that the named outputs in a folder are complete, and return the SHA-256 of each.

    Removing the record makes the next job train the run again.
    """
    outputs = {name: sha256_of(folder / name) for name in names}
    write_record(folder, {name: folder / name for name in names}, made_from=made_from, outputs=outputs)
    return outputs


def finished_outputs(
    folder: Path, made_from: dict[str, str], names: Collection[str], settings: type[BaseModel] = RunSpec
) -> dict[str, str] | None:
    """Return the SHA-256 of each output of a run that is finished; None if it is to be trained.

    Args:
        folder: Folder of the run.
        made_from: Everything that its outputs depend on; a run made from anything else is to be trained, except for
            ``NOT_COMPARED``.
        names: Names of the outputs.
        settings: Type of the run's settings.
    """
    try:
        record: Any = read_json(folder / RECORD)
        same = not differences(record["made_from"], made_from, settings, NOT_COMPARED)
        # Hashed again: a file that was copied in part, or edited, does not count as an output.
        outputs = {name: sha256_of(folder / name) for name in names}
        return outputs if same and outputs == record["outputs"] else None
    except (InputError, OSError, KeyError, TypeError, AttributeError):  # no record, a damaged one, or no such file
        return None
