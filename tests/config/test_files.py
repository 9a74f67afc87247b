"""Paths and ``--config`` that Snakemake or a shell would take for something else, and scales of several files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fivesentences.config.files import base_of, check_in_shell, check_inputs
from fivesentences.errors import InputError

PLAIN = ["a b", "[x]", "it's", "*", "-n", "~x", "é", "a//b", "a,b", "#", "{}", "a;b", "a&b", "%j", "(1)", "data/x.csv"]
STRANGE = [
    "$(touch pwned)",
    "$HOME",
    "`touch pwned`",
    "a\nb",
    "a\\b",
    "a\"'b",
    "it's $(touch pwned)",
    "'a'b",
    "\u3000",
    "\udcff",
]


def through_shells(text: str, twice: bool, folder: Path) -> str:
    """What a command reads of a text that Snakemake quotes, as its executors do on this machine and on a cluster."""
    command = f"printf %s {text if text.startswith(chr(39)) else repr(text)}"
    if twice:
        escaped = command.replace('"', '\\"')
        command = f'sh -c "{escaped}"'
    said = subprocess.run(command, shell=True, cwd=folder, capture_output=True)
    return os.fsdecode(said.stdout)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("text", PLAIN + STRANGE)
def test_a_text_reaches_a_job_as_it_is_or_is_refused(text: str, twice: bool, tmp_path: Path) -> None:
    try:
        check_in_shell([text], twice)
    except InputError as error:
        assert error.where == text and text in STRANGE
    else:
        assert through_shells(text, twice, tmp_path) == text
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["a{b}", "a{dataset}", "{ x }", "{x,[0-9]{3}}", "{wildcards.x}", "{1}", "{a\n}", "{{x}}"]
)
def test_a_word_in_braces_in_a_path_is_named(name: str) -> None:
    path = f"photographs/{name}/1.png"
    with pytest.raises(InputError) as error:
        check_inputs(["captions.csv", path])
    assert error.value.where == path


def test_other_braces_pass() -> None:
    check_inputs(["{}", "}a{", "{a b}", "{a-b}", "a{", "{ }", Path("b}")])


def test_what_a_scale_of_several_files_extends_is_relative_to_the_file_that_says_so(tmp_path: Path) -> None:
    first, last = tmp_path / "a" / "first.yaml", tmp_path / "b" / "c" / "last.yaml"
    base = base_of({first: {"extends": "base.yaml"}, last: {"title": "x"}})
    assert base is not None and (last.parent / base).resolve() == tmp_path / "a" / "base.yaml"
    assert base_of({first: {}, last: {"extends": "base.yaml"}}) == "base.yaml"
    assert base_of({first: {}, last: {}}) is None


def test_files_of_a_scale_that_would_lose_something_are_refused(tmp_path: Path) -> None:
    first, last = tmp_path / "a" / "first.yaml", tmp_path / "b" / "last.yaml"
    with pytest.raises(InputError) as error:
        base_of({first: {"extends": "x.yaml"}, last: {"extends": "y.yaml"}})
    assert error.value.where == last and str(first) in str(error.value)
    (tmp_path / "a" / "studies").mkdir(parents=True)
    with pytest.raises(InputError) as error:
        base_of({first: {}, last: {}})
    assert error.value.where == first and "studies" in str(error.value)
    assert base_of({last: {}, first: {}}) is None
