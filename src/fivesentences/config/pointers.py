"""Pointers of DVC: a ``.dvc`` file for each file of the catalogue whose MD5 is known, so that git knows what was read.

The folder of downloads is a DVC project of its own: ``dvc pull`` and ``dvc status`` of the results pass it over, so
that nobody who wants to redraw a figure fetches 20 GB. DVC goes by MD5. Where the catalogue states it, DVC can keep the
file: ``dvc push`` and ``dvc pull`` work with a remote of one's own. Licences forbid most files to be shared in a public
one. The pointers of other files are written when these are fetched; they are neither cached nor pushed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from fivesentences.config.datasets import Catalogue, CatalogueEntry, CatalogueFile
from fivesentences.documents import read_yaml
from fivesentences.storage import inside, md5_of, replacing, write_lines

ENDING, IGNORED = ".dvc", ".dvcignore"
_HEAD = "# Written by `fivesentences download` from config/datasets.yaml.\n"
_WRITTEN = "# Written by `fivesentences download"  # how every pointer of ours begins
_RECORDED = ("md5", "size")  # of an output, by DVC
_LONGEST = 64  # letters of a text on the line of its key


class _Dumper(yaml.SafeDumper):
    """Writes pointers as DVC does, so that a commit changes no line: it folds what does not fit into 80 letters."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if len(text) > _LONGEST else None)


_Dumper.add_representer(str, _text)


def pointers_of(catalogue: Catalogue, data: Path, record: bool = False) -> dict[Path, str]:
    """Return the text of the pointer of each file whose MD5 is known, by its path.

    It is known from the catalogue, or from the file when it was fetched, as long as address and version in the
    catalogue are the same.

    Args:
        catalogue: The list of downloads.
        data: The folder of downloads.
        record: Take size and MD5 of files that are here and whose MD5 the catalogue does not state.

    Raises:
        InputError: If a path of the catalogue would leave the folder, or an existing pointer is no YAML mapping.
    """
    found = {}
    for entry in catalogue.datasets.values():
        for file in entry.files.values():
            content = _content(entry, file, data, record)
            if "md5" in content["outs"][0]:
                found[pointer_at(data, file)] = _written(content)
    return found


def pointer_at(data: Path, file: CatalogueFile) -> Path:
    """Return the path of a file's pointer.

    Raises:
        InputError: If the file would leave the folder of downloads.
    """
    target = inside(data, file.path)
    return target.with_name(target.name + ENDING)


def record_pointer(entry: CatalogueEntry, file: CatalogueFile, data: Path) -> None:
    """Write the pointer of a file that was fetched, with its MD5, where the folder of downloads is a DVC project.

    A mirror may have another file than the one whose MD5 the catalogue states. Its pointer stays that of the stated
    one: a ``.dvcignore`` beside it, which git ignores, hides it from ``dvc commit`` as long as the other file is here.

    Raises:
        InputError: As ``pointers_of``, or if it cannot be written.
    """
    if not (data / ".dvc").is_dir():
        return
    pointer, target = pointer_at(data, file), inside(data, file.path)
    write_pointers({pointer: _written(_content(entry, file, data, record=True))})
    hidden, line = pointer.with_name(IGNORED), f"/{pointer.name}"
    before = hidden.read_text(encoding="utf-8").splitlines() if hidden.is_file() else []
    others = [one for one in before if one != line]
    is_other = file.md5 is not None and target.is_file() and md5_of(target) != file.md5
    if (after := [*others, line] if is_other else others) != before:
        write_lines(hidden, after)


def write_pointers(texts: dict[Path, str]) -> list[Path]:
    """Write those that are not as they should be; returns their paths."""
    stale = stale_pointers(texts)
    for path in stale:
        with replacing(path) as temporary:
            temporary.write_text(texts[path], encoding="utf-8")
    return stale


def remove_other_pointers(data: Path, texts: dict[Path, str]) -> list[Path]:
    """Remove pointers that were written for a file which the catalogue has no more, or in another version.

    Those that ``dvc add`` wrote stay.
    """
    found = [path for path in sorted(data.rglob(f"*{ENDING}")) if path.is_file() and path not in texts]
    ours = [path for path in found if path.read_text(encoding="utf-8", errors="replace").startswith(_WRITTEN)]
    for path in ours:
        path.unlink()
    return ours


def stale_pointers(texts: dict[Path, str]) -> list[Path]:
    """Return those that are missing, or say something else than the catalogue."""
    return [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]


def _content(entry: CatalogueEntry, file: CatalogueFile, data: Path, record: bool) -> dict[str, Any]:
    """Return what a pointer says; without MD5 if that is not known."""
    target, pointer = inside(data, file.path), pointer_at(data, file)
    known = read_yaml(pointer) if pointer.is_file() else None
    content = _with_records(_pointer(entry, file), known if isinstance(known, dict) else {})
    if record and file.md5 is None and target.is_file():
        content["outs"][0] |= {"md5": md5_of(target), "size": target.stat().st_size}
    return content


def _written(content: dict[str, Any]) -> str:
    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 1000}
    text: str = yaml.dump(content, Dumper=_Dumper, **options)
    return _HEAD + text


def _pointer(entry: CatalogueEntry, file: CatalogueFile) -> dict[str, Any]:
    meta: dict[str, Any] = {"version": file.version, "licence": file.licence, "address": file.url}
    meta |= {"further_addresses": file.more_urls or None, "sha256": file.sha256, "by_hand": file.fetch_by_hand}
    # The address is no dependency: DVC would ask the host at each commit.
    out: dict[str, Any] = {"path": file.path.rpartition("/")[2], "hash": "md5"}
    if file.md5 is None:
        out |= {"cache": False, "push": False}
    else:
        out |= {"md5": file.md5} | ({} if file.size is None else {"size": file.size})
    known = {key: value for key, value in meta.items() if value is not None}
    return {"desc": entry.title, "meta": known, "outs": [out]}


def _with_records(pointer: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    old, new, out = known.get("meta") or {}, pointer["meta"], pointer["outs"][0]
    outs = known.get("outs") or [{}]
    if "md5" not in out and all(old.get(key) == new.get(key) for key in ("address", "version")):
        out |= {key: outs[0][key] for key in _RECORDED if key in outs[0]}
    return pointer
