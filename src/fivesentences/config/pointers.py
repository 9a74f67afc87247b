"""Pointers of DVC: a ``.dvc`` file for each file of the catalogue, so that git knows what a result was made of.

The bytes stay with their hosts: licences forbid most of them to be passed on, and nobody who wants to redraw a figure
should fetch 20 GB. So outputs are neither cached nor pushed, and the folder of downloads is a DVC project of its own:
``dvc pull`` and ``dvc status`` of the results pass it over. Until a file has been on somebody's disk its MD5, which DVC
goes by, is unknown; then it is recorded in the pointer.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import yaml

from fivesentences.config.datasets import Catalogue, CatalogueEntry, CatalogueFile
from fivesentences.documents import read_yaml
from fivesentences.storage import inside, replacing

ENDING = ".dvc"
_HEAD = "# Written by `fivesentences pointers` from config/datasets.yaml; with --record it adds size and MD5.\n"
_RECORDED = ("md5", "size")  # of an output, by DVC


def pointers_of(catalogue: Catalogue, data: Path, record: bool = False) -> dict[Path, str]:
    """The text of every pointer, by its path; what DVC has recorded in an existing one is kept.

    A pointer starts again, without size and MD5, if the address or the version in the catalogue is another.

    Args:
        catalogue: The list of downloads.
        data: The folder of downloads.
        record: Take size and MD5 of files that are here, as ``dvc commit`` does, which also asks the host.

    Raises:
        InputError: If a path of the catalogue would leave the folder, or an existing pointer is no YAML mapping.
    """
    found = {}
    for entry in catalogue.datasets.values():
        for file in entry.files.values():
            target = inside(data, file.path)
            pointer = target.with_name(target.name + ENDING)
            known = read_yaml(pointer) if pointer.is_file() else None
            content = _with_records(_pointer(entry, file), known if isinstance(known, dict) else {})
            if record and target.is_file():
                content["outs"][0] |= {"md5": _md5_of(target), "size": target.stat().st_size}
            found[pointer] = _HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
    return found


def write_pointers(texts: dict[Path, str]) -> list[Path]:
    """Write those that are not as they should be; returns their paths."""
    stale = stale_pointers(texts)
    for path in stale:
        with replacing(path) as temporary:
            temporary.write_text(texts[path], encoding="utf-8")
    return stale


def stale_pointers(texts: dict[Path, str]) -> list[Path]:
    """Those that are missing, or say something else than the catalogue."""
    return [
        path
        for path, text in texts.items()
        if not path.is_file() or _content(path.read_text("utf-8")) != _content(text)
    ]


def _md5_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _content(text: str) -> Any:
    return yaml.safe_load(text)  # DVC lays the file out in its own way


def _pointer(entry: CatalogueEntry, file: CatalogueFile) -> dict[str, Any]:
    meta = {"version": file.version, "licence": file.licence}
    meta |= {
        key: value for key, value in (("sha256", file.sha256), ("by_hand", file.fetch_by_hand)) if value is not None
    }
    name = file.path.rpartition("/")[2]
    source = {} if file.url is None else {"deps": [{"path": file.url}]}
    return {
        "desc": entry.title,
        "meta": meta,
        **source,
        "outs": [{"path": name, "hash": "md5", "cache": False, "push": False}],
        "frozen": True,  # so that `dvc repro` downloads nothing
    }


def _with_records(pointer: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    old = known.get("deps") or [{}]
    new = pointer.get("deps") or [{}]
    same_version = (known.get("meta") or {}).get("version") == pointer["meta"]["version"]
    if old[0].get("path") != new[0].get("path") or not same_version:
        return pointer
    if "deps" in pointer:
        pointer["deps"] = known["deps"]
    outs = known.get("outs") or [{}]
    pointer["outs"][0] |= {key: outs[0][key] for key in _RECORDED if key in outs[0]}
    return ({"md5": known["md5"]} if "md5" in known else {}) | pointer
