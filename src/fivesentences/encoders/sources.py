"""Where a model's files are: a local folder, or a repository of the Hugging Face Hub at one revision."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import sha256_of

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
# Weights as transformers and sentence-transformers save them, the best kind first.
WEIGHTS = (("model.safetensors", "model-*.safetensors"), ("pytorch_model.bin", "pytorch_model-*.bin"))
# What is fetched besides weights: configurations and tokenizers, never Python.
TEXTS = ("*.json", "*.txt", "*.model", "*.jinja")


@dataclass(frozen=True)
class Source:
    """The files of a model.

    Attributes:
        folder: Where they are.
        revision: Commit of the Hub; None for a folder of the user.
        weights: The files of weights that are loaded, safetensors if there are any.
    """

    folder: Path
    revision: str | None
    weights: tuple[Path, ...]

    def hashes(self) -> dict[str, str]:
        """SHA-256 of every file of weights, by its path in the folder."""
        return {path.relative_to(self.folder).as_posix(): sha256_of(path) for path in self.weights}

    def facts(self) -> dict[str, Any]:
        """Revision and weights, for the note beside the vectors."""
        hashes = self.hashes()
        return {"revision": self.revision, "weights": hashes, "weights_sha256": combined(hashes)}


def find_source(model: str, revision: str | None, patterns: Sequence[Sequence[str]], *, below: bool = False) -> Source:
    """Find a model's files, and fetch those of a repository.

    Args:
        model: A local folder, or a repository such as ``openai/clip-vit-base-patch32``.
        revision: Branch, tag or commit of a repository; default its main branch.
        patterns: Names of weights, the best group first; the first group of which there are files is taken.
        below: Whether weights are also looked for in folders within.

    Raises:
        InputError: If there is no such folder or repository, it cannot be fetched, or it holds no weights.
    """
    folder, commit = Path(model), None
    if folder.is_dir():
        if revision is not None:
            raise InputError(f"{model} is a folder, which has no revisions; leave --revision out.")
    elif _REPOSITORY.fullmatch(model) and not model.startswith("."):
        folder = _fetched(model, revision, patterns)
        commit = folder.name
    else:
        raise InputError("there is no such folder, and a repository is called ORGANISATION/NAME.", where=model)
    names = sorted(path.relative_to(folder).as_posix() for path in (folder.rglob if below else folder.glob)("*.*"))
    weights = tuple(folder / name for name in _first_group(names, patterns))
    if not weights:
        wanted = " or ".join(group[0] for group in patterns)
        raise InputError(f"it holds no weights ({wanted}); save the model there again.", where=model)
    refuse_remote_code(folder)
    return Source(folder, commit, weights)


def combined(hashes: dict[str, str]) -> str:
    """One SHA-256 for the weights: that of the only file, or of the list of all files with theirs."""
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    return hashlib.sha256("".join(f"{value}  {name}\n" for name, value in sorted(hashes.items())).encode()).hexdigest()


def refuse_remote_code(folder: Path) -> None:
    """Refuse configurations that ask to run Python of their own.

    ``trust_remote_code`` is never set here, but open_clip passes on what a configuration says.

    Raises:
        InputError: If a JSON file at the top of the folder sets it.
    """
    for path in sorted(folder.glob("*config*.json")):
        if _asks(read_json(path)):
            raise InputError(
                "it sets trust_remote_code, by which its author's Python would be run; such models are not loaded",
                where=path,
                cure="use a model that its library implements",
            )


def _asks(content: Any) -> bool:
    if isinstance(content, dict):
        return bool(content.get("trust_remote_code")) or any(map(_asks, content.values()))
    return isinstance(content, list) and any(map(_asks, content))


def _first_group(names: Iterable[str], patterns: Sequence[Sequence[str]]) -> list[str]:
    names = list(names)
    for group in patterns:
        if found := [name for name in names if any(fnmatch(name.rpartition("/")[2], pattern) for pattern in group)]:
            return found
    return []


def _fetched(model: str, revision: str | None, patterns: Sequence[Sequence[str]]) -> Path:
    """The folder of a repository in the Hub's cache, which is called like the commit."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        try:
            info = HfApi().model_info(model, revision=revision)
        except (RepositoryNotFoundError, RevisionNotFoundError):
            raise
        except Exception:  # no connection, in the words of httpx or the Hub: what was fetched before will do
            return _cached(model, revision, patterns)
        names = [one.rfilename for one in info.siblings or []]
        return Path(
            snapshot_download(model, revision=revision, allow_patterns=[*TEXTS, *_first_group(names, patterns)])
        )
    except Exception as error:  # whatever the Hub's library raises at the moment
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
        raise InputError(
            f"the model could not be fetched from the Hugging Face Hub ({reason})",
            where=model,
            cure="check its name and the connection, or name a local folder that holds it",
        ) from None


def _cached(model: str, revision: str | None, patterns: Sequence[Sequence[str]]) -> Path:
    """The folder of a repository of which at least one group of weights was fetched before."""
    from huggingface_hub import snapshot_download

    for group in patterns:
        try:  # a group of which nothing was fetched is incomplete, for the Hub's library
            wanted = [*TEXTS, *group]
            folder = Path(snapshot_download(model, revision=revision, allow_patterns=wanted, local_files_only=True))
        except FileNotFoundError:
            continue
        if _first_group([path.name for path in folder.rglob("*")], [group]):
            return folder
    raise ConnectionError("it cannot be reached, and the model was not fetched before")
