"""Where a model's files are: a local folder, or a repository of the Hugging Face Hub at one revision."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download

from fivesentences.documents import read_json
from fivesentences.errors import InputError, reason_of
from fivesentences.storage import sha256_of

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
# Weights as transformers and sentence-transformers save them, the best kind first.
WEIGHTS = (("model.safetensors", "model-*.safetensors"), ("pytorch_model.bin", "pytorch_model-*.bin"))
_LAYERS = re.compile(r"(^|_)(layers|depth|blocks|n_layer)$")  # how configurations call numbers of layers
# What is fetched besides weights: configurations and tokenizers, never Python.
TEXTS = ("*.json", "*.txt", "*.model", "*.jinja")


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model.

    Attributes:
        folder: The folder that they are in.
        revision: Commit of the Hub; None for a folder of the user.
        weights: The files of weights that are loaded, safetensors if there are any.
    """

    folder: Path
    revision: str | None
    weights: tuple[Path, ...]

    def facts(self) -> dict[str, Any]:
        """Return the revision and the SHA-256 of the weights, for the note beside the vectors."""
        hashes = {path.relative_to(self.folder).as_posix(): sha256_of(path) for path in self.weights}
        return {"revision": self.revision, "weights": hashes, "weights_sha256": combined(hashes)}


def find_source(
    model: str, revision: str | None, patterns: Sequence[Sequence[str]], *, below: bool = False
) -> ModelFiles:
    """Find a model's files, and fetch those of a repository.

    Args:
        model: A local folder, or a repository such as ``openai/clip-vit-base-patch32``.
        revision: Branch, tag or commit of a repository; default its main branch.
        patterns: Groups of names of weights, the best group first; the first group that has files is taken.
        below: Whether weights are also looked for in subfolders.

    Raises:
        InputError: If there is no such folder or repository, it cannot be fetched, holds no weights, or asks to run
            Python of its own.
    """
    local = Path(model).is_dir()
    if local and revision is not None:
        raise InputError(f"{model} is a folder, which has no revisions; leave --revision out.")
    if not local and (model.startswith(".") or not _REPOSITORY.fullmatch(model)):
        raise InputError("there is no such folder, and a repository is called ORGANISATION/NAME.", where=model)
    for group in patterns:
        folder = Path(model) if local else _fetched(model, revision, group)
        paths = sorted(folder.rglob("*.*") if below else folder.glob("*.*"))
        if weights := [path for path in paths if any(fnmatch(path.name, pattern) for pattern in group)]:
            _check_configurations(folder, weights, below)
            return ModelFiles(folder, None if local else folder.name, tuple(weights))
    wanted = " or ".join(group[0] for group in patterns)
    raise InputError(f"it holds no weights ({wanted}); save the model there again.", where=model)


def combined(hashes: dict[str, str]) -> str:
    """Return one SHA-256 for all weights: that of the only file, or of the list of all files with theirs."""
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    return hashlib.sha256("".join(f"{value}  {name}\n" for name, value in sorted(hashes.items())).encode()).hexdigest()


def _check_configurations(folder: Path, weights: Sequence[Path], below: bool) -> None:
    """Refuse a configuration that runs code, or has more layers than weights, which its library would make for ever.

    open_clip would pass ``trust_remote_code`` on.
    """
    tensors = sum(map(_tensors_in, weights))

    def check(content: Any, path: Path, name: str = "") -> None:
        if isinstance(content, dict) and content.get("trust_remote_code"):
            raise InputError(
                "it sets trust_remote_code, by which its author's Python would be run; such models are not loaded",
                where=path,
                cure="use a model that its library implements",
            )
        if isinstance(content, dict | list):
            for key, value in content.items() if isinstance(content, dict) else ((name, value) for value in content):
                check(value, path, key)
        elif type(content) in (int, float) and _LAYERS.search(name) and not 0 <= content <= tensors:
            what = f"its {name} is {content}, but its weights are {tensors:,} tensors"
            raise InputError(what, where=path, cure="fetch it or save it again")

    for path in sorted(folder.rglob("*config*.json") if below else folder.glob("*config*.json")):
        check(read_json(path), path)


def _tensors_in(path: Path) -> int:
    """Return how many tensors a file of weights holds, at most: every one takes some bytes of its header."""
    try:
        with zipfile.ZipFile(path) as archive:  # as torch.save writes it
            return len(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")  # of safetensors, followed by so many bytes of JSON
        return min(header, path.stat().st_size) // 50


def _fetched(model: str, revision: str | None, group: Sequence[str]) -> Path:
    """Return the folder of a repository in the Hub's cache, which is named after the commit."""
    try:  # without a connection, what was fetched before will do
        return Path(snapshot_download(model, revision=revision, allow_patterns=[*TEXTS, *group]))
    except Exception as error:  # whatever the Hub's library raises at the moment
        raise InputError(
            f"the model could not be fetched from the Hugging Face Hub ({reason_of(error)})",
            where=model,
            cure="check its name and the connection, or name a local folder that holds it",
        ) from None
