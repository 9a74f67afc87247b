"""Completion of concept labels against the released one."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.models import label_completion
from fivesentences.models.label_completion import complete_labels


@pytest.mark.parity
@pytest.mark.parametrize("block", [7, 1024])
def test_every_output_equals_the_released_code(parity, block, monkeypatch):
    released = parity("cvse_label_completion")
    monkeypatch.setattr(label_completion, "CAPTIONS_AT_ONCE", block)
    repeated, captions, labels = (
        released[f"in/{name}"] for name in ("img_embs_5x_repeated", "cap_embs", "concept_labels")
    )
    images = repeated[:: len(repeated) // len(released["out/sim_image_by_caption"])]
    left = {key for key in released if key.startswith("out/")}
    for theirs, recipe in (("f30k_precomp", "flickr30k"), ("coco_precomp", "coco")):
        completed = complete_labels(labels, images, captions, recipe)
        for key, ours in (
            (f"out/{theirs}/neighbours_padded_minus1", completed.neighbours),
            (f"out/{theirs}/completed_labels", completed.labels),
            ("out/knn_text_to_text_10", completed.by_text),
            ("out/knn_via_image_3", completed.by_image),
        ):
            np.testing.assert_array_equal(ours, released[key], err_msg=key)
            left.discard(key)
    # A sum of D products in float32, in any order: D roundings, each of at most half a unit in the last place, in both.
    sizes = np.linalg.norm(images, axis=1).max() * np.linalg.norm(captions, axis=1).max()
    rounding = images.shape[1] * np.finfo(np.float32).eps * sizes
    np.testing.assert_allclose(images @ captions.T, released["out/sim_image_by_caption"], rtol=0, atol=rounding)
    left.discard("out/sim_image_by_caption")
    assert not left


def test_blocks_and_ends_of_a_ranking_are_those_of_the_rule_told_caption_by_caption():
    rng = np.random.default_rng(1)
    images, captions = rng.normal(size=(30, 4)), rng.normal(size=(60, 4))
    labels = rng.integers(0, 2, (60, 9))
    completed = complete_labels(labels, images, captions)
    for caption in range(60):
        image = (images @ captions[caption]).argmax()
        ranking = np.argsort(-(captions @ images[image]), kind="stable").tolist()
        place = ranking.index(caption)
        around = ranking[-3:] if place >= 57 else ranking[place - 1 : place + 2] if place > 1 else ranking[:3]
        assert completed.by_image[caption].tolist() == around
        alike = captions @ captions[caption]
        alike[caption] = 0
        nearest = np.argsort(-alike, kind="stable")[:10].tolist()
        chosen = around if set(around) <= set(nearest) else nearest[:3] + around
        assert completed.neighbours[caption].tolist() == chosen + [-1] * (6 - len(chosen))
        np.testing.assert_array_equal(completed.labels[caption], labels[[*chosen, caption]].max(axis=0))


def test_neighbours_that_agree_are_taken_alone():
    # All captions point away from caption 0, so that its own score of 0 is its best: it is its own neighbour by text.
    captions = np.concatenate([[[1.0, 0.0]], np.stack([np.full(19, -0.1), -np.linspace(0.5, 1, 19)], axis=1)])
    completed = complete_labels(np.eye(20), np.array([[0.2, 1.0]]), captions)
    assert 0 in completed.by_text[0]
    assert completed.neighbours[0].tolist() == [*completed.by_image[0], -1, -1, -1]


def test_what_does_not_fit_is_refused_in_a_sentence():
    vectors, labels = np.eye(12), np.ones((12, 3))
    with pytest.raises(InputError, match="do not belong together"):
        complete_labels(labels[1:], vectors, vectors)
    with pytest.raises(InputError, match="'flickr30k' or 'coco'"):
        complete_labels(labels, vectors, vectors, "f30k")
    with pytest.raises(InputError, match="more than 10 captions"):
        complete_labels(labels[:9], vectors, vectors[:9])
