"""Whatever a format can hold comes back from it to the last bit, through any other format that can hold it too."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_features import assert_equal, drawn, outline_of, read, write
from fivesentences.features import FeatureTable
from fivesentences.features.formats import convert
from fivesentences.features.formats.known import FORMATS
from fivesentences.features.formats.record import FACTS

PATHS = {
    "table": "a.npy",
    "precomp": "a_ims.npy",
    "tsv": "a.tsv",
    "lxmert": "a.tsv",
    "npy": "a",
    "npz": "a",
    "daa": "a.h5",
    "vqa": "a.hdf5",
}
ORDERED = set(FORMATS) - {"npy", "npz"}  # a folder has no order


def held_by(*names: str) -> set[str]:
    """What all of some formats can hold."""
    return set(FACTS).intersection(*(FORMATS[name].holds for name in names))


def random_records(names: tuple[str, ...], n: int, seed: int):
    """Images with as much as all of some formats can hold, and their own sizes and types."""
    facts = held_by(*names)
    regions = (1, 4) if "counts" in facts else (3, 3)
    return drawn(n, sorted(facts), regions=regions, seed=seed, ids=lambda image: f"{image:04d}")


@pytest.mark.parametrize("name", FORMATS)
def test_1000_images_come_back_from_each_format(name, tmp_path):
    records = random_records((name,), 1000, seed=1)
    assert_equal(read(write(records, tmp_path / PATHS[name], name)), records)


PAIRS = [
    pair
    for pair in itertools.combinations(FORMATS, 2)
    if all(FORMATS[name].needs <= held_by(*pair) for name in pair)  # else no features fit into both
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_1000_images_come_back_through_every_pair_of_formats(first, second, tmp_path):
    records = random_records((first, second), 1000, seed=2)
    paths = [tmp_path / place / PATHS[name] for place, name in zip("123", (first, second, first), strict=True)]
    paths[0].parent.mkdir()
    write(records, paths[0], first)
    there = convert([paths[0]], paths[1], target_format=second)
    back = convert([paths[1]], paths[2], target_format=first)
    assert (there.written, back.written) == (second, first)
    assert_equal(read(paths[1]), records)
    assert_equal(read(paths[2]), records)


def test_all_pairs_are_among_these_but_boxes_with_formats_that_have_none_and_lxmert_with_those_that_recognise_nothing():
    apart = {frozenset(pair) for pair in itertools.combinations(FORMATS, 2)} - {frozenset(pair) for pair in PAIRS}
    boxed, boxless = ("tsv", "lxmert", "vqa"), ("precomp", "npy", "daa")
    expected = {frozenset(pair) for pair in itertools.product(boxed, boxless)}
    assert apart == expected | {frozenset(("lxmert", "tsv")), frozenset(("lxmert", "vqa"))}


@given(
    name=st.sampled_from(sorted(FORMATS)),
    n=st.integers(1, 6),
    dim=st.integers(1, 7),
    most=st.integers(1, 5),
    half=st.booleans(),
    vectors=st.booleans(),
    dropped=st.sets(st.sampled_from(FACTS)),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=150, deadline=None)
def test_any_size_and_any_part_of_what_may_be_known_comes_back(
    tmp_path_factory, name, n, dim, most, half, vectors, dropped, seed
):
    known, folder = FORMATS[name], tmp_path_factory.mktemp("x")
    facts = (set(known.holds) - dropped) | set(known.needs)
    vectors = vectors and known.vectors
    if vectors:
        facts -= set(FACTS) - {"sizes", "filenames"}
    regions = None if vectors else (1, most) if "counts" in facts else (most, most)
    dtype = np.float16 if half and not known.float32 else np.float32
    records = drawn(n, sorted(facts), regions=regions, dim=dim, dtype=dtype, seed=seed)
    assert_equal(read(write(records, folder / PATHS[name], name)), sorted(records, key=_place(name)))


def _place(name):
    return lambda record: record.image_id if name not in ORDERED else 0


def test_a_table_is_what_training_reads(tmp_path):
    records = drawn(40, FACTS, regions=(2, 4))
    path = write(records, tmp_path / "a.npy", "table")
    table = FeatureTable.open(path)
    assert table.array.shape == (40, 4, 5)
    for record, row in zip(records, table.rows([record.image_id for record in records]), strict=True):
        np.testing.assert_array_equal(row[: record.regions], record.features)
        assert not row[record.regions :].any()


def test_the_outline_is_that_of_the_images(tmp_path):
    records = drawn(30, FACTS, regions=(2, 4))
    convert([write(records, tmp_path / "a.npy", "table")], Path(tmp_path / "b.npy"))
    with FORMATS["table"].read(tmp_path / "b.npy") as source:
        expected = outline_of(records)
        assert source.outline.ids == expected.ids
        assert source.outline.facts == expected.facts
        np.testing.assert_array_equal(source.outline.counts, expected.counts)
