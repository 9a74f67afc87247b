"""What is known of a folder without unpacking it: whether it was unpacked here, of what, and which programs could."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from fivesentences.documents import read_json

RECORD = ".unpacked.json"  # in a folder that was unpacked here, and in none that a person put there
# Programs that unpack rar, and their arguments for an archive and a folder, with nothing asked and no owner restored.
PROGRAMS: dict[str, Callable[[str, str], list[str]]] = {
    "bsdtar": lambda archive, folder: ["-x", "-o", "--no-same-permissions", "-f", archive, "-C", folder],
    "unar": lambda archive, folder: ["-quiet", "-force-skip", "-no-directory", "-output-directory", folder, archive],
    "7z": lambda archive, folder: ["x", "-y", f"-o{folder}", archive],
}
INSTALL = "install one, such as bsdtar (Debian: libarchive-tools; conda: libarchive)"


def is_unpacked_here(folder: Path | str) -> bool:
    """Return True for a folder that ``unpack`` made; False for one that a person put there, and where none is."""
    return Path(folder, RECORD).is_file()


def archives_unpacked_in(folder: Path) -> list[str]:
    """Return the names of the archives that ``unpack`` made a folder from."""
    record = read_json(folder / RECORD, "delete the folder, and run again")
    archives = record.get("archives") if isinstance(record, dict) else None
    return list(archives) if isinstance(archives, dict) else []


def programs_for_rar() -> list[str]:
    """Return the programs of this system that unpack a rar."""
    return [program for program in PROGRAMS if shutil.which(program)]
