"""Every download has a pointer that DVC understands, and a fresh clone needs none of them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fivesentences.config.datasets import Catalogue
from fivesentences.config.pointers import pointers_of, stale_pointers, write_pointers
from fivesentences.config.reading import read

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
        meta, out = pointer["meta"], pointer["outs"][0]
        assert (meta.get("address"), meta.get("further_addresses", [])) == (file.url, file.more_urls)
        assert meta["version"] == file.version and meta.get("sha256") == file.sha256
        assert out["path"] == Path(file.path).name and "deps" not in pointer  # DVC asks no host
        if file.md5 is None:
            assert out["cache"] is out["push"] is False
        else:
            assert out.get("md5") == file.md5 and out.get("size") == file.size and "cache" not in out


@pytest.mark.data
@pytest.mark.parametrize("folder", ["flickr8k", "cxc", "wikipedia"])
def test_checksums_of_the_catalogue_are_those_of_original_files(folder, mirror):
    altered = {"flickr8k/Flickr8k_Dataset.zip"}  # that of the mirror has smaller photographs
    checked = [
        file
        for file in FILES
        if file.path.startswith(f"{folder}/") and file.path not in altered and (mirror / file.path).exists()
    ]
    assert checked
    for file in checked:
        content = (mirror / file.path).read_bytes()
        found = hashlib.sha256(content).hexdigest(), hashlib.md5(content, usedforsecurity=False).hexdigest()
        assert (*found, len(content)) == (file.sha256, file.md5, file.size), file.path


@pytest.mark.data
def test_original_files_are_pushed_to_a_remote_and_pulled_from_it(tmp_path, mirror):
    """The pointers of this repository, in a clone of it; only DVC, a folder as the remote, and no host."""
    pytest.importorskip("dvc", reason="needs dvc: uv sync --group data")
    paths = [
        "flickr8k/Flickr8k_text.zip",
        "cxc/sits_test.csv",
        "wikipedia/raw_features.mat",
        "wikipedia/categories.list",
    ]
    data, names = tmp_path / "data", [f"{path}.dvc" for path in paths]
    for path in (".dvc/config", *(file for one in FILES for file in [f"{one.path}.dvc"])):
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "data" / path, data / path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for path in paths:
        shutil.copyfile(mirror / path, data / path)
    for command in (
        ["remote", "add", "-q", "-d", "store", str(tmp_path / "store")],
        ["commit", "-f", *names],
        ["push"],
    ):
        code, said = dvc(data, *command)
        assert code == 0, (command, said)
    assert "up to date" in dvc(data, "status", *names)[1]
    for path in paths:
        (data / path).unlink()
    shutil.rmtree(data / ".dvc" / "cache")
    assert "not in cache" in dvc(data, "status", *names)[1]
    code, said = dvc(data, "pull", *names)
    assert code == 0 and "4 files" in said, said
    for path in paths:
        assert (data / path).read_bytes() == (mirror / path).read_bytes()
    assert "up to date" in dvc(data, "status", *names)[1]
    (data / paths[1]).chmod(0o644)
    (data / paths[1]).write_bytes(b"another")
    assert "modified" in dvc(data, "status", *names)[1]


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


@pytest.mark.slow
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
