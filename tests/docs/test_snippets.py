"""Snippets of README and docs/contents.md run as they stand."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

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


def test_the_snippet_prints_what_readme_says() -> None:
    found = re.search(
        r"```python\n(?P<code>.+?)```\s+prints `(?P<printed>[^`]+)`", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert found, "README has no snippet with its output"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(found["code"], {})
    assert printed.getvalue().split() == found["printed"].split()
