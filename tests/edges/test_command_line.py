"""Edges of the command line: odd names, odd numbers in text, and streams that are closed, full or of few signs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from edge_cases import refused, right

pytestmark = pytest.mark.slow

TEXTS = [f"a dog {i} runs {j}" for i in range(4) for j in range(5)]

CLEAR = "a\x1b[2J"  # clears the terminal that it is written to


def write_files(folder: Path) -> None:
    """What the cases read."""
    values = np.random.default_rng(0)
    similarity = values.normal(size=(4, 20)).astype(np.float32)
    np.save(folder / "s.npy", similarity)
    np.save(folder / "ü 犬.npy", similarity)
    np.save(folder / f"{CLEAR}.npy", similarity)
    for name in ("phi", "other"):
        np.save(folder / f"{name}.npy", values.random((20, 4)).astype(np.float32))
    np.save(folder / "vast.npy", np.full((20, 4), 1e308))
    (folder / "c.txt").write_text("\n".join(TEXTS) + "\n")
    (folder / "one.txt").write_text("a dog\n")
    for name, text in {
        "true": "[[true, 1], [1, 2]]", "bom": "\ufeff[[1, 2], [3, 1]]", "digits": f"[[{'9' * 5000}, 1], [1, 2]]",
        "exact": "[[9007199254740993, 1], [1, 2]]", "power": "[[1e400, 1], [1, 2]]",
    }.items():  # fmt: skip
        (folder / f"{name}.json").write_text(text)
    (folder / "digits.csv").write_text(f"1{'0' * 400},1\n1,1\n")
    scale = {"scale": "x", "title": "X", "roles": {"mine": 5}, "datasets": {5: {"loader": "scenes"}}}
    (folder / "scale.yaml").write_text(json.dumps(scale).replace('"5"', "5"))
    (folder / "loop.yaml").write_text("extends: loop.yaml\n")
    (folder / "away.yaml").write_text("extends: /etc/hosts\n")


CASES = [
    right("evaluate 'ü 犬.npy' --markdown -", "ü 犬.npy: 4 images, 20 captions"),
    refused("evaluate 'no\udcff.npy'", "'no\\udcff.npy'", name="a name that is no text"),
    right(f"evaluate '{CLEAR}.npy'", r"a\x1b[2J.npy: 4 images", name="a table of an escape sequence"),
    right(f"evaluate '{CLEAR}.npy' b=s.npy --resamples 9", r"a\x1b[2J", name="a table's cell of an escape sequence"),
    right(f"evaluate '{CLEAR}.npy' --markdown -", r"a\\x1b[2J.npy: 4 images", name="Markdown of an escape sequence"),
    refused(f"evaluate 'b{CLEAR}.npy'", r"ba\x1b[2J.npy", r"'a\x1b[2J.npy'", name="an escape sequence"),
    refused("evaluate 'a\nError: b.npy'", r"a\nError: b.npy", name="a name of two lines"),
    refused("evaluate true.json", "true.json", "row 0", "column 0"),
    right("evaluate bom.json", "2 images, 2 captions"),
    refused("evaluate digits.json", "row 0"),
    refused("evaluate exact.json", "integers beyond 2^53"),
    refused("evaluate power.json", "similarity[0, 0] is inf"),
    refused("evaluate digits.csv", "more than 308 digits"),
    refused("evaluate s.npy --ks 1,x", "--ks", "'1,x'"),
    refused("evaluate s.npy --map-cutoffs 0", "--map-cutoffs", "'0'"),
    refused("evaluate s.npy --json - --csv -", "--csv"),
    refused("evaluate s.npy --eccv --cxc x.csv", "--cxc"),
    refused("evaluate s.npy --phi a=", "--phi", "'a='"),
    refused("evaluate s.npy --phi ''", "--phi", "''"),
    refused("evaluate s.npy --phi ' =phi.npy'", "NAME=FILE"),
    refused("evaluate s.npy --phi vast.npy", "vast.npy", "1e+308", "scale it"),
    refused("evaluate s.npy --phi mean=phi.npy --phi other.npy --mean", "--mean", "'mean'"),
    right("evaluate s.npy --phi phi.npy --phi other.npy --mean", "mean"),
    right("metrics --json -", '"unit"'),
    refused("metrics --json s.npy/x.json", "s.npy"),
    *(
        refused(f"{command} none/out{suffix}", "none/out", "/none does not exist", name=f"{command} in no folder")
        for command, suffix in {
            "evaluate s.npy --json": ".json", "evaluate s.npy --csv": ".csv", "evaluate s.npy --markdown": ".md",
            "evaluate s.npy --latex": ".tex", "evaluate s.npy --per-query": ".csv",
            "captioning one.txt one.txt --csv": ".csv", "pairs s.npy c.txt --json": ".json", "metrics --csv": ".csv",
            "doctor --markdown": ".md", "phi cider c.txt -o": ".npy", "captions s.parquet -o": ".txt",
            "similarity s -o": ".npy", "features extract s --network grid_descriptors -o": ".npy",
            "features compare a b --picture": ".png",
        }.items()
    ),
    refused("checkpoint import s.npy -o o --model scan --option a=" + "[" * 9999, "s.npy"),
    refused("checkpoint import s.npy -o o --model scan --option a=" + "9" * 5000, "s.npy"),
    refused("download flickr8k --mirror s.npy", "'s.npy'"),
    refused("phi spice one.txt --per-image 1 -o o.npy --mirror nowhere", "mirror is 'nowhere'"),
    refused("train loop.yaml --list", "loop.yaml"),
    refused("train away.yaml --list", "hosts"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_command_line(case, carry_out, monkeypatch):
    monkeypatch.setenv("FIVESENTENCES_CACHE", "nothing")  # where no CoreNLP is
    carry_out(case)


def _of_shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"{shlex.quote(sys.executable)} -m fivesentences"
    return subprocess.run(
        ["bash", "-c", line.replace("FS", program)], cwd=folder, env=os.environ | environment,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("FS evaluate s.npy >&-", 0, ""),
        ("FS --help > /dev/full", 1, "Error: standard output cannot be written (No space left on device)"),
        ("FS metrics | true; exit ${PIPESTATUS[0]}", 1, ""),
        ("mkdir d; cd d; rmdir ../d; FS evaluate s.npy --json o.json", 1, "Error: the current folder has been deleted"),
        ("PYTHONIOENCODING=ascii FS metrics", 0, ""),
        ("ulimit -f 0; FS evaluate s.npy --json o.json", 1, "Error: o.json cannot be written (File too large)"),
    ],
)
def test_odd_streams_and_folders_end_in_one_sentence(prepared, line, code, says):
    before = set(prepared.iterdir())
    said = _of_shell(line, prepared)
    assert said.returncode == code, said.stderr
    assert said.stderr.startswith(says) and said.stderr.count("\n") == bool(says), said.stderr
    assert set(prepared.iterdir()) == before


def test_ctrl_c_ends_with_130_and_without_a_word_or_a_file(prepared, tmp_path):
    np.save(tmp_path / "s.npy", np.random.default_rng(0).normal(size=(400, 2000)))
    (tmp_path / "ready.py").write_text(
        "import signal, sys; import fivesentences.cli as cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it\n"
        "print('ready', flush=True); sys.argv = ['fivesentences', *sys.argv[1:]]; cli.main()\n"
    )
    arguments = ["evaluate", "s.npy", "A=s.npy", "--resamples", "900000", "--json", "o.json"]
    process = subprocess.Popen(
        [sys.executable, "ready.py", *arguments], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ready.py", "s.npy"]
