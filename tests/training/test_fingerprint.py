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
from fivesentences.training.fingerprint import SETTINGS
from fivesentences.versions import VERSIONS, syntax_of

PAGE = Path(__file__).parents[2] / "docs" / "new_loss.md"
CLASS, LINE, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
LAST_LOSS = "    sparing: SparingTriplet | None = None"
DERIVED = "from fivesentences.losses.info_nce import InfoNCE\n\n\nclass Derived(InfoNCE):\n    extra: int = 0\n"
SHARED = (
    "corpus",
    "encoders",
    "evaluation",
    "features",
    "metrics",
    "models",
    "reproduction",
    "retrieval",
    "semantics",
    "training",
)
CLIP = "    gradient_clip: float = Field(default="
# Of a run of each model: the settings as a rule compares them with what was recorded, and the code that is hashed.
ASK = """
import json, sys
from fivesentences.models import MODELS
from fivesentences.training.spec import RunSpec
from fivesentences.training.code import code_of_run

recorded, found = json.loads(sys.argv[1]), {}
for name in MODELS:
    given = {"dataset": "d", "features": {"extractor": "e"}, "model": {"name": name}, "loss": {"sam": {}}}
    run = RunSpec.model_validate(given)
    found[name] = [run.as_recorded(recorded.get(name, [None])[0]), code_of_run(run)]
print(json.dumps(found))
"""
# What every run of a scale is made from.
ASK_SCALES = """
import json
from pathlib import Path
from types import SimpleNamespace
from fivesentences.documents import read_yaml
from fivesentences.reproduction.plan.plan import plan_of, scale_of
from fivesentences.training.code import code_of_run
from fivesentences.reproduction.categories.training.code import code_of_method
from fivesentences.training.fingerprint import fingerprint

found, place = {}, SimpleNamespace(type="cpu")
for scale in ("demo", "flickr8k_evidence"):
    path = Path(CONFIG, f"{scale}.yaml")
    plan = plan_of(scale_of(read_yaml(path), path), path.parent)
    for name, run in plan.all_runs.items():
        found[name] = fingerprint(run, {}, code_of_run(run), place, subjects=["phi"] if run.loss.phis else [])
    for name, run in plan.subspaces.all_runs.items():
        found[name] = fingerprint(run, {}, code_of_method(run.method), place)
print(json.dumps(found))
"""


def test_the_syntax_is_written_alike_by_each_version_of_python():
    # ast.unparse quotes this f-string otherwise from 3.12 on, and ast.dump leaves empty fields out from 3.13 on.
    source = '"""Words."""\nx = f"{a[\'b\']!r}"  # more words\n'
    subscript = "Subscript(value=Name(id='a',ctx=Load()),slice=Constant(value='b'),ctx=Load())"
    value = f"JoinedStr(values=[FormattedValue(value={subscript},conversion=114)])"
    assert syntax_of(source) == f"Module(body=[Assign(targets=[Name(id='x',ctx=Store())],value={value})])"


def identities(package: Path, recorded: Any, ask: str = ASK) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", ask, json.dumps(recorded)],
        # Python takes bytecode for that of a file of the same size and second: an edit within it would be missed.
        env=os.environ | {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow
def test_additions_leave_every_run_as_it_was_and_changes_make_other_runs(tmp_path):
    package = Path(shutil.copytree(Path(fivesentences.__file__).parent, tmp_path / "src" / "fivesentences"))
    before, losses = identities(package, {}), package / "losses"
    # A loss by the book, one that derives from another, and a setting with a default.
    (losses / "logistic.py").write_text(CLASS, encoding="utf-8")
    (losses / "derived.py").write_text(DERIVED, encoding="utf-8")
    imported = "from fivesentences.losses.derived import Derived\nfrom fivesentences.losses.logistic import Logistic\n"
    edit(losses / "spec.py", "\nclass LossSpec", f"\n{imported}\nclass LossSpec")
    edit(losses / "spec.py", LAST_LOSS, f"    derived: Derived | None = None\n{LINE}{LAST_LOSS}")
    edit(package / "config" / "hyperparameters.py", CLIP, f"    momentum: float = 0.5\n{CLIP}")
    assert identities(package, before) == before
    # Code of one model, and a default.
    edit(package / "models" / "vsepp.py", "\nclass VSEPP", "\nCHANGED = True\n\nclass VSEPP")
    edit(package / "config" / "hyperparameters.py", f"{CLIP}2.0", f"{CLIP}2.5")
    after = identities(package, before)
    assert all(after[name][0] != before[name][0] for name in before)
    assert [name for name in before if after[name][1] != before[name][1]] == ["vsepp"]


@pytest.mark.slow
def test_shared_code_is_refactored_for_free_and_counts_by_its_versions(tmp_path):
    package = Path(shutil.copytree(Path(fivesentences.__file__).parent, tmp_path / "src" / "fivesentences"))
    ask = ASK_SCALES.replace("CONFIG", repr(str(PAGE.parents[1] / "config")))
    before = identities(package, {}, ask)

    def made_again() -> set[str]:
        after = identities(package, {}, ask)
        assert after.keys() == before.keys()
        return {name for name in before if after[name] != before[name]}

    for room in SHARED:
        for file in (package / room).rglob("*.py"):
            if file.stem in {"registry", "loop", "table", "ranking", "gallery", "run", "extract", "specs", "embedding"}:
                file.write_text(f"{file.read_text()}\n\ndef nobody_calls_this(x):\n    return x + 1\n")
    edit(package / "losses" / "loss.py", "\nclass Loss(", "\nUNUSED = 1\n\nclass Loss(")
    assert made_again() == set()

    triplet = package / "losses" / "triplet.py"
    text = triplet.read_text()
    triplet.write_text(text.replace("+ negative - scores", "- negative - scores"))
    of_triplets = {name for name, made in before.items() if re.search('"triplet":["0-9]', made[SETTINGS])}
    assert made_again() == of_triplets and len(of_triplets) > 100
    triplet.write_text(text)

    versions = package / "versions.py"
    for subject, concerned in {
        "training": before.keys(),
        "phi": {name for name, made in before.items() if "the version of phi" in made},
        "evaluation": set(),
    }.items():
        now = VERSIONS[subject]
        edit(versions, f'"{subject}": {now},', f'"{subject}": {now + 1},')
        assert made_again() == set(concerned), subject
        edit(versions, f'"{subject}": {now + 1},', f'"{subject}": {now},')
    assert made_again() == set()
