"""How far features move when photographs are squashed as those of the kept numbers on Flickr8k were.

    python benchmarks/squashed_photographs.py PHOTOGRAPHS results/judged/squashed_photographs.csv

Each photograph of a folder is described by EfficientNet-Lite2 as it is, and resized to 224 x 224 pixels without keeping
the aspect ratio, at JPEG quality 80. The CSV has, for each, the cosine of both vectors and that of the original with
the most similar other photograph of the folder. The kept one is of the ten MS-COCO photographs of the mirror.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from fivesentences.storage import replacing

NETWORK, SIZE, QUALITY = "tf_efficientnet_lite2", (224, 224), 80


def features_of(photographs: Path, out: Path) -> tuple[np.ndarray, list[str]]:
    """Return ``[images, dimensions]`` unit vectors and names."""
    command = ["features", "extract", str(photographs), "--network", NETWORK, "--out", str(out)]
    subprocess.run([sys.executable, "-m", "fivesentences", *command], check=True)
    found = np.load(out).astype(np.float64)
    names = pd.read_parquet(out.with_suffix(".images.parquet"))["filename"].tolist()
    return found / np.linalg.norm(found, axis=1, keepdims=True), names


def main(photographs: Path, out: Path) -> None:
    """Squash, describe and compare."""
    with tempfile.TemporaryDirectory() as folder:
        squashed = Path(folder, "squashed")
        squashed.mkdir()
        for path in sorted(photographs.glob("*.jpg")):
            with Image.open(path) as opened:
                image = opened.convert("RGB").resize(SIZE, Image.Resampling.BICUBIC)
            image.save(squashed / path.name, "JPEG", quality=QUALITY)
        original, names = features_of(photographs, Path(folder, "original.npy"))
        other, same = features_of(squashed, Path(folder, "squashed.npy"))
    assert names == same
    among = original @ original.T
    np.fill_diagonal(among, -1)
    table = pd.DataFrame(
        {"photograph": names, "squashed": np.sum(original * other, axis=1), "other": among.max(axis=1)}
    )
    table.loc[len(table)] = ["mean", *table[["squashed", "other"]].mean()]
    with replacing(out) as temporary:
        table.round(4).to_csv(temporary, index=False, lineterminator="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
