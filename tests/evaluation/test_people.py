"""People's judgements of Flickr8k's test split as rows and columns of a gallery."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.errors import InputError
from fivesentences.evaluation.people import POOLS, check_captions, notes_on_people, people_judged, usual_ids
from fivesentences.metrics.judged import by_judgements

NAMES = ("b", "a", "c")  # in the order of the list of the test split
CROWD = ("a.jpg\tb.jpg#1\t0.5\t2\t2", "c.jpg\tb.jpg#1\t0\t0\t3", "b.jpg\tb.jpg#1\t0\t0\t3", "b.jpg\tc.jpg#4\t1\t3\t0")
EXPERTS = ("a.jpg\tb.jpg#1\t1\t3\t4", "c.jpg\ta.jpg#0\t1\t2\t4")


@pytest.fixture
def text_zip(tmp_path):
    def lines(rows):
        return "".join(f"{row}\n" for row in rows)

    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        every = [*NAMES, "d", "e"]
        tokens = [f"{name}.jpg#{n}\tThe {name} , number {n} ." for name in every for n in range(5)]
        archive.writestr("Flickr8k.token.txt", lines(tokens))
        for split, names in (("train", ["d"]), ("dev", ["e"]), ("test", NAMES)):
            archive.writestr(f"Flickr_8k.{split}Images.txt", lines(f"{name}.jpg" for name in names))
        archive.writestr("CrowdFlowerAnnotations.txt", lines(CROWD))
        archive.writestr("ExpertAnnotations.txt", lines(EXPERTS))
    return tmp_path / "text.zip"


def cells(judged):
    return sorted(zip(judged.captions.tolist(), judged.images.tolist(), judged.gain.tolist(), strict=True))


def test_thresholds_and_grades_of_the_crowd_and_of_experts(text_zip):
    judged = people_judged(text_zip)
    assert list(judged) == list(POOLS)
    assert cells(judged["crowd.5"]) == [(1, 0, 0), (1, 1, 1), (1, 2, 0), (14, 0, 1)]
    assert cells(judged["crowd1"]) == [(1, 0, 0), (1, 1, 0), (1, 2, 0), (14, 0, 1)]
    assert cells(judged["crowd"]) == [(1, 0, 0), (1, 1, 0.5), (1, 2, 0), (14, 0, 1)]
    assert cells(judged["experts3"]) == [(1, 1, 1), (5, 2, 0)]  # medians 3 and 2
    assert [gain for *_, gain in cells(judged["experts"])] == pytest.approx([(8 / 3 - 1) / 3, (7 / 3 - 1) / 3])
    assert judged["crowd"].own.tolist() == np.repeat(range(3), 5).tolist()


def test_rows_and_columns_are_found_by_ids(text_zip):
    usual, again = people_judged(text_zip), usual_ids(text_zip)
    images, captions = ["c.jpg", "b", "a.jpg"], list(reversed(again[1]))
    found = people_judged(text_zip, images, captions)
    similarity = np.random.default_rng(0).random((3, 15))
    rows = [again[0].index(name.removesuffix(".jpg")) for name in images]
    for name in ("crowd.5", "experts"):
        wanted = by_judgements(similarity, usual[name])
        moved = similarity[rows][:, ::-1]
        assert by_judgements(moved, found[name], image_of_caption=found[name].own) == pytest.approx(wanted)


def test_captions_that_are_not_scored_are_left_out(text_zip):
    judged = people_judged(text_zip, None, [f"{name}.jpg#{n}" for name in NAMES for n in range(2)])
    assert judged["crowd.5"].shape == (3, 6)
    assert cells(judged["crowd.5"]) == [(1, 0, 0), (1, 1, 1), (1, 2, 0)]


@pytest.mark.parametrize(
    ("images", "captions", "named"),
    [
        (["b", "a", "x"], None, r"image_ids\[2\] is 'x'"),
        (["b", "a", "a.jpg"], None, r"image_ids\[2\] is 'a'"),
        (["b", "a"], None, "image_ids lacks 'c'"),
        (None, ["b.jpg#0", "d.jpg#0"], r"caption_ids\[1\] is 'd.jpg#0'"),
        (None, ["b.jpg#0", "b.jpg#0"], r"caption_ids\[1\] is 'b.jpg#0'"),
    ],
)
def test_ids_of_another_split_are_refused(text_zip, images, captions, named):
    with pytest.raises(InputError, match=named):
        people_judged(text_zip, images, captions)


def test_captions_in_another_order_are_refused(text_zip):
    captions = load_flickr8k(text_zip).split("test").captions
    check_captions(text_zip, [caption.upper() for caption in captions], None, "captions.txt")
    check_captions(text_zip, captions[::-1], usual_ids(text_zip)[1][::-1], "captions.txt")
    captions[3], captions[9] = captions[9], captions[3]
    with pytest.raises(InputError, match=r"captions.txt: line 4 .*b.jpg#3"):
        check_captions(text_zip, captions, None, "captions.txt")


def test_a_share_that_disagrees_with_its_counts_is_refused(text_zip):
    with zipfile.ZipFile(text_zip, "a") as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content["CrowdFlowerAnnotations.txt"] = b"a.jpg\tb.jpg#1\t0.9\t1\t2\n"
    with zipfile.ZipFile(text_zip, "w") as archive:
        for name, of in content.items():
            archive.writestr(name, of)
    with pytest.raises(InputError, match=r"CrowdFlowerAnnotations.txt, line 1.*0\.9"):
        people_judged(text_zip)


@pytest.mark.data
@pytest.mark.slow
def test_the_published_judgements_have_as_many_pairs_as_the_paper(mirror):
    judged = people_judged(mirror / "flickr8k" / "Flickr8k_text.zip")
    for name, pairs, queries, right in (("crowd.5", 47_109, 1000, 2031), ("experts3", 5_664, 977, 671)):
        one = judged[name]
        others = one.images != one.own[one.captions]
        assert (np.count_nonzero(others), len(one.queries)) == (pairs, queries)
        assert np.count_nonzero(one.gain[others]) == right
    assert "554 with a right one" in " ".join(notes_on_people(judged))
