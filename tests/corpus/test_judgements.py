"""Judgements of captions against images, matched to a corpus."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus import COLUMNS, Corpus, load_flickr8k, load_judgements, load_karpathy
from fivesentences.corpus.judgements import (
    load_cxc,
    load_flickr8k_crowdflower,
    load_flickr8k_expert,
    read_truth,
    truth_as_judge,
)
from fivesentences.errors import InputError


def corpus_of(ids, splits=None):
    """A corpus of image ids and the ids of their captions."""
    splits = splits or {}
    rows = [
        (image, f"{image}.jpg", caption, f"A {caption} .", splits.get(image, "test"), None)
        for image, captions in ids.items()
        for caption in captions
    ]
    return Corpus("small", pd.DataFrame(rows, columns=list(COLUMNS)))


def rated(sentid, image, rest):
    return f"COCO_val2014:sentid:{sentid},COCO_val2014_{image:012}.jpg,{rest}"


COCO = corpus_of({"42": ["100", "7"], "391895": ["8", "101"]})
CXC = [
    "caption,image,agg_score,sampling_method",
    rated(7, 391895, "2.2,c2i_intrasim"),
    rated(100, 42, "4.97,c2i_original"),
    rated(101, 42, "0,c2i_intrasim"),
]
FLICKR = corpus_of({"b": ["b.jpg#0", "b.jpg#1"], "a.b": ["a.b.jpg#0", "a.b.jpg#1"]})
EXPERT = ["a.b.jpg\tb.jpg#1\t1\t2\t2", "b.jpg\tb.jpg#1\t4\t4\t4"]
CROWD = ["a.b.jpg\tb.jpg#1\t0.333333333333333\t1\t2", "b.jpg\tb.jpg#1\t1\t4\t0", "b.jpg\ta.b.jpg#0\t0\t0\t3"]


def cxc(tmp_path, lines=CXC, corpus=COCO, end="\n"):
    (tmp_path / "sits.csv").write_bytes(
        lines if isinstance(lines, bytes) else "".join(f"{x}{end}" for x in lines).encode()
    )
    return load_cxc(tmp_path / "sits.csv", corpus)


def archive(path, file, lines, end="\n"):
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr(f"__MACOSX/._{file}", b"\xff")
        opened.writestr(file, "".join(line + end for line in lines))
    return path


def expert(tmp_path, lines=EXPERT, corpus=FLICKR, end="\n", **options):
    return load_flickr8k_expert(archive(tmp_path / "text.zip", "ExpertAnnotations.txt", lines, end), corpus, **options)


def crowd(tmp_path, lines=CROWD, corpus=FLICKR):
    return load_flickr8k_crowdflower(archive(tmp_path / "text.zip", "CrowdFlowerAnnotations.txt", lines), corpus)


def rows(judgements):
    return judgements.pairs[["caption", "image", "human", "own"]].values.tolist()


def replaced(lines, line, by):
    return [by if number == line else text for number, text in enumerate(lines, 1)]


def test_cxc_is_matched_by_sentid_and_by_coco_id(tmp_path):
    judgements = cxc(tmp_path)
    assert judgements.name == "cxc"
    assert rows(judgements) == [[1, 1, 2.2, False], [0, 0, 4.97, True], [3, 0, 0.0, False]]
    assert judgements.dropped == 0
    assert "0 to 5" in judgements.scale


def test_pairs_of_a_caption_or_an_image_that_the_corpus_lacks_are_counted(tmp_path):
    lines = [*CXC, rated(5, 42, "1,c2i_intrasim"), rated(7, 1, "1,c2i_original")]
    judgements = cxc(tmp_path, lines)
    assert (len(judgements.pairs), judgements.dropped) == (3, 2)
    with pytest.raises(InputError, match=r"none of the 3 judgements of 'cxc' is about .* is this the right corpus"):
        cxc(tmp_path, corpus=FLICKR)


@pytest.mark.parametrize(
    ("load", "lines", "sentence"),
    [
        (cxc, replaced(CXC, 1, "caption,image,score,sampling_method"), "'agg_score'"),
        (cxc, replaced(CXC, 2, rated(7, 391895, "2.2")), r"2.*3"),
        (cxc, replaced(CXC, 3, rated("7x", 42, "4,c")), "line 3: .*sentid:7x'"),
        (cxc, replaced(CXC, 3, "COCO_val2014:sentid:7,42.jpg,4,c2i_original"), "line 3: .*'42.jpg'"),
        (cxc, replaced(CXC, 4, rated(101, 42, "5.1,c")), r"4.*agg_score.*'5\.1'"),
        (cxc, b"", r"1.*'caption'"),
        (cxc, CXC[:1], "0"),
        (cxc, b"caption\xff", r"7.*1.*UTF-8"),
        (expert, ["b.jpg\ta.b.jpg#0\t1\t2"], r"ExpertAnnotations\.txt.*1.*4"),
        (expert, ["b.jpg\ta.b.jpg#0\t1\t2\t2.5"], r"1.*'2\.5'"),
        (expert, [*EXPERT, EXPERT[1]], "line 3: .* a second time"),
        (crowd, ["b.jpg\ta.b.jpg#1\t1\t2\t1"], r"1.*'1'.*2.*1"),
        (crowd, ["b.jpg\ta.b.jpg#1\t0\t0\t0"], "0 yes and 0 no"),
        (crowd, ["b.jpg\ta.b.jpg#1\t0\t0\t-3"], "-3 no"),
        (crowd, ["b.jpg\ta.b.jpg#1\tnan\t1\t2"], "'nan'"),
    ],
)
def test_a_wrong_line_and_another_file_are_named(tmp_path, load, lines, sentence):
    with pytest.raises(InputError, match=sentence):
        load(tmp_path, lines)


def test_experts_are_averaged_or_each_is_a_row(tmp_path):
    mean = expert(tmp_path)
    assert (mean.name, mean.dropped) == ("flickr8k_expert", 0)
    assert rows(mean) == [[1, 1, pytest.approx(5 / 3), False], [1, 0, 4.0, True]]
    each = expert(tmp_path, experts="each")
    assert each.name == "flickr8k_expert_each"
    assert rows(each) == [[1, 1, score, False] for score in (1.0, 2.0, 2.0)] + [[1, 0, 4.0, True]] * 3
    unknown = [*EXPERT, "c.jpg\tb.jpg#1\t1\t1\t1"]
    assert expert(tmp_path, unknown).dropped == 1
    assert expert(tmp_path, unknown, experts="each").dropped == 3


def test_the_crowds_score_is_the_share_of_yes(tmp_path):
    judgements = crowd(tmp_path)
    assert judgements.name == "flickr8k_crowdflower"
    assert rows(judgements) == [[1, 1, 1 / 3, False], [1, 0, 1.0, True], [2, 0, 0.0, False]]


SCENES = corpus_of(
    {"s0": ["c0", "c1"], "s1": ["c2"], "s2": ["c3", "c4"], "s3": ["c5"]}, {"s0": "train", "s1": "test", "s2": "dev"}
)


def test_truth_judges_every_pair_of_a_split():
    truth = np.arange(24).reshape(6, 4) / 24
    judgements = truth_as_judge(truth, SCENES)
    assert judgements.name == "scenes_truth"
    assert "no person" in judgements.scale
    of_pair = {(row.caption, row.image): (row.human, row.own) for row in judgements.pairs.itertuples()}
    assert of_pair == {
        (caption, image): (truth[caption, image], own)
        for caption, image, own in [(2, 1, True), (2, 3, False), (5, 1, False), (5, 3, True)]
    }
    assert len(truth_as_judge(truth, SCENES, None).pairs) == 24


def test_within_a_split_indices_are_the_splits_own(tmp_path):
    truth = np.arange(24).reshape(6, 4) / 24
    part = SCENES.split("test")
    inside = truth_as_judge(truth, SCENES, None).within(SCENES, "test")
    for row in inside.pairs.itertuples():
        caption = SCENES.table["caption_id"].tolist().index(part.table["caption_id"][row.caption])
        image = SCENES.images["image_id"].tolist().index(part.images["image_id"][row.image])
        assert row.human == truth[caption, image]
        assert row.own == (part.image_of_caption[row.caption] == row.image)
    assert (len(inside.pairs), inside.dropped) == (4, 20)
    np.save(tmp_path / "truth.npy", truth)
    corpus, loaded = load_judgements("scenes_truth", tmp_path / "truth.npy", SCENES)
    assert corpus.table.equals(part.table)
    pd.testing.assert_frame_equal(loaded.pairs, inside.pairs)
    with pytest.raises(InputError, match=r"1.*'flickr8k_expert'.*'dev'"):
        other = corpus_of({"b": ["b.jpg#0", "b.jpg#1"], "z": ["z"]}, {"z": "dev"})
        expert(tmp_path, EXPERT[1:], other).within(other, "dev")


def test_the_truth_of_a_part_has_its_captions_and_images_in_the_parts_order():
    truth, part = np.arange(24).reshape(6, 4) / 24, SCENES.split("test")
    cells = [
        [
            truth[SCENES.table["caption_id"].tolist().index(caption), SCENES.images["image_id"].tolist().index(image)]
            for image in part.images["image_id"]
        ]
        for caption in part.table["caption_id"]
    ]
    np.testing.assert_array_equal(read_truth(truth, SCENES, part), cells)
    np.testing.assert_array_equal(read_truth(truth, SCENES), truth)
    with pytest.raises(InputError, match=r"\[4, 6\]"):
        read_truth(truth.T, SCENES, part)


def test_a_wrong_truth_is_named(tmp_path):
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY broken")
    np.save(tmp_path / "text.npy", np.full((6, 4), "true"))
    wrong = np.zeros((3, 6, 4))
    wrong[:, 5, 3] = -0.5, 1.5, np.nan
    for truth, split, sentence in (
        (np.zeros((4, 6)), "test", r"truth is float64 \[4, 6\]"),
        *((matrix, "test", f"the truth of caption 5 for image 3 is {matrix[5, 3]}") for matrix in wrong),
        (np.zeros((6, 4)), "half", "split 'half' of 'small' has no images"),
        (tmp_path / "none.npy", "test", r"none\.npy: there is no such file"),
        (tmp_path / "broken.npy", "test", r"broken\.npy: this is not a complete \.npy file"),
        (tmp_path / "text.npy", "test", "text.npy is <U4"),
    ):
        with pytest.raises(InputError, match=sentence):
            truth_as_judge(truth, SCENES, split)


def test_judges_go_by_name_and_an_archive_without_judgements_is_named(tmp_path):
    expected = cxc(tmp_path)
    corpus, judgements = load_judgements("cxc", tmp_path / "sits.csv", COCO)
    assert corpus is COCO and rows(judgements) == rows(expected)
    with pytest.raises(InputError, match=r"'ExpertAnnotations\.txt'.*Flickr8k"):
        load_judgements("flickr8k_expert", archive(tmp_path / "text.zip", "other.txt", []), FLICKR)
    with pytest.raises(InputError, match=r"none\.csv"):
        load_cxc(tmp_path / "none.csv", COCO)
    with pytest.raises(InputError, match=r"'me'.*flickr8k_expert.*flickr8k_exp"):
        load_judgements("me", tmp_path / "sits.csv", COCO)


@pytest.mark.data
def test_all_of_cxc_is_found_in_karpathys_test_split(mirror):
    corpus = load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco")
    judgements = load_cxc(mirror / "cxc" / "sits_test.csv", corpus)
    assert (len(judgements.pairs), judgements.dropped) == (44_833, 0)
    assert judgements.pairs.own.sum() == 25_000  # and 19,833 with another image
    given = pd.read_csv(mirror / "cxc" / "sits_test.csv")
    np.testing.assert_array_equal(judgements.pairs.own, given.sampling_method == "c2i_original")
    np.testing.assert_array_equal(judgements.pairs.human, given.agg_score)
    sentids = corpus.table["caption_id"].to_numpy()[judgements.pairs.caption]
    np.testing.assert_array_equal("COCO_val2014:sentid:" + sentids.astype(object), given.caption)
    filenames = corpus.images["filename"].to_numpy()[judgements.pairs.image]
    np.testing.assert_array_equal(filenames, "val2014/" + given.image)


@pytest.mark.data
def test_all_judged_pairs_of_flickr8k_are_of_the_test_split(mirror):
    text_zip = mirror / "flickr8k" / "Flickr8k_text.zip"
    corpus = load_flickr8k(text_zip)
    for load, total, own in ((load_flickr8k_expert, 5_822, 158), (load_flickr8k_crowdflower, 47_830, 721)):
        judgements = load(text_zip, corpus)
        assert (len(judgements.pairs), judgements.pairs.own.sum(), judgements.dropped) == (total, own, 0)
        assert set(corpus.images["split"].to_numpy()[judgements.pairs.image]) == {"test"}
        assert set(corpus.table["split"].to_numpy()[judgements.pairs.caption]) == {"test"}
        inside = judgements.within(corpus, "test")
        np.testing.assert_array_equal(inside.pairs[["human", "own"]], judgements.pairs[["human", "own"]])
    each = load_flickr8k_expert(text_zip, corpus, experts="each").pairs
    assert np.count_nonzero(~each.own) == 16_992  # the "17,000 expert judgements" of papers on captioning metrics
