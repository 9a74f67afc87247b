"""The core's commands run where no extra is installed; the others say in one sentence which one they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REFUSED = ("torch", "jinja2", "matplotlib", "snakemake", "eccv_caption", "safetensors", "timm", "skimage", "jpype")
WITHOUT_EXTRAS = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {REFUSED!r}:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)

sys.meta_path.insert(0, Refuse())
from fivesentences.cli import main
for words in open(sys.argv[1]).read().splitlines():
    sys.argv = ["fivesentences", *words.split()]
    try:
        main()
    except SystemExit as end:
        if end.code:
            print("exit code", end.code, "of", words, flush=True)
"""


@pytest.fixture
def bare(folder):
    """Runs command lines in one process without extras: standard output and standard error."""

    def call(*lines: str) -> tuple[str, str]:
        Path("lines.txt").write_text("\n".join(lines))
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_EXTRAS, "lines.txt"], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    return call


def test_the_core_needs_no_extra(bare):
    forms = "--json o.json --csv o.csv --markdown o.md --latex o.tex"
    out, err = bare(
        "phi cider captions.txt -o cider.npy",
        f"evaluate sims.npy --phi cider.npy --all {forms}",
        f"compare sims.npy other.npy --phi cider.npy --resamples 99 {forms.replace('o.', 'c.')}",
        "evaluate image_emb.npy,text_emb.npy --captions captions.txt --metric bleu2 --latex -",
        "evaluate sims.npy other.npy --phi cider.npy --resamples 99 --per-query q.parquet --trec runs --latex m.tex",
        "evaluate sims.npy --inference csls --rescored csls.npy",
        "doctor",
    )
    assert "exit code" not in out and err == ""
    for written in (
        "cider.npy",
        "o.json",
        "o.csv",
        "o.md",
        "o.tex",
        "c.tex",
        "m.tex",
        "q.parquet",
        "runs/t2i.qrels",
        "csls.npy",
    ):
        assert Path(written).stat().st_size > 0


def test_what_needs_an_extra_says_which(bare):
    Path("run").mkdir()
    Path("run/weights.safetensors").write_bytes(b"")
    Path("sims.pt").write_bytes(b"")
    lines = {
        "train run.yaml --out again": '"fivesentences[train]"',
        "similarity run -o made.npy": '"fivesentences[train]"',
        "checkpoint import model.pth.tar -o again --model scan": '"fivesentences[train]"',
        "evaluate sims.pt": '"fivesentences[train]"',
        "evaluate sims.npy --eccv": '"fivesentences[eccv]"',
    }
    out, err = bare(*lines)
    assert out.count("exit code 1") == len(lines)
    said = err.splitlines()
    assert len(said) == len(lines) and all(line.startswith("Error: ") for line in said)
    for line, cure in zip(said, lines.values(), strict=True):
        assert f"pip install {cure}" in line
    assert not Path("again").exists() and not Path("made.npy").exists()
