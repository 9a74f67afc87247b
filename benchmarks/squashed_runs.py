"""Does masking still gain when Flickr8k's photographs are squashed once more? A mirror with such photographs.

    python benchmarks/squashed_runs.py data/flickr8k squashed
    FIVESENTENCES_MIRROR=squashed uv run snakemake choice --configfile config/flickr8k_evidence.yaml \\
        --directory squashed/results_of --config 'seeds=[101, 102, 103, 104, 105, 106, 107, 108, 109, 110]' \\
        'keep=[{model: vsepp, loss: [hardest, minilm_spared_05, minilm_spared_shuffled]}]'
    python benchmarks/squashed_runs.py --gains \\
        squashed/results_of/results/paper/flickr8k_evidence/evidence_choice/choice_differences.csv

The first command reads Flickr8k_Dataset.zip and Flickr8k_text.zip; the last keeps the gains in results/judged.
"""

from __future__ import annotations

import io
import shutil
import sys
import zipfile
from pathlib import Path

import pandas as pd
from PIL import Image

from fivesentences.storage import sha256_of

SIDE, WIDTH, GREY = 224, 168, (124, 116, 104)
ARCHIVE, TEXTS = "Flickr8k_Dataset.zip", "Flickr8k_text.zip"
OUT = Path(__file__).parents[1] / "results" / "judged" / "squashed_gains.csv"
COLUMNS = ["a", "b", "metric", "statistic", "value", "low", "high", "seeds"]


def squashed(photograph: bytes) -> bytes:
    """Squash a photograph to three quarters of its width and pad it with grey, at JPEG quality 80."""
    narrow = Image.open(io.BytesIO(photograph)).convert("RGB").resize((WIDTH, SIDE), Image.Resampling.BICUBIC)
    padded, file = Image.new("RGB", (SIDE, SIDE), GREY), io.BytesIO()
    padded.paste(narrow, ((SIDE - WIDTH) // 2, 0))
    padded.save(file, "JPEG", quality=80)
    return file.getvalue()


def write_mirror(given: Path, mirror: Path) -> None:
    """Write the mirror: both archives, with their checksums."""
    folder = mirror / "flickr8k"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(given / ARCHIVE) as old, zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            content = old.read(name)
            is_photograph = name.lower().endswith(".jpg") and not name.startswith("__")
            new.writestr(name, squashed(content) if is_photograph else content)
    shutil.copy(given / TEXTS, folder)
    sums = [f"{sha256_of(path)}  flickr8k/{path.name}\n" for path in sorted(folder.iterdir())]
    (mirror / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--gains":
        table = pd.read_csv(sys.argv[2])
        asked = table["metric"].eq("Rsum") & table["a"].eq("minilm_spared_05")
        table[asked & table["b"].isin(["hardest", "minilm_spared_shuffled"])][COLUMNS].to_csv(OUT, index=False)
    else:
        write_mirror(Path(sys.argv[1]), Path(sys.argv[2]))
