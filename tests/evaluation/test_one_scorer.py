"""Four ways to score a matrix: the command, the workflow, and two classes of the library agree on every number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fivesentences import EmbeddingEvaluator
from fivesentences.choices import BANKED
from fivesentences.evaluation import PROTOCOLS
from fivesentences.evaluation.protocols import Protocol
from fivesentences.metrics import Evaluator
from fivesentences.metrics.values import KEYS
from fivesentences.reproduction.evaluation.run import RunEvaluator
from fivesentences.retrieval import INFERENCE, cosine_similarity

pytestmark = pytest.mark.slow

SIZES = {"equal": [5] * 12, "unequal": [1, 4, 2, 7, 3, 3, 2, 5, 1, 6, 4, 2]}
NAME = "coco-1k-5fold"  # which the command accepts, here with other sizes
OPTIONS = {
    "ms": (1, 2, 3, 4, 5), "formulas": ("released", "paper"), "styles": ("recall", "vse_recall"),
    "weightings": ("hard", "soft"), "discounts": (None, "log"), "asp_ties": ("index", "average"), "hubness": True,
}  # fmt: skip


def by_key(values):
    return {tuple(value[key] for key in KEYS): value["value"] for value in values}


def slow_recall(similarity, owner, folds, side, k):
    """R@k after CSLS with ten neighbours, by definition: within each fold, one query at a time."""
    of_folds = []
    for images in np.array_split(np.arange(len(similarity)), folds):
        captions = np.flatnonzero(np.isin(owner, images))
        scores = similarity[np.ix_(images, captions)].astype(float)
        near = [[np.mean(sorted(row)[-10:]) for row in matrix] for matrix in (scores, scores.T)]
        corrected = 2 * scores - np.array(near[0])[:, None] - np.array(near[1])
        own = owner[captions] == images[:, None]
        corrected, own = (corrected, own) if side == "i2t" else (corrected.T, own.T)
        hits = [own[query, np.argsort(-row, kind="stable")[:k]].any() for query, row in enumerate(corrected)]
        of_folds.append(100 * np.mean(hits))
    return np.mean(of_folds)


@pytest.mark.parametrize("method", [method for method in INFERENCE if method not in BANKED])
@pytest.mark.parametrize("folds", [1, 3])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_every_number_is_the_same_by_four_doors(run, tmp_path, monkeypatch, sizes, folds, method):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(folds)
    owner = rng.permutation(np.repeat(np.arange(12), sizes))
    images = rng.normal(size=(12, 6)).astype(np.float32)
    captions = (images[owner] + 1.5 * rng.normal(size=(len(owner), 6))).astype(np.float32)
    similarity, phi, other = cosine_similarity(images, captions), *rng.gamma(0.4, 0.3, (2, len(owner), 12))
    for name, matrix in {"sims": similarity, "mine": phi, "other": other}.items():
        np.save(f"{name}.npy", matrix)
    np.savetxt("owner.txt", owner, fmt="%d")
    monkeypatch.setitem(PROTOCOLS, NAME, Protocol(NAME, 12, len(owner), 4, 3, "three folds"))
    protocol = NAME if folds > 1 else None

    # The command.
    words = f"sims.npy --phi mine.npy --phi other.npy --image-of-caption owner.txt --inference {method} --all"
    said = run("evaluate", *f"{words} --ms 1,2,3,4,5 --json o.json".split(), *(["--dataset", NAME] if protocol else []))
    assert said.code == 0, said.err
    found = json.loads(Path("o.json").read_text())
    assert ("Re-scored within each gallery" in said.out) == ("inference" in found) == (method != "naive")
    of_command = by_key(found["values"])

    # Embeddings that come in batches.
    batches = EmbeddingEvaluator({"mine": phi, "other": other}, protocol, inference=method, **OPTIONS)
    batches.update(images, captions[:9], owner[:9])
    batches.update(None, captions[9:], owner[9:])
    assert by_key(batches.compute().values) == of_command

    # The library's evaluator, which knows one gallery.
    of_folds = []
    for some in np.array_split(np.arange(12), folds):
        own = np.flatnonzero(np.isin(owner, some))
        phis = {name: matrix[np.ix_(own, some)] for name, matrix in (("mine", phi), ("other", other))}
        evaluator = Evaluator(phis, owner[own] - some[0], **OPTIONS)
        of_folds.append(by_key(evaluator(similarity[np.ix_(some, own)], inference=method).values))
    means = {key: np.mean([one[key] for one in of_folds]) for key in of_folds[0]}
    assert means == pytest.approx(of_command, abs=1e-10)  # a sum of means is rounded otherwise than a mean of sums

    # The workflow, which reports a part of them, and of further phi what depends on no re-scored similarity.
    reading = method if folds == 1 else f"{method}, {folds} folds"
    every, hubs, _ = RunEvaluator({"mine": phi, "other": other}, owner)(similarity, [reading])
    values = [value for value in every if value["inference"] == reading]
    by_chance = {value["inference"] for value in every} - {reading}
    assert by_chance == ({reading.replace("naive", "chance")} if method == "naive" else set())
    of_workflow = by_key(values)
    assert len(of_workflow) > 150 and of_workflow.items() <= of_command.items()
    assert bool(hubs) == (folds == 1)
    assert {value["phi"] for value in values} == {"", "mine"} | ({"other"} if method == "naive" else set())

    if method == "csls":
        for side in ("i2t", "t2i"):
            for k in (1, 5, 10):
                wanted = slow_recall(similarity, owner, folds, side, k)
                assert of_command[(f"R@{k}", side, "", "", 0, "", "", "", "")] == pytest.approx(wanted)
