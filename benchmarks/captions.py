"""Captions for the benchmarks: human captions if a mirror has them, otherwise synthetic ones of the same number."""

from __future__ import annotations

import os
import platform
import resource
import sys
from pathlib import Path

import numpy as np

from fivesentences.corpus import Corpus, load_flickr8k, load_karpathy

WORDS_OF_VOCABULARY = 12_000
PHRASES = 60_000


def machine() -> str:
    """Describe processor, number of usable cores, load and Python in one line."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        name = names[0].partition(":")[2].strip() if names else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{name}, {cores} cores{load}, Python {platform.python_version()}, numpy {np.__version__}"


def peak_bytes() -> int:
    """Return the most memory that this process has held so far; Linux counts it in KiB, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def made(n_images: int, captions_per_image: int = 5, seed: int = 0) -> tuple[list[str], list[int]]:
    """Generate captions of phrases of 1 to 4 words, about 11 words each; words and phrases follow Zipf's law."""
    rng = np.random.default_rng(seed)

    def zipf(size: int, exponent: float) -> np.ndarray:
        weight = 1.0 / np.arange(1, size + 1) ** exponent
        return weight / weight.sum()

    vocabulary = np.array([f"w{index}" for index in range(WORDS_OF_VOCABULARY)])
    lengths = rng.integers(1, 5, size=PHRASES)
    words = vocabulary[rng.choice(WORDS_OF_VOCABULARY, size=lengths.sum(), p=zipf(WORDS_OF_VOCABULARY, 1.0))]
    phrases = [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]
    counts = rng.integers(3, 7, size=n_images * captions_per_image)
    chosen = rng.choice(PHRASES, size=counts.sum(), p=zipf(PHRASES, 0.9))
    captions = [" ".join(phrases[index] for index in part) for part in np.split(chosen, np.cumsum(counts)[:-1])]
    return captions, np.repeat(np.arange(n_images), captions_per_image).tolist()


def _of(corpus: Corpus) -> tuple[list[str], list[int]]:
    return corpus.captions, corpus.image_of_caption.tolist()


def coco_5k() -> tuple[str, list[str], list[int]]:
    """25,000 captions of 5,000 images: the COCO 5K test split from FIVESENTENCES_MIRROR, or synthetic captions."""
    archive = Path(os.environ.get("FIVESENTENCES_MIRROR", "")) / "coco" / "coco_test5k.zip"
    if archive.is_file():
        return "COCO 5K test", *_of(load_karpathy(archive, "coco").split("test"))
    return "synthetic captions", *made(5000)


def flickr8k_train() -> tuple[str, list[str], list[int]]:
    """30,000 captions of 6,000 images: Flickr8k train from FIVESENTENCES_MIRROR, or synthetic captions."""
    archive = Path(os.environ.get("FIVESENTENCES_MIRROR", "")) / "flickr8k" / "Flickr8k_text.zip"
    if archive.is_file():
        return "Flickr8k train", *_of(load_flickr8k(archive).split("train"))
    return "synthetic captions", *made(6000)
