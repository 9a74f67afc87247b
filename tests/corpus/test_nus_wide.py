"""NUS-WIDE, on small files of its original layout."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fivesentences.corpus.nus_wide import load_nus_wide

CONCEPTS = ("animal", "sky", "toy", "water", "zebra")
WORDS = [f"tag{number}" for number in range(12)]
FEATURES = {"CH": 3, "WT": 2}


@dataclass
class Photograph:
    name: str  # as in the lists
    part: str
    concepts: set[str]
    tags: list[str]
    vectors: dict[str, list[float]]

    @property
    def id(self) -> str:
        return self.name.replace("\\", "/")


def photographs(n=120):
    """At random; most have one concept, "sky" is most often with others, some have no tag."""
    rng = np.random.default_rng(7)
    found = []
    for number in range(n):
        some = {str(rng.choice(CONCEPTS, p=[0.4, 0.1, 0.2, 0.2, 0.1]))} if rng.random() < 0.9 else set()
        some |= {"sky"} if rng.random() < 0.3 else set()
        tags = [word for word in WORDS if rng.random() < 0.12]
        vectors = {name: (rng.integers(0, 100, dim) / 8).tolist() for name, dim in FEATURES.items()}
        part = str(rng.choice(["Train", "Test"], p=[0.6, 0.4]))
        found.append(Photograph(f"dir{number % 7}\\{number:04d}_{90000 - number}.jpg", part, some, tags, vectors))
    return found


def write(path: Path, rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(f"{row}\n" for row in rows)


def layout(folder: Path, everything, whole=("labels", "tags", "features"), tags="All_Tags", lists="both"):
    """Writes the files: those of ``whole`` for all photographs in one, others divided into training and test."""
    shuffled = list(np.random.default_rng(1).permutation(len(everything)))  # the lists of parts have another order
    parts = {part: [everything[k] for k in shuffled if everything[k].part == part] for part in ("Train", "Test")}
    if lists in ("both", "all"):
        write(folder / "ImageList/Imagelist.txt", [one.name for one in everything])
    if lists in ("both", "parts"):
        for part, some in parts.items():
            write(folder / f"ImageList/{part}Imagelist.txt", [one.name for one in some])
    for concept in CONCEPTS:
        if "labels" in whole:
            rows = [int(concept in one.concepts) for one in everything]
            write(folder / f"Groundtruth/AllLabels/Labels_{concept}.txt", rows)
        else:
            for part, some in parts.items():
                rows = [int(concept in one.concepts) for one in some]
                write(folder / f"Groundtruth/TrainTestLabels/Labels_{concept}_{part}.txt", rows)
    for name in FEATURES:
        for part, some in {"": everything}.items() if "features" in whole else parts.items():
            stem = f"{part}_Normalized_{name}" if part else f"Normalized_{name}"
            rows = [" ".join(str(value) for value in one.vectors[name]) + " " for one in some]
            write(folder / f"Low_Level_Features/{stem}.dat", rows)
    of_tags = folder / "NUS_WID_Tags"
    if tags == "All_Tags":
        write(
            of_tags / "All_Tags.txt", [f"{one.id.split('_')[1][:-4]}      {' '.join(one.tags)} " for one in everything]
        )
        return
    write(of_tags / "TagList1k.txt" if tags == "1k" else folder / "ConceptsList/Concepts81.txt", WORDS)
    for part, some in {"": everything}.items() if "tags" in whole else parts.items():
        stem = f"AllTags{tags}.txt" if not part else f"{part}_Tags{tags}.{'dat' if tags == '1k' else 'txt'}"
        write(of_tags / stem, ["\t".join(str(int(word in one.tags)) for word in WORDS) + "\t" for one in some])


def expected(everything, n):
    """Names of the most frequent concepts and the photographs of just one, as one would find them by hand."""
    usable = [one for one in everything if len(one.concepts) == 1 and one.tags]
    counts = Counter(next(iter(one.concepts)) for one in usable)
    frequent = sorted(counts, key=lambda name: (-counts[name], name))[:n]
    return frequent, [one for one in usable if one.concepts <= set(frequent)]


@pytest.mark.parametrize("whole", [("labels", "tags", "features"), ("labels",), ("features", "tags"), ()])
@pytest.mark.parametrize("tags", ["All_Tags", "1k", "81"])
def test_every_layout_gives_the_same_documents(tmp_path, whole, tags):
    everything = photographs()
    layout(tmp_path, everything, whole, tags)
    loaded = load_nus_wide(tmp_path, ["WT", "CH"], 3)
    documents = loaded.documents
    frequent, wanted = expected(everything, 3)
    assert set(documents.categories) == set(frequent) and len(frequent) == 3
    assert documents.ids == documents.images == tuple(one.id for one in wanted)
    assert documents.categories == tuple(next(iter(one.concepts)) for one in wanted)
    assert documents.texts == tuple(" ".join(one.tags) for one in wanted)
    assert documents.parts == tuple(one.part.lower() for one in wanted)
    np.testing.assert_array_equal(loaded.images, [one.vectors["WT"] + one.vectors["CH"] for one in wanted])
    assert loaded.images.dtype == np.float32 and loaded.texts is None


@pytest.mark.parametrize("both", [False, True], ids=["one layout", "both layouts"])
@pytest.mark.parametrize("whole", [("labels",), ()])
def test_the_concept_train_is_not_taken_for_a_part(tmp_path, whole, both):
    everything = photographs()
    layout(tmp_path, everything, whole)
    if both:
        layout(tmp_path / "other", everything, () if whole else ("labels",))
        (tmp_path / "other/Groundtruth").rename(tmp_path / "Groundtruth/Groundtruth")
        shutil.rmtree(tmp_path / "other")
    for path in sorted(tmp_path.rglob("Labels_water*.txt")):
        path.rename(path.with_name(path.name.replace("water", "train")))
    documents = load_nus_wide(tmp_path, ["CH"], 3).documents
    frequent, wanted = expected(everything, 3)
    assert "water" in frequent
    names = [next(iter(one.concepts)).replace("water", "train") for one in wanted]
    assert documents.categories == tuple(names)


def test_concepts_are_counted_among_photographs_of_one_and_those_left_out_are_said(tmp_path):
    everything = photographs()
    layout(tmp_path, everything)
    by_all = Counter(name for one in everything for name in one.concepts)
    assert "sky" in [name for name, _ in by_all.most_common(2)]  # with others, so it is not among ours
    loaded = load_nus_wide(tmp_path, ["CH"], 2)
    assert "sky" not in loaded.documents.categories
    frequent, _ = expected(everything, 2)
    without = [one for one in everything if len(one.concepts) == 1 and one.concepts <= set(frequent) and not one.tags]
    assert len(without) > 1 and f"{len(without)} without any tag are left out" in loaded.notes[1]
    none = sum(not one.concepts for one in everything)
    single = sum(len(one.concepts) == 1 for one in everything)
    assert loaded.notes[0] == f"120 photographs; {single} have just one of 5 concepts, {none} have none."


def test_a_draw_takes_as_many_of_each_and_depends_on_its_seed_alone(tmp_path):
    everything = photographs()
    layout(tmp_path, everything)
    rows = {one.id: one.vectors["CH"] for one in everything}
    draws = [load_nus_wide(tmp_path, ["CH"], 3, 9, seed) for seed in (0, 0, 1)]
    for loaded in draws:
        assert set(Counter(loaded.documents.categories).values()) == {9}
        assert loaded.images.tolist() == [rows[name] for name in loaded.documents.ids]
    assert draws[0].documents == draws[1].documents
    assert draws[0].documents.ids != draws[2].documents.ids
    usable = {one.id for one in expected(everything, 3)[1]}
    assert set(draws[0].documents.ids) | set(draws[2].documents.ids) <= usable


@pytest.mark.parametrize(("lists", "whole"), [("all", ("labels", "tags", "features")), ("parts", ())])
def test_one_kind_of_list_is_enough(tmp_path, lists, whole):
    everything = photographs()
    layout(tmp_path, everything, whole, "1k", lists)
    loaded = load_nus_wide(tmp_path, ["CH"], 3)
    of = {one.id: one for one in expected(everything, 3)[1]}
    assert set(loaded.documents.ids) == set(of)
    for name, part, vector in zip(loaded.documents.ids, loaded.documents.parts, loaded.images, strict=True):
        assert vector.tolist() == of[name].vectors["CH"]
        assert part == (None if lists == "all" else of[name].part.lower())


def test_tags_are_found_by_number_where_their_order_differs(tmp_path):
    everything = photographs()
    layout(tmp_path, everything)
    usual = load_nus_wide(tmp_path, ["CH"], 3).documents
    tags = tmp_path / "NUS_WID_Tags/All_Tags.txt"
    lines = tags.read_text().splitlines()[::-1]
    tags.write_bytes("\r\n".join([*lines, "1 caf\xe9"]).encode("latin-1"))
    assert load_nus_wide(tmp_path, ["CH"], 3).documents == usual


def change(path, line=None, text="", encoding="utf-8"):
    """Changes a line of a file, appends one, or removes the file."""

    def apply(folder):
        file = folder / path
        if line is None and not text:
            return file.unlink()
        lines = file.read_text().splitlines()
        lines[len(lines) if line is None else line : None if line is None else line + 1] = [text] if text else []
        return file.write_text("\n".join(lines) + "\n", encoding=encoding)

    return apply


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (change("ImageList/Imagelist.txt", 3), ("Imagelist.txt", "0003", "not in Imagelist.txt")),
        (change("ImageList/Imagelist.txt", 3, "dir2\\0002_89998.jpg"), ("listed twice", "dir2/0002_89998.jpg")),
        (change("Groundtruth/AllLabels/Labels_toy.txt", 5), ("Labels_toy.txt", "119 lines for 120")),
        (change("Groundtruth/AllLabels/Labels_toy.txt", 5, "2"), ("Labels_toy.txt", "line 6 holds 2")),
        (change("Low_Level_Features/Normalized_CH.dat", 5, "1 2 nan"), ("line 6 lacks a value",)),
        (change("Low_Level_Features/Normalized_CH.dat", 5, "1 2 3 4"), ("Normalized_CH.dat", "no table of numbers")),
        (change("NUS_WID_Tags/All_Tags.txt", 4), ("All_Tags.txt", "dir4/0004_89996.jpg", "1 are missing")),
        (change("NUS_WID_Tags/All_Tags.txt", 4, "89997 x"), ("All_Tags.txt", "line 5", "89997 has a line before")),
    ],
)
def test_damaged_files_are_named(tmp_path, refused, damage, words):
    layout(tmp_path, photographs())
    damage(tmp_path)
    with refused(*words):
        load_nus_wide(tmp_path, ["CH"], 3)


@pytest.mark.parametrize("name", ["ImageList/Imagelist.txt", "Low_Level_Features/Normalized_CH.dat"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, refused, name):
    layout(tmp_path, photographs())
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with refused(name, "this is a pipe"):
        load_nus_wide(tmp_path, ["CH"], 3)


def test_what_does_not_fit_is_refused(tmp_path, refused):
    with refused("Imagelist.txt"):
        load_nus_wide(tmp_path, ["CH"], 3)
    layout(tmp_path, photographs())
    with refused("10 concepts are wanted", "only 5"):
        load_nus_wide(tmp_path, ["CH"], 10)
    with refused("per_category is 40", "photographs of no other concept"):
        load_nus_wide(tmp_path, ["CH"], 3, 40)
    with refused("Normalized_XY.dat", "there are CH, WT"):
        load_nus_wide(tmp_path, ["XY"], 3)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/imagelist.TXT").write_text("x\n")
    with refused("keep one of them"):
        load_nus_wide(tmp_path, ["CH"], 3)


def test_files_of_all_photographs_need_their_order(tmp_path, refused):
    layout(tmp_path, photographs(), lists="parts")
    with refused("order of Imagelist.txt, which is missing"):
        load_nus_wide(tmp_path, ["CH"], 3)


def test_files_of_parts_need_their_lists(tmp_path, refused):
    layout(tmp_path, photographs(), (), lists="all")
    with refused("TrainImagelist.txt and TestImagelist.txt"):
        load_nus_wide(tmp_path, ["CH"], 3)


def test_a_list_of_words_belongs_to_a_matrix_of_tags(tmp_path, refused):
    layout(tmp_path, photographs(), tags="1k")
    with (tmp_path / "NUS_WID_Tags/TagList1k.txt").open("a") as file:
        file.write("another\n")
    with refused("AllTags1k.txt", "12 columns, but 13"):
        load_nus_wide(tmp_path, ["CH"], 3)
    (tmp_path / "NUS_WID_Tags/TagList1k.txt").unlink()
    with refused("taglist1k.txt, which names the columns of AllTags1k.txt"):
        load_nus_wide(tmp_path, ["CH"], 3)
