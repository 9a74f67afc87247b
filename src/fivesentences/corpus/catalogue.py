"""The files of the catalogue that a dataset is read from, and the record of where one in place came from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from fivesentences.config.datasets import Catalogue
from fivesentences.documents import read_bytes
from fivesentences.errors import InputError

MIRROR, HOST, PERSON, PAGE = "a mirror", "its host", "a person", "its page"


def at_hand(path: Path | str, folders: Iterable[Path | str]) -> bool:
    """Return whether one of the folders (downloads, a mirror) contains a file."""
    return any((Path(folder) / path).exists() for folder in folders)


def files_to_read(
    catalogue: Catalogue,
    dataset: str,
    kind: str,
    splits: Collection[str] | None = None,
    folders: Collection[Path | str] = (),
) -> list[str]:
    """Return the paths of a dataset's files whose names begin with ``kind``, relative to the data folder.

    An excerpt replaces the whole file only if it contains all requested ``splits`` and is in one of the ``folders``,
    while the whole file is in none of them.

    Args:
        catalogue: The list of downloads.
        dataset: A dataset of it.
        kind: Beginning of the names, such as ``text``, ``captions`` or ``photographs``.
        splits: The splits that are needed; None: all of them.
        folders: Where files may already be: the data folder, a mirror.

    Raises:
        InputError: If the catalogue has no such dataset.
    """
    if dataset not in catalogue.datasets:
        raise InputError(f"datasets.{dataset} is not in config/datasets.yaml, which lists every download.")
    files = catalogue.datasets[dataset].files
    chosen = {name: file.path for name, file in files.items() if name.startswith(kind) and not file.excerpt_of}
    for file in files.values():
        whole = file.excerpt_of
        if whole not in chosen or not splits or not set(splits) <= set(file.splits):
            continue
        if at_hand(file.path, folders) and not at_hand(files[whole].path, folders):
            chosen[whole] = file.path
    return list(chosen.values())


def precomp_folder(folder: Path | str, prefix: str | None) -> Path:
    """Return the folder itself or, if it contains ``<prefix>_precomp``, that one."""
    within = Path(folder) / f"{prefix}_precomp"
    return within if prefix is not None and within.is_dir() else Path(folder)


def record_of(target: Path) -> Path:
    """Return the file that records checksum and source of a download."""
    return target.with_name(f"{target.name}.sha256")


def forget(target: Path) -> None:
    """Remove the record of a download that proves damaged, so that another copy is not compared with it.

    What a person put there keeps its record.
    """
    if (record := recorded(target)) is not None and record[1] != PERSON:
        record_of(target).unlink()


def recorded(target: Path) -> tuple[str, str] | None:
    """Read checksum and source from ``<file>.sha256``, which ``sha256sum --check`` reads too."""
    path = record_of(target)
    if not path.exists():
        return None
    text = read_bytes(path).decode("utf-8", "replace")
    if (found := re.search(r"^([0-9a-f]{64})\b", text, flags=re.MULTILINE)) is None:
        raise InputError("it contains no SHA-256", where=path, cure="delete it to record the file's checksum again")
    source = re.search(r"^# from (.+)$", text, flags=re.MULTILINE)
    return found[1], source[1] if source else PERSON
