"""The recipes of CONTRIBUTING: a newcomer's path through each half, walked word for word in a copy of the project.

A new loss is walked in tests/losses/test_pages.py and tests/training/test_fingerprint.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.documents import read_yaml
from fivesentences.reproduction.plan.plan import plan_of, scale_of
from workflow.conftest import jobs, said

pytestmark = pytest.mark.slow
TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
MODULE, ENTRY = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)
(STUDY,) = re.findall(r"```yaml\n(.+?)```", TEXT, re.DOTALL)
LAST_OF_RECALL = '        _recall(name="mR"'


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    for name in ("src", "config", "workflow"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / name, tmp_path / "project" / name, ignore=ignored)
    return tmp_path / "project"


def test_a_metric(project: Path, tmp_path: Path) -> None:
    package = project / "src" / "fivesentences"
    (package / "metrics" / "reciprocal_rank.py").write_text(MODULE, encoding="utf-8")
    metrics = package / "config" / "metrics.py"
    before = metrics.read_text(encoding="utf-8")
    assert before.count(LAST_OF_RECALL) == 1
    metrics.write_text(before.replace(LAST_OF_RECALL, ENTRY + LAST_OF_RECALL), encoding="utf-8")
    scores = np.random.default_rng(0).normal(size=(7, 35))
    np.save(tmp_path / "s.npy", scores)
    command = [sys.executable, "-m", "fivesentences", "evaluate", "s.npy", "--csv", "out.csv"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(package.parent)}, check=True)
    found = pd.read_csv(tmp_path / "out.csv").set_index(["metric", "direction"])["value"]
    own = np.repeat(np.eye(7, dtype=bool), 5, axis=1)
    for direction, table, of_query in (("i2t", scores, own), ("t2i", scores.T, own.T)):
        best = np.where(of_query, table, -np.inf).max(axis=1)
        ranks = 1 + (table > best[:, None]).sum(axis=1)
        assert found["MRR", direction] == pytest.approx(100 * np.mean(1 / ranks))


def test_a_row_of_a_table(project: Path) -> None:
    (project / "config" / "studies" / "mine.yaml").write_text(STUDY, encoding="utf-8")
    command = ("snakemake", "mine", "-n", "--config", "studies=[mine]", "keep=null", "--workflow-profile", "none")
    command += ("-s", "workflow/Snakefile")
    planned = said(project, *command, PYTHONPATH=str(project / "src"))
    assert jobs(planned)["make_table"] == 1
    demo = project / "config" / "demo.yaml"
    stated = {"studies": ["mine"], "keep": None}
    plan = plan_of(scale_of(read_yaml(demo) | stated, demo, "--config", stated), demo.parent)
    assert {run.loss.margin for run in plan.runs.values()} == {0.2, 0.3}
