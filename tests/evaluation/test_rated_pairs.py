"""Rated and contrasted pairs, against brute force and scipy. Files are made here, in the layouts of the data sets."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from fivesentences.errors import InputError
from fivesentences.evaluation import coco_test_ids, cxc_within, pair_wins, read_contrasts

N = 30
IMAGE, CAPTION = "COCO_val2014_{:012d}.jpg", "COCO_val2014:sentid:{}"
IDS = [100 + 7 * at for at in range(N)]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def similarity():
    return np.random.default_rng(3).integers(0, 6, (N, N)).astype(np.float32)  # with many ties


def rated(name: str, shown: str, column: str) -> dict[frozenset, float]:
    """Write a table in which a few pairs stand in both orders, and return the mean rating of each pair of places."""
    rng = np.random.default_rng(5)
    pairs = [pair for pair in itertools.combinations(range(N), 2) if rng.random() < 0.2]
    pairs += [pair[::-1] for pair in pairs[::9]]
    scores = [(pair, float(np.round(5 * rng.random(), 2))) for pair in pairs]
    lines = [f"{shown.format(IDS[a])},{shown.format(IDS[b])},{score},x\n" for (a, b), score in scores]
    outside = f"{shown.format(IDS[0])},{shown.format(9)},5.0,x\n"
    Path(name).write_text(f"{column}1,{column}2,agg_score,sampling_method\n{''.join(lines)}{outside}")
    return {frozenset(pair): np.mean([s for p, s in scores if set(p) == set(pair)]) for pair in pairs}


def brute_force(similarity, rating, ks, owner=None):
    first = []
    for query in range(N):
        ranked = sorted((item for item in range(N) if item != query), key=lambda item: (-similarity[query, item], item))
        is_match = [
            rating.get(frozenset((query, item)), 0) >= 3 or (owner is not None and owner[query] == owner[item])
            for item in ranked
        ]
        if any(is_match):
            first.append(is_match.index(True))
    return {f"R@{k}": 100 * np.mean([place < k for place in first]) for k in ks} | {"queries": len(first)}


@pytest.mark.parametrize("shown, column", [(IMAGE, "image"), (CAPTION, "caption")])
def test_recall_and_correlation_of_rated_pairs(similarity, shown, column):
    rating = rated("r.csv", shown, column)
    spoilt = similarity.copy()
    np.fill_diagonal(spoilt, np.nan)  # not read
    found = cxc_within(spoilt, "r.csv", IDS, (1, 3, 40))
    expected = brute_force(similarity, rating, (1, 3, 40))
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    listed = [sorted(pair) for pair in rating]  # as rated() lists them first
    correlation = scipy.stats.spearmanr([similarity[a, b] for a, b in listed], list(rating.values())).statistic
    assert found["Spearman"] == pytest.approx(correlation, abs=1e-12) and found["pairs"] == len(rating)


def test_captions_of_one_image_may_be_matches(similarity):
    rating, owner = rated("r.csv", CAPTION, "caption"), np.arange(N) // 5
    found = cxc_within(similarity, "r.csv", IDS, image_of_caption=owner)
    expected = brute_force(similarity, rating, (1, 5, 10), owner)
    assert {name: found[name] for name in expected} == pytest.approx(expected) and found["queries"] == N


def test_one_similarity_everywhere_has_no_correlation():
    rated("r.csv", IMAGE, "image")
    assert np.isnan(cxc_within(np.ones((N, N)), "r.csv", IDS)["Spearman"])


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("image1,image2,agg_score\nx.jpg,y.jpg,3\n", "x.jpg"),
        (f"image1,image2,agg_score\n{IMAGE.format(100)},{CAPTION.format(107)},3\n", "sentid"),
        (f"image1,image2,agg_score\n{IMAGE.format(100)},{IMAGE.format(107)},6\n", "'6'"),
        (f"image1,image2,agg_score\n{IMAGE.format(100)},{IMAGE.format(107)}\n", "agg_score"),
        (f"image1,image2,agg_score\n{IMAGE.format(100)},{IMAGE.format(100)},4\n", "100"),
        (f"image1,image2,agg_score\n{IMAGE.format(100)},{IMAGE.format(107)},2\n", "rated 3"),
        ("image,caption,foil\n0,0,1\n", "r.csv"),
        ("a,b\n0,0\n", "r.csv"),
        ("image1,image2,agg_score\n", "r.csv"),
        ("", "r.csv"),
    ],
)
def test_a_wrong_table_of_ratings_is_named(similarity, lines, named):
    Path("r.csv").write_text(lines)
    with pytest.raises(InputError, match=named):
        cxc_within(similarity, "r.csv", IDS)


def test_a_matrix_or_ids_that_do_not_fit_are_refused(similarity):
    rated("r.csv", IMAGE, "image")
    for matrix, ids, named in ((similarity[:9], IDS, "30"), (similarity, IDS[1:], "29"), (similarity, None, "5,000")):
        with pytest.raises(InputError, match=named):
            cxc_within(matrix, "r.csv", ids)
    similarity[3, 4] = np.inf
    with pytest.raises(InputError, match=r"\[3, 4\]"):
        cxc_within(similarity, "r.csv", IDS)


def winoground(similarity, examples):
    """Scores by the definitions of the paper, one example after the other."""
    text, image, group = [], [], []
    for i0, i1, c0, c1 in examples:
        s = {(c, i): similarity[row, column] for c, column in enumerate((c0, c1)) for i, row in enumerate((i0, i1))}
        text.append(s[0, 0] > s[1, 0] and s[1, 1] > s[0, 1])
        image.append(s[0, 0] > s[0, 1] and s[1, 1] > s[1, 0])
        group.append(text[-1] and image[-1])
    return {"text": text, "image": image, "group": group}


def test_winoground_and_foils_equal_brute_force(similarity):
    rng = np.random.default_rng(1)
    examples = np.array([[*rng.choice(N, 2, False), *rng.choice(N, 2, False)] for _ in range(200)])
    found = pair_wins(similarity, examples)
    assert {name: won.tolist() for name, won in found.items()} == winoground(similarity, examples)
    assert any(found["text"] & ~found["image"]) and any(found["image"] & ~found["text"]) and any(found["group"])
    foils = examples[:, 1:]
    expected = [bool(similarity[image, caption] > similarity[image, foil]) for image, caption, foil in foils]
    assert pair_wins(similarity, foils)["accuracy"].tolist() == expected and 0 < np.mean(expected) < 1


def test_a_tie_is_no_win():
    assert not any(won.any() for won in pair_wins(np.ones((2, 2)), [[0, 1, 0, 1]]).values())
    assert not pair_wins(np.ones((2, 2)), [[0, 0, 1]])["accuracy"].any()


@pytest.mark.parametrize(
    ("contrasts", "named"),
    [([[0, 1, 0, 30]], "30"), ([[31, 0, 1]], "31"), ([[0, -1, 1]], "-1"), ([[0, 1]], "2"), ([[0.5, 1, 1]], "float"),
     ([], "0"), ([[0, 1, 0, 1], [0, 2, 3, 5]], "example 1")],
)  # fmt: skip
def test_wrong_contrasts_are_named(similarity, contrasts, named):
    similarity[2, 3] = np.nan
    with pytest.raises(InputError, match=named):
        pair_wins(similarity, contrasts)


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("image,caption,foil\n0,x,1\n", "'x'"), ("image,caption,foil\n0,1\n", "foil"),
        ("image,caption\n0,1\n", "p.csv"),
        ("image_0,image_1,caption_0,caption_1\n0,1,0,1\n2,2,3,4\n", "image 2 twice"),
        ("image_0,image_1,caption_0,caption_1\n0,1,5,5\n", "caption 5 twice"),
        ("image;caption;foil\n0;1;1\n", "caption 1 twice"),
        ("image,caption,foil\n0,-1,1\n", "'-1'"),
        (f"image1,image2,agg_score\n{IMAGE.format(100)},{IMAGE.format(107)},3\n", "images"),
    ],
)  # fmt: skip
def test_a_wrong_table_of_contrasts_is_named(lines, named):
    Path("p.csv").write_text(lines)
    with pytest.raises(InputError, match=named):
        read_contrasts("p.csv")


def test_the_command_reports_categories_of_contrasts(run, similarity):
    np.save("s.npy", similarity)
    Path("p.csv").write_text('image,caption,foil,category\n0,0,1,"swap, object"\n1,2,3,add\n2,4,5,add\n')
    done = run("pairs", "s.npy", "p.csv", "--json", "o.json", "--csv", "o.csv")
    assert done.code == 0 and "swap, object" in done.out
    values = {
        (one["category"], one["metric"]): one["value"] for one in json.loads(Path("o.json").read_text())["values"]
    }
    won = pair_wins(similarity, read_contrasts("p.csv")[0])["accuracy"]
    assert values["add", "accuracy"] == pytest.approx(100 * won[1:].mean())
    assert values["all", "accuracy"] == pytest.approx(100 * won.mean())
    assert values["all", "pairs"] == 3
    Path("i.txt").write_text("1\n")
    assert run("pairs", "s.npy", "p.csv", "--ids", "i.txt").code == 1


def test_the_command_reports_cxc(run, similarity):
    np.save("s.npy", similarity)
    rated("r.csv", CAPTION, "caption")
    Path("i.txt").write_text("".join(f"{number}\n" for number in IDS))
    Path("o.txt").write_text("".join(f"{at // 5}\n" for at in range(N)))
    done = run(
        "pairs", "s.npy", "r.csv", "--ids", "i.txt", "--image-of-caption", "o.txt", "--ks", "2", "--json", "o.json"
    )
    assert done.code == 0 and "Spearman" in done.out
    values = {one["metric"]: one["value"] for one in json.loads(Path("o.json").read_text())["values"]}
    assert values == pytest.approx(cxc_within(similarity, "r.csv", IDS, (2,), image_of_caption=np.arange(N) // 5))
    assert run("pairs", "s.npy", "r.csv").code == 1


def test_ids_of_the_test_split_need_no_file():
    ids = coco_test_ids()[0]
    Path("r.csv").write_text(f"image1,image2,agg_score\n{IMAGE.format(ids[2])},{IMAGE.format(ids[7])},4\n")
    similarity = np.zeros((5000, 5000), dtype=np.float32)
    similarity[2, 7] = 1
    found = cxc_within(similarity, "r.csv", ks=(1, 7, 8))
    assert (found["R@1"], found["R@7"], found["queries"]) == (50, 100, 2)  # image 2 is the third that image 7 finds


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_tables_of_spreadsheets_are_read(run, similarity, separator):
    np.save("s.npy", similarity)
    lines = [["image_0", "image_1", "caption_0", "caption_1"], ["0", "1", "0", "1"], ["2", "3", "5", "4"]]
    Path("p.csv").write_text("".join(separator.join(line) + "\n" for line in lines))
    assert read_contrasts("p.csv")[0].tolist() == [[0, 1, 0, 1], [2, 3, 5, 4]]
    rating = rated("r.csv", IMAGE, "image")
    Path("r.csv").write_text(Path("r.csv").read_text().replace(",", separator))
    assert cxc_within(similarity, "r.csv", IDS)["pairs"] == len(rating)


def test_one_photograph_at_two_places_is_said(run):
    scores = np.random.default_rng(0).random((4, 4)).astype(np.float32)
    scores[1] = scores[0]
    np.save("s.npy", scores)
    Path("p.csv").write_text("image_0,image_1,caption_0,caption_1\n0,1,0,1\n2,3,2,3\n")
    assert "1 examples cannot be won" in run("pairs", "s.npy", "p.csv").out
    Path("p.csv").write_text("image_0,image_1,caption_0,caption_1\n2,3,2,3\n")
    assert "cannot be won" not in run("pairs", "s.npy", "p.csv").out
