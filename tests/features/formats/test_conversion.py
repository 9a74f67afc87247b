"""What is lost, joined, chosen and left behind when features are converted."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import kill
from drawn_features import assert_equal, drawn, outline_of, read, write
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.features.files import read_source
from fivesentences.features.formats import convert
from fivesentences.features.formats.folders import FolderWriter
from fivesentences.features.formats.known import FORMATS, format_for
from fivesentences.features.formats.record import FACTS, ImageFeatures
from fivesentences.features.formats.table import TableWriter
from fivesentences.features.regions import Regions

RECOGNISED = ("scores", "classes", "attributes", "attribute_scores")
BOXED = ("boxes", "sizes")


@pytest.fixture
def full(tmp_path):
    """A table with everything that may be known, and its images."""
    records = drawn(9, FACTS, regions=(1, 4))
    return write(records, tmp_path / "full.npy", "table"), records


# --- what would be lost -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_cannot_hold_is_refused_by_name_and_the_option_of_the_sentence_helps(name, full, tmp_path):
    path, records = full
    known = FORMATS[name]
    out = tmp_path / f"x_ims{known.suffixes[0] if known.suffixes else ''}"
    lost = [fact for fact in FACTS if fact not in known.holds]
    with pytest.raises(InputError) if lost else nullcontext() as error:
        convert([path], out, target_format=name)
    if lost:
        asked = str(error.value).partition("--drop ")[2].split(" ")[0].split(",")
        assert asked == lost
        done = convert([path], out, target_format=name, drop=asked)
        assert set(done.dropped) == set(asked)
    held = known.holds
    (again,) = [read(out)]
    expected = [record.without(frozenset(FACTS) - held) for record in records]
    if "counts" not in held:
        most = max(record.regions for record in records)
        for record, one in zip(expected, again, strict=True):
            assert one.features.shape[0] == most
            np.testing.assert_array_equal(one.features[: record.regions], record.features)
            assert not one.features[record.regions :].any()
    else:
        assert_equal(again, expected)


@pytest.mark.parametrize(
    ("name", "facts", "words"),
    [
        ("tsv", (), "the format tsv needs boxes and sizes, which these features lack"),
        ("vqa", ("boxes",), "the format vqa needs sizes,"),
        ("lxmert", BOXED, "the format lxmert needs scores, classes, attributes and attribute_scores"),
    ],
)
def test_what_a_format_needs_is_not_made_up(name, facts, words, tmp_path):
    source = write(drawn(3, facts), tmp_path / "a.npy", "table")
    with pytest.raises(InputError, match=words):
        convert([source], tmp_path / f"b{FORMATS[name].suffixes[0]}", target_format=name)


def test_vectors_of_whole_images_are_no_regions_and_float16_is_no_float32(tmp_path):
    source = write(drawn(3, ("sizes",), regions=None), tmp_path / "a.npy", "table")
    with pytest.raises(InputError, match=r"needs boxes"):
        convert([source], tmp_path / "b.tsv")
    source = write(drawn(3, BOXED, dtype=np.float16), tmp_path / "c.npy", "table")
    with pytest.raises(InputError, match=r"these features are float16; give --as float32, which loses nothing"):
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
    with pytest.raises(InputError, match="a feature of image 'image_4' is too large for float16; keep float32"):
        convert([source], tmp_path / "c.npy", storage="float16")
    assert not (tmp_path / "c.npy").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop": ["box"]}, "drop is 'box'; did you mean 'boxes'"),
        (
            {"drop": ["counts", "classes"]},
            "rows of zeros have no boxes, scores, attributes or attribute_scores; "
            "give --drop counts,boxes,scores,classes,attributes,attribute_scores, or keep counts",
        ),
        ({"repeat": 0}, "repeat is 0; it must be from 1"),
        ({"repeat": 5}, "the format table has one entry per image; leave --repeat out"),
        ({"target_format": "tsf"}, "'tsf' is no format of features; did you mean 'tsv'"),
        ({"target_format": "tsv"}, r"the name of a file in the format tsv ends in \.tsv"),
        ({"target_format": "precomp"}, r"the name of a precomp array is SPLIT_ims\.npy"),
        ({"storage": "float8"}, "storage is 'float8'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words, full, tmp_path):
    with pytest.raises(InputError, match=words):
        convert([full[0]], tmp_path / "b.npy", **options)
    assert not list(tmp_path.glob("b.*"))


def test_what_was_recognised_stays_where_boxes_are_dropped(full, tmp_path):
    path, records = full
    convert([path], tmp_path / "b.npy", drop=["boxes"])
    assert_equal(read(tmp_path / "b.npy"), [record.without(frozenset({"boxes"})) for record in records])


# --- names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("a.npy", FACTS, "table"),
        ("a_ims.npy", (), "precomp"),
        ("a.tsv", BOXED, "tsv"),
        ("a.tsv", (*BOXED, *RECOGNISED), "lxmert"),
        ("a.tsv", (*BOXED, "scores"), "tsv"),
        ("a.h5", (), "daa"),
        ("a.hdf5", BOXED, "vqa"),
        ("a", BOXED, "npz"),
        ("a", (), "npy"),
    ],
)
def test_a_name_tells_the_richest_format_that_can_be_filled(name, facts, expected, tmp_path):
    assert format_for(tmp_path / name, outline_of(drawn(3, facts))).name == expected


def test_names_that_tell_nothing_are_asked_about(tmp_path):
    source = write(drawn(3), tmp_path / "a.npy", "table")
    with pytest.raises(InputError, match=r"b\.txt: the name does not tell in which format to write; give --to"):
        convert([source], tmp_path / "b.txt")
    (tmp_path / "c.bin").write_bytes(b"x")
    with pytest.raises(InputError, match=r"c\.bin: the name does not tell its format; give --from"):
        convert([tmp_path / "c.bin"], tmp_path / "b.npy")
    with pytest.raises(InputError, match=r"d\.npz: there is no such file"):
        convert([tmp_path / "d.npz"], tmp_path / "b.npy")
    np.save(tmp_path / "e.npy", np.zeros((3, 4), np.float32))
    with pytest.raises(InputError, match=r"e\.images\.parquet: there is no such file"):
        convert([tmp_path / "e.npy"], tmp_path / "b.npy")


# --- joining, choosing --------------------------------------------------------------------------------------


def test_files_that_hold_different_things_are_not_joined(tmp_path):
    source = write(drawn(3, BOXED), tmp_path / "a.tsv", "tsv")
    for place, other in enumerate([drawn(3), drawn(3, BOXED, dim=6), drawn(3, BOXED, dtype=np.float16)]):
        beside = write(other, tmp_path / f"{place}.npy", "table")
        with pytest.raises(InputError, match=r"\.npy: it holds regions of .* files that are joined must hold the same"):
            convert([source, beside], tmp_path / "b.npy")
    with pytest.raises(InputError, match=r"a\.tsv and .*a\.tsv: image 'image_0' is in it more than once"):
        convert([source, source], tmp_path / "b.npy")


def test_features_of_different_extractors_are_not_joined_even_after_conversions(tmp_path):
    for name, network, start in (("a", "vgg19", 0), ("b", "vgg19", 10), ("c", "resnet152", 20)):
        records = drawn(3, ids=lambda image, start=start: str(start + image))
        with FORMATS["table"].write(tmp_path / f"{name}.npy", outline_of(records), {"extractor": network}, 1) as writer:
            for record in records:
                writer.add(record)
        convert([tmp_path / f"{name}.npy"], tmp_path / "again" / f"{name}.npy")
    convert([tmp_path / "a.npy", tmp_path / "again" / "b.npy"], tmp_path / "ab.npy")
    assert len(read(tmp_path / "ab.npy")) == 6
    with pytest.raises(InputError, match=r"c\.npy: its features come from another source .* must not be mixed"):
        convert([tmp_path / "ab.npy", tmp_path / "again" / "c.npy"], tmp_path / "x.npy")


def test_a_list_of_images_that_have_no_features_is_refused_with_an_example(tmp_path):
    source = write(drawn(3), tmp_path / "a.npy", "table")
    (tmp_path / "ids.txt").write_text("image_2\n17\n18\n")
    with pytest.raises(
        InputError, match=r"ids\.txt: 2 of its 3 images, such as '17', .* ids there look like 'image_0'"
    ):
        convert([source], tmp_path / "b.npy", ids=tmp_path / "ids.txt")


# --- what is written ----------------------------------------------------------------------------------------


def test_the_note_beside_a_table_says_what_it_was_made_from(full, tmp_path):
    path, _ = full
    convert([path], tmp_path / "folder", drop=["filenames"])
    convert([tmp_path / "folder"], tmp_path / "b.npy", drop=["scores"], storage="float16")
    convert([tmp_path / "b.npy"], tmp_path / "c.npy")
    source = read_source(tmp_path / "c.npy")
    (file,) = source["converted_from"]
    assert (file["file"], file["format"]) == ("b.npy", "table")
    assert file["sha256"] == hashlib.sha256((tmp_path / "b.npy").read_bytes()).hexdigest()
    (before,) = file["source"]["converted_from"]
    assert (before["file"], before["format"]) == ("folder", "npz")
    lines = [
        f"{one.name}\0{hashlib.sha256(one.read_bytes()).hexdigest()}\n" for one in sorted(tmp_path.glob("folder/*"))
    ]
    assert before["sha256"] == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert (file["source"]["dropped"], file["source"]["storage"]) == (["scores"], "float16")


def test_the_checksum_of_a_tsv_is_that_of_its_bytes(tmp_path):
    source = write(drawn(5, BOXED), tmp_path / "a.tsv", "tsv")
    convert([source], tmp_path / "b.npy")
    (file,) = read_source(tmp_path / "b.npy")["converted_from"]
    assert file["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()


def test_older_boxes_do_not_stay_beside_newer_features(full, tmp_path):
    path, records = full
    convert([write(drawn(9), tmp_path / "bare.npy", "table")], path)
    assert not (tmp_path / "full.regions.parquet").exists()
    assert [record.boxes for record in read(path)] == [None] * len(records)


@pytest.mark.parametrize("name", FORMATS)
def test_an_output_never_overwrites_what_is_read(name, tmp_path):
    facts = sorted(FORMATS[name].holds - {"counts"})
    path = tmp_path / f"x_ims{FORMATS[name].suffixes[0] if FORMATS[name].suffixes else ''}"
    records = drawn(3, facts)
    write(records, path, name)
    with pytest.raises(InputError, match=r"would overwrite|would both|not empty"):
        convert([path], path, target_format=name)
    assert_equal(read(path), records)


def test_what_a_detector_returns_is_written_as_it_is(tmp_path):
    record = drawn(1, (*BOXED, *RECOGNISED))[0]
    regions = Regions(
        record.features, record.boxes, record.width, record.height, *(getattr(record, n) for n in RECOGNISED)
    )
    assert_equal([ImageFeatures.of("image_0", None, regions)], [record])


def test_ids_below_a_folder_become_files_below_it(tmp_path):
    records = drawn(4, regions=(1, 3), ids=lambda image: f"val2014/{image}")
    source = write(records, tmp_path / "a.npy", "table")
    convert([source], tmp_path / "folder")
    assert (tmp_path / "folder" / "val2014" / "3.npy").exists()
    assert_equal(read(tmp_path / "folder"), records)


# --- all or nothing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [0, 1, 8])
def test_a_conversion_that_fails_leaves_what_was_there(calls, full, tmp_path):
    path, records = full
    older = drawn(9, ("boxes",), seed=5)
    write(older, tmp_path / "b.npy", "table")
    with kill.killed_after(calls, TableWriter, "add"):
        convert([path], tmp_path / "b.npy")
    assert_equal(read(tmp_path / "b.npy"), older)
    with kill.killed_after(calls, FolderWriter, "add"):
        convert([path], tmp_path / "folder", drop=["filenames"])
    assert not list(tmp_path.glob("*folder*"))
    assert not list(tmp_path.glob(".*"))
    convert([path], tmp_path / "b.npy")
    assert_equal(read(tmp_path / "b.npy"), records)


@pytest.mark.parametrize("out", ["b.npy", "folder", "b.tsv"])
def test_a_conversion_that_is_killed_leaves_no_result_and_the_next_one_cleans_up(out, tmp_path):
    records = drawn(1500, ("boxes", "sizes"), regions=(5, 9), dim=64)
    source = write(records, tmp_path / "a.npy", "table")
    code = "import sys; from pathlib import Path; from fivesentences.features.formats import convert; "
    code += "convert([Path(sys.argv[1])], Path(sys.argv[2]))"
    with kill.Program(code, source, tmp_path / out) as program:
        program.wait_for(lambda: [file for file in tmp_path.glob(".*partial*") if file.is_dir() or file.stat().st_size])
        program.send(signal.SIGKILL)
        program.end()
    assert not (tmp_path / out).exists()
    convert([source], tmp_path / out)
    assert not list(tmp_path.glob(".*"))
    again = {record.image_id: record for record in read(tmp_path / out)}
    assert_equal([again[record.image_id] for record in records], records)


# --- memory -------------------------------------------------------------------------------------------------

PEAK = """
import sys
from pathlib import Path
from fivesentences.features.formats import convert

folder = Path(sys.argv[1])
drop = ["boxes", "sizes", "counts"]
for name, dropped in [("b.tsv", []), ("folder", []), ("b.h5", []), ("c_ims.npy", drop)]:
    convert([folder / "a.npy"], folder / name, drop=dropped)
    convert([folder / name], folder / "back" / f"{Path(name).stem}.npy")
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")))
"""


def test_memory_does_not_grow_with_the_number_of_images(tmp_path):
    if not sys.platform.startswith("linux"):
        pytest.skip("reads the peak of the memory from /proc")
    peaks = []
    for n in (300, 1500):
        folder = tmp_path / str(n)
        folder.mkdir()
        write(drawn(n, ("boxes", "sizes"), regions=(7, 8), dim=1024), folder / "a.npy", "table")
        done = subprocess.run([sys.executable, "-c", PEAK, folder], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    more = (tmp_path / "1500" / "a.npy").stat().st_size / 2**20 * 1200 / 1500
    assert more > 35
    assert peaks[1] - peaks[0] < more / 4, peaks  # MB: ids and tables of images, and what allocators keep


def test_a_table_is_read_by_training_after_any_conversion(full, tmp_path):
    path, records = full
    convert([path], tmp_path / "folder", drop=["filenames"])
    convert([tmp_path / "folder"], tmp_path / "b.npy")
    ids = [record.image_id for record in records]
    np.testing.assert_array_equal(FeatureTable.open(tmp_path / "b.npy").rows(ids), FeatureTable.open(path).rows(ids))
    assert json.loads((tmp_path / "b.source.json").read_text())["converted_from"][0]["format"] == "npz"
