"""Divisions: sizes, balance, whole articles, and the file that is cited."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesentences.errors import InputError
from fivesentences.reproduction.categories.config import DivisionSpec
from fivesentences.reproduction.categories.corpus.divisions import divide, read_division, write_division
from fivesentences.reproduction.categories.corpus.documents import Documents


def documents(categories, parts=None, articles=None):
    ids = [f"d{row}" for row in range(len(categories))]
    empty = [""] * len(ids)
    return Documents(ids, categories, empty, empty, parts or [None] * len(ids), articles or ids)


def cycled(n, names="abcde"):
    return [names[row % len(names)] for row in range(n)]


def rows_of(division):
    return [division.train.tolist(), division.validation.tolist(), division.test.tolist()]


@st.composite
def tables(draw):
    """Documents with published parts, articles of up to four documents, and sizes that may fit or not."""
    n = draw(st.integers(6, 60))
    categories = draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n).filter(lambda some: len(set(some)) > 1))
    parts = draw(st.lists(st.sampled_from(["train", "test"]), min_size=n, max_size=n))
    articles = [f"article {row // draw(st.integers(1, 4))}" for row in range(n)]
    source = draw(st.sampled_from(["train", "test", "all"]))
    most = draw(st.sampled_from([n // 5, n]))
    test = draw(st.integers(1, most)) if source == "all" else "published"
    spec = DivisionSpec(
        validation=draw(st.integers(1, most)),
        test=test,
        validation_from=source,
        balanced=draw(st.booleans()),
        whole_articles=draw(st.booleans()),
    )
    return documents(categories, parts, articles), spec, draw(st.integers(0, 5))


@pytest.mark.slow
@settings(max_examples=300)
@given(tables())
def test_every_division_is_complete_without_overlap_and_keeps_what_its_spec_says(table):
    given, spec, seed = table
    try:
        division = divide(given, spec, seed)
    except InputError:
        return  # sizes that do not fit; the tests below say when that happens
    train, validation, test = rows_of(division)
    assert sorted(train + validation + test) == list(range(len(given)))
    assert all(part and part == sorted(part) for part in (train, validation, test))
    assert len(validation) == spec.validation
    parts = np.array(given.parts)
    if spec.validation_from == "all":
        assert len(test) == spec.test
    elif spec.validation_from == "train":
        assert (parts[validation] == "train").all() and (parts[test] == "test").all()
    else:
        assert (parts[validation] == "test").all() and (parts[train] == "train").all()
    if spec.whole_articles:
        rest = {"train": train, "test": test, "all": train + test}[spec.validation_from]
        assert not {given.articles[row] for row in validation} & {given.articles[row] for row in rest}
    if spec.balanced:
        pool = [row for row in range(len(given)) if spec.validation_from in ("all", given.parts[row])]
        names = {given.categories[row] for row in pool}
        drawn = [validation] + [test] * (spec.validation_from == "all")
        for part in [*drawn, [row for some in drawn for row in some]]:
            counts = Counter(given.categories[row] for row in part)
            assert max(counts[name] for name in names) - min(counts[name] for name in names) <= 1
    assert rows_of(divide(given, spec, seed)) == rows_of(division)


def test_seeds_differ_and_every_document_is_equally_likely():
    given = documents(cycled(10))
    spec = DivisionSpec(validation=2, test=3)
    counts, pairs = np.zeros((3, 10)), set()
    for seed in range(600):
        division = rows_of(divide(given, spec, seed))
        pairs.add(tuple(division[1]))
        for number, part in enumerate(division):
            counts[number, part] += 1
    assert pairs == set(combinations(range(10), 2))
    # Binomial: 600 draws of share .2, .3, .5; five standard deviations.
    expected = np.array([[0.5], [0.2], [0.3]])
    assert (abs(counts / 600 - expected) < 5 * np.sqrt(expected * (1 - expected) / 600)).all()


def test_the_sizes_of_the_paper():
    ten = documents(cycled(10_000, "abcdefghij"))
    division = divide(ten, DivisionSpec(validation=1000, test=1000, balanced=True), 3)
    for part, each in zip(rows_of(division), (800, 100, 100), strict=True):
        assert set(Counter(ten.categories[row] for row in part).values()) == {each}
    large = documents(cycled(71_602))
    division = divide(large, DivisionSpec(validation=5_000, test=23_661), 0)
    assert [len(part) for part in rows_of(division)] == [42_941, 5_000, 23_661]
    parts = ["train"] * 2173 + ["test"] * 693
    wikipedia = documents(cycled(2866), parts)
    for test in ("published", 462):
        division = divide(wikipedia, DivisionSpec(validation=231, validation_from="test", test=test), 1)
        assert [len(part) for part in rows_of(division)] == [2173, 231, 462]


def test_articles_are_found_whenever_some_have_the_size():
    """Compared with every subset of articles."""
    rng = np.random.default_rng(0)
    for trial in range(60):
        lengths = rng.choice([2, 3, 5, 7], size=5)
        articles = [f"{number}" for number, length in enumerate(lengths) for _ in range(length)]
        n = len(articles)
        given = documents(cycled(n + 1), ["train"] * n + ["test"], [*articles, "of test"])
        sums = {sum(some) for k in range(1, 5) for some in combinations(lengths.tolist(), k)}
        for size in range(1, n):
            spec = DivisionSpec(validation=size, validation_from="train", whole_articles=True)
            if size in sums:
                assert len(divide(given, spec, trial).validation) == size
            else:
                nearest = max((one for one in sums if one < size), default=0)
                with pytest.raises(InputError, match=f"has {size} documents together, .* has {nearest};"):
                    divide(given, spec, trial)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"validation": 3}, ("validation_from is all", "test is published")),
        ({"validation": 3, "validation_from": "train", "test": 4}, ("test is 4", "5 documents")),
        ({"validation": 2, "validation_from": "test", "test": 5}, ("test is 5", "3 documents")),
        ({"validation": 6, "validation_from": "test"}, ("6 documents", "'test' has 5")),
        ({"validation": 5, "validation_from": "test"}, ("left for test",)),
        ({"validation": 8, "test": 8}, ("8 + 8 documents", "there are 15")),
        ({"validation": 8, "test": 7}, ("left for train", "of 15")),
        ({"validation": 8, "validation_from": "train", "balanced": True}, ("4 documents of category 'b'", "has 3")),
    ],
)
def test_sizes_that_do_not_fit_are_refused(refused, spec, words):
    given = documents(["a"] * 7 + ["b"] * 3 + ["a", "b"] * 2 + ["a"], ["train"] * 10 + ["test"] * 5)
    with refused(*words):
        divide(given, DivisionSpec(**spec), 0)


@pytest.mark.parametrize(("validation", "test"), [(4, 4), (7, 2), (3, 11), (12, 14)])
def test_what_does_not_divide_evenly_goes_round_the_categories(validation, test):
    given = documents(cycled(50))
    extra = set()
    for seed in range(20):
        parts = rows_of(divide(given, DivisionSpec(validation=validation, test=test, balanced=True), seed))
        counts = [[Counter(given.categories[row] for row in part)[name] for name in "abcde"] for part in parts]
        assert all(max(some) - min(some) <= 1 for some in counts)  # those of training too, since all have ten
        extra.add(tuple(counts[1]))
    assert len(extra) > 2  # the seed decides which categories give one more


def test_the_file_says_it_all_in_any_order(tmp_path):
    given = documents(cycled(30))
    given = Documents([f'{name}, "x"' for name in given.ids], *list(vars(given).values())[1:])
    division = divide(given, DivisionSpec(validation=5, test=7), 4)
    for name in ("one.csv", "two.csv"):
        write_division(tmp_path / name, given, division)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    lines = (tmp_path / "one.csv").read_text().splitlines()
    assert lines[0] == "document,part" and len(lines) == 31
    (tmp_path / "reversed.csv").write_text("\r\n".join([lines[0], *lines[:0:-1]]) + "\r\n")
    for name in ("one.csv", "reversed.csv"):
        assert rows_of(read_division(tmp_path / name, given)) == rows_of(division)
    assert all(part.dtype == np.int64 for part in vars(read_division(tmp_path / "one.csv", given)).values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,part\n", "'document'"),
        ("document,part\nd0,train,x\n", "line 2: 3 values"),
        ("document,part\nd9,train\n", "line 2: document 'd9'"),
        ("document,part\nd0,dev\n", "'dev'"),
        ("document,part\nd0,train\nd0,test\n", "line 3"),
        ("document,part\nd0,train\nd1,test\n", "lacks document 'd2'"),
        ("document,part\nd0,train\nd1,test\nd2,test\n", "'validation'"),
    ],
)
def test_a_division_of_other_documents_is_refused(tmp_path, refused, text, words):
    (tmp_path / "division.csv").write_text(text)
    with refused("division.csv", words):
        read_division(tmp_path / "division.csv", documents(["a", "b", "a"]))
