"""One workflow at a time in a folder, and no unlocking by hand after a kill where that is safe.

Snakemake's own lock is a list of files on disk. It outlives a process that is killed, and cannot tell whether that
process lives. Here each workflow holds a lock of the operating system on a record of its own, and that lock ends with
the process, however it ends. So a record whose lock is free belongs to a workflow that was killed on this machine, and
the locks that Snakemake left can be removed. Of another machine's record, or of a cluster's jobs, nobody here can say
so: there ``snakemake --unlock`` is the user's word.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterable
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


def occupy(folder: Path, *, cluster: str = "", leftovers: Iterable[Path] = ()) -> bool:
    """Take a folder for the workflow of this process, until the process ends.

    Args:
        folder: Snakemake's own folder, ``.snakemake``.
        cluster: Name of what runs the jobs elsewhere, such as ``slurm``; empty if this machine does.
        leftovers: Folders in which temporary files of processes that were killed are removed.

    Returns:
        Whether locks of a workflow that was killed were removed.

    Raises:
        InputError: If another workflow works there, or one may: it was begun on another machine, or was killed and its
            jobs were a cluster's.
    """
    here, records = Place.here(), folder / "workflows"
    with alone(records / "lock"):
        locks = list((folder / "locks").glob("*.lock"))
        dead = sorted(records.glob("*.json"))
        for path in dead:
            _check_dead(path, here, bool(locks))
        path = records / f"{here.host}-{os.getpid()}.json"
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        content = {"host": here.host, "boot": here.boot, "process": os.getpid(), "since": since, "cluster": cluster}
        try:
            path.write_text(json.dumps(content) + "\n", encoding="utf-8")
            file = path.open("a")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(
                f"it cannot be written ({reason})", where=path, cure="make room, or work elsewhere"
            ) from None
        if not _locks_work(path, file):  # then nothing is known of other processes, and Snakemake's locks stand
            path.unlink()
            file.close()
            return False
        atexit.register(_leave, path, file, os.getpid())
        freed = bool(locks and dead)
        for left in {*(locks if freed else []), *dead} - {path}:
            left.unlink(missing_ok=True)
        if freed:
            print("The last workflow in this folder was killed; its locks are removed.", file=sys.stderr, flush=True)
    if not cluster:
        for place in leftovers:
            remove_leftovers(place)
    return freed


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


def _locks_work(path: Path, file: IO[Any]) -> bool:
    """Take the lock of one's own record; False where such locks do nothing, as on some clusters' file systems."""
    if not locked(file):
        return False
    with path.open("a") as again:
        return not locked(again)


def _leave(path: Path, file: IO[Any], process: int) -> None:
    if os.getpid() == process:  # a process that was forked leaves the record alone
        with contextlib.suppress(OSError):
            path.unlink()
        file.close()
