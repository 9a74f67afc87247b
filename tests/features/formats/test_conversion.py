"""What is lost, joined, chosen and left behind when features are converted; whatever fits comes back bit by bit."""

from __future__ import annotations

import hashlib
import re
import shlex
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kill
from drawn_features import assert_equal, drawn, outline_of, read, write
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.features.files import read_source
from fivesentences.features.formats import FORMATS, convert, open_features
from fivesentences.features.formats import table as table_format
from fivesentences.features.formats.record import FACTS

BOXED = ("boxes", "sizes")
PATHS = {"table": "a.npy", "precomp": "a_ims.npy", "tsv": "a.tsv", "daa": "a.h5"}


@pytest.fixture
def full(tmp_path):
    """A table with everything that may be known, and its images."""
    records = drawn(9, FACTS, regions=(1, 4))
    return write(records, tmp_path / "full.npy", "table"), records


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
@settings(max_examples=60)
def test_any_size_and_any_part_of_what_may_be_known_comes_back(
    tmp_path_factory, name, n, dim, most, half, vectors, dropped, seed
):
    known, folder = FORMATS[name], tmp_path_factory.mktemp("x")
    facts = (set(known.holds) - dropped) | set(known.needs)
    vectors = vectors and not known.needs
    if vectors:
        facts -= set(FACTS) - {"sizes", "filenames"}
    regions = None if vectors else (1, most) if "counts" in facts else (most, most)
    dtype = np.float16 if half and not known.needs else np.float32
    records = drawn(n, sorted(facts), regions=regions, dim=dim, dtype=dtype, seed=seed)
    path = write(records, folder / PATHS[name], name)
    assert_equal(read(path), records)
    with open_features(path) as source:
        expected = outline_of(records)
        assert (source.outline.ids, source.outline.facts) == (expected.ids, expected.facts)
        np.testing.assert_array_equal(source.outline.counts, expected.counts)


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_cannot_hold_is_refused_by_name_and_the_option_of_the_sentence_helps(name, full, tmp_path):
    path, records = full
    out = tmp_path / PATHS[name]
    if lost := [fact for fact in FACTS if fact not in FORMATS[name].holds]:
        with pytest.raises(InputError) as error:
            convert([path], out, target_format=name)
        assert str(error.value).partition("--drop ")[2].split(" ")[0].split(",") == lost
    done = convert([path], out, target_format=name, drop=lost)
    assert set(done.dropped) == set(lost)
    (again,) = [read(out)]
    expected = [record.without(lost) for record in records]
    if "counts" not in lost:
        assert_equal(again, expected)
        return
    most = max(len(record.features) for record in records)
    for record, one in zip(expected, again, strict=True):
        count = len(record.features)
        assert one.features.shape[0] == most
        np.testing.assert_array_equal(one.features[:count], record.features)
        assert not one.features[count:].any()


def test_what_a_format_needs_is_not_made_up(tmp_path):
    for records in (drawn(3, ()), drawn(3, ("sizes",), regions=None)):
        source = write(records, tmp_path / "a.npy", "table")
        with pytest.raises(InputError, match="format"):
            convert([source], tmp_path / "b.tsv")
    source = write(drawn(3, BOXED, dtype=np.float16), tmp_path / "c.npy", "table")
    with pytest.raises(InputError, match="give --as float32"):
        convert([source], tmp_path / "b.tsv")
    convert([source], tmp_path / "b.tsv", storage="float32")
    np.testing.assert_array_equal(read(tmp_path / "b.tsv")[2].features, read(source)[2].features)


def test_half_precision_is_the_nearest_number_and_refused_where_it_is_too_small(tmp_path):
    records = drawn(6, BOXED)
    source = write(records, tmp_path / "a.npy", "table")
    convert([source], tmp_path / "b.npy", storage="float16")
    for record, half in zip(records, read(tmp_path / "b.npy"), strict=True):
        np.testing.assert_array_equal(half.features, record.features.astype(np.float16))
    records[4].features[1, 2] = 1e6
    write(records, tmp_path / "a.npy", "table")
    with pytest.raises(InputError, match=r"'image_4'.*float16"):
        convert([source], tmp_path / "c.npy", storage="float16")
    assert not (tmp_path / "c.npy").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop": ["box"]}, r"'box'.*'boxes'"),
        ({"drop": ["counts", "classes"]}, "rows of zeros have no .* give --drop counts,boxes,scores,classes"),
        ({"repeat": 0}, "repeat is 0"),
        ({"repeat": 5}, "leave --repeat out"),
        ({"target_format": "tsf"}, "'tsv'"),
        ({"target_format": "tsv"}, r"ends in \.tsv"),
        ({"target_format": "precomp"}, r"_ims\.npy"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words, full, tmp_path):
    with pytest.raises(InputError, match=words):
        convert([full[0]], tmp_path / "b.npy", **options)
    assert not list(tmp_path.glob("b.*"))


def test_files_that_hold_different_things_are_not_joined(tmp_path):
    source = write(drawn(3, BOXED), tmp_path / "a.tsv", "tsv")
    for place, other in enumerate([drawn(3), drawn(3, BOXED, dim=6), drawn(3, BOXED, dtype=np.float16)]):
        beside = write(other, tmp_path / f"{place}.npy", "table")
        with pytest.raises(InputError, match="joined"):
            convert([source, beside], tmp_path / "b.npy")
    with pytest.raises(InputError, match="'image_0'"):
        convert([source, source], tmp_path / "b.npy")


def test_features_of_different_extractors_are_not_joined_even_after_conversions(tmp_path):
    (tmp_path / "again").mkdir()
    for name, network, start in (("a", "vgg19", 0), ("b", "vgg19", 10), ("c", "resnet152", 20)):
        records = drawn(3, ids=lambda image, start=start: str(start + image))
        with FORMATS["table"].write(tmp_path / f"{name}.npy", outline_of(records), {"extractor": network}, 1) as add:
            for record in records:
                add(record)
        convert([tmp_path / f"{name}.npy"], tmp_path / "again" / f"{name}.npy")
    convert([tmp_path / "a.npy", tmp_path / "again" / "b.npy"], tmp_path / "ab.npy")
    assert len(read(tmp_path / "ab.npy")) == 6
    with pytest.raises(InputError, match="mixed"):
        convert([tmp_path / "ab.npy", tmp_path / "again" / "c.npy"], tmp_path / "x.npy")


def test_a_list_of_images_that_have_no_features_is_refused_with_an_example(tmp_path):
    source = write(drawn(3), tmp_path / "a.npy", "table")
    (tmp_path / "ids.txt").write_text("image_2\n17\n18\n")
    with pytest.raises(InputError, match=r"2 of its 3 images, such as '17', .* look like 'image_0'"):
        convert([source], tmp_path / "b.npy", ids=tmp_path / "ids.txt")


def test_the_note_beside_a_table_says_what_it_was_made_from(tmp_path):
    source = write(drawn(5, BOXED), tmp_path / "a.tsv", "tsv")
    convert([source], tmp_path / "b.npy", drop=["sizes"], storage="float16")
    convert([tmp_path / "b.npy"], tmp_path / "c.npy")
    (file,) = read_source(tmp_path / "c.npy")["converted_from"]
    assert (file["file"], file["format"]) == ("b.npy", "table")
    assert (file["source"]["dropped"], file["source"]["storage"]) == (["sizes"], "float16")
    (before,) = file["source"]["converted_from"]
    assert (before["file"], before["format"]) == ("a.tsv", "tsv")
    assert before["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()


def test_a_table_is_what_training_reads_and_older_boxes_do_not_stay_beside_it(full):
    path, records = full
    table = FeatureTable.open(path)
    assert table.array.shape == (9, 4, 5)
    for record, row in zip(records, table.rows([record.image_id for record in records]), strict=True):
        count = len(record.features)
        np.testing.assert_array_equal(row[:count], record.features)
        assert not row[count:].any()
    convert([write(drawn(9), path.with_name("bare.npy"), "table")], path)
    assert not path.with_suffix(".regions.parquet").exists()
    assert [record.boxes for record in read(path)] == [None] * len(records)


@pytest.mark.parametrize("name", FORMATS)
def test_an_output_never_overwrites_what_is_read(name, tmp_path):
    records = drawn(3, sorted(FORMATS[name].holds - {"counts"}))
    path = write(records, tmp_path / PATHS[name], name)
    with pytest.raises(InputError, match="would overwrite"):
        convert([path], path, target_format=name)
    assert_equal(read(path), records)


@pytest.mark.parametrize("calls", [0, 1, 8])
def test_a_conversion_that_fails_leaves_what_was_there(calls, full, tmp_path):
    path, records = full
    older = drawn(9, ("boxes",), seed=5)
    write(older, tmp_path / "b.npy", "table")
    with kill.killed_after(calls, table_format, "padded"):
        convert([path], tmp_path / "b.npy")
    assert_equal(read(tmp_path / "b.npy"), older)
    assert not list(tmp_path.glob(".*"))
    convert([path], tmp_path / "b.npy")
    assert_equal(read(tmp_path / "b.npy"), records)


@pytest.mark.slow
@pytest.mark.parametrize("out", ["b.npy", "b.tsv"])
def test_a_conversion_that_is_killed_leaves_no_result_and_the_next_one_cleans_up(out, tmp_path):
    records = drawn(1500, BOXED, regions=(5, 9), dim=64)
    source = write(records, tmp_path / "a.npy", "table")
    code = "import sys; from pathlib import Path; from fivesentences.features.formats import convert; "
    code += "convert([Path(sys.argv[1])], Path(sys.argv[2]))"
    with kill.Program(code, source, tmp_path / out) as program:
        program.wait_for(lambda: [file for file in tmp_path.glob(".*partial*") if file.stat().st_size])
        program.send(signal.SIGKILL)
        program.end()
    assert not (tmp_path / out).exists()
    convert([source], tmp_path / out)
    assert not list(tmp_path.glob(".*"))
    assert_equal(read(tmp_path / out), records)


def test_every_command_of_the_page_runs_in_its_order(root, run, tmp_path, monkeypatch):
    page = (root / "docs" / "features.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    records = drawn(30, BOXED, regions=(36, 36), ids=str)
    write(records, tmp_path / "trainval_36.tsv", "tsv")
    for part in range(2):
        write(records[part * 15 : part * 15 + 15], tmp_path / f"part{part}.tsv", "tsv").rename(f"genome.tsv.{part}")
    (tmp_path / "train_order.txt").write_text("".join(f"{image}\n" for image in range(20)))
    (tmp_path / "dev_order.txt").write_text("".join(f"{image}\n" for image in range(29, 19, -1)))
    commands = re.findall(r"^    (fivesentences features convert [^F].*)$", page, re.MULTILINE)
    assert len(commands) == 5
    (tmp_path / "f30k_precomp").mkdir()  # as the page does
    for command in commands:
        assert run(*shlex.split(command)[1:]).code == 0
    assert len(read(tmp_path / "joined.npy")) == 30
    everything = read(tmp_path / "all.npy")
    assert [record.image_id for record in everything] == [*map(str, range(20)), *map(str, range(29, 19, -1))]
    np.testing.assert_array_equal(everything[25].features, records[24].features.astype(np.float16))
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    np.testing.assert_array_equal(names["image"].features, records[0].features)
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == list(FORMATS)
    for name, rest in rows:
        known, cells = FORMATS[name], [cell.strip() for cell in rest.split("|")]
        for fact, said in zip(("boxes", "sizes", "scores", "counts"), cells[1:5], strict=True):
            assert said == ("required" if fact in known.needs else "yes" if fact in known.holds else "no"), (name, fact)
