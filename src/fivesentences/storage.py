"""Files that are complete or absent, never half-written, and names that stay inside their folder."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from fivesentences.errors import InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """A temporary path beside ``path``, which is renamed to ``path`` only if the block ends without an error.

    A reader, or a run that was killed and started again, sees the old file or the new one, never a part of it.

    Raises:
        InputError: If it cannot be written.
    """
    path = Path(path)
    # The suffix stays at the end, since writers such as numpy.save choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno not in _FULL and str(error.filename) not in map(str, (temporary, path, path.parent)):
            raise  # it is about another file, which the block reads
        raise _unwritable(path, error.strerror or type(error).__name__) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_writable(path: Path | str) -> None:
    """Check that a file can be written, before anything costly is done; nothing is created.

    Raises:
        InputError: If it is a folder, or its own folder is a file, cannot be created or is not writable.
    """
    path = Path(path)
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    above = path.absolute().parent
    while not os.path.lexists(above):
        above = above.parent
    if not above.is_dir():
        raise _unwritable(path, f"{above} is not a folder")
    if not os.access(above, os.W_OK | os.X_OK):
        raise _unwritable(path, f"{above} is not writable")


def check_npy(path: Path | str, what: str) -> None:
    """Check that a file's name ends in ``.npy``.

    Args:
        path: The file.
        what: What it is to hold, such as "a similarity matrix".

    Raises:
        InputError: If it ends in something else.
    """
    if Path(path).suffix != ".npy":
        raise InputError(f"the file name of {what} must end in .npy.", where=path)


def _unwritable(path: Path, why: str) -> InputError:
    return InputError(f"{path} cannot be written ({why}); name another file.")


def locked(file: IO[Any], wait: bool = False) -> bool:
    """Take the lock of an open file, which is released with the last process that has it open.

    Args:
        file: The open file.
        wait: Whether to wait for another process that holds it.

    Returns:
        Whether the lock was obtained; always True where the system has no such locks (Windows).
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def sha256_of(path: Path | str) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path | str, content: Any) -> None:
    """Write JSON with sorted keys and without NaN, completely or not at all."""
    text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path | str) -> Any:
    """Read a JSON file.

    Raises:
        InputError: If the file is missing, is not UTF-8 or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("there is no such file.", where=path) from None
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8; save the file as UTF-8.", where=path) from None
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno} is not JSON ({error.msg}).", where=path) from None


def inside(folder: Path | str, name: str) -> Path:
    """The path of an untrusted relative ``name`` below ``folder``.

    Raises:
        InputError: If the name is absolute or would leave the folder.
    """
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or ":" in pure.parts[0]:
        raise InputError(f"{folder}: the name '{name}' would leave the folder; it is refused.")
    return Path(folder, *pure.parts)
