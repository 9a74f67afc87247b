"""Logs and errors: one sentence on the terminal, everything in the log."""

from __future__ import annotations

import errno
import io
import logging
import os
import subprocess
import sys
import time
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from fivesentences import cli
from fivesentences.console import Bar, Visible, log_to, track
from fivesentences.errors import InputError, InputErrors


def _no_fork() -> None:
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


SHORTAGES = {
    "python": lambda: bytearray(1 << 62),
    "numpy": lambda: np.empty(1 << 58),
    "torch": lambda: torch.empty(1 << 58),
    "pyarrow": lambda: pa.allocate_buffer(1 << 60),
    "mmap": lambda: np.memmap("/dev/zero", np.uint8, "r", shape=(1 << 50,)),
    "fork": _no_fork,
}


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


def _chatter() -> None:
    sys.stderr.write(warnings.formatwarning("warned of \x1b[2Ja.jpg", UserWarning, "x.py", 1))  # pytest keeps others
    logging.getLogger("library").warning("logged \x1b]0;title\x07 of \x9b31m")
    print("a\tline\rand \x08another\nprinted \x00")
    sys.stderr.write("half of \x7f")


def test_control_characters_are_visible_whichever_library_prints_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "app", lambda **_: _chatter())
    cli.main()
    printed = "".join(capsys.readouterr())
    with log_to(tmp_path / "a.log"):
        _chatter()
    logged = (tmp_path / "a.log").read_bytes().decode()
    for text, known in ((printed, []), (logged, ["logged \\x1b]0;title\\x07 of \\x9b31m"])):
        assert {sign for sign in text if unicodedata.category(sign) == "Cc"} <= {"\n", "\t", "\r"}
        for part in [*known, "\\x1b[2Ja.jpg", "a\tline\rand \\x08another\nprinted \\x00", "half of \\x7f"]:
            assert part in text


def test_a_terminal_gets_colours_and_no_other_commands():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    Visible(stream).write("\x1b[1;31mred\x1b[0m \x1b[2J\x1b[1;1H\x1b]8;;x\x1b\\")
    assert stream.getvalue() == "\x1b[1;31mred\x1b[0m \\x1b[2J\\x1b[1;1H\\x1b]8;;x\\x1b\\"


@pytest.mark.parametrize("take", SHORTAGES.values(), ids=SHORTAGES)
def test_a_shortage_in_any_library_is_one_sentence_on_the_command_line_and_in_a_log(
    take, tmp_path, capsys, monkeypatch
):
    with pytest.raises(SystemExit, match="1"), log_to(tmp_path / "a.log"):
        take()
    sentence = capsys.readouterr().err
    assert sentence.count("\n") == 1 and ("memory" in sentence or "process" in sentence)
    assert (tmp_path / "a.log").read_text() == sentence
    monkeypatch.setattr(cli, "app", lambda **_: take())
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err == sentence


def test_a_thread_that_the_limit_of_memory_forbids_is_one_sentence():
    program = (
        "import resource, threading, sys; from fivesentences import cli; "
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); threading.stack_size(1 << 30); "
        "cli.app = lambda **_: threading.Thread(target=print).start(); cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "thread" in done.stderr


def test_a_bar_off_the_terminal_ends_with_a_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(range(3), "count", total=3)) == [0, 1, 2]
    assert capsys.readouterr().err.splitlines()[-1].startswith("count: 3/3 after")
    with Bar("train", total=1) as bar:
        bar.advance(note="loss 0.5")
    assert "loss 0.5" in capsys.readouterr().err


def test_of_bars_inside_each_other_the_innermost_alone_moves_the_cursor(monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    def bars_of(text: str) -> set[str]:
        return {name for name in ("outer", "inner") if name in text}

    with Bar("outer", 2) as outer:
        with Bar("inner", 2) as inner:
            before = terminal.tell()
            for _ in range(2):
                inner.advance()
                time.sleep(0.15)  # longer than a refresh
            assert bars_of(terminal.getvalue()[before:]) == {"inner"}
        before = terminal.tell()
        outer.advance()
        time.sleep(0.15)
    assert bars_of(terminal.getvalue()[before:]) == {"outer"}
