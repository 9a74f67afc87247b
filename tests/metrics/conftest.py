"""The metrics told in plain Python loops, written from their definitions: what the fast ones are compared with."""

from __future__ import annotations

import math
import statistics
import sys
from types import ModuleType

import pytest

EPSILON = 1e-10


@pytest.fixture(scope="session")
def slow() -> ModuleType:
    """The functions of this file."""
    return sys.modules[__name__]


def ranking(scores, own=(), keep=True):
    """All items, larger scores first, equal ones by index; without the query's own unless kept."""
    order = sorted(range(len(scores)), key=lambda item: (-float(scores[item]), item))
    return order if keep else [item for item in order if item not in own]


def queries(similarity, phi, image_of_caption, direction):
    """Per query: model scores, phi values, own items, the query's image."""
    n_images, n_captions = similarity.shape
    if direction == "i2t":
        for image in range(n_images):
            own = {c for c in range(n_captions) if image_of_caption[c] == image}
            yield [similarity[image, c] for c in range(n_captions)], None if phi is None else phi[:, image], own, image
    else:
        for caption in range(n_captions):
            image = int(image_of_caption[caption])
            column = [similarity[i, caption] for i in range(n_images)]
            yield column, None if phi is None else phi[caption], {image}, image


def ranks(similarity, image_of_caption, direction):
    return [
        min(ranking(scores).index(item) for item in own)
        for scores, _, own, _ in queries(similarity, None, image_of_caption, direction)
    ]


def recall(similarity, k, direction, image_of_caption):
    return [100.0 * (rank < k) for rank in ranks(similarity, image_of_caption, direction)]


def true_recall(similarity, k, direction, image_of_caption):
    return [
        100.0 * len(own & set(ranking(scores)[:k])) / len(own)
        for scores, _, own, _ in queries(similarity, None, image_of_caption, direction)
    ]


def median_and_mean_rank(similarity, direction, image_of_caption):
    found = ranks(similarity, image_of_caption, direction)
    return math.floor(statistics.median(found)) + 1, sum(found) / len(found) + 1


def ncs(similarity, phi, k, direction, keep, formula, m, discount, image_of_caption):
    """Percent per query; None where the ideal is zero."""
    values = []
    for scores, relevance, own, _ in queries(similarity, phi, image_of_caption, direction):
        retrieved = ranking(scores, own, keep)[:k]
        best = ranking(relevance, own, keep)
        if formula == "paper":
            best = best[: m or k]
            possible = sum(float(relevance[item]) for item in best)
            gained = sum(float(relevance[item]) for item in retrieved if item in best)
            values.append(100.0 * gained / possible if possible else None)
            continue
        best = best[:k]
        weight = (lambda p: math.log2(k - p + 1)) if discount == "log" else (lambda p: 1.0)
        ideal = sum(weight(p) * float(relevance[item]) for p, item in enumerate(best)) / max(1, len(best))
        gained = sum(weight(p) * float(relevance[item]) for p, item in enumerate(retrieved)) / max(1, len(retrieved))
        values.append(100.0 * gained / (ideal + EPSILON) if ideal else None)
    return values


def neighbours(phi, image_of_caption, keep):
    """Per image: images in order of the phi summed over the 30-image lists of its captions, and the sums."""
    found = []
    for image in range(phi.shape[1]):
        total = {}
        for caption in range(phi.shape[0]):
            if image_of_caption[caption] == image:
                for other in ranking(phi[caption])[:30]:
                    total[other] = total.get(other, 0.0) + float(phi[caption, other])
        if not keep:
            total.pop(image, None)
        found.append(([other for _, other in sorted((-phi_sum, other) for other, phi_sum in total.items())], total))
    return found


def semantic_recall(similarity, phi, k, direction, m, keep, formula, style, weighting, image_of_caption):
    """Percent per query; None where nothing is relevant."""
    alike = neighbours(phi, image_of_caption, keep) if formula == "released" else None
    values = []
    for scores, relevance, own, image in queries(similarity, phi, image_of_caption, direction):
        retrieved = ranking(scores, own, keep)[:k]
        if formula == "released":
            order, total = alike[image]
            images = order[:m]
            empty = not any(total[other] for other in images) or not any(float(v) for v in phi[:, image])
            relevant = images
            if direction == "i2t":
                relevant = [c for c in range(len(image_of_caption)) if image_of_caption[c] in images]
        else:
            relevant = ranking(relevance, own, keep)[:m]
            empty = not sum(float(relevance[item]) for item in relevant)
        hits = [item for item in retrieved if item in relevant]
        if weighting == "soft":
            possible = sum(float(relevance[item]) for item in relevant)
            if not possible:
                empty = True
            else:
                value = sum(float(relevance[item]) for item in hits) / possible
                value /= len(relevant) if formula == "released" else 1
        elif style == "vse_recall":
            value = float(bool(hits))
        else:
            value = len(hits) / max(1, len(relevant))
        values.append(None if empty else 100.0 * value)
    return values


def after_policy(values, empty):
    """Values per query and their mean, with None counted 0 or left out."""
    if empty == "skip":
        left = [value for value in values if value is not None]
        return [math.nan if value is None else value for value in values], sum(left) / len(left) if left else None
    filled = [0.0 if value is None else value for value in values]
    return filled, sum(filled) / len(filled)
