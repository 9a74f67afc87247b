"""Where the project's dependencies come from: hashes, explained advisories, and pinned actions of hosted CI."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
# What a job may do; all others read the repository, and no more.
ALLOWED = {("pages.yml", "deploy"): {"pages": "write", "id-token": "write"}}
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
    assert "pull_request_target" not in path.read_text(encoding="utf-8")
