"""Everything that the bits of a run depend on, and the record of a finished run, which says what it was made from."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.seals import content_of, write_record
from fivesentences.storage import RECORD, sha256_of
from fivesentences.training.spec import RunSpec
from fivesentences.versions import VERSIONS

if TYPE_CHECKING:
    import torch

SETTINGS = "the run's settings"
# A run that was trained on a GPU elsewhere and brought here is as good as one of this machine.
NOT_COMPARED = {"the device", "the version of torch"}
CURE = "copy the whole folder of the run again, or train it again"


def fingerprint(
    spec: BaseModel,
    files: Mapping[str, Path],
    code: str,
    device: torch.device,
    libraries: Iterable[str] = ("fivesentences", "torch"),
    subjects: Iterable[str] = (),
) -> dict[str, str]:
    """Collect settings, content of the input files, code and versions of a run; the keys are words for a sentence.

    Args:
        spec: Settings of the run.
        files: Input files, by what they are.
        code: Digest of the code that the run names.
        device: Where it is trained.
        libraries: Names of packages whose versions count.
        subjects: Keys of ``VERSIONS`` that count beside training.
    """
    return {
        SETTINGS: spec.model_dump_json(),
        **{name: content_of(path) for name, path in files.items()},
        "the code of the model and the loss": code,
        **{f"the version of {subject}": str(VERSIONS[subject]) for subject in ("training", *subjects)},
        **{f"the version of {library}": _version(library) for library in libraries},
        "the device": f"{device.type} {platform.machine()}",
    }


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # an extra: what needs it says so
        return "not installed"


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
