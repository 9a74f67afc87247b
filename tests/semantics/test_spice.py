"""SPICE's scores: every caption against every image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics.scene_graphs import Concepts, scene_graph
from fivesentences.semantics.spice import COLOURS, COUNTS, SpiceScorer, size_words, spice_matrix
from fivesentences.semantics.synonyms import load_synonyms

Raw = list[list[list[str]]]
NAMES = {
    "all": "All", "object": "Object", "attribute": "Attribute", "relation": "Relation", "colour": "Color",
    "count": "Cardinality", "size": "Size",
}  # fmt: skip


def gathered(raw: Raw, image_of_caption: list[int], image: int) -> list[list[str]]:
    """The raw tuples of an image's captions."""
    return [one for tuples, own in zip(raw, image_of_caption, strict=True) if own == image for one in tuples]


@pytest.fixture(scope="module")
def corpus(made_tuples: Callable[[int, int], Raw]) -> tuple[Raw, list[int]]:
    """Captions of made tuples, some of them empty, in no order, one to seven per image."""
    raw = made_tuples(7, 40)
    raw[3], raw[11], raw[12] = [], [], []
    image_of_caption = [*range(12), *np.random.default_rng(0).integers(0, 12, 28).tolist()]
    image_of_caption = [1 if image == 11 else image for image in image_of_caption]
    image_of_caption[11] = 11  # an image of one caption without tuples
    return raw, image_of_caption


@pytest.mark.parity
def test_every_cell_equals_the_released_program_bit_for_bit(released_spice: dict[str, Any]) -> None:
    scorer = SpiceScorer(released_spice["raw_tuples"], released_spice["image_of_caption"])
    assert scorer.ties == (0, 0)
    np.testing.assert_array_equal(scorer.score(np.arange(scorer.shape[0])), released_spice["f"])
    n_hits = np.array(released_spice["tp"])
    caption, image = np.indices(n_hits.shape)
    sizes = np.array(released_spice["test_tuples"])[:, None], np.array(released_spice["ref_tuples"])[None, :]
    expected = np.where(n_hits > 0, 2 * n_hits / (sizes[0] + sizes[1]), 0)
    np.testing.assert_allclose(scorer.pairs(caption.ravel(), image.ravel()), expected.ravel(), rtol=1e-15)


def test_undefined_cells_take_the_given_value(corpus: tuple[Raw, list[int]]) -> None:
    released = spice_matrix(*corpus, "count")
    filled = SpiceScorer(*corpus, "count", undefined=0.0)
    np.testing.assert_array_equal(filled.score(np.arange(40)), np.nan_to_num(released))
    np.testing.assert_array_equal(filled.sparse(np.arange(40)).toarray(), np.nan_to_num(released))
    assert not np.isnan(filled.pairs(np.arange(40), np.full(40, 11))).any()
    with pytest.raises(InputError, match="undefined=0"):
        SpiceScorer(*corpus, "count").sparse(np.arange(40))


@pytest.mark.parametrize(
    ("raw", "image_of_caption", "part", "says"),
    [
        ([[["dog"]]], [0], "objects", "SPICE"),
        ([[["dog"]], ["dog"]], [0, 0], "all", r"1.*'dog'"),
        ([[["a", "b", "c", "d"]]], [0], "all", "caption 0"),
        ([[["dog"]]], [0, 0], "all", "image_of_caption"),
        ([], [], "all", "no captions"),
    ],
)
def test_bad_input_is_one_sentence(raw: Any, image_of_caption: list[int], part: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        SpiceScorer(raw, image_of_caption, part)


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parity
def test_every_score_and_sub_score_equals_the_jars_bit_for_bit(
    ask_spice: Callable[[dict[str, Any]], dict[str, Any]],
    made_tuples: Callable[[int, int], Raw],
    released_spice: dict[str, Any],
) -> None:
    raw = [*released_spice["raw_tuples"], *made_tuples(3, 90)]
    n_released = len(released_spice["image_ids"])
    image_of_caption = [*released_spice["image_of_caption"], *(n_released + index // 3 for index in range(90))]
    n_images = n_released + 30
    of_images = [gathered(raw, image_of_caption, image) for image in range(n_images)]
    captions, images = np.indices((len(raw), n_images)).reshape(2, -1)
    pairs = np.stack([captions, len(raw) + images], axis=1).tolist()
    answer = ask_spice({"graphs": [*raw, *of_images], "pairs": pairs})
    assert answer["words"] == {"Color": sorted(COLOURS), "Cardinality": sorted(COUNTS), "Size": sorted(size_words())}
    concepts = Concepts(load_synonyms())
    decided = np.array([scene_graph(tuples, concepts).ties == 0 for tuples in [*raw, *of_images]])
    sure = decided[captions] & decided[len(raw) + images]
    assert sure.mean() > 0.75
    for part, name in NAMES.items():
        theirs = np.array([one[name]["f"] for one in answer["scores"]], dtype=np.float64)  # None becomes NaN
        hits = np.array([one[name]["tp"] for one in answer["scores"]])
        scorer = SpiceScorer(raw, image_of_caption, part)
        ours = scorer.score(np.arange(len(raw))).ravel()
        np.testing.assert_array_equal(ours[sure], theirs[sure], err_msg=part)
        np.testing.assert_array_equal(scorer.pairs(captions, images)[sure], theirs[sure], err_msg=part)
        assert hits[sure].any(), f"nothing to compare in {part}"
