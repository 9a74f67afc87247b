"""What must start fast, or run without extras, imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "fivesentences"
LIGHT = (
    "corpus.download",
    "semantics",
    "encoders",
    "evaluation",
    "cli",
    "reproduction.scenes",
    "reproduction.paper.rendering",
)
HEAVY = ("torch", "matplotlib", "snakemake", "skimage", "numba", "timm", "transformers", "open_clip")


def test_what_needs_no_torch_does_not_import_it():
    light = ", ".join(f"fivesentences.{module}" for module in LIGHT)
    code = f"import sys, {light}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_package_never_imports_snakemake():
    texts = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    assert not [path for path, text in texts.items() if "import snakemake" in text or "from snakemake" in text]
