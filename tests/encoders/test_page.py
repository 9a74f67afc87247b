"""The commands of docs/encoders.md run as they stand, one after the other, on the real captions and photographs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "encoders.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^ {4}(?!#)(.+)$", TEXT, re.MULTILINE)
# Released weights cannot be downloaded where tests run: tiny random models of the same classes stand in for them.
RELEASED = "open_clip:ViT-B-32/laion2b_s34b_b79k"


@pytest.mark.slow
@pytest.mark.data
def test_every_command_runs_in_the_order_of_the_page(mirror, tmp_path, open_clip_folder, siglip) -> None:
    shutil.copytree(siglip, tmp_path / "google" / "siglip2-base-patch16-224")
    install, download, *rest = COMMANDS
    assert install == 'pip install ".[encoders]"'  # the suite's environment has it: envs/install_check installs
    assert download.startswith("fivesentences download") and len(rest) == 7
    environment = os.environ | {"FIVESENTENCES_MIRROR": str(mirror), "HF_HUB_OFFLINE": "1", "NO_COLOR": "1"}
    for command in (download, *rest):
        stand_in = command.replace(RELEASED, f"open_clip:local-dir:{open_clip_folder}")
        done = subprocess.run(
            stand_in, shell=True, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "clip" in done.stdout and "siglip2" in done.stdout  # both models in the table of the last command


def test_sizes_above_one_gigabyte_are_stated_before_they_come() -> None:
    lines = TEXT.splitlines()
    for start in ("    pip install", "    fivesentences download", "    fivesentences embed"):
        (at, *_) = [number for number, line in enumerate(lines) if line.startswith(start)]
        assert "GB" in lines[at - 1]
