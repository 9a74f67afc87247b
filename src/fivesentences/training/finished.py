"""Which runs are finished: those whose folder has all outputs, and a record of what these were made from."""

from __future__ import annotations

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


def finish(folder: Path, fingerprint: dict[str, str]) -> dict[str, str]:
    """Record that the outputs in a folder are complete, and return the SHA-256 of each.

    Whoever removes the record has the run trained again.
    """
    outputs = {name: sha256_of(folder / name) for name in OUTPUTS}
    write_json(folder / RECORD, {"made_from": fingerprint, "outputs": outputs})
    return outputs


def begin(folder: Path) -> None:
    """Remove the record before outputs are replaced: a kill between two of them must not leave a finished run."""
    (folder / RECORD).unlink(missing_ok=True)


def finished_outputs(folder: Path, fingerprint: dict[str, str]) -> dict[str, str] | None:
    """SHA-256 of each output of a run that is finished; None if it is to be trained.

    Args:
        folder: The run's.
        fingerprint: Everything that its outputs depend on; a run made from anything else is to be trained, except for
            ``NOT_COMPARED``.
    """
    try:
        record: Any = read_json(folder / RECORD)
        made_from, outputs = record["made_from"], record["outputs"]
        same = not differences(made_from, fingerprint, NOT_COMPARED)
        # Hashed again: a file that was copied in part, or edited, is no output.
        whole = {name: sha256_of(folder / name) for name in OUTPUTS} == outputs
    except (InputError, OSError, KeyError, TypeError, AttributeError):  # no record, a damaged one, or no such file
        return None
    return dict(outputs) if same and whole else None
