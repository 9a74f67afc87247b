"""What a run is identified by: additions to the package leave it the run it was, changes of what it uses do not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fivesentences

PROJECT = Path(__file__).parents[2]
CLASS, LINE, _ = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / "new_loss.md").read_text(), re.DOTALL)
LAST_LOSS = "    smooth_ap: SmoothAPLoss | None = Field("
CLIP = "    gradient_clip: float = Field(default="
# Identities of the demo's runs: the text that Snakemake compares, and the code that the fingerprint of a run hashes.
ASK = """
import json, sys
from pathlib import Path
from fivesentences.config.reading import read
from fivesentences.config.scales import Scale
from fivesentences.plan.plan import plan_of
from fivesentences.study.runs import FORMAT
from fivesentences.training.fingerprint import code_of_run

config = Path(sys.argv[1])
plan = plan_of(read(Scale, config / "demo.yaml"), config)
steps = {"train": map(plan.settings_to_train, plan.jobs), "evaluate": map(plan.settings_to_evaluate, plan.evaluations)}
params = {rule: [str(run) for runs in found for run in runs] for rule, found in steps.items()}
code = {name: code_of_run(spec) for name, spec in plan.runs.items()}
if not Path("results").exists():  # what training leaves
    for name, spec in plan.all_runs.items():
        file = plan.places.run(name) / "run.yaml"
        file.parent.mkdir(parents=True)
        content = {"format": FORMAT, "corpus": "", "features": "", "run": spec.model_dump(mode="json")}
        file.write_text(json.dumps(content))  # JSON is YAML
print(json.dumps({"params": params, "code": code}))
"""


@pytest.fixture
def package(tmp_path) -> Path:
    """A copy of the package, to be changed."""
    return Path(shutil.copytree(Path(fivesentences.__file__).parent, tmp_path / "src" / "fivesentences"))


def identities(package: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", ASK, PROJECT / "config"],
        cwd=package.parents[1],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_loss_added_by_the_book_and_a_setting_with_a_default_leave_every_run_as_it_was(package):
    before, losses = identities(package), package / "losses"
    (losses / "logistic.py").write_text(CLASS, encoding="utf-8")
    imported = "from fivesentences.losses.logistic import Logistic\n"
    edit(losses / "spec.py", "\nclass LossSpec", f"\n{imported}\nclass LossSpec")
    edit(losses / "spec.py", LAST_LOSS, LINE + LAST_LOSS)
    edit(package / "config" / "hyperparameters.py", CLIP, f"    momentum: float = 0.5\n{CLIP}")
    assert identities(package) == before


def test_a_changed_default_and_changed_code_of_a_model_make_other_runs(package):
    before = identities(package)
    edit(package / "models" / "vsepp.py", "\nclass VSEPP", "\nCHANGED = True\n\nclass VSEPP")
    edit(package / "config" / "hyperparameters.py", f"{CLIP}2.0", f"{CLIP}2.5")
    after = identities(package)
    changed = {name for name, code in after["code"].items() if code != before["code"][name]}
    assert changed == {name for name in after["code"] if name.startswith("scenes/vsepp")} != set(after["code"])
    for rule in ("train", "evaluate"):
        assert all(now != then for now, then in zip(after["params"][rule], before["params"][rule], strict=True))
