"""Shared by the benchmarks of BLEU and ROUGE-L: ours in a cold process, pycocoevalcap on sampled cells, the ratio."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from captions import coco_5k, machine

CHILD = """
import json, resource, sys
import fivesentences.semantics as semantics
captions, image_of_caption = json.load(open(sys.argv[1]))
getattr(semantics, sys.argv[2])(captions, image_of_caption, out=sys.argv[3], **json.loads(sys.argv[4]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""

Scored = Callable[[list[str], list[list[str]]], np.ndarray]


def against_pycocoevalcap(
    function: str, options: list[dict[str, int]], theirs: Scored, description: str | None, pairs: int
) -> None:
    """Time the matrices of ``function`` in cold processes and ``theirs`` on sampled pairs, and print the ratio.

    Args:
        function: A matrix function of ``fivesentences.semantics``.
        options: Keyword arguments of ``function``, one matrix each.
        theirs: Maps candidates and the references of each to ``[pairs, matrices]`` scores.
        description: Description of the command.
        pairs: Default number of pairs for pycocoevalcap to score.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pairs", type=int, default=pairs, help=f"pairs for pycocoevalcap to score (default {pairs:,})"
    )
    parser.add_argument("--repeat", type=int, default=3, help="cold processes to time per matrix (default 3)")
    arguments = parser.parse_args()
    name, captions, image_of_caption = coco_5k()
    n_images = max(image_of_caption) + 1
    words = [" ".join(caption.lower().split()) for caption in captions]
    references: list[list[str]] = [[] for _ in range(n_images)]
    for text, image in zip(words, image_of_caption, strict=True):
        references[image].append(text)
    draw = np.random.default_rng(0)
    rows = draw.integers(0, len(captions), size=arguments.pairs)
    # Half of the pairs are a caption with its own image, where scores are not near 0.
    own = np.array(image_of_caption)[rows]
    columns = np.where(np.arange(arguments.pairs) % 2, own, draw.integers(0, n_images, size=arguments.pairs))

    print(machine())
    print(f"{name}: {len(captions):,} captions x {n_images:,} images")
    started = time.perf_counter()
    scores = theirs([words[row] for row in rows], [references[column] for column in columns])
    per_pair = (time.perf_counter() - started) / arguments.pairs
    whole = per_pair * len(captions) * n_images
    print(
        f"pycocoevalcap, {arguments.pairs:,} pairs: {per_pair * 1e6:.0f} us per pair, "
        f"{'all matrices' if len(options) > 1 else 'the matrix'} {whole / 3600:.1f} h (extrapolated)"
    )
    total = 0.0
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder, "captions.json"), Path(folder, "phi.npy")
        given.write_text(json.dumps([captions, image_of_caption]))
        for column, option in enumerate(options):
            seconds, peaks = [], []
            for _ in range(arguments.repeat):
                written.unlink(missing_ok=True)
                command = [sys.executable, "-c", CHILD, str(given), function, str(written), json.dumps(option)]
                started = time.perf_counter()
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                seconds.append(time.perf_counter() - started)
                peaks.append(int(done.stdout))
            total += float(np.median(seconds))
            matrix = np.load(written, mmap_mode="r")
            difference = float(np.abs(matrix[rows, columns] - scores[:, column]).max())
            label = ", ".join([function, *(f"{key}={value}" for key, value in option.items())])
            print(
                f"{label}, cold process to float32 .npy: median {np.median(seconds):.1f} s of "
                f"{', '.join(f'{s:.1f}' for s in seconds)}; peak memory {max(peaks) / 1e9:.2f} GB, of which the mapped "
                f"output may be {written.stat().st_size / 1e9:.2f} GB; largest difference {difference:.1e}"
            )
            del matrix
    print(f"ratio: {whole / total:,.0f} times as fast")
