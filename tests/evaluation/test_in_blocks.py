"""Galleries that are read in blocks: the numbers of whole matrices, to the last digit, in little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesentences import EmbeddingEvaluator, evaluate
from fivesentences.errors import InputError
from fivesentences.evaluation import PROTOCOLS
from fivesentences.evaluation.protocols import Protocol, ProtocolScorer
from fivesentences.evaluation.trec import write_run
from fivesentences.metrics import in_blocks
from fivesentences.retrieval import products
from fivesentences.retrieval.cosine import gallery_of_embeddings
from fivesentences.semantics import ScoredPhi, prepare
from fivesentences.semantics.scoring import matrix_of

WORDS = "a dog runs on the green grass and two men play football near red old houses by sea"
METRICS = ("cider", "tfidf", "bleu4", "rouge_l")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(products, "IMAGES_PER_BLOCK", 7)
    monkeypatch.setattr(products, "CAPTIONS_PER_BLOCK", 16)
    monkeypatch.setattr(in_blocks, "WAITING", 40)
    monkeypatch.setattr("fivesentences.semantics.scored.rows_at_once", lambda n_images: 5)
    monkeypatch.setattr("fivesentences.semantics.scoring.rows_at_once", lambda n_images: 5)


def gallery(seed: int, n_images: int, in_order: bool, ties: bool, n_captions: tuple[int, int] = (1, 6)):
    """Embeddings, captions and whose they are; with ties many scores and captions are equal."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n_images), rng.integers(*n_captions, n_images))
    if not in_order:
        owner = rng.permutation(owner)
    images, texts = rng.normal(size=(n_images, 4)), rng.normal(size=(len(owner), 4))
    texts += 2 * images[owner]
    if ties:
        # Of other lengths, since equal rows would be taken for repeated images; their cosines stay the same.
        images, texts = (np.sign(one) * 2.0 ** rng.integers(-9, 10, (len(one), 1)) for one in (images, texts))
    length = 3 if ties else 8
    captions = [" ".join(rng.choice(WORDS.split(), rng.integers(1, length))) for _ in owner]
    return images.astype(np.float32), texts.astype(np.float32), captions, owner


def held_and_not(images, texts, captions, owner, metrics=METRICS, **options):
    """The same numbers of whole matrices and of blocks."""
    scorers = {name: prepare(name, captions, owner) for name in metrics}
    whole = {name: matrix_of(one, np.empty(one.shape, np.float32)) for name, one in scorers.items()}
    parts = {name: ScoredPhi(one, name) for name, one in scorers.items()}
    given = {"image_of_caption": owner, "asp_ties": (), **options}
    return (
        evaluate(images, texts=texts, phis=whole, in_blocks=False, **given),
        evaluate(images, texts=texts, phis=parts, in_blocks=True, **given),
    )


EVERYTHING = {
    "formulas": ("released", "paper"), "styles": ("recall", "vse_recall"), "weightings": ("hard", "soft"),
    "discounts": (None, "log"), "ncs_ms": (3, None), "hubness": True, "hub_ks": (1, 3), "ks": (1, 2, 10),
}  # fmt: skip


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.booleans(), st.booleans())
def test_blocks_of_any_gallery_give_the_numbers_of_whole_matrices(seed, n_images, in_order, ties):
    test_blocks_give_the_numbers_of_whole_matrices(seed, n_images, in_order, ties)


@pytest.mark.parametrize(
    ("seed", "n_images", "in_order", "ties"), [(1, 20, False, True), (2, 33, True, True), (3, 17, False, False)]
)
def test_blocks_give_the_numbers_of_whole_matrices(seed, n_images, in_order, ties):
    whole, parts = held_and_not(*gallery(seed, n_images, in_order, ties), **EVERYTHING)
    assert [tuple(row.values()) for row in parts.values] == [tuple(row.values()) for row in whole.values]
    notes = [note for note in parts.about["notes"] if "another order" not in note]
    assert [note for note in notes if note not in whole.about["notes"]] == []


@pytest.mark.parametrize("in_order", [True, False])
def test_folds_first_captions_and_repeated_images(in_order, monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "folds", Protocol("folds", 30, 150, 10, 3, "three folds"))
    images, texts, captions, owner = gallery(5, 30, in_order, False, (5, 6))
    for options in ({"protocol": "folds"}, {"first_captions": 2}):
        whole, parts = held_and_not(images, texts, captions, owner, ("cider",), **options)
        assert parts.values == whole.values
    once = evaluate(images, texts, image_of_caption=owner, in_blocks=True)
    assert evaluate(images[owner], texts, image_of_caption=owner, in_blocks=True).values == once.values


def test_float64_and_embeddings_of_batches():
    images, texts, captions, owner = gallery(6, 20, True, False)
    whole, parts = held_and_not(images.astype(np.float64), texts, captions, owner, ("tfidf",))
    assert parts.values == whole.values
    batches = EmbeddingEvaluator({"tfidf": ScoredPhi(prepare("tfidf", captions, owner), "tfidf")}, in_blocks=True)
    batches.update(images[:9])
    batches.update(images[9:], texts, owner)
    expected = held_and_not(images, texts, captions, owner, ("tfidf",), asp_ties=("index",))[1]
    assert batches.compute().values == expected.values


def test_one_reading_serves_numbers_and_runs(tmp_path, monkeypatch):
    images, texts, _, owner = gallery(9, 20, True, False)
    readings = []
    read = in_blocks.read_products
    monkeypatch.setattr(in_blocks, "read_products", lambda *given: readings.append(given) or read(*given))
    whole = gallery_of_embeddings(images, texts, owner, in_blocks=True)
    scorer = ProtocolScorer(whole)
    scorer(whole)
    names = [f"i{at}" for at in range(20)], [f"c{at}" for at in range(len(owner))]
    for side in ("i2t", "t2i"):
        write_run(tmp_path / f"{side}.run", scorer, whole, side, *names, depth=5)
    assert len(readings) == 1


def test_what_reads_whole_rankings_is_left_out_or_refused():
    images, texts, captions, owner = gallery(7, 20, True, False)
    phis = {"cider": ScoredPhi(prepare("cider", captions, owner), "cider")}
    result = evaluate(images, texts, phis=phis, image_of_caption=owner, categories=np.arange(20) % 3, in_blocks=True)
    assert not {row["metric"] for row in result.values} & {"ASP", "mAP", "R-P"}
    assert any("ASP" in note and "mAP" in note for note in result.about["notes"])
    with pytest.raises(InputError, match="csls"):
        evaluate(images, texts, image_of_caption=owner, inference="csls", in_blocks=True)
    nothing = ["dog"] * len(owner)  # known to every image, so that CIDEr weights it 0
    with pytest.raises(InputError, match="cider"):
        evaluate(images, texts, phis={"cider": ScoredPhi(prepare("cider", nothing, owner), "cider")}, in_blocks=True,
                 image_of_caption=owner)  # fmt: skip


def test_captions_of_other_images_are_noticed():
    rng = np.random.default_rng(8)
    owner = np.repeat(np.arange(300), 2)
    topics = rng.normal(size=(300, 12)).astype(np.float32)
    texts = topics[owner] + 0.3 * rng.normal(size=(600, 12)).astype(np.float32)
    words = np.array([f"w{one}" for one in range(24)])
    captions = [" ".join(words[np.flatnonzero(np.concatenate([one > 0.4, one < -0.4]))]) or "w" for one in texts]
    for given_captions, is_wrong in ((captions, False), ([captions[at] for at in rng.permutation(600)], True)):
        phis = {"tfidf": ScoredPhi(prepare("tfidf", given_captions, owner), "tfidf")}
        notes = evaluate(topics, texts, phis=phis, image_of_caption=owner, in_blocks=True).about["notes"]
        assert any("phi tfidf" in note for note in notes) == is_wrong


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from fivesentences import evaluate
from fivesentences.semantics import ScoredPhi, prepare
rng = np.random.default_rng(0)
n, owner = 4000, np.repeat(np.arange(4000), 5)
images = rng.normal(size=(n, 16)).astype(np.float32)
texts = images[owner] + rng.normal(size=(5 * n, 16)).astype(np.float32)
captions = [" ".join(f"w{word}" for word in row) for row in rng.zipf(1.3, (5 * n, 8)) % 2000]
phis = {name: ScoredPhi(prepare(name, captions, owner), name) for name in ("cider", "tfidf")}
in_blocks = sys.argv[1] == "blocks"
if not in_blocks:
    phis = {name: np.asarray(one) for name, one in phis.items()}
evaluate(images, texts, phis=phis, image_of_caption=owner, in_blocks=in_blocks, asp_ties=())
# Not getrusage, which counts what the parent had before this program was loaded.
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process has had")
def test_the_kernel_counts_little_memory(tmp_path: Path):
    # Three matrices of 320 MB each, none of which is held.
    script = tmp_path / "peak.py"
    script.write_text(SCRIPT)
    peak = {}
    for how in ("blocks", "whole"):
        done = subprocess.run([sys.executable, str(script), how], capture_output=True, text=True, check=True)
        peak[how] = int(done.stdout.split()[-1]) * 1024
    assert peak["whole"] - peak["blocks"] > 2 * 320e6
