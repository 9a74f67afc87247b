"""Every download whose MD5 is known has a pointer that DVC understands, and a fresh clone needs none of them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fivesentences.config.datasets import Catalogue, CatalogueEntry, CatalogueFile
from fivesentences.config.pointers import (
    pointers_of,
    record_pointer,
    remove_other_pointers,
    stale_pointers,
    write_pointers,
)
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


def test_every_file_whose_md5_the_catalogue_states_has_a_pointer_with_its_address_version_and_checksum():
    texts = pointers_of(CATALOGUE, ROOT / "data")
    assert stale_pointers(texts) == []
    tracked = subprocess.run(["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    known = [file for file in FILES if file.md5 is not None]
    if tracked:  # otherwise this is no checkout
        assert {path for path in tracked if path.endswith(".dvc")} == {f"data/{file.path}.dvc" for file in known}
    for file in known:
        pointer = yaml.safe_load((ROOT / "data" / f"{file.path}.dvc").read_text())
        meta, out = pointer["meta"], pointer["outs"][0]
        assert (meta.get("address"), meta.get("further_addresses", [])) == (file.url, file.more_urls)
        assert meta["version"] == file.version and meta.get("sha256") == file.sha256
        assert out["path"] == Path(file.path).name and "deps" not in pointer  # DVC asks no host
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
    for path in (".dvc/config", *(f"{one.path}.dvc" for one in FILES if one.md5 is not None)):
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "data" / path, data / path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    before = {name: (data / name).read_bytes() for name in names}
    for path in paths:
        shutil.copyfile(mirror / path, data / path)
    for command in (
        ["remote", "add", "-q", "-d", "store", str(tmp_path / "store")],
        ["commit", "-f", *names],
        ["push"],
    ):
        code, said = dvc(data, *command)
        assert code == 0, (command, said)
    assert {name: (data / name).read_bytes() for name in names} == before  # nothing for git
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


def pointers(folder: Path) -> list[str]:
    """Names of the pointers that are written or removed, as by ``fivesentences download --pointers``."""
    texts = pointers_of(read(Catalogue, folder / "datasets.yaml"), folder / "data", record=True)
    return [path.name for path in [*write_pointers(texts), *remove_other_pointers(folder / "data", texts)]]


def fetched(folder: Path, name: str, content: bytes) -> Path:
    """Put a file into the folder of downloads as the rule does; returns its pointer."""
    entry = read(Catalogue, folder / "datasets.yaml").datasets["d"]
    target = folder / "data" / entry.files[name].path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    record_pointer(entry, entry.files[name], folder / "data")
    return target.with_name(target.name + ".dvc")


def test_a_file_that_is_fetched_gets_a_pointer_with_its_md5_and_no_other_has_one(small):
    assert pointers(small) == []
    (small / "data/.dvc").mkdir(parents=True)
    pointer = fetched(small, "a", b"content")
    out = yaml.safe_load(pointer.read_text())["outs"][0]
    md5 = hashlib.md5(b"content", usedforsecurity=False).hexdigest()
    assert (out["md5"], out["size"], out["cache"], out["push"]) == (md5, 7, False, False)
    assert pointers(small) == [] and [path.name for path in (small / "data/d").glob("*.dvc")] == ["a.txt.dvc"]
    fetched(small, "a", b"another")  # of the same version, as of a host that changed it
    md5 = hashlib.md5(b"another", usedforsecurity=False).hexdigest()
    assert yaml.safe_load(pointer.read_text())["outs"][0]["md5"] == md5
    elsewhere = small / "elsewhere"  # where the folder of downloads is no project of DVC
    (elsewhere / "data").mkdir(parents=True)
    shutil.copy(small / "datasets.yaml", elsewhere)
    assert not fetched(elsewhere, "a", b"content").exists()


def test_what_was_recorded_stays_until_the_version_in_the_catalogue_is_another(small):
    (small / "data/.dvc").mkdir(parents=True)
    pointer, catalogue = fetched(small, "a", b"content"), small / "datasets.yaml"
    recorded = yaml.safe_load(pointer.read_text())["outs"]
    (small / "data/d/a.txt").unlink()
    catalogue.write_text(SMALL.replace("licence: none", "licence: other"))
    assert pointers(small) == ["a.txt.dvc"] and yaml.safe_load(pointer.read_text())["outs"] == recorded
    added = small / "data/d/mine.npy.dvc"
    added.write_text("outs:\n- md5: 0123456789abcdef0123456789abcdef\n  path: mine.npy\n")
    catalogue.write_text(SMALL.replace("version: one", "version: two"))
    assert pointers(small) == ["a.txt.dvc"] and not pointer.exists() and added.exists()


def test_dvc_writes_every_pointer_as_it_is(tmp_path):
    """So that ``dvc commit`` of an unchanged file changes nothing in git."""
    serialize = pytest.importorskip("dvc.utils.serialize", reason="needs dvc: uv sync --group data")
    for entry in CATALOGUE.datasets.values():
        for file in entry.files.values():
            (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file.path).write_bytes(b"content")
    texts = pointers_of(CATALOGUE, tmp_path, record=True)
    assert len(texts) == len(FILES)
    for path, text in texts.items():
        serialize.dump_yaml(path, serialize.parse_yaml_for_update(text, path))
        assert path.read_text("utf-8") == text, path


def dvc(folder: Path, *command: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "dvc", *command], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_dvc_tells_a_changed_download_and_a_fresh_clone_pulls_none(small):
    pytest.importorskip("dvc", reason="needs dvc: uv sync --group data")
    for path in (".dvc/config", "data/.dvc/config", ".gitignore"):
        (small / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, small / path)
    for name in ("a", "b"):
        fetched(small, name, b"content").with_suffix("").unlink()  # fetched elsewhere; git has the pointer alone
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
    target, before = small / "data/d/b.txt", (small / "data/d/b.txt.dvc").read_bytes()
    target.write_bytes(b"content")
    assert "up to date" in dvc(small / "data", "status", "d/b.txt.dvc")[1]
    code, said = dvc(small / "data", "commit", "-f", "d/b.txt.dvc")
    assert code == 0 and (small / "data/d/b.txt.dvc").read_bytes() == before, said
    target.write_bytes(b"another")
    assert "modified" in dvc(small / "data", "status", "d/b.txt.dvc")[1]
    ignored = subprocess.run(["git", "check-ignore", "-q", "data/d/b.txt"], cwd=small)
    assert ignored.returncode == 0


@pytest.mark.slow
def test_a_mirrors_other_file_leaves_the_pointer_of_the_stated_one_alone(small):
    pytest.importorskip("dvc", reason="needs dvc: uv sync --group data")
    for path in ("data/.dvc/config", ".gitignore"):
        (small / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, small / path)
    subprocess.run(["git", "init", "-q"], cwd=small, check=True)
    data, md5 = small / "data", hashlib.md5(b"stated", usedforsecurity=False).hexdigest()
    one = CatalogueFile(
        path="d/c.txt", version="1", url="https://d.org/c", sha256=None, md5=md5, size=None, licence="n"
    )
    entry = CatalogueEntry(title="D", files={"c": one})
    target = data / "d/c.txt"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(b"a mirror's")
    record_pointer(entry, one, data)
    pointer, before = data / "d/c.txt.dvc", (data / "d/c.txt.dvc").read_bytes()
    code, said = dvc(data, "commit", "-f")
    assert code == 0 and pointer.read_bytes() == before and md5.encode() in before, said
    assert subprocess.run(["git", "check-ignore", "-q", "data/d/.dvcignore"], cwd=small).returncode == 0
    target.write_bytes(b"stated")
    record_pointer(entry, one, data)
    code, said = dvc(data, "status", "d/c.txt.dvc")
    assert code == 0 and "c.txt" not in (data / "d/.dvcignore").read_text(), said
    assert dvc(data, "commit", "-f", "d/c.txt.dvc")[0] == 0 and md5.encode() in pointer.read_bytes()
