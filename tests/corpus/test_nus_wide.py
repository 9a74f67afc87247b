"""NUS-WIDE, on small files of its original layout."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fivesentences.reproduction.categories.corpus.nus_wide import load_nus_wide

CONCEPTS = ("animal", "sky", "toy", "train", "zebra")  # one is called like a part
WORDS = [f"tag{number}" for number in range(12)]
FEATURES = {"CH": 3, "WT": 2}


@dataclass
class Photograph:
    id: str
    part: str
    concepts: set[str]
    tags: list[str]
    vectors: dict[str, list[float]]


def drawn(n=120):
    """At random; most have one concept, "sky" is most often with others, some have no tag."""
    rng = np.random.default_rng(7)
    found = []
    for number in range(n):
        some = {str(rng.choice(CONCEPTS, p=[0.4, 0.1, 0.2, 0.2, 0.1]))} if rng.random() < 0.9 else set()
        some |= {"sky"} if rng.random() < 0.3 else set()
        tags = [word for word in WORDS if rng.random() < 0.12]
        vectors = {name: (rng.integers(0, 100, dim) / 8).tolist() for name, dim in FEATURES.items()}
        part = str(rng.choice(["Train", "Test"], p=[0.6, 0.4]))
        found.append(Photograph(f"dir{number % 7}/{number:04d}_{90000 - number}.jpg", part, some, tags, vectors))
    return found


EVERYTHING = drawn()


def write(path: Path, rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows))


def layout(folder: Path, whole_features=True, all_tags=True):
    """Writes the files; features in one file or two, tags as words or as 0/1 of two parts."""
    shuffled = [EVERYTHING[k] for k in np.random.default_rng(1).permutation(len(EVERYTHING))]  # another order
    parts = {part: [one for one in shuffled if one.part == part] for part in ("Train", "Test")}
    for part, some in {"": EVERYTHING, **parts}.items():
        write(folder / f"ImageList/{part}Imagelist.txt", [one.id.replace("/", "\\") for one in some])
    for concept in CONCEPTS:
        rows = [int(concept in one.concepts) for one in EVERYTHING]
        write(folder / f"Groundtruth/AllLabels/Labels_{concept}.txt", rows)
        write(folder / f"Groundtruth/TrainTestLabels/Labels_{concept}_Train.txt", ["not read"])
    for name in FEATURES:
        for part, some in {"": EVERYTHING}.items() if whole_features else parts.items():
            stem = f"{part}_Normalized_{name}".lstrip("_")
            rows = [" ".join(str(value) for value in one.vectors[name]) + " " for one in some]
            write(folder / f"Low_Level_Features/{stem}.dat", rows)
    tags = folder / "NUS_WID_Tags"
    if all_tags:
        rows = [f"{one.id.split('_')[1][:-4]}      {' '.join(one.tags)} " for one in EVERYTHING]
        write(tags / "All_Tags.txt", rows)
        return
    write(tags / "TagList1k.txt", WORDS)
    for part, some in parts.items():
        rows = ["\t".join(str(int(word in one.tags)) for word in WORDS) + "\t" for one in some]
        write(tags / f"{part}_Tags1k.dat", rows)


def expected(n):
    """Names of the most frequent concepts and the photographs of just one, as one would find them by hand."""
    usable = [one for one in EVERYTHING if len(one.concepts) == 1 and one.tags]
    counts = Counter(next(iter(one.concepts)) for one in usable)
    frequent = sorted(counts, key=lambda name: (-counts[name], name))[:n]
    return frequent, [one for one in usable if one.concepts <= set(frequent)]


@pytest.mark.parametrize("whole_features", [True, False])
@pytest.mark.parametrize("all_tags", [True, False])
def test_every_layout_gives_the_same_documents(tmp_path, whole_features, all_tags):
    layout(tmp_path, whole_features, all_tags)
    loaded = load_nus_wide(tmp_path, ["WT", "CH"], 3)
    documents = loaded.documents
    frequent, wanted = expected(3)
    assert set(documents.categories) == set(frequent) and "train" in frequent
    assert documents.ids == documents.images == tuple(one.id for one in wanted)
    assert documents.categories == tuple(next(iter(one.concepts)) for one in wanted)
    assert documents.texts == tuple(" ".join(one.tags) for one in wanted)
    assert documents.parts == tuple(one.part.lower() for one in wanted)
    np.testing.assert_array_equal(loaded.images, [one.vectors["WT"] + one.vectors["CH"] for one in wanted])
    assert loaded.images.dtype == np.float32 and loaded.texts is None


def test_concepts_are_counted_among_photographs_of_one_and_those_left_out_are_said(tmp_path):
    layout(tmp_path)
    by_all = Counter(name for one in EVERYTHING for name in one.concepts)
    assert "sky" in [name for name, _ in by_all.most_common(2)]  # with others, so it is not among ours
    loaded = load_nus_wide(tmp_path, ["CH"], 2)
    frequent, _ = expected(2)
    assert set(loaded.documents.categories) == set(frequent) and "sky" not in frequent
    without = [one for one in EVERYTHING if len(one.concepts) == 1 and one.concepts <= set(frequent) and not one.tags]
    assert len(without) > 1 and f"{len(without)} without any tag are left out" in loaded.notes[1]
    none, single = (sum(len(one.concepts) == count for one in EVERYTHING) for count in (0, 1))
    assert loaded.notes[0] == f"120 photographs; {single} have just one of 5 concepts, {none} have none."


def test_a_draw_takes_as_many_of_each_and_depends_on_its_seed_alone(tmp_path):
    layout(tmp_path)
    rows = {one.id: one.vectors["CH"] for one in EVERYTHING}
    draws = [load_nus_wide(tmp_path, ["CH"], 3, 9, seed) for seed in (0, 0, 1)]
    for loaded in draws:
        assert set(Counter(loaded.documents.categories).values()) == {9}
        assert loaded.images.tolist() == [rows[name] for name in loaded.documents.ids]
    assert draws[0].documents == draws[1].documents and draws[0].documents.ids != draws[2].documents.ids
    usable = {one.id for one in expected(3)[1]}
    assert set(draws[0].documents.ids) | set(draws[2].documents.ids) <= usable


def test_tags_are_found_by_number_where_their_order_differs(tmp_path):
    layout(tmp_path)
    usual = load_nus_wide(tmp_path, ["CH"], 3).documents
    tags = tmp_path / "NUS_WID_Tags/All_Tags.txt"
    tags.write_bytes("\r\n".join([*tags.read_text().splitlines()[::-1], "1 caf\xe9"]).encode("latin-1"))
    assert load_nus_wide(tmp_path, ["CH"], 3).documents == usual


LISTS, LABELS, LOW = "ImageList/Imagelist.txt", "Groundtruth/AllLabels/Labels_toy.txt", "Low_Level_Features/"
TAGS = "NUS_WID_Tags/All_Tags.txt"


@pytest.mark.parametrize(
    ("file", "line", "text", "words"),
    [
        (LISTS, 3, None, ("Imagelist.txt", "dir3/0003_89997.jpg")),
        (LISTS, 3, "dir2\\0002_89998.jpg", ("Imagelist.txt", "once")),
        (LISTS, None, None, ("there is no imagelist",)),
        (LABELS, 5, None, ("Labels_toy.txt", "119 lines for 120")),
        (LABELS, 5, "2", ("Labels_toy.txt", "it holds 2")),
        (f"{LOW}Normalized_CH.dat", 5, "1 2 nan", ("line 6 lacks a value",)),
        (f"{LOW}Normalized_CH.dat", 5, "1 2 3 4", ("Normalized_CH.dat", "no table of numbers")),
        (f"{LOW}Normalized_CH.dat", None, None, ("there is no train_normalized_ch",)),
        (TAGS, 4, None, ("All_Tags.txt", "dir4/0004_89996.jpg", "1 are missing")),
        (TAGS, 4, "89997 x", ("All_Tags.txt", "line 5", "89997 has a line before")),
        (TAGS, None, None, ("there is no taglist1k",)),
    ],
)
def test_damaged_and_missing_files_are_named(tmp_path, refused, file, line, text, words):
    layout(tmp_path)
    if line is None:
        (tmp_path / file).unlink()
    else:
        lines = (tmp_path / file).read_text().splitlines()
        lines[line : line + 1] = [] if text is None else [text]
        (tmp_path / file).write_text("".join(f"{one}\n" for one in lines))
    with refused(*words):
        load_nus_wide(tmp_path, ["CH"], 3)


@pytest.mark.parametrize("name", [LISTS, f"{LOW}Normalized_CH.dat"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, refused, name):
    layout(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with refused(name, "this is a pipe"):
        load_nus_wide(tmp_path, ["CH"], 3)


def test_what_does_not_fit_is_refused(tmp_path, refused):
    layout(tmp_path)
    with refused("10 concepts are wanted", "only 5"):
        load_nus_wide(tmp_path, ["CH"], 10)
    with refused("per_category is 40", "photographs of no other concept"):
        load_nus_wide(tmp_path, ["CH"], 3, 40)
    write(tmp_path / "copy/imagelist.TXT", ["x"])
    with refused("keep one of them"):
        load_nus_wide(tmp_path, ["CH"], 3)
