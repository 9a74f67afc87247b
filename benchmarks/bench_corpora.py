"""Parsing and every phi matrix of whole corpora of human captions: time and peak memory, each in a cold process.

    FIVESENTENCES_MIRROR=... python benchmarks/bench_corpora.py [--tuples FOLDER] [--only coco] [--phi cider embedding]

All of Flickr8k (8,091 images) and the test splits of Flickr30K and MS-COCO. Tuples are kept in the folder ``--tuples``
as ``<corpus>.jsonl.gz``; existing files are not parsed again, and an interrupted parse continues with the next call. A
matrix is timed from raw captions in memory (for SPICE with the reading of their tuples, for embeddings with the
encoding) to the written float32 ``.npy`` with its note, without imports. Peak memory is that of the process, including
the mapped pages of the output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from captions import machine
from fivesentences.corpus import Corpus, load_flickr8k, load_karpathy

MATRICES = (
    "cider",
    "cider-reattached",
    "cider-ptb",
    "spice",
    "bleu1",
    "bleu4",
    "rouge_l",
    "tfidf",
    "embedding",
    "embedding:wordllama",
)
CORPORA = ("flickr30k", "coco", "flickr8k")

PARSE = """
import json, resource, sys, time
from fivesentences.semantics.java import parse_captions
captions, _ = json.load(open(sys.argv[1]))
started = time.perf_counter()
parse_captions(captions, sys.argv[2])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
scale = 1 if sys.platform == "darwin" else 1024
print(json.dumps([time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss * scale]))
"""

SCORE = """
import json, resource, sys, time
from fivesentences.semantics import write_phi
from fivesentences.semantics.registry import needs_tuples
from fivesentences.semantics.tuples import read_tuples
captions, image_of_caption = json.load(open(sys.argv[1]))
name, tuples, out = sys.argv[2:]
started, before = time.perf_counter(), time.process_time()
given = read_tuples(tuples, captions) if needs_tuples(name) else None
write_phi(name, captions, image_of_caption, out, given)
spent = time.perf_counter() - started, time.process_time() - before
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([*spent, used]))
"""


def corpus_of(name: str, mirror: Path) -> Corpus:
    """Read the captions of one corpus from the mirror."""
    if name == "flickr8k":
        return load_flickr8k(mirror / "flickr8k" / "Flickr8k_text.zip")
    archive = {"flickr30k": "flickr30k/flickr30k.zip", "coco": "coco/coco_test5k.zip"}[name]
    return load_karpathy(mirror / archive, name).split("test")


def child(code: str, *arguments: Path | str) -> list[float]:
    """Run a cold process and return its wall seconds, CPU seconds and peak bytes; its progress bar is shown."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(number) for number in json.loads(printed)]


def parse(given: Path, tuples: Path, unique: int) -> None:
    """Parse what is not parsed yet, and print the times."""
    if tuples.exists():
        print(f"{'parse':20} already done: {tuples.name}")
        return
    journal = tuples.with_name(f"{tuples.name}.journal")
    done = journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0
    wall, processor, peak = child(PARSE, given, tuples)
    a_caption = wall / max(unique - done, 1) * 1e3
    print(
        f"{'parse':20} {wall:7.1f} s wall, {processor:7.1f} s CPU, peak {peak / 1e9:.2f} GB; "
        f"{a_caption:.1f} ms per caption{f', {done:,} were parsed before' if done else ''}",
        flush=True,
    )


def main() -> None:
    """Parse what is not parsed yet, score every matrix and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuples", type=Path, help="folder of parsed captions (default: a temporary folder)")
    parser.add_argument("--only", nargs="+", choices=CORPORA, default=CORPORA, help="corpora (default all)")
    parser.add_argument("--phi", nargs="+", choices=MATRICES, default=MATRICES, help="matrices (default all)")
    arguments = parser.parse_args()
    mirror = os.environ.get("FIVESENTENCES_MIRROR")
    if not mirror:
        raise SystemExit("FIVESENTENCES_MIRROR is not set; name the folder with the captions of the corpora.")
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.tuples or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        given, written = Path(temporary, "captions.json"), Path(temporary, "phi.npy")
        for name in arguments.only:
            corpus = corpus_of(name, Path(mirror))
            captions, n_images = corpus.captions, len(corpus.images)
            given.write_text(json.dumps([captions, corpus.image_of_caption.tolist()]))
            unique = len(set(captions))
            print(f"\n{name}: {len(captions):,} captions ({unique:,} different) x {n_images:,} images")
            tuples = folder / f"{name}.jsonl.gz"
            if "spice" in arguments.phi:
                parse(given, tuples, unique)
            for phi in arguments.phi:
                wall, processor, peak = child(SCORE, given, phi, tuples, written)
                size = written.stat().st_size / 1e9
                print(
                    f"{phi:20} {wall:7.1f} s wall, {processor:7.1f} s CPU, peak {peak / 1e9:.2f} GB with up to "
                    f"{size:.2f} GB of output",
                    flush=True,
                )
                written.unlink()
            print(f"load at the end {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
