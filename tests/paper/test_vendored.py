"""The libraries that lie in the package are those of their records, and may stand within a page."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from fivesentences.documents import read_json
from fivesentences.reproduction.paper.site.shell import VENDORED, vendored

LIBRARIES = read_json(Path(str(VENDORED / "vendored.json")), "fetch it from npm again")
AXE = Path(__file__).parent / "site" / "axe"  # of the tests alone
OF_TESTS = read_json(AXE / "vendored.json", "fetch it from npm again")
WORDS = {"MIT": "Permission is hereby granted", "MPL-2.0": "Mozilla Public License, version 2.0",
         "OFL-1.1": "SIL OPEN FONT LICENSE Version 1.1"}  # fmt: skip


@pytest.mark.parametrize("library", [*LIBRARIES, *OF_TESTS], ids=lambda library: library["name"])
def test_a_vendored_library_is_the_file_of_its_record_with_its_licence(library) -> None:
    folder = VENDORED if library in LIBRARIES else AXE
    content = (folder / library["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == library["sha256"]
    kind, _, digest = library["integrity"].partition("-")  # of the package's archive, as npm writes it
    assert kind == "sha512" and len(base64.b64decode(digest, validate=True)) == 64
    assert re.fullmatch(r"\d+\.\d+\.\d+", library["version"])
    assert WORDS[library["license"]] in (folder / library["license_file"]).read_text(encoding="utf-8")


SCRIPTS = [library for library in LIBRARIES if library["file"].endswith(".js")]


@pytest.mark.parametrize("library", SCRIPTS, ids=lambda library: library["name"])
def test_a_vendored_library_can_stand_within_a_page_that_is_opened_as_a_file(library) -> None:
    text = vendored(library["file"].removesuffix(".min.js"))
    assert not re.search(r"</script|<!--", text)  # either would end or change the script around it
    assert not re.search(r"^\s*(import|export)\b", text)  # pages from file:// may not load modules
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts)\(", text)


def test_no_other_file_is_vendored() -> None:
    known = {library[key] for library in LIBRARIES for key in ("file", "license_file")} | {"vendored.json"}
    assert {path.name for path in VENDORED.iterdir() if path.name != "__pycache__"} == known
