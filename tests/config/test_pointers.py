"""Every download has a pointer that DVC understands, and a fresh clone needs none of them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fivesentences.config import Catalogue, read
from fivesentences.config.pointers import pointers_of, stale_pointers, write_pointers

ROOT = Path(__file__).parents[2]
CATALOGUE = read(Catalogue, ROOT / "config" / "datasets.yaml")
FILES = [file for entry in CATALOGUE.datasets.values() for file in entry.files.values()]
SMALL = """
datasets:
  d:
    title: T
    files:
      a: {path: d/a.txt, version: one, url: "http://127.0.0.1:9/a.txt", sha256: null, size: null, licence: none}
      b: {path: d/b.txt, version: one, url: null, sha256: null, size: null, licence: none, fetch_by_hand: ask.}
"""


def test_every_file_of_the_catalogue_has_a_pointer_with_its_address_version_and_checksum():
    texts = pointers_of(CATALOGUE, ROOT / "data")
    assert stale_pointers(texts) == []
    on_disk = {path for path in (ROOT / "data").rglob("*.dvc") if path.is_file()}
    assert on_disk == set(texts)
    for file in FILES:
        pointer = yaml.safe_load((ROOT / "data" / f"{file.path}.dvc").read_text())
        assert [dep["path"] for dep in pointer.get("deps", [])] == ([file.url] if file.url else [])
        assert pointer["outs"][0]["path"] == Path(file.path).name and pointer["frozen"]
        assert pointer["meta"]["version"] == file.version and pointer["meta"].get("sha256") == file.sha256
        assert pointer["outs"][0]["cache"] is pointer["outs"][0]["push"] is False  # licences


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "datasets.yaml").write_text(SMALL)
    return tmp_path


def pointers(folder: Path, record: bool = False) -> list[str]:
    """Names of the pointers that are written."""
    texts = pointers_of(read(Catalogue, folder / "datasets.yaml"), folder / "data", record)
    return [path.name for path in write_pointers(texts)]


def test_what_was_recorded_stays_until_the_version_in_the_catalogue_is_another(small):
    assert pointers(small) == ["a.txt.dvc", "b.txt.dvc"] and pointers(small) == []
    (small / "data/d/a.txt").write_bytes(b"content")
    assert pointers(small) == [] and pointers(small, record=True) == ["a.txt.dvc"]
    pointer = small / "data/d/a.txt.dvc"
    md5 = hashlib.md5(b"content", usedforsecurity=False).hexdigest()
    assert (
        yaml.safe_load(pointer.read_text())["outs"][0] | {"md5": md5, "size": 7}
        == yaml.safe_load(pointer.read_text())["outs"][0]
    )
    catalogue = small / "datasets.yaml"
    catalogue.write_text(SMALL.replace("licence: none", "licence: other"))
    assert len(pointers(small)) == 2 and yaml.safe_load(pointer.read_text())["outs"][0]["md5"] == md5
    catalogue.write_text(SMALL.replace("version: one", "version: two"))
    assert len(pointers(small)) == 2 and "md5" not in yaml.safe_load(pointer.read_text())["outs"][0]


def dvc(folder: Path, *command: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "dvc", *command], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_dvc_tells_a_changed_download_and_a_fresh_clone_pulls_none(small):
    pytest.importorskip("dvc", reason="needs dvc: uv sync --group data")
    pointers(small)
    for path in (".dvc/config", "data/.dvc/config", ".gitignore"):
        (small / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, small / path)
    subprocess.run(["git", "init", "-q"], cwd=small, check=True)
    subprocess.run(["git", "add", "-A"], cwd=small, check=True)
    tracked = subprocess.run(["git", "ls-files", "data"], cwd=small, capture_output=True, text=True, check=True).stdout
    assert {"data/d/a.txt.dvc", "data/d/b.txt.dvc", "data/.dvc/config"} <= set(tracked.split())
    code, said = dvc(small, "status")
    assert code == 0 and "a.txt" not in said, said
    (small / "dvc.yaml").write_text("stages: {}\n")
    for folder, command in ((small, "repro"), (small / "data", "pull")):
        code, said = dvc(folder, command)
        assert code == 0 or "default remote" in said, (command, said)
        assert "Traceback" not in said and "127.0.0.1" not in said, said
    target = small / "data/d/b.txt"
    target.write_bytes(b"content")
    assert pointers(small, record=True) == ["b.txt.dvc"]
    assert "up to date" in dvc(small / "data", "status", "d/b.txt.dvc")[1]
    target.write_bytes(b"another")
    assert "modified" in dvc(small / "data", "status", "d/b.txt.dvc")[1]
    ignored = subprocess.run(["git", "check-ignore", "-q", "data/d/b.txt"], cwd=small)
    assert ignored.returncode == 0
