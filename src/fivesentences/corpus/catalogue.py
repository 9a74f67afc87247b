"""Which files of the catalogue a dataset is read from."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from fivesentences.config import Catalogue
from fivesentences.errors import InputError


def at_hand(path: Path | str, folders: Iterable[Path | str]) -> bool:
    """Whether one of the folders (downloads, a mirror) holds a file."""
    return any((Path(folder) / path).exists() for folder in folders)


def files_to_read(
    catalogue: Catalogue,
    dataset: str,
    kind: str,
    splits: Collection[str] | None = None,
    folders: Iterable[Path | str] = (),
) -> list[str]:
    """Paths, below the data folder, of a dataset's files whose name begins with ``kind``.

    An excerpt is taken in place of the whole file only where it holds all ``splits`` asked for, lies in one of
    ``folders``, and the whole file does not.

    Raises:
        InputError: If the catalogue has no such dataset.
    """
    if dataset not in catalogue.datasets:
        raise InputError(f"datasets.{dataset} is not in config/datasets.yaml, which lists every download.")
    files, folders = catalogue.datasets[dataset].files, list(folders)
    chosen = {name: file.path for name, file in files.items() if name.startswith(kind) and not file.excerpt_of}
    for file in files.values():
        whole = file.excerpt_of
        if whole not in chosen or not splits or not set(splits) <= set(file.splits):
            continue
        if at_hand(file.path, folders) and not at_hand(files[whole].path, folders):
            chosen[whole] = file.path
    return list(chosen.values())
