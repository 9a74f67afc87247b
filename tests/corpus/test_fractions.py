"""Fractions of training data."""

from __future__ import annotations

import pandas as pd
import pytest

from fivesentences.corpus import COLUMNS, Corpus, take_captions, take_fraction, training_part
from fivesentences.errors import InputError


def corpus(n_images, per_image=5):
    rows = [
        (f"i{image}", f"{image}.jpg", f"{image}#{k}", f"caption {k}", "train", None)
        for image in range(n_images)
        for k in range(per_image)
    ]
    return Corpus("many", pd.DataFrame(rows, columns=list(COLUMNS)))


@pytest.mark.parametrize(
    ("n_images", "fraction", "n_captions"),
    [
        # COCO at 3%: int(566,435 x 0.03) = 16,993 captions of 3,398.6 images; the same cut at a small size.
        (13, 0.25, 16),
        # 100 * 0.29 is 28.999999999999996 in floating point, and the released int() makes 28 of it.
        (20, 0.29, 28),
    ],
)
def test_first_takes_the_first_captions_with_the_released_truncation_and_may_cut_an_image(
    n_images, fraction, n_captions
):
    part = take_fraction(corpus(n_images), fraction)
    assert part.caption_ids == corpus(n_images).caption_ids[:n_captions]


def test_the_whole_is_the_whole():
    pd.testing.assert_frame_equal(take_fraction(corpus(7), 1.0).table, corpus(7).table)


@pytest.mark.parametrize(
    ("fraction", "sentence"),
    [
        (25, "fraction is 25; a fraction lies in (0, 1]. Did you mean 0.25?"),
        (0.0, "fraction is 0.0; a fraction lies in (0, 1]."),
        (float("nan"), "fraction is nan; a fraction lies in (0, 1]."),
        (0.001, "fraction 0.001 of 'many' (5 images and 25 captions) leaves nothing; take a larger one."),
    ],
)
def test_a_wrong_fraction_is_one_sentence(fraction, sentence):
    with pytest.raises(InputError) as error:
        take_fraction(corpus(5), fraction)
    assert str(error.value) == sentence


def test_fewer_captions_are_the_first_of_every_image_and_no_image_goes():
    uneven = Corpus("uneven", corpus(4).table.drop([6, 7, 8, 9]))  # the second image has one caption
    assert take_captions(uneven, 2).caption_ids == ["0#0", "0#1", "1#0", "2#0", "2#1", "3#0", "3#1"]
    assert take_captions(uneven, 9).table.equals(uneven.table)
    assert take_captions(uneven, None) is uneven
    with pytest.raises(InputError, match=r"captions_per_image.*0"):
        take_captions(uneven, 0)


def test_a_run_takes_its_fraction_first_and_then_captions_of_each_image():
    assert training_part(corpus(10), 0.5, 1).caption_ids == ["0#0", "1#0", "2#0", "3#0", "4#0"]


@pytest.mark.parametrize("noise", [0.2, 0.4, 0.99])
def test_noise_moves_a_share_of_the_captions_and_leaves_each_image_as_many(noise):
    clean = corpus(200)
    noisy = training_part(clean, 1.0, noise=noise, seed=3)
    pd.testing.assert_frame_equal(
        noisy.table.drop(columns=["caption", "caption_id"]), clean.table.drop(columns=["caption", "caption_id"])
    )
    assert sorted(noisy.caption_ids) == sorted(clean.caption_ids)  # none is lost, and none is there twice
    # A permutation of n has one fixed point on average, so nearly all of the chosen captions have moved.
    moved = sum(a != b for a, b in zip(noisy.caption_ids, clean.caption_ids, strict=True))
    assert int(1000 * noise) - 8 <= moved <= int(1000 * noise)
    for identity, text in zip(noisy.caption_ids, noisy.captions, strict=True):
        assert text == f"caption {identity[-1]}"  # a caption keeps its id wherever it goes


def test_noise_is_of_the_seed_and_of_the_part_that_is_trained_on():
    clean = corpus(100)
    some = [training_part(clean, 0.5, noise=0.4, seed=seed).caption_ids for seed in (0, 0, 1)]
    assert some[0] == some[1] != some[2]
    assert set(some[0]) == set(clean.caption_ids[:250])  # wrong captions come from the part itself
    assert training_part(clean, 0.5, noise=0.0).caption_ids == clean.caption_ids[:250]


@pytest.mark.parametrize("noise", [-0.1, 1.0, 20])
def test_a_share_of_wrong_pairs_lies_below_one(noise):
    with pytest.raises(InputError, match=str(noise)):
        training_part(corpus(4), 1.0, noise=noise)
