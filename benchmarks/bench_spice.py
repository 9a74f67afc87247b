"""The SPICE matrix of 25,000 captions x 5,000 images against the scoring of SPICE's own program.

    python benchmarks/bench_spice.py [--parse | --tuples coco.jsonl.gz]

With ``--parse`` the COCO 5K test captions, which are read from FIVESENTENCES_MIRROR or from ``--captions``, are parsed
first, as either side must, and a second ratio includes that time. With ``--tuples``, the output of an earlier parse,
or without either, for drawn scenes, parsing is not included. Ours runs in a cold process, timed from raw tuples in
memory to the written float32 .npy; its imports and the reading of the tuples are shown separately. The jar's graphs are
built before its clock starts and its first pairs warm it up; its time for the matrix is extrapolated from a sample of
pairs that it scores in the same run, with one thread, called from Python pair by pair.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from captions import coco_5k, machine
from fivesentences.corpus import load_karpathy
from fivesentences.reproduction.scenes import compose
from fivesentences.semantics.java import parse_scene_graphs
from fivesentences.semantics.java.jars import cached, class_path
from fivesentences.semantics.tuples import read_tuples

OURS = """
import time
started = time.perf_counter()
import json, resource, sys
from fivesentences.semantics.scoring import matrix_of
from fivesentences.semantics.spice import SpiceScorer
tuples, image_of_caption = json.load(open(sys.argv[1]))
ready = time.perf_counter()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scorer = SpiceScorer(tuples, image_of_caption)
prepared = time.perf_counter()
matrix_of(scorer, sys.argv[2])
done = time.perf_counter()
scale = 1 if sys.platform == "darwin" else 1024
print(json.dumps({
    "start": ready - started, "prepare": prepared - ready, "fill": done - prepared, "ties": scorer.ties,
    "given": before * scale, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale,
}))
"""

THEIRS = """
import json, sys, time
from pathlib import Path
import jpype
from fivesentences.semantics.java.jvm import start_jvm
question = json.load(open(sys.argv[1]))
start_jvm([Path(jar) for jar in question["class_path"]], memory_mb=3000)
java, spice = jpype.java, jpype.JPackage("edu").anu.spice
parse = jpype.JClass("org.json.simple.JSONValue").parse
field = java.lang.Class.forName("edu.anu.spice.SpiceParser").getDeclaredField("synonyms")
field.setAccessible(True)
synonyms = field.get(spice.SpiceParser(None, 1, java.lang.Boolean(True)))
def made(raw):
    graph = spice.SceneGraph(synonyms, True)
    for one in parse(json.dumps(raw)):
        graph.addTuple(one)
    return graph
tests = [made(raw) for raw in question["tests"]]
references = [made(raw) for raw in question["references"]]
spent, scores = 0.0, []
for timed, pairs in ((False, question["pairs"][:20_000]), (True, question["pairs"])):
    stats = spice.SpiceStats(java.util.HashMap(), java.lang.Boolean(False))
    started = time.perf_counter()
    for test, reference in pairs:
        stats.score("", tests[test], references[reference], True)
    if timed:
        spent = time.perf_counter() - started
        scores = [one["scores"]["All"]["f"] for one in json.loads(stats.toJSONString())]
started = time.perf_counter()
for _ in range(20_000):
    stats.hashCode()
call = (time.perf_counter() - started) / 20_000
json.dump({"seconds_per_pair": spent / len(scores), "seconds_per_call": call, "f": scores}, open(sys.argv[2], "w"))
"""


def given_tuples(arguments: argparse.Namespace) -> tuple[str, Sequence[Sequence[Sequence[str]]], list[int], float]:
    """Name of the corpus, raw tuples of each caption, image of each caption, seconds of parsing."""
    if arguments.tuples is None and not arguments.parse:
        described = compose(0, arguments.images)
        tuples = [caption.tuples for one in described for caption in one.captions]
        return "drawn scenes", tuples, [image for image, one in enumerate(described) for _ in one.captions], 0.0
    if arguments.captions is None:
        name, captions, image_of_caption = coco_5k()
    else:
        corpus = load_karpathy(arguments.captions, "captions")
        name, captions, image_of_caption = str(arguments.captions), corpus.captions, corpus.image_of_caption.tolist()
    started = time.perf_counter()
    tuples = parse_scene_graphs(captions) if arguments.parse else read_tuples(arguments.tuples, captions).of_caption
    return name, tuples, image_of_caption, time.perf_counter() - started if arguments.parse else 0.0


def child(code: str, *paths: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuples", type=Path, help="parsed tuples of the captions, .jsonl.gz")
    parser.add_argument("--parse", action="store_true", help="parse the captions in this run, and say the time")
    parser.add_argument("--captions", type=Path, help="Karpathy-style file or archive that was parsed")
    parser.add_argument("--images", type=int, default=5000, help="drawn scenes, five captions each (default 5000)")
    parser.add_argument("--pairs", type=int, default=100_000, help="pairs for the jar to score (default 100,000)")
    parser.add_argument("--repeat", type=int, default=3, help="cold processes to time (default 3)")
    arguments = parser.parse_args()
    name, tuples, image_of_caption, parsing = given_tuples(arguments)
    n_captions, n_images = len(tuples), max(image_of_caption) + 1
    print(machine())
    print(
        f"{name}: {n_captions:,} captions x {n_images:,} images, "
        f"{sum(map(len, tuples)) / n_captions:.1f} raw tuples per caption"
    )
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder, "given.json"), Path(folder, "spice.npy")
        given.write_text(json.dumps([tuples, image_of_caption]))
        runs: list[dict[str, Any]] = []
        for _ in range(arguments.repeat):
            written.unlink(missing_ok=True)
            runs.append(json.loads(child(OURS, given, written).splitlines()[-1]))
        seconds = [run["prepare"] + run["fill"] for run in runs]
        median = runs[int(np.argsort(seconds)[len(seconds) // 2])]
        ours, size = median["prepare"] + median["fill"], written.stat().st_size
        print(
            f"raw tuples to float32 .npy: median {ours:.1f} s of {', '.join(f'{s:.1f}' for s in seconds)} "
            f"(graphs and hits {median['prepare']:.1f}, matrix {median['fill']:.1f}; before that imports and tuples "
            f"{median['start']:.1f}); peak memory {median['peak'] / 1e9:.2f} GB, of which the given tuples are "
            f"{median['given'] / 1e9:.2f} and the mapped output may be {size / 1e9:.2f}; "
            f"ties in merging: {median['ties'][0]} captions, {median['ties'][1]} images"
        )
        if not cached():
            print("the jar: CoreNLP is missing (fivesentences jars downloads it), so there is nothing to compare with")
            return
        draw = np.random.default_rng(0)
        captions = draw.choice(n_captions, min(2000, n_captions), replace=False)
        images = draw.choice(n_images, min(500, n_images), replace=False)
        rows, columns = (
            draw.integers(len(captions), size=arguments.pairs),
            draw.integers(len(images), size=arguments.pairs),
        )
        of_image: dict[int, list[Sequence[str]]] = {int(image): [] for image in images}
        for one, image in zip(tuples, image_of_caption, strict=True):
            if image in of_image:
                of_image[image] += one
        asked, answered = Path(folder, "question.json"), Path(folder, "answer.json")
        question = {
            "class_path": [str(jar) for jar in class_path()],
            "tests": [tuples[caption] for caption in captions],
            "references": [of_image[int(image)] for image in images],
            "pairs": np.stack([rows, columns], axis=1).tolist(),
        }
        asked.write_text(json.dumps(question))
        child(THEIRS, asked, answered)
        answer = json.loads(answered.read_text())
        matrix = np.load(written, mmap_mode="r")
        differ = int((matrix[captions[rows], images[columns]] != np.array(answer["f"], dtype=np.float32)).sum())
        del matrix
    per_pair = answer["seconds_per_pair"]
    whole = per_pair * n_captions * n_images
    print(
        f"the jar, {arguments.pairs:,} pairs: {per_pair * 1e6:.0f} us per pair "
        f"(the call from Python {answer['seconds_per_call'] * 1e6:.1f}); "
        f"the matrix {whole / 3600:.1f} h (extrapolated); {differ} pairs differ from the file"
    )
    print(f"ratio: {whole / ours:,.0f} times as fast")
    if parsing:
        both = (whole + parsing) / (ours + parsing)
        print(f"with parsing, {parsing:.0f} s on either side: {both:,.0f} times as fast")


if __name__ == "__main__":
    main()
