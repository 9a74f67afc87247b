"""CLIPScore and PAC-S of vectors, against the formulas of the papers by scipy, and vectors that are none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cosine
from scipy.stats import hmean

from fivesentences.errors import InputError
from fivesentences.semantics.captioning import CAPTIONING_METRICS, score_captions
from fivesentences.semantics.clipscore import clip_scores

RNG = np.random.default_rng(0)
OWNER = np.array([0, 0, 1, 2, 2, 2, 3])
IMAGES, CANDIDATES = RNG.normal(size=(2, 4, 8)) + 0.4
REFERENCES = RNG.normal(size=(7, 8)) + 0.4
CANDIDATES[1], CANDIDATES[2] = -IMAGES[1], IMAGES[2]  # a cosine of -1, and of 1
REFERENCES[2] = -CANDIDATES[1]


def test_scores_are_those_of_the_papers_for_vectors_of_any_length():
    names = ["clipscore", "refclipscore", "pacs", "refpacs"]
    found = clip_scores(IMAGES * 3, CANDIDATES, names, (REFERENCES * 0.1).astype(np.float32), OWNER)
    for name, weight in (("clipscore", 2.5), ("pacs", 2.0)):
        seen = [weight * max(1 - cosine(*pair), 0) for pair in zip(CANDIDATES, IMAGES, strict=True)]
        read = [
            max(0, *(1 - cosine(one, other) for other in REFERENCES[image == OWNER]))
            for image, one in enumerate(CANDIDATES)
        ]
        both = [hmean(pair) if min(pair) > 0 else 0 for pair in zip(seen, read, strict=True)]
        np.testing.assert_allclose(found[name].each, seen, rtol=1e-6)
        np.testing.assert_allclose(found[f"ref{name}"].each, both, rtol=1e-6)
        assert found[name].corpus == pytest.approx(np.mean(seen)) and seen[1] == both[1] == 0
        assert found[name].each[2] == pytest.approx(CAPTIONING_METRICS[name].largest)


def test_the_largest_scores_are_those_of_equal_vectors():
    found = clip_scores(IMAGES, IMAGES, ["refclipscore", "refpacs"], IMAGES, np.arange(4))
    for name, scores in found.items():
        np.testing.assert_allclose(scores.each, CAPTIONING_METRICS[name].largest)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"images": np.where(np.arange(32).reshape(4, 8) == 11, np.nan, 1.0)}, ["images", "row 1", "nan", "column 3"]),
        ({"candidates": np.diag([1.0, 1, 0, 1])}, ["candidates", "row 2"]),
        ({"candidates": CANDIDATES[:3]}, ["[4, 8]", "[3, 8]"]),
        ({"candidates": CANDIDATES[:, :3]}, ["[4, 8]", "[4, 3]"]),
        ({"images": np.array([["a"]])}, ["images", "[1, 1]"]),
        ({"references": REFERENCES[:, :3]}, ["[7, 3]", "[4, 8]"]),
        ({"references": None}, ["references"]),
        ({"image_of_reference": OWNER * 0}, ["1 image", "[4, 8]"]),
        ({"metrics": ["cider"]}, ["cider", "clipscore"]),
    ],
)
def test_what_is_no_vector_of_an_image_or_caption_is_named(changed, told):
    given = {"images": IMAGES, "candidates": CANDIDATES, "references": REFERENCES, "image_of_reference": OWNER}
    with pytest.raises(InputError) as error:
        clip_scores(**{"metrics": ["refclipscore"], **given, **changed})
    assert all(word in str(error.value) for word in told), error.value


def test_scores_of_texts_alone_have_no_images():
    with pytest.raises(InputError, match="clip_scores"):
        score_captions(["a"], [["a"]], ["clipscore"])
