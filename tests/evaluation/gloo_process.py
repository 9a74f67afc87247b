"""One of two processes that run the example of docs/your_model.md: gloo_process.py RANK FOLDER."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import torch.distributed as dist

PAGE = Path(__file__).parents[2] / "docs" / "your_model.md"


def main(rank: int, folder: Path) -> None:
    given = {name: torch.tensor(values) for name, values in np.load(folder / "given.npz").items()}
    (example,) = re.findall(r"```python\n([^`]+?ImageTextMetric.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    rows = [given[name] for name in ("images_of_pairs", "captions", "image_ids", "caption_ids")]
    names = {
        "phi": given["phi"],
        "pairs": list(zip(*rows, strict=True)),
        "model": SimpleNamespace(image=lambda images: images, text=lambda captions: captions),
    }
    exec(example, names)
    scores = {name: float(score) for name, score in names["scores"].items()}
    (folder / f"{rank}.json").write_text(json.dumps(scores))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
