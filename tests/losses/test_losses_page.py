"""The page about losses: its example prints what it says, its settings are read."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from fivesentences.config import check
from fivesentences.study.study import Study

PAGE = Path(__file__).parents[2] / "docs" / "losses.md"


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [content for name, content in found if name == language]


def test_the_example_prints_what_stands_below_it(capsys):
    (example,) = blocks("python")
    exec(compile(example, str(PAGE), "exec"), {})
    assert capsys.readouterr().out in blocks("")


def test_the_settings_are_those_of_a_study():
    (settings,) = blocks("yaml")
    losses = check(Study, {"paper": "p"} | yaml.safe_load(settings), "docs/losses.md").losses
    assert len({loss.folder for loss in losses.values()}) == len(losses)
