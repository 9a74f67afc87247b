"""Shared by the benchmarks of CIDEr, BLEU and ROUGE-L: ours in cold processes, and pycocoevalcap on sampled cells."""

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


def cold_matrix(
    function: str, option: dict[str, int], given: tuple[list[str], list[int]], written: Path, repeat: int
) -> tuple[float, str]:
    """Write a matrix in cold processes: median seconds, and what they took in words.

    Args:
        function: A matrix function of ``fivesentences.semantics``.
        option: Its keyword arguments.
        given: Captions, and the image of each.
        written: The matrix; its folder gets the captions too.
        repeat: Number of processes.
    """
    seconds, peaks, asked = [], [], written.with_name("captions.json")
    asked.write_text(json.dumps(given))
    for _ in range(repeat):
        written.unlink(missing_ok=True)
        command = [sys.executable, "-c", CHILD, str(asked), function, str(written), json.dumps(option)]
        started = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds.append(time.perf_counter() - started)
        peaks.append(int(done.stdout))
    label = ", ".join([function, *(f"{key}={value}" for key, value in option.items())])
    return float(np.median(seconds)), (
        f"{label}, cold process to float32 .npy: median {np.median(seconds):.1f} s of "
        f"{', '.join(f'{s:.1f}' for s in seconds)}; peak memory {max(peaks) / 1e9:.2f} GB, of which the mapped "
        f"output may be {written.stat().st_size / 1e9:.2f} GB"
    )


def references_of(captions: list[str], image_of_caption: list[int]) -> tuple[list[str], list[list[str]]]:
    """Captions in lower case with single spaces, and those of each image."""
    words = [" ".join(caption.lower().split()) for caption in captions]
    references: list[list[str]] = [[] for _ in range(max(image_of_caption) + 1)]
    for text, image in zip(words, image_of_caption, strict=True):
        references[image].append(text)
    return words, references


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
    words, references = references_of(captions, image_of_caption)
    n_images = len(references)
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
        written = Path(folder, "phi.npy")
        for column, option in enumerate(options):
            seconds, told = cold_matrix(function, option, (captions, image_of_caption), written, arguments.repeat)
            total += seconds
            matrix = np.load(written, mmap_mode="r")
            difference = float(np.abs(matrix[rows, columns] - scores[:, column]).max())
            print(f"{told}; largest difference {difference:.1e}")
            del matrix
    print(f"ratio: {whole / total:,.0f} times as fast")
