"""Where the project's dependencies come from: hashes, explained advisories, and pinned actions of hosted CI."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
# What a job may do; all others read the repository, and no more.
ALLOWED = {
    ("pages.yml", "deploy"): {"pages": "write", "id-token": "write"},
    ("release.yml", "publish"): {"id-token": "write"},  # trusted publishing: the index asks who runs this, no secret
}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def locked() -> dict[str, str]:
    """Name and lines of every locked package."""
    text = (ROOT / "envs" / "requirements.lock.txt").read_text(encoding="utf-8")
    entries = re.split(r"(?m)^(?=[a-zA-Z0-9])", text)
    return {entry.partition("==")[0]: entry for entry in entries if entry.strip() and not entry.startswith("#")}


def advisories() -> list[dict[str, Any]]:
    return list(yaml.safe_load((ROOT / "envs" / "advisories.yaml").read_text(encoding="utf-8")))


def test_every_locked_package_has_a_version_and_hashes() -> None:
    packages = locked()
    assert len(packages) > 100
    for name, entry in packages.items():
        assert re.match(rf"{re.escape(name)}==\S+", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), name


def test_every_advisory_that_stays_is_of_a_locked_package_and_says_why() -> None:
    text = (ROOT / "envs" / "advisories.yaml").read_text(encoding="utf-8")
    # As envs/audit reads them, without a YAML parser.
    assert re.findall(r"(?m)^- id: ([A-Z0-9a-z-]+)$", text) == [one["id"] for one in advisories()]
    for one in advisories():
        assert re.fullmatch(r"CVE-\d{4}-\d+|GHSA(-\w{4}){3}|PYSEC-\d{4}-\d+", one["id"])
        assert one["package"] in locked(), f"{one['id']} outlived its package"
        assert isinstance(one["looked_at"], datetime.date)
        assert len(one["what"]) > 20 and len(one["why"]) > 20


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_hosted_ci_pins_its_actions_and_may_only_read(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content["permissions"] == {}  # a job asks for what it needs
    steps = []
    for name, job in content["jobs"].items():
        assert job["permissions"] == ALLOWED.get((path.name, name), {"contents": "read"}), name
        # What may write runs nothing of this repository.
        assert job["permissions"] == {"contents": "read"} or not any("run" in step for step in job["steps"]), name
        assert 0 < job["timeout-minutes"] <= 120
        steps += job["steps"]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used and [action for action in used if not PINNED.fullmatch(action)] == []
    for step in steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # What a contributor chooses (a branch's name, a title) never becomes part of a script.
        assert "${{" not in step.get("run", "")
    text = path.read_text(encoding="utf-8")
    assert "pull_request_target" not in text and "secrets." not in text


def test_a_release_has_addresses_that_a_page_on_an_index_can_link(tmp_path: Path) -> None:
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    command = [sys.executable, str(ROOT / "envs" / "addresses"), "https://host.example/o/n", "v1"]
    subprocess.run(command, cwd=tmp_path, check=True)
    links = re.findall(r"\]\(([^)]+)\)", (tmp_path / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10 and [link for link in links if not link.startswith("https://")] == []
    for link in links:
        assert (ROOT / link.partition("/v1/")[2].partition("#")[0]).exists(), link
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Repository"] == "https://host.example/o/n" and project["scripts"]


def test_a_wheel_has_the_licence_of_every_vendored_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {path.resolve() for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    vendored = ROOT / "src/fivesentences/reproduction/paper/site/vendored"
    for one in json.loads((vendored / "vendored.json").read_text(encoding="utf-8")):
        assert vendored / one["license_file"] in named
        assert one["license"] in project["license"].split(" AND ")
