"""Parts of an evaluation, made of some queries each: joined, they are the numbers of all queries."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.test_in_blocks import EVERYTHING, METRICS, gallery, small_blocks  # noqa: F401  # a fixture
from fivesentences.errors import InputError
from fivesentences.evaluation.parts import gallery_of_parts, queries_named, read_part, write_part
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.retrieval.cosine import gallery_of_embeddings
from fivesentences.semantics import ScoredPhi, prepare
from fivesentences.semantics.embedding import EmbeddingScorer
from fivesentences.semantics.sentence_encoders import CaptionVectors


def made_up(seed: int, n_images: int, in_order: bool, ties: bool, metrics=METRICS):
    """A gallery that is read in blocks."""
    images, texts, captions, owner = gallery(seed, n_images, in_order, ties)
    scorers = {name: prepare(name, captions, owner) for name in metrics}
    vectors = np.random.default_rng(seed).normal(size=(len(owner), 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scorers["meaning"] = EmbeddingScorer(CaptionVectors(vectors, {}), owner)
    phis = {name: ScoredPhi(one, name) for name, one in scorers.items()}
    return gallery_of_embeddings(images, texts, owner, in_blocks=True).and_phis(phis)


def written(folder: Path, whole, edges, name: str = "part", **options) -> list[Path]:
    """The files of parts between these edges."""
    files = []
    for first, stop in itertools.pairwise(edges):
        files.append(folder / f"{name}{first}.json")
        write_part(whole, ProtocolScorer(whole, **options), slice(first, stop), files[-1], name, {})
    return files


def assert_equal(joined, whole) -> None:
    """Every number to the last bit."""
    assert [tuple(row.values()) for row in joined.values] == [tuple(row.values()) for row in whole.values]
    assert len(joined.queries) == len(whole.queries) > 0
    for one, other in zip(joined.queries, whole.queries, strict=True):
        np.testing.assert_array_equal(one["values"], other["values"])


def check(folder: Path, seed: int, n_images: int, in_order: bool, ties: bool, n_parts: int) -> None:
    options = {**EVERYTHING, "weightings": ("hard",), "asp_ties": ()}
    whole = made_up(seed, n_images, in_order, ties)
    scorer = ProtocolScorer(whole, **options)
    expected, chance = scorer(whole, queries=True), scorer.by_chance()
    cuts = np.random.default_rng(seed).choice(np.arange(1, n_images), n_parts - 1, replace=False)
    edges = [0, *sorted(cuts.tolist()), n_images]
    files = written(folder, whole, edges, **options)
    (joined,), _ = gallery_of_parts([files[::-1]])
    of_parts = ProtocolScorer(joined, **options)
    assert_equal(of_parts(joined, queries=True), expected)
    found = of_parts.by_chance()
    assert [row["metric"] for row in found.values] == [row["metric"] for row in chance.values]
    np.testing.assert_allclose(
        [row["value"] for row in found.values], [row["value"] for row in chance.values], rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("n_parts", [1, 3, 7])
@pytest.mark.parametrize(("seed", "in_order", "ties"), [(1, True, False), (2, False, True)])
def test_one_three_and_seven_parts_are_the_whole(tmp_path, seed, in_order, ties, n_parts):
    check(tmp_path, seed, 17, in_order, ties, n_parts)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 40), st.booleans(), st.booleans(), st.integers(1, 8))
def test_any_parts_are_the_whole(tmp_path_factory, seed, n_images, in_order, ties, n_parts):
    check(tmp_path_factory.mktemp("parts"), seed, n_images, in_order, ties, n_parts)


def test_two_models_of_parts_share_phi(tmp_path):
    one, other = made_up(3, 14, True, False, ("cider",)), made_up(3, 14, True, False, ("cider",))
    other.similarity.images[:] = other.similarity.images[::-1].copy()
    whole = ProtocolScorer(one, asp_ties=())
    expected = [whole(model, queries=True) for model in (one, other)]
    of_models = [
        written(tmp_path, model, [0, 5, 14], name, asp_ties=())
        for model, name in zip((one, other), ("one", "other"), strict=True)
    ]
    galleries, _ = gallery_of_parts(of_models)
    scorer = ProtocolScorer(galleries[0], asp_ties=())
    for joined, of_whole in zip(galleries, expected, strict=True):
        assert_equal(scorer(joined, queries=True), of_whole)


def test_what_parts_do_not_hold_is_left_out_or_refused(tmp_path):
    whole = made_up(4, 12, True, False, ("cider",))
    files = written(tmp_path, whole, [0, 6, 12], ks=(1, 5))
    (joined,), _ = gallery_of_parts([files])
    soft = ProtocolScorer(joined, ks=(1, 5), weightings=("hard", "soft"))(joined)
    assert not any(row["weighting"] == "soft" for row in soft.values)
    assert any("soft" in note for note in soft.about["notes"])
    with pytest.raises(InputError, match="--ks"):
        ProtocolScorer(joined, ks=(1, 50))(joined)
    with pytest.raises(InputError, match="csls"):
        ProtocolScorer(joined, ks=(1, 5))(joined, inference="csls")


def test_parts_that_do_not_belong_together_are_named(tmp_path):
    whole = made_up(5, 12, True, False, ("cider",))
    files = written(tmp_path, whole, [0, 4, 8, 12])

    def refused(*some: Path) -> str:
        with pytest.raises(InputError) as found:
            gallery_of_parts([some])
        return str(found.value)

    assert "4:8" in refused(files[0], files[2])
    assert "8:12" in refused(*files[:2]) and "0:4" in refused(*files[1:])
    (again,) = written(tmp_path, whole, [6, 10], "again")
    content = json.loads(again.read_text()) | {"model": "part"}
    del content["fivesentences.sha256"]
    again.write_text(json.dumps(content))
    assert "6:8" in refused(*files, again) and str(again) in refused(*files, again)
    others = written(tmp_path, made_up(6, 12, True, False, ("cider",)), [8, 12], "others")
    assert str(others[0]) in refused(*files[:2], *others)
    for_tfidf = written(tmp_path, made_up(5, 12, True, False, ("tfidf",)), [8, 12], "tfidf")
    assert "tfidf" in refused(*files[:2], *for_tfidf)
    deeper = written(tmp_path, whole, [8, 12], "deeper", ks=(1, 11))
    assert str(deeper[0]) in refused(*files[:2], *deeper)
    retrained = made_up(5, 12, True, False, ("cider",))
    retrained.similarity.images[:] *= np.random.default_rng(0).normal(size=retrained.similarity.images.shape)
    epoch = written(tmp_path, retrained, [8, 12], "part")[0]
    assert str(epoch) in refused(*files[:2], epoch)


@pytest.mark.parametrize("key", ["read", "phis", "queries", "depth", "images", "format"])
def test_a_damaged_part_is_named(tmp_path, key):
    (path,) = written(tmp_path, made_up(7, 8, True, False, ("cider",)), [0, 8])
    content = json.loads(path.read_text())
    del content["fivesentences.sha256"]
    rng = np.random.default_rng(0)
    damaged = {
        "read": {},
        "phis": [{"name": "cider"}],
        "queries": [0, 7],
        "depth": 3,
        "images": 9,
        "format": "another",
    }[key]
    path.write_text(json.dumps(content | {key: damaged}))
    with pytest.raises(InputError, match=str(path)):
        read_part(path)
    for name in rng.choice(sorted(content["read"]), 5, replace=False):  # arrays of another size, or not of numbers
        for other in (
            {"dtype": "|O", "shape": [1], "data": "AAAA"},
            {"dtype": "<i4", "shape": [1], "data": "AAAAAA=="},
        ):
            path.write_text(json.dumps(content | {"read": content["read"] | {name: other}}))
            with pytest.raises(InputError, match=str(path)):
                read_part(path)


@pytest.mark.parametrize(
    ("text", "images"), [("0:10", (0, 10)), ("3:4", (3, 4)), ("1/3", (0, 3)), ("2/3", (3, 6)), ("3/3", (6, 10))]
)
def test_queries_are_named_by_a_range_or_a_part(text, images):
    found = queries_named(text, 10)
    assert (found.start, found.stop) == images


@pytest.mark.parametrize("text", ["", "5", "4:4", "5:3", "0:11", "-1:4", "0/3", "4/3", "1/11", "a:b", "1:2:3", "1.5:3"])
def test_other_queries_are_refused(text):
    with pytest.raises(InputError, match="--queries"):
        queries_named(text, 10)
