"""Logs and errors: one sentence on the terminal, everything in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from fivesentences.console import Bar, log_to, track
from fivesentences.errors import InputError, InputErrors


def test_a_log_and_its_error_show_control_characters_of_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"), log_to(tmp_path / "logs" / "a.log"):
        print("no text: \udce9")
        raise InputErrors(
            [InputError("is missing", where="a\x1b[2J\n.jpg"), InputError("is missing", where="b\x9b.jpg")]
        )
    sentences = "Error: a\\x1b[2J\\n.jpg: is missing\nb\\x9b.jpg: is missing\n"
    assert capsys.readouterr().err == sentences
    assert (tmp_path / "logs" / "a.log").read_text() == f"no text: \\udce9\n{sentences}"


def test_another_error_keeps_its_traceback_in_the_log(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), log_to(tmp_path / "a.log"):
        1 / 0  # noqa: B018
    assert "Traceback" in (tmp_path / "a.log").read_text()


def test_a_bar_off_the_terminal_ends_with_a_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(range(3), "count", total=3)) == [0, 1, 2]
    assert capsys.readouterr().err.splitlines()[-1].startswith("count: 3/3 after")
    with Bar("train", total=1) as bar:
        bar.advance(note="loss 0.5")
    assert "loss 0.5" in capsys.readouterr().err
