"""What hosts answer is asked without fetching, written for git, and shown beside the addresses."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

DATA = b"twenty bytes of data"
PARTS = {"size": 20, "etag": '"v1"'}


@pytest.fixture
def catalogue(host, tmp_path: Path, monkeypatch) -> Path:
    """A catalogue of three files: one is there, one has moved, one is gone; and the terms of the first."""
    monkeypatch.chdir(tmp_path)
    host.files |= {"/here.txt": DATA, "/there.txt": DATA, "/terms": b"be kind"}
    host.moved["/moved.txt"] = f"{host.url}/there.txt"
    common = {"version": "1", "sha256": None, "size": None, "licence": "none"}
    files = {
        name: common | {"path": f"mine/{name}.txt", "url": f"{host.url}/{name}.txt"}
        for name in ("here", "moved", "gone")
    }
    files["here"]["consent"] = {"name": "kind", "terms": f"{host.url}/terms"}
    files["gone"]["size"] = 7
    path = tmp_path / "config" / "datasets.yaml"
    path.parent.mkdir()
    path.write_text(
        yaml.safe_dump(
            {
                "datasets": {
                    "mine": {"title": "Mine", "files": files},
                    "other": {
                        "title": "Other",
                        "files": {
                            "away": common | {"path": "other/a.txt", "url": "http://127.0.0.1:9/a.txt", "size": 21}
                        },
                    },
                }
            }
        )
    )
    return path


def tried_in(catalogue: Path) -> dict[str, dict]:
    content = yaml.safe_load(catalogue.with_name("tried.yaml").read_text())["addresses"]
    return {url.rpartition("/")[2]: about for url, about in content.items()}


@pytest.mark.parametrize("answers_head", [True, False])
def test_what_hosts_answer_is_written_and_nothing_is_fetched(host, catalogue, run, answers_head):
    host.answers_head = answers_head
    said = run("download", "--probe", "mine")
    assert said.code == 0
    tried = tried_in(catalogue)
    assert set(tried) == {"here.txt", "moved.txt", "gone.txt", "terms"}
    today = datetime.now(UTC).date()
    assert all(one["on"] == str(today) for one in tried.values())
    assert tried["here.txt"]["reached"] and {key: tried["here.txt"][key] for key in PARTS} == PARTS
    assert tried["moved.txt"]["moved_to"] == f"{host.url}/there.txt" and tried["moved.txt"]["size"] == len(DATA)
    assert not tried["gone.txt"]["reached"] and "404" in tried["gone.txt"]["answer"]
    assert tried["terms"]["reached"] and "size" not in tried["terms"]
    assert not Path("data/mine").exists() and all(asked in ("HEAD", "bytes=0-0") for _, asked in host.requests)
    assert "3 of 4 addresses reached" in said.out


def test_answers_of_others_stay_and_the_table_of_addresses_shows_all(host, catalogue, run):
    run("download", "--probe", "mine")
    host.files["/gone.txt"] = DATA  # found again, and longer than the catalogue says
    said = run("download", "--probe")
    assert said.code == 0
    out = said.out
    assert "the catalogue says 7 bytes" in out and "refuses the connection" in out
    assert set(tried_in(catalogue)) == {"here.txt", "moved.txt", "gone.txt", "terms", "a.txt"}
    said = run("download", "--addresses")
    rows = {line.split("`")[1]: line for line in said.out.splitlines()[2:]}
    assert "200 OK" in rows["mine/here.txt"] and "moved to" in rows["mine/moved.txt"]
    assert "the catalogue says 7 bytes" in rows["mine/gone.txt"] and "refuses" in rows["other/a.txt"]


def test_the_checksum_of_a_file_that_was_fetched_from_its_host_is_written(host, catalogue, run):
    assert run("download", "mine", "--file", "moved").code == 0
    Path("data/mine/here.txt").write_bytes(b"by hand")
    run("download", "--probe", "mine")
    tried = tried_in(catalogue)
    assert tried["moved.txt"]["sha256"] == hashlib.sha256(DATA).hexdigest() and "sha256" not in tried["here.txt"]


def test_a_damaged_file_of_answers_is_named(catalogue, run):
    catalogue.with_name("tried.yaml").write_text("addresses: {http://a: {on: never}}\n")
    said = run("download", "--addresses")
    assert said.code != 0
    assert "tried.yaml" in said.err
