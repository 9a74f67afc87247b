"""Run lines of the command line as macOS or Windows would: `python other_system.py win32 LINES`; other words: as it is.

What these systems lack is taken away from Python after other people's packages were imported, whose own code for them
was chosen by then: modules and functions of POSIX, /proc, names with a colon, files that are replaced or deleted while
they are open or mapped, and text files in the encoding of the locale. What cannot be tried so: paths with drives, and
the packages themselves.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import os
import sys
import warnings
from pathlib import Path
from typing import Any

PACKAGES = ["numpy", "pandas", "scipy.optimize", "scipy.sparse", "scipy.stats", "pyarrow.parquet", "pydantic", "yaml"]
PACKAGES += ["requests", "rich.console", "rich.table", "rich.progress", "typer", "PIL.Image", "packaging.version"]
PACKAGES += ["multiprocessing.pool", "concurrent.futures", "shutil", "subprocess", "tempfile", "zipfile", "tarfile"]
MODULES = {"darwin": set[str](), "win32": {"fcntl", "grp", "posix", "pwd", "resource", "syslog", "termios", "tty"}}
FUNCTIONS = {
    "darwin": ["posix_fallocate", "posix_fadvise", "sched_getaffinity", "sched_setaffinity", "memfd_create"],
    "win32": [
        "chown", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getpgid", "getuid", "killpg",
        "lchown", "mkfifo", "mknod", "nice", "openpty", "setsid", "statvfs", "fstatvfs", "sysconf", "uname", "wait",
        "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_DIRECTORY", "pread", "pwrite", "sendfile", "getloadavg", "sync",
    ],
}  # fmt: skip
FORBIDDEN = set('<>:"|?*')  # in names of files
SYSTEM = ("/proc/", "/sys/", "/dev/")


def become(system: str) -> None:
    """Take away what a system lacks: ``darwin`` or ``win32``."""
    for package in PACKAGES:
        importlib.import_module(package)
    listed, link, mapped, stat = os.listdir, os.readlink, io.open, os.stat

    def in_use(path: Any) -> bool:
        """Whether this process has a file open or mapped."""
        real = os.path.realpath(path)
        with mapped("/proc/self/maps", encoding="utf-8") as maps:
            if any(line.rstrip("\n").endswith(f" {real}") for line in maps):
                return True
        for descriptor in listed("/proc/self/fd"):
            try:
                if link(f"/proc/self/fd/{descriptor}") == real:
                    return True
            except OSError:
                pass
        return False

    def checked(path: Any, call: Any, *given: Any, **options: Any) -> Any:
        if isinstance(path, str | os.PathLike):
            text = os.fspath(path)
            if isinstance(text, str) and str(Path(text).absolute()).startswith(SYSTEM) and text != os.devnull:
                raise FileNotFoundError(errno.ENOENT, "no such file there", text)
            if system == "win32" and isinstance(text, str) and FORBIDDEN & set(Path(text).name):
                # pathlib takes Windows's code for such a name (123) for a file that does not exist.
                raise OSError(errno.ENOENT if call is stat else errno.EINVAL, "no such name there", text)
        return call(path, *given, **options)

    def wrapped(call: Any) -> Any:
        return lambda path, *given, **options: checked(path, call, *given, **options)

    builtins.open = io.open = wrapped(io.open)  # type: ignore[assignment]
    os.open, os.stat, os.mkdir = wrapped(os.open), wrapped(stat), wrapped(os.mkdir)
    for name in [*FUNCTIONS["darwin"], *FUNCTIONS[system]]:
        if hasattr(os, name):
            delattr(os, name)
    if system == "win32":
        _hold_open_files(in_use)

    class Refuse:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            if name in MODULES[system]:
                raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    sys.meta_path.insert(0, Refuse())  # type: ignore[arg-type]
    for name in MODULES[system]:
        sys.modules.pop(name, None)
    sys.platform = system
    warnings.filterwarnings("error", category=EncodingWarning, module=r"fivesentences\b")


def _hold_open_files(in_use: Any) -> None:
    """Refuse to rename or delete open files, to bring files to the disk that are only read, and to signal."""
    import fcntl

    def held(call: Any) -> Any:
        def of_paths(*paths: Any, **options: Any) -> Any:
            for path in paths:
                if Path(path).is_file() and in_use(path):
                    raise PermissionError(errno.EACCES, "the file is in use there", os.fspath(path))
            return call(*paths, **options)

        return of_paths

    flags, sync = fcntl.fcntl, os.fsync

    def fsync(descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        if flags(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "the file is not open for writing there")
        sync(number)

    def kill(process: int, number: int) -> None:
        raise AssertionError(f"signal {number} to {process}, which Windows would end or interrupt")

    def rename(source: Any, target: Any, **options: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "there is such a file", os.fspath(target))
        move(source, target, **options)

    os.fsync, os.kill = fsync, kill
    os.replace, move = held(os.replace), held(os.rename)
    os.rename, os.unlink, os.remove = rename, held(os.unlink), held(os.remove)


def main() -> None:
    """Run every line; those that fail are printed with their exit codes."""
    system, lines = sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    if system in FUNCTIONS:
        become(system)
    from fivesentences.cli import main

    for words in lines:
        sys.argv = ["fivesentences", *words.split()]
        print(f"$ {words}", flush=True)
        try:
            main()
        except SystemExit as end:
            if end.code:
                print("exit code", end.code, "of", words, flush=True)


if __name__ == "__main__":
    main()
