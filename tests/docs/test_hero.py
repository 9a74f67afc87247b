"""README's picture: what is framed is true of its query, and the query is the one that its rule chooses."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from fivesentences.commands.example import SHIPPED
from fivesentences.reproduction.scenes import compose
from fivesentences.semantics import cider_matrix

DRAWN, TEST, K = 3201, 200, 5


@pytest.fixture(scope="module")
def hero(root):
    return json.loads((root / "docs/images/hero.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def scenes():
    return compose(0, DRAWN)[-TEST:]


def holds(caption, scene):
    """Whether all that a caption claims are facts of a scene."""
    return all(set(claim.facts) <= scene.facts for claim in caption.claims)


def test_an_image_is_framed_if_and_only_if_all_that_the_query_says_is_true_of_it(hero, scenes):
    asked = [caption for scene in scenes for caption in scene.captions][hero["query"]]
    of_id = {scene.image_id: scene for scene in scenes}
    assert asked.text == hero["caption"] and holds(asked, of_id[hero["image"]])
    for answer in hero["models"].values():
        assert answer["framed"] == [holds(asked, of_id[image]) for image in answer["images"]]
        assert hero["image"] not in answer["images"]


def test_the_query_is_the_first_that_the_rule_allows(hero, scenes):
    captions = (SHIPPED / "captions.txt").read_text("utf-8").splitlines()
    claims = [caption for scene in scenes for caption in scene.captions]
    phi, own = cider_matrix(captions), np.repeat(np.arange(TEST), 5)
    found = []
    for prefix in ("hardest_", ""):
        images, texts = (np.load(SHIPPED / f"{prefix}{side}.npy").astype(np.float32) for side in ("images", "texts"))
        scores = (images @ texts.T).T
        top = np.argsort(-scores, axis=1, kind="stable")[:, :K]
        gained = np.take_along_axis(phi, top, axis=1).sum(axis=1)
        ideal = np.sort(phi, axis=1)[:, -K:].sum(axis=1)
        found.append((top, 100 * gained / ideal))
    (first, before), (second, after) = found
    for query in range(hero["query"] + 1):
        missed = own[query] not in first[query] and own[query] not in second[query]
        true = [sum(holds(claims[query], scenes[image]) for image in top[query]) for top in (first, second)]
        allowed = missed and after[query] - before[query] >= 10 and true[1] - true[0] >= 2
        assert allowed == (query == hero["query"]), captions[query]
    for answer, of_model in zip(hero["models"].values(), (before, after), strict=True):
        assert answer["NCS@5"] == pytest.approx(of_model[hero["query"]], abs=0.06)


def test_readme_says_the_picture_s_numbers(hero, root):
    said = re.findall(r"<!-- hero \d -->([\d.]+)<!-- / -->", (root / "README.md").read_text("utf-8"))
    assert said == [f"{answer['NCS@5']:.1f}" for answer in hero["models"].values()]


def test_queries_of_the_front_page_are_the_first_of_their_kind_and_framed_where_they_are_true(root, scenes):
    kept = json.loads((root / "results/paper/queries.json").read_text("utf-8"))
    claims, of_id = [caption for scene in scenes for caption in scene.captions], {one.image_id: one for one in scenes}
    images, texts = (np.load(SHIPPED / f"{side}.npy").astype(np.float32) for side in ("images", "texts"))
    top, own = np.argsort(-(images @ texts.T).T, axis=1, kind="stable")[:, :K], np.repeat(np.arange(TEST), 5)
    true = np.array([[holds(claim, scenes[image]) for image in row] for claim, row in zip(claims, top, strict=True)])
    found, right = (top == own[:, None]).any(axis=1), true.sum(axis=1)
    kinds = [~found & (right >= 3), ~found & (right == 0), found & (right == 1)]
    assert [one["query"] for one in kept["queries"]] == [int(q) for kind in kinds for q in np.flatnonzero(kind)[:4]]
    for one, count in zip(kept["queries"], np.repeat([kind.sum() for kind in kinds], 4), strict=True):
        asked = claims[one["query"]]
        assert one["of"] == count and asked.text == one["caption"] and holds(asked, of_id[one["own"]])
        assert one["true"] == [holds(asked, of_id[image]) for image in one["images"]]
        assert one["images"] == [scenes[item].image_id for item in top[one["query"]]]
