"""The documented way to another build of PyTorch survives every later command; a small package stands in for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
PROJECT = """
[project]
name = "mine"
version = "1"
requires-python = ">=3.11"
dependencies = ["torch==2.0", "torchvision==2.0"]
[tool.uv]
package = false
no-index = true
find-links = ["locked"]
"""


def wheel(folder: Path, name: str, version: str) -> None:
    folder.mkdir(exist_ok=True)
    about = f"{name}-{version}.dist-info"
    is_available = "lambda: True" if "+cu" in version else "lambda: False"
    code = f"class cuda: is_available = {is_available}\n__version__ = '{version}'\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{name}.py", code)
        packed.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", "")


@pytest.mark.slow
def test_the_documented_commands_keep_another_build(tmp_path: Path) -> None:
    if shutil.which("uv") is None:
        pytest.skip("needs uv")
    section = PAGE.read_text().partition("## Another build of PyTorch")[2].partition("\n## ")[0]
    commands = re.findall(r"^    (?!#)(.+)$", section, flags=re.MULTILINE)
    assert len(commands) == 5
    for name in ("torch", "torchvision"):
        wheel(tmp_path / "locked", name, "2.0")
        wheel(tmp_path / "other", name, "2.0+cu1")
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    other = [
        re.sub(r"--index-url \S+", "--find-links other torch==2.0+cu1 torchvision==2.0+cu1", one) for one in commands
    ]
    home = {"HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}

    def said(text: str, **more: str) -> str:
        done = subprocess.run(["bash", "-c", text], cwd=tmp_path, env=home | more, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said("set -e\n" + "\n".join(other)).split()[-2:] == ["2.0+cu1", "True"]
    ask = commands[-1]
    assert said(f". ./.bashrc; {ask}").split() == ["2.0+cu1", "True"]  # a later shell
    assert said(ask).split() == ["2.0", "False"]  # without the variable the locked build comes back: hence the advice
