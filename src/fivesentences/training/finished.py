"""Which runs are finished: those whose folder has all outputs, and a record of what these were made from."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import sha256_of, write_json
from fivesentences.training.fingerprint import differences

OUTPUTS = (
    "weights.safetensors",
    "vocabulary.json",
    "run.yaml",
    "history.csv",
    "similarity_dev.npy",
    "similarity_test.npy",
)
RECORD = "finished.json"
# A run that was trained on a GPU elsewhere and brought here is as good as one of this machine.
NOT_COMPARED = {"the device", "the version of torch"}


def finish(folder: Path, fingerprint: dict[str, str], names: Collection[str] = OUTPUTS) -> dict[str, str]:
    """Record that the outputs in a folder are complete, and return the SHA-256 of each.

    Whoever removes the record has the run trained again.

    Args:
        folder: The run's.
        fingerprint: Everything that its outputs depend on.
        names: Of the outputs.
    """
    outputs = {name: sha256_of(folder / name) for name in names}
    write_json(folder / RECORD, {"made_from": fingerprint, "outputs": outputs})
    return outputs


def check_record(folder: Path, names: Collection[str]) -> None:
    """Check that some outputs in a folder are those that its record lists.

    Without a record (a folder copied in part, or trained on elsewhere) there is nothing to compare.

    Args:
        folder: Of the run.
        names: Of ``OUTPUTS``.

    Raises:
        InputError: If the record is damaged, or a file is not the one that the run ended with.
    """
    path = folder / RECORD
    if not path.is_file():
        return
    record: Any = read_json(path)
    outputs = record.get("outputs") if isinstance(record, dict) else None
    cure = "copy the whole folder of the run again, or train it again"
    if not isinstance(outputs, dict):
        raise InputError("it does not list the outputs of a run", where=path, cure=cure)
    for name in names:
        if sha256_of(folder / name) != outputs.get(name):
            raise InputError(f"it is not the file that {RECORD} lists for this run", where=folder / name, cure=cure)


def begin(folder: Path) -> None:
    """Remove the record before outputs are replaced: a kill between two of them must not leave a finished run."""
    (folder / RECORD).unlink(missing_ok=True)


def finished_outputs(
    folder: Path, fingerprint: dict[str, str], names: Collection[str] = OUTPUTS
) -> dict[str, str] | None:
    """SHA-256 of each output of a run that is finished; None if it is to be trained.

    Args:
        folder: The run's.
        fingerprint: Everything that its outputs depend on; a run made from anything else is to be trained, except for
            ``NOT_COMPARED``.
        names: Of the outputs.
    """
    try:
        record: Any = read_json(folder / RECORD)
        made_from, outputs = record["made_from"], record["outputs"]
        same = not differences(made_from, fingerprint, NOT_COMPARED)
        # Hashed again: a file that was copied in part, or edited, is no output.
        whole = {name: sha256_of(folder / name) for name in names} == outputs
    except (InputError, OSError, KeyError, TypeError, AttributeError):  # no record, a damaged one, or no such file
        return None
    return dict(outputs) if same and whole else None
