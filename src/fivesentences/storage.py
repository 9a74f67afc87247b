"""Files that are complete or absent, never half-written, and names that stay inside their folder."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any

from fivesentences.documents import SEAL, check_file, digest_of, parts_of
from fivesentences.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# A temporary file: stem of the output, a random part, machine, process (and its start) that write it, suffix.
_LEFTOVER = re.compile(
    r"\.(?P<stem>.+)\.[0-9a-f]{16}(?P<machine>[0-9a-f]{8})\.(?P<process>[1-9]\d*)(-(?P<start>\d+))?\.partial(?P<suffix>\.[^.]*)?"
)
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
RECORD = "finished.json"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_FULL = (*_NO_ROOM, errno.EROFS, errno.EFBIG, errno.EIO)
# What numpy and torch say when a disk is full, without the number of the error.
_CUT = re.compile(r"\d+ requested and \d+ written|unexpected pos \d+ vs \d+|PytorchStreamWriter failed writing")
# Files that get their names together: temporary path (None: it goes) and name.
_TOGETHER: ContextVar[list[tuple[Path | None, Path]] | None] = ContextVar("together", default=None)
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path, whose file takes the place of ``path`` only if the block ends without an error.

    A reader, or a run that was killed and started again, sees the old file or the new one, never a part of it. A
    link stays a link, and the file that it leads to is replaced; who may read it stays as it was. A device or a pipe
    stays what it is: the temporary file's bytes are written into it. Temporary files that ended processes have left in
    the folder are removed.

    Raises:
        InputError: If it cannot be written, or is read-only.
    """
    path = Path(path)
    if _is_stream(path):
        with scratch() as folder:
            temporary = Path(folder, path.name if path.suffix else f"{path.name}.partial")
            yield temporary
            try:
                with temporary.open("rb") as written, path.open("wb") as stream:
                    shutil.copyfileobj(written, stream)
            except OSError as error:
                raise _unwritable(path, error) from None
        return
    target = _target(path)
    temporary = _beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_not_read_only(target)
        _clear(target.parent.absolute())
        # Nobody can have planted a link or a file under this name. What is private is private before it is whole.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if target.exists() else 0o666))
        yield temporary
        _settle(temporary, target)
        # What replaces a temporary file is read, and gets its own name, before the block ends.
        if (others := _TOGETHER.get()) is None or _LEFTOVER.fullmatch(target.name):
            temporary.replace(target)
        else:
            others.append((temporary, target))
    except Exception as error:
        full = OSError(errno.ENOSPC, "", str(target)) if _CUT.search(str(error)) else error
        if isinstance(full, OSError) and (
            full.errno in _FULL or str(full.filename) in map(str, (temporary, target, target.parent))
        ):
            raise _unwritable(path, full) from None
        raise  # it is about another file, which the block reads, or no matter of files
    finally:
        if (temporary, target) not in (_TOGETHER.get() or ()):
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def together() -> Iterator[None]:
    """Let all files that ``replacing`` writes in a block get their names at its end: none lies beside one of before.

    No system renames several files at once. So the older files are removed, the one that was finished last first, and
    then the new ones get their names in the order in which they were finished. The last file is what a reader opens
    first, such as a note: after a kill among these steps it is missing, and the command has to be run again. A block
    within another ends with that.
    """
    if _TOGETHER.get() is not None:
        yield
        return
    files: list[tuple[Path | None, Path]] = []
    token = _TOGETHER.set(files)
    try:
        yield
        try:
            _rename(files)
        except OSError as error:
            raise _unwritable(Path(error.filename2 or error.filename), error) from None
    finally:
        _TOGETHER.reset(token)
        for temporary, _ in files:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)


def rename_together(files: Mapping[Path, Path]) -> None:
    """Give finished files the names of outputs, and the permissions of those that they replace, as ``together`` does.

    Args:
        files: Name of each output, by the finished file, in the order in which they get it.

    Raises:
        OSError: If one cannot be renamed.
    """
    for finished, target in files.items():
        _settle(finished, target)
    _rename(list(files.items()))


def _rename(files: Sequence[tuple[Path | None, Path]]) -> None:
    for _, target in files:
        if target.is_dir():  # before anything is removed
            raise IsADirectoryError(errno.EISDIR, "", str(target))
    new = [(finished, target) for finished, target in files if finished is not None]
    removed = [target for finished, target in files if finished is None]
    if len(files) > 1:  # while what a reader opens first is missing, nobody takes the others for a result
        removed += [target for _, target in reversed(new)]
    for target in removed:
        target.unlink(missing_ok=True)
    for finished, target in new:
        finished.replace(target)


def remove(path: Path) -> None:
    """Delete an output of an earlier call, if there is one; within ``together``, at the end of its block."""
    if (others := _TOGETHER.get()) is None:
        path.unlink(missing_ok=True)
    else:
        others.append((None, path))


def _settle(temporary: Path, target: Path) -> None:
    """Bring a finished file to the disk, with the permissions of the file that it will replace."""
    with temporary.open("r+b") as written:  # Windows brings no file to the disk that is open for reading alone
        os.fsync(written.fileno())
    with contextlib.suppress(FileNotFoundError):
        older = target.stat()
        mode = stat.S_IMODE(older.st_mode)
        if hasattr(os, "chown") and temporary.stat().st_gid != older.st_gid:
            try:
                os.chown(temporary, -1, older.st_gid)
            except OSError:  # then the rights of its group would be those of another
                mode &= ~stat.S_IRWXG
        temporary.chmod(mode)


def _check_not_read_only(path: Path) -> None:
    # To root the system would say that everything may be written.
    if path.is_file() and not (path.stat().st_mode & stat.S_IWUSR and os.access(path, os.W_OK)):
        raise _unwritable(path, "it is read-only")


def _beside(target: Path) -> Path:
    # The suffix stays at the end, since writers such as numpy.save choose the format by it.
    started = _start_of(os.getpid())
    unique = f"{secrets.token_hex(8)}{_MACHINE}.{os.getpid()}{f'-{started}' if started else ''}"
    return target.with_name(f".{target.stem}.{unique}.partial{target.suffix}")


def remove_partial(*paths: Path) -> None:
    """Delete partial files of ``replacing`` for these paths, whose lock the caller holds: nobody writes them."""
    for path in paths:
        for partial in path.parent.glob(".*.partial*"):
            found = _LEFTOVER.fullmatch(partial.name)
            if found and (found["stem"], found["suffix"] or "") == (path.stem, path.suffix) and partial.is_file():
                partial.unlink(missing_ok=True)


def remove_leftovers(folder: Path | str) -> list[Path]:
    """Delete partial files of ``replacing`` everywhere below a folder, left by ended processes of this machine.

    Files of living processes stay, and those of other machines that share the folder.

    Args:
        folder: The folder; it need not exist.

    Returns:
        The deleted files.
    """
    return _remove_left(list(Path(folder).rglob(".*.partial*")))


@cache  # once per process: some folders have many files
def _clear(folder: Path) -> None:
    _remove_left(folder.glob(".*.partial*"))


def _remove_left(paths: Iterable[Path]) -> list[Path]:
    left, removed = [], []
    for path in paths:
        found = _LEFTOVER.fullmatch(path.name)
        if found and found["machine"] == _MACHINE and not _lives(int(found["process"]), found["start"]):
            left.append(path)
    for path in left:
        if os.path.lexists(path) and not path.is_symlink():
            with contextlib.suppress(OSError):  # a file that may not be removed hurts nobody
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                removed.append(path)
    return removed


def _start_of(process: int) -> str | None:
    """Return when a process was started, in Linux's ticks; None elsewhere, or if there is none."""
    try:
        return (
            Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
        )
    except (OSError, IndexError):
        return None


def _lives(process: int, started: str | None) -> bool:
    if started is not None and _start_of(process) not in (started, None):
        return False  # another has its number, as in a container that was started again
    if sys.platform == "win32":  # where this would send Ctrl-C; what a killed process has left stays
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        pass
    return True


def _is_stream(path: Path) -> bool:
    """Return True for a device, a pipe or a socket, and for what the process has open, such as /dev/stdout."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    # What is open must not be replaced even if it is a file: the shell that opened it would not see the new one.
    ours = path.absolute().is_relative_to("/proc") or path.absolute().is_relative_to("/dev")
    return not stat.S_ISDIR(mode) and (ours or not stat.S_ISREG(mode))


def _target(path: Path) -> Path:
    """Follow a path through all links."""
    try:
        target = path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):  # before Python 3.13
        target = path
    if target.is_symlink():
        raise _unwritable(path, "its links form a circle")
    return target


def check_writable(path: Path | str, *, new_folder: bool = False) -> None:
    """Check that a file can be written, before anything costly is done; nothing is created.

    Args:
        path: The file.
        new_folder: True if its folder is an output too, and created where it is missing.

    Raises:
        InputError: If it is a folder or read-only, or its own folder is missing, is a file, cannot be created or is not
            writable.
    """
    path = Path(path)
    if str(path) == "-":
        raise InputError("it is '-'; standard output is /dev/stdout here.")
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    above = path
    if not _is_stream(path):
        try:
            _beside(path).lstat()
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise _unwritable(path, error) from None
        _check_not_read_only(path)
        above = _target(path).absolute().parent
        if not new_folder and not os.path.lexists(above):
            raise InputError(f"the folder {above} does not exist", where=path, cure="create it, or name another file")
        while not os.path.lexists(above):
            above = above.parent
        if not above.is_dir():
            raise _unwritable(path, f"{above} is not a folder")
    if not os.access(above, os.W_OK if above == path else os.W_OK | os.X_OK):
        raise _unwritable(path, "it is not writable" if above == path else f"{above} is not writable")


def check_outputs(
    outputs: Mapping[str, Path | str | None], inputs: Iterable[Path | str | None], folder: Path | None = None
) -> None:
    """Check that outputs can be written and none is an input or another output, before anything is written.

    Files are compared, not names: a link, a hard link and ``./a/../b`` are what they lead to. Devices and pipes are
    not compared, since writing into them destroys nothing.

    Args:
        outputs: Every file that will be written, by what to call it: an option such as ``--json``, or "the note beside
            --out". None is passed over.
        inputs: Every file that is read. None is passed over.
        folder: A folder that is itself an output, and created where it is missing; None if all outputs are files.

    Raises:
        InputError: As ``check_writable``, or if one would be overwritten.
    """
    known = {_identity(path): f"{path}, which is read" for path in inputs if path is not None}
    for name, path in outputs.items():
        if path is None:
            continue
        check_writable(path, new_folder=folder is not None and Path(path).is_relative_to(folder))
        if _is_stream(Path(path)):
            continue
        if (other := known.get(_identity(path))) is not None:
            raise InputError(f"{name} would overwrite {other}", where=path, cure="name another file")
        known[_identity(path)] = f"what {name} writes"


def _identity(path: Path | str) -> Hashable:
    """Return what is equal for two paths that lead to the same file, even if it does not exist."""
    try:
        status = Path(path).stat()
        return (status.st_dev, status.st_ino)
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    except ValueError:  # a NUL in the name, which whoever opens it refuses
        return str(path)


def check_npy(path: Path | str, what: str) -> None:
    """Check that the name of an output ends in ``.npy``.

    Args:
        path: The file.
        what: Content, such as "a similarity matrix".

    Raises:
        InputError: If it ends in something else.
    """
    if Path(path).suffix != ".npy":
        raise InputError(f"the file name of {what} must end in .npy.", where=path)


def _unwritable(path: Path, why: OSError | str) -> InputError:
    room = isinstance(why, OSError) and why.errno in _NO_ROOM
    if isinstance(why, OSError):  # the words of libraries differ
        why = os.strerror(why.errno) if why.errno else type(why).__name__
    return InputError(f"{path} cannot be written ({why}); {'make room, or ' if room else ''}name another file.")


def locked(file: IO[Any], wait: bool = False) -> bool:
    """Take the lock of an open file, which is released with the last process that has it open.

    Args:
        file: The open file.
        wait: True to wait for another process that holds it.

    Returns:
        True if the lock was obtained; always True where the system (Windows) or the file system (some of clusters) has
        no such locks, which is said on standard error.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        what = "this file system has no locks: do not start the same work a second time while it runs"
        print(f"{file.name}: {what}.", file=sys.stderr, flush=True)
    return True


def open_lock(path: Path) -> IO[bytes]:
    """Open a file to be locked, created if necessary.

    Raises:
        InputError: If it cannot be written, or is a link, which somebody else may have planted.
    """

    def unlinked(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "ab", opener=unlinked)
    except OSError as error:
        raise _unwritable(path, error) from None


def remove_unlocked(path: Path) -> bool:
    """Delete a lock, or a file that serves as one, which an ended process has left; return whether that was done."""
    with contextlib.suppress(OSError, InputError):  # a link, or a file of somebody else
        if path.is_file():
            with open_lock(path) as file:
                if locked(file):
                    path.unlink()
                    return True
    return False


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield an empty folder for temporary files, which is removed; folders that ended processes have left are too."""
    above, name = Path(tempfile.gettempdir()), "fivesentences"
    _clear(above)
    folder = _beside(above / name)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def work_folder(path: Path) -> Path:
    """Create the folder beside an output in which unfinished work is kept, or return the one that is there.

    Raises:
        InputError: If it cannot be created, or something else has its name, such as a link.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        found = "a link" if path.is_symlink() else "a file"
        what = f"it is {found}, and unfinished work is kept in a folder of this name"
        raise InputError(what, where=path, cure="move it, or name another output")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


@contextmanager
def alone(lock: Path, waiting: str | None = None) -> Iterator[bool]:
    """Work that one process at a time does. The lock ends with its process, however that ends.

    Args:
        lock: The file to lock; created, and removed afterwards.
        waiting: Text for standard error if another process is at work; None prints nothing. Then it waits.

    Yields:
        True if it waited: what is to be done may be done by now.

    Raises:
        InputError: If the file cannot be written.
    """
    waited = False
    while True:
        with open_lock(lock) as file:
            if not locked(file):
                if waiting and not waited:
                    print(waiting, file=sys.stderr, flush=True)
                waited = True
                locked(file, wait=True)
            # Without locks there is nobody to wait for, and numbers of files may not be comparable.
            if fcntl is None or _identity(lock) == (os.fstat(file.fileno()).st_dev, os.fstat(file.fileno()).st_ino):
                try:
                    yield waited
                finally:
                    if fcntl is None:  # Windows deletes no open file
                        file.close()
                    with contextlib.suppress(OSError):
                        lock.unlink()
                return
            # Whoever held it has removed the file, and somebody else may have locked a new one.


def sha256_of(path: Path | str) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes.

    Raises:
        InputError: If it is not a regular file.
    """
    return _digest_of(path, "sha256")


def md5_of(path: Path | str) -> str:
    """Return the hexadecimal MD5 of a file's bytes, by which DVC knows it.

    Raises:
        InputError: If it is not a regular file.
    """
    return _digest_of(path, lambda: hashlib.md5(usedforsecurity=False))


def _digest_of(path: Path | str, kind: Any) -> str:
    check_file(path)
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def write_json(path: Path | str, content: Any, indent: int | None = 1, sealed: bool = True) -> None:
    """Write JSON with sorted keys and without NaN, completely or not at all.

    Args:
        path: The file.
        content: An object or a list of objects, with whose checksums ``read_json`` compares them; or anything else.
        indent: Spaces per level; None: all on one line.
        sealed: False for files that other programs read, which get no checksums.
    """
    content = json.loads(json.dumps(content, allow_nan=False))
    for part in parts_of(content) if sealed else ():
        part[SEAL] = digest_of(part)
    text = json.dumps(content, indent=indent, sort_keys=True)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def write_lines(path: Path | str, lines: Iterable[object]) -> None:
    """Write UTF-8 text, one line per item, completely or not at all.

    Raises:
        InputError: If an item holds an end of a line, behind which every item would stand one line too low.
    """
    texts = list(map(str, lines))
    for number, text in enumerate(texts, start=1):
        if "\n" in text or "\r" in text:
            raise InputError(
                f"item {number}, {text[:60]!a}, contains a line break, and every line is one item", where=path
            )
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="\n")


def inside(folder: Path | str, name: str) -> Path:
    """Join an untrusted relative ``name`` to ``folder``.

    Raises:
        InputError: If the name is absolute or would leave the folder.
    """
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or ":" in pure.parts[0]:
        raise InputError(f"the name '{name}' would leave the folder; it is refused.", where=folder)
    return Path(folder, *pure.parts)
