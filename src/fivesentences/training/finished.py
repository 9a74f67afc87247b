"""A finished run kept beside its outputs: who deletes those (Snakemake, before it repeats a job) gets them back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError
from fivesentences.storage import read_json, write_json
from fivesentences.training.fingerprint import differences

NAME, RECORD = "finished", "fingerprint.json"
# A run finished on a GPU elsewhere and brought here is as good as one of this machine.
NOT_COMPARED = {"the device", "the version of torch"}


class FinishedFolder:
    """``finished/`` in a run's folder: hard links to its outputs, and what they were made of.

    A job of several runs is one job to Snakemake: if it is killed, or one of its runs fails, all its outputs are
    deleted. The links cost no room. Remove the folder to have the run trained again from the start.

    Args:
        run: The run's folder.
        outputs: Names of its outputs.
        fingerprint: All that they depend on; outputs of another one are of no use, short of ``NOT_COMPARED``.
    """

    def __init__(self, run: Path, outputs: Sequence[str], fingerprint: dict[str, str]):
        self.run, self.folder = run, run / NAME
        self.outputs, self.fingerprint = outputs, fingerprint

    def keep(self) -> None:
        """Link the outputs; a kill leaves the folder complete or without its record, and then it does not count."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name in self.outputs:
            _link(self.run / name, self.folder / name)
        write_json(self.folder / RECORD, self.fingerprint)

    def put_back(self) -> bool:
        """Bring the outputs back if the same run was finished before; whether it was."""
        try:
            known = read_json(self.folder / RECORD)
        except InputError:  # none, or damaged
            return False
        if not self._same(known) or not all((self.folder / name).is_file() for name in self.outputs):
            return False
        for name in self.outputs:
            (self.run / name).unlink(missing_ok=True)
            _link(self.folder / name, self.run / name)
            os.utime(self.run / name)  # as new as the job that brings it back: Snakemake compares times
        return True

    def _same(self, known: Any) -> bool:
        return isinstance(known, dict) and not differences(known, self.fingerprint, NOT_COMPARED)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)
