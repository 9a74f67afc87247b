"""Pointers of DVC: a ``.dvc`` file for each file of the catalogue, so that git knows what a result was made of.

The folder of downloads is a DVC project of its own: ``dvc pull`` and ``dvc status`` of the results pass it over, so
that nobody who wants to redraw a figure fetches 20 GB. DVC goes by MD5. Where the catalogue states it, DVC can keep the
file: ``dvc push`` and ``dvc pull`` work with a remote of one's own. Licences forbid most files to be shared in a public
one. Other files are neither cached nor pushed; their MD5 is recorded once they are on somebody's disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from fivesentences.config.datasets import Catalogue, CatalogueEntry, CatalogueFile
from fivesentences.documents import read_yaml
from fivesentences.storage import inside, md5_of, replacing

ENDING = ".dvc"
_HEAD = "# Written by `fivesentences download --pointers` from config/datasets.yaml.\n"
_RECORDED = ("md5", "size")  # of an output, by DVC


def pointers_of(catalogue: Catalogue, data: Path, record: bool = False) -> dict[Path, str]:
    """Return the text of every pointer, by its path; what DVC has recorded in an existing one is kept.

    A pointer starts again, without size and MD5, if the address or the version in the catalogue is another.

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
            target = inside(data, file.path)
            pointer = target.with_name(target.name + ENDING)
            known = read_yaml(pointer) if pointer.is_file() else None
            content = _with_records(_pointer(entry, file), known if isinstance(known, dict) else {})
            if record and file.md5 is None and target.is_file():
                content["outs"][0] |= {"md5": md5_of(target), "size": target.stat().st_size}
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
    """Return those that are missing, or say something else than the catalogue."""
    read = yaml.safe_load  # DVC lays the file out in its own way
    return [path for path, text in texts.items() if not path.is_file() or read(path.read_text("utf-8")) != read(text)]


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
