"""Photographs in tar archives, such as the shards of WebDataset, read in place."""

from __future__ import annotations

import tarfile
from pathlib import Path, PurePosixPath

from fivesentences.documents import check_file
from fivesentences.errors import InputError, reason_of

_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, bzip2, xz, zstd


def is_tar(path: Path) -> bool:
    """Return True for the name of a tar archive, packed or not."""
    return path.suffix.lower() in (".tar", ".tgz") or ".tar" in [suffix.lower() for suffix in path.suffixes[-2:-1]]


def check_entry(name: str, archive: Path) -> None:
    """Refuse the name of an entry that would be unpacked outside the target folder; we never unpack.

    Raises:
        InputError: If it would, or has a NUL.
    """
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or ":" in "".join(pure.parts[:1])[1:2] or "\0" in name:
        what = "has a NUL in its name" if "\0" in name else "would leave the folder"
        raise InputError(f"entry '{name}' {what}; the archive is refused.", where=archive.name)


class TarShard:
    """The files in a tar archive; links and devices in it are passed over.

    Args:
        path: The archive.

    Attributes:
        filename: Its path.
        members: The files by name; of two with one name the first.
        twice: Names that several files have.

    Raises:
        InputError: If it is missing, packed, damaged or cut off, or an entry would leave the folder.
    """

    def __init__(self, path: Path):
        self.filename, self.members, self.twice = path, dict[str, tarfile.TarInfo](), list[str]()
        check_file(path)
        with path.open("rb") as file:
            if file.read(8).startswith(_PACKED):
                cure = f"unpack it first, such as by: gunzip {path.name}" if path.suffix == ".gz" else "unpack it first"
                raise InputError("a packed tar archive cannot be read in place", where=path, cure=cure)
        size = path.stat().st_size
        try:
            with tarfile.open(path, "r:") as archive:
                for member in archive:
                    check_entry(member.name, path)
                    if not member.isfile() or member.issparse():
                        continue
                    if member.offset_data + member.size > size:
                        raise tarfile.ReadError(f"it ends within '{member.name}'")
                    if member.name in self.members:
                        self.twice.append(member.name)
                    self.members.setdefault(member.name, member)
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            what = f"this is not a complete tar archive ({reason_of(error)})"
            raise InputError(what, where=path, cure="fetch it or pack it again") from None

    def namelist(self) -> list[str]:
        """Return the names of the files, in the order of the archive."""
        return list(self.members)

    def read(self, name: str, most: int) -> bytes:
        """Read a file of at most so many bytes.

        Raises:
            InputError: If there is no such file, it is larger, or the archive cannot be read.
        """
        if (member := self.members.get(name)) is None:
            raise InputError(f"there is no entry '{name}'.", where=self.filename.name)
        if member.size > most:
            what = f"entry '{name}' has {member.size:,} bytes; at most {most:,} are allowed."
            raise InputError(what, where=self.filename.name)
        try:
            with self.filename.open("rb") as file:
                file.seek(member.offset_data)
                return file.read(member.size)
        except OSError as error:
            raise InputError(f"it cannot be read ({error.strerror or error}).", where=self.filename) from None
