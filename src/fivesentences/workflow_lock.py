"""One workflow at a time in a folder, and no unlocking by hand after a kill where that is safe.

Snakemake's own lock is a list of files on disk. It outlives a process that is killed, and cannot tell whether that
process lives. Here each workflow holds a lock of the operating system on a record of its own, and that lock ends with
the process, however it ends. So a record whose lock is free belongs to a workflow that was killed on this machine, and
the locks that Snakemake left can be removed. Of another machine's record, or of a cluster's jobs, nobody here can say
so: there ``snakemake --unlock`` is the user's word.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import alone, locked, remove_leftovers

BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Place:
    """Where a process runs: processes of one place see each other's locks.

    Attributes:
        host: Name of the machine.
        boot: What Linux calls this start of its kernel, the same in all containers on it; empty elsewhere.
    """

    host: str
    boot: str

    @classmethod
    def here(cls) -> Place:
        """That of this process."""
        try:
            boot = BOOT.read_text(encoding="ascii").strip()
        except OSError:
            boot = ""
        return cls(socket.gethostname(), boot)

    def sees(self, other: Place) -> bool:
        """Whether a lock that is held there is held here too, or was, before this machine was started again."""
        return self.host == other.host or (self.boot == other.boot != "")


@contextmanager
def occupied(folder: Path, *, cluster: str = "", written: Iterable[Path] = ()) -> Iterator[bool]:
    """Take a folder for the workflow of this process, as long as the block lasts.

    Args:
        folder: Snakemake's own folder, ``.snakemake``.
        cluster: Name of what runs the jobs elsewhere, such as ``slurm``; empty if this machine does.
        written: Folders in which the workflow writes. Temporary files of processes that were killed are removed there.

    Yields:
        Whether locks of a workflow that was killed were removed.

    Raises:
        InputError: If another workflow works there, or one may: it was begun on another machine, or was killed and its
            jobs were a cluster's; or if a folder may not be written.
    """
    here, records = Place.here(), folder / "workflows"
    written = list(written)
    for place in (folder, *written):
        _check_writable(place)
    with alone(records / "lock"):
        locks = list((folder / "locks").glob("*.lock"))
        dead = sorted(records.glob("*.json"))
        for path in dead:
            _check_dead(path, here, bool(locks))
        path = records / f"{here.host}-{os.getpid()}.json"
        file = _begun(path, here, cluster)
        try:
            # Where such locks do nothing, nothing is known of other processes, and Snakemake's own stand.
            known = _locks_work(path)
            freed = known and bool(locks and dead)
            for left in {*(locks if freed else []), *(dead if known else [])} - {path}:
                left.unlink(missing_ok=True)
        except BaseException:
            file.close()
            raise
    with file:
        if freed:
            print("The last workflow in this folder was killed; its locks are removed.", file=sys.stderr, flush=True)
        if not cluster:
            for place in written:
                remove_leftovers(place)
        try:
            yield freed
        finally:
            with contextlib.suppress(OSError):
                path.unlink()


def _check_writable(folder: Path) -> None:
    """Check that a folder, or the one that it will be made in, and the folders in it can be written.

    Raises:
        InputError: If not.
    """
    there = folder
    while not there.exists():
        there = there.absolute().parent
    for place in (there, *(path for path in sorted(folder.glob("*/")) if path.is_dir())):
        if not os.access(place, os.W_OK | os.X_OK):
            raise InputError(
                "this folder cannot be written, and the workflow makes its results there",
                where=place,
                cure="allow it to be written, or work in another folder (snakemake --directory)",
            )


def _begun(path: Path, here: Place, cluster: str) -> IO[Any]:
    """Write the record of this process and lock it.

    Raises:
        InputError: If it cannot be written.
    """
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    content = {"host": here.host, "boot": here.boot, "process": os.getpid(), "since": since, "cluster": cluster}
    try:
        path.write_text(json.dumps(content) + "\n", encoding="utf-8")
        file = path.open("a")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"it cannot be written ({reason})", where=path, cure="make room and run again") from None
    locked(file)
    return file


def _check_dead(path: Path, here: Place, locks: bool) -> None:
    """Check that the workflow of a record was killed.

    Args:
        path: The record.
        here: Where this process is.
        locks: Whether Snakemake has locked the folder; if not, whoever could not be seen has ended or was unlocked.

    Raises:
        InputError: If it lives, or nobody here can know.
    """
    try:
        record: Any = read_json(path)
        host, process, since = str(record["host"]), int(record["process"]), str(record["since"])
        there, cluster = Place(host, str(record["boot"])), str(record["cluster"])
    except (InputError, LookupError, TypeError, ValueError):  # cut by a kill, or by a disk that was full
        host, process, since, there, cluster = "", 0, "", here, ""
    if not here.sees(there):
        if locks:
            raise InputError(
                f"process {process} on {host} began a workflow in this folder at {since}, and from {here.host} nobody "
                "can see whether it still runs",
                where=path,
                cure=f"look there (ps -p {process}), and if it has ended, run snakemake --unlock",
            )
        return
    with path.open("a") as file:
        if not locked(file):
            raise InputError(
                f"process {process} has been making results in this folder since {since}",
                where=path,
                cure="wait until it has ended, or work in another folder (snakemake --directory)",
            )
    if cluster and locks:
        raise InputError(
            f"the workflow that began in this folder at {since} was killed, and its jobs on {cluster} may still run",
            where=path,
            cure="wait for them or cancel them, then run snakemake --unlock",
        )


def _locks_work(path: Path) -> bool:
    """Whether a record that this process has locked is locked for others: on some clusters' file systems it is not."""
    with path.open("a") as again:
        return not locked(again)
