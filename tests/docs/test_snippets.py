"""Snippets of README and docs/contents.md run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fivesentences.commands.example import example
from fivesentences.errors import InputError
from fivesentences.retrieval import cosine_similarity

ROOT = Path(__file__).parents[2]


def test_the_snippet_for_trackers_logs_every_epoch_of_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rows in {"a/seed=0": "1,3.5,90.0\n2,2.5,\n", "b/seed=1": "1,4.0,80.0\n"}.items():
        (folder := tmp_path / "results" / "training" / name).mkdir(parents=True)
        (folder / "history.csv").write_text(f"epoch,loss,dev_Rsum\n{rows}")
    logged: dict[str, list[tuple[int, dict[str, float]]]] = {}
    tracker = SimpleNamespace(
        init=lambda project, name: logged.setdefault(name, []),
        log=lambda row, step: logged[next(reversed(logged))].append((step, row)),
        finish=lambda: None,
    )
    monkeypatch.setitem(sys.modules, "trackio", tracker)
    (code,) = re.findall(r"```python\n(.+?)```", (ROOT / "docs" / "contents.md").read_text("utf-8"), re.DOTALL)
    exec(code, {})
    assert logged == {
        "a/seed=0": [(1, {"loss": 3.5, "dev_Rsum": 90.0}), (2, {"loss": 2.5})],
        "b/seed=1": [(1, {"loss": 4.0, "dev_Rsum": 80.0})],
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has what README installs, this checkout with the extra words."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("needs uv, which README installs")
    folder = tmp_path_factory.mktemp("plain")
    for command in (["venv", "env"], ["pip", "install", "--python", "env", f"{ROOT}[words]"]):
        subprocess.run([uv, *command, "--quiet"], cwd=folder, check=True)
    return folder / "env" / "bin"


@pytest.mark.slow
def test_readme_runs_word_for_word_after_its_own_install(plain: Path, tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (commands,) = re.findall(r"```bash\n(.+?)```", text, re.DOTALL)
    install, *lines = commands.splitlines()
    assert install.startswith("pip install") and lines
    environment = {"PATH": f"{plain}:/usr/bin:/bin", "HOME": str(tmp_path), "COLUMNS": "160", "NO_COLOR": "1"}
    printed = ""
    for line in lines:
        how = {"cwd": tmp_path, "env": environment, "capture_output": True, "encoding": "utf-8", "check": True}
        printed += subprocess.run(line, shell=True, **how).stdout
    shown = re.search(r"<!-- output .+?-->\n```\n(.+?)```", text, re.DOTALL)
    assert shown and all(line.strip() in printed for line in shown[1].splitlines() if line != "  ...")
    found = re.search(r"```python\n(?P<code>.+?)```\s+prints `(?P<printed>[^`]+)`", text, re.DOTALL)
    assert found, "README has no snippet with its output"
    snippet = [plain / "python", "-c", found["code"]]
    ran = subprocess.run(snippet, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=True)
    assert ran.stdout.split() == found["printed"].split()


@pytest.mark.slow
def test_the_snippet_of_look_runs_on_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example(out=tmp_path, quiet=True)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "your_model.md").read_text("utf-8")
    found = re.search(r"```python\n(import numpy as np\nimport fivesentences\n.+?)```", text, re.DOTALL)
    assert found
    exec(found[1], {})
    assert (tmp_path / "look" / "index.html").is_file()


def test_a_file_of_the_users_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "sims.npy").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"sims\.npy"):
        example(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["sims.npy"]
    assert (tmp_path / "sims.npy").read_bytes() == b"mine"
    example(out=tmp_path / "other", quiet=True)
    example(out=tmp_path / "other", quiet=True)  # the same files are no obstacle
    images, texts, similarity = (np.load(tmp_path / "other" / f"{name}.npy") for name in ("images", "texts", "sims"))
    assert np.allclose(cosine_similarity(images, texts), similarity, atol=1e-4)
