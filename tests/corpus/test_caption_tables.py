"""Captions from tables and shards. Every file is made here, in the layout of the data set that its test names."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fivesentences.corpus.caption_tables import LARGEST_TEXT, read_caption_table
from fivesentences.corpus.table import CaptionRow, corpus_of
from fivesentences.errors import InputError

PHOTOGRAPH = {"bytes": b"\xff\xd8 not read", "path": None}


def parquet(path: str, rows: list[dict]) -> str:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def shard(path: str, entries: dict[str, bytes | str], kind: bytes = tarfile.REGTYPE) -> str:
    with tarfile.open(path, "w") as archive:
        for name, text in entries.items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size, member.type = len(data), kind
            archive.addfile(member, io.BytesIO(data))
    return path


def read(path, *columns, **options):
    found = read_caption_table(path, columns, **options)
    return found.captions, found.image_of_caption.tolist(), found.images


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_list_of_captions_per_row_of_the_split_as_flickr30k_on_the_hub():
    rows = [
        {"image": PHOTOGRAPH, "caption": ["A dog.", "A  dog\nruns."], "sentids": [0], "split": "test", "filename": "a"},
        {"image": PHOTOGRAPH, "caption": ["A cat."], "split": "val", "filename": "b"},
        {"image": PHOTOGRAPH, "caption": ["A boat.", "Boats."], "split": "test", "filename": "c"},
    ]  # fmt: skip
    path = parquet("f.parquet", rows)
    assert read(path) == (["A dog.", "A dog runs.", "A boat.", "Boats."], [0, 0, 1, 1], ["a", "c"])
    assert (
        read_caption_table(path, split="dev").captions == read_caption_table(path, split="val").captions == ["A cat."]
    )
    for missing in ("train", "restval"):
        with pytest.raises(InputError, match=missing):
            read_caption_table(path, split=missing)


def test_a_row_per_caption_with_a_record_in_it_as_coco_on_the_hub():
    rows = [
        {"image": PHOTOGRAPH, "imgid": image, "sentences": {"raw": f"caption {at}", "tokens": ["caption"]}}
        for at, image in enumerate([7, 9, 7])
    ]
    path = parquet("coco.parquet", rows)
    assert read(path, "sentences.raw") == (["caption 0", "caption 1", "caption 2"], [0, 1, 0], ["7", "9"])
    with pytest.raises(InputError, match=r"sentences\.raw"):
        read(path)


def test_a_column_per_language_or_per_caption_and_no_image_as_multi30k_and_flickr8k_on_the_hub():
    rows = [{"en": f"dog {at}", "de": f"Hund {at}", "image": PHOTOGRAPH} for at in range(2)]
    assert read(parquet("m.parquet", rows), "de") == (["Hund 0", "Hund 1"], [0, 1], ["0", "1"])
    assert read("m.parquet", "en", "de")[:2] == (["dog 0", "Hund 0", "dog 1", "Hund 1"], [0, 0, 1, 1])
    Path("m.jsonl").write_text("".join(json.dumps({key: row[key] for key in ("en", "de")}) + "\n" for row in rows))
    assert read("m.jsonl", "de") == read("m.parquet", "de")
    with pytest.raises(InputError, match="en, de, image"):
        read("m.parquet")
    with pytest.raises(InputError, match="'fr'"):
        read("m.parquet", "fr")


def test_a_language_of_xm3600():
    rows = [
        {"image/key": key, "image/locale": "de", "de": {"caption": captions, "caption/tokenized": ["no"]}, "en": {}}
        for key, captions in (("0a", ["Ein Hund.", "Hund"]), ("0b", ["Eine Katze"]))
    ]
    Path("captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read("captions.jsonl", "de.caption") == (["Ein Hund.", "Hund", "Eine Katze"], [0, 0, 1], ["0a", "0b"])
    with pytest.raises(InputError, match="line 1"):
        read("captions.jsonl", "en.caption")


def test_a_file_per_photograph_in_a_folder_as_dci():
    Path("complete").mkdir()
    for number in (10, 9):
        content = {
            "image": f"sa_{number}.jpg",
            "short_caption": "A dog.",
            "extra_caption": "It\nruns.",
            "mask_data": {},
        }
        Path("complete", f"{number}.json").write_text(json.dumps(content))
    expected = (["A dog.", "It runs."] * 2, [0, 0, 1, 1], ["sa_9.jpg", "sa_10.jpg"])
    assert read("complete", "short_caption", "extra_caption") == expected


def test_shards_in_the_order_of_their_numbers_as_clip_benchmark():
    Path("test").mkdir()
    for number in (10, 2):  # names of samples may begin again in each shard
        entries = {
            f"s{number}.jpg": b"\xff", f"s{number}.txt": f"first {number}\nsecond\n", f"._s{number}.txt": b"\xff",
            "t.webp": b"\xff", "t.seg.txt": b"\xff", "t.txt": "third\r\nfourth",
        }  # fmt: skip
        shard(f"test/{number}.tar", entries)
    captions, owners, images = read("test")
    assert captions == ["first 2", "second", "third", "fourth", "first 10", "second", "third", "fourth"]
    assert (owners, images) == (
        [0, 0, 1, 1, 2, 2, 3, 3],
        ["2.tar/s2.jpg", "2.tar/t.webp", "10.tar/s10.jpg", "10.tar/t.webp"],
    )


def test_captions_of_a_shard_may_be_fields_of_json():
    fields = json.dumps({"caption": "A dog.", "captions": {"de": ["Hund"]}, "key": 3})
    shard("a.tar", {"x/1.json": fields, "x/1.jpg": b"", "x/2.json": fields, "x/2.txt": "By text."})
    assert read("a.tar", "captions.de") == (["Hund", "Hund"], [0, 1], ["a.tar/x/1.jpg", "a.tar/x/2"])
    shard("b.tar", {"1.json": fields, "1.jpg": b""})
    assert read("b.tar")[0] == ["A dog."]


def test_a_split_by_the_names_of_files():
    Path("data").mkdir()
    for name in ("train-00000-of-00001", "validation-00000-of-00001"):
        parquet(f"data/{name}.parquet", [{"text": name}])
    found = read_caption_table("data", split="dev")
    assert (found.captions, found.split) == (["validation-00000-of-00001"], "dev")
    with pytest.raises(InputError, match="test"):
        read_caption_table("data")


def test_a_part_that_is_missing_is_said(tmp_path, capfd):
    (data := tmp_path / "data").mkdir()
    for number in (0, 2):
        parquet(str(data / f"test-{number:05d}-of-00003.parquet"), [{"text": f"a {number}"}])
    with pytest.raises(InputError) as error:
        read(data)
    assert error.value.where == data and "2 of the 3" in str(error.value)
    parquet(str(data / "test-00001-of-00003.parquet"), [{"text": "a 1"}])
    assert read(data)[0] == ["a 0", "a 1", "a 2"] and capfd.readouterr().err == ""
    for name in ("test-3.parquet.gz", "test-4.PARQUET", "more.parquet", "README.md", "._x.parquet"):
        (data / name).write_bytes(b"x")
    assert read(data)[0] == ["a 0", "a 1", "a 2"]
    assert "3 files are left out" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["../../out.txt", "/out.txt", "..\\out.txt"])
def test_a_shard_with_an_entry_outside_is_refused_and_nothing_is_written(name):
    shard("a.tar", {"a.txt": "A dog.", name: "x"})
    with pytest.raises(InputError, match=r"a\.tar"):
        read("a.tar")
    assert [path.name for path in Path().iterdir()] == ["a.tar"]


def test_links_and_devices_of_a_shard_are_passed_over():
    with tarfile.open("a.tar", "w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(InputError, match="no captions"):
        read("a.tar")


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ({"a.jpg": b"\xff"}, "a.tar, a"),
        ({"a.txt": ""}, "txt"),
        ({"a.txt": "x\n\ny"}, "caption 2"),
        ({"a.txt": b"\xff"}, "a.txt"),
        ({"a.json": "{"}, "a.json"),
        ({"a.txt": b"x" * (LARGEST_TEXT + 1)}, "1,048,577"),
    ],
)
def test_a_wrong_sample_is_named(entries, named):
    shard("a.tar", entries)
    with pytest.raises(InputError, match=named):
        read("a.tar")


@pytest.mark.parametrize("kept", [0, 100, 700, 1100])
@pytest.mark.parametrize("kind", ["tar", "parquet"])
def test_half_a_file_is_refused(kept, kind):
    path = shard("a.tar", {"a.txt": "x" * 900}) if kind == "tar" else parquet("a.parquet", [{"text": "x" * 2000}])
    Path(path).write_bytes(Path(path).read_bytes()[:kept])
    with pytest.raises(InputError, match=path):
        read(path)


SHARD = {f"{number}.{kind}": f"caption {number}" for number in range(6) for kind in ("jpg", "txt")}


@pytest.mark.parametrize("place", [0, 100, 124, 148, 156, 257])  # of name, mode, size, checksum, type and magic
@pytest.mark.parametrize("entry", [0, 5, 11])
def test_a_flipped_bit_in_any_header_of_a_shard_is_refused(place, entry):
    data = bytearray(Path(shard("a.tar", SHARD)).read_bytes())
    assert len(read("a.tar")[0]) == 6
    data[1024 * entry + place] ^= 1
    Path("a.tar").write_bytes(data)
    listed = subprocess.run(["tar", "tf", "a.tar"], capture_output=True, check=False)
    assert listed.returncode != 0  # as GNU tar says
    with pytest.raises(InputError) as error:
        read("a.tar")
    assert str(error.value.where) == "a.tar"


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: 1024 * 12],  # at the end of an entry, without the mark of the end
        lambda data: data[: 1024 * 5],
        lambda data: data[: 1024 * 5 + 512],
        lambda data: data + data,  # of which tar lists the first
        lambda data: data[: 1024 * 5] + bytes(1024) + data[1024 * 5 :],
    ],
)
def test_a_shard_that_ends_early_is_refused(change):
    data = Path(shard("a.tar", SHARD)).read_bytes()
    Path("a.tar").write_bytes(change(data))
    with pytest.raises(InputError) as error:
        read("a.tar")
    assert str(error.value.where) == "a.tar"


def test_a_sample_without_its_photograph_is_said(capfd, tmp_path):
    assert len(read(shard(str(tmp_path / "a.tar"), SHARD))[0]) == 6 and capfd.readouterr().err == ""
    found = read(shard(str(tmp_path / "b.tar"), {name: text for name, text in SHARD.items() if name != "3.jpg"}))
    said = capfd.readouterr().err
    assert len(found[0]) == 6 and "1 of 6 samples" in said and "b.tar/3" in said
    read(shard(str(tmp_path / "c.tar"), {name: text for name, text in SHARD.items() if name.endswith("txt")}))
    assert capfd.readouterr().err == ""  # a shard of captions alone


@pytest.mark.parametrize("options", [["--format=ustar"], ["--format=pax"], ["--format=gnu", "-b", "1"]])
def test_shards_of_gnu_tar_are_read(options):
    for name, text in SHARD.items():
        Path(name).write_text(text)
    subprocess.run(["tar", *options, "-cf", "a.tar", *SHARD], check=True)
    assert read("a.tar")[0] == [f"caption {number}" for number in range(6)]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"caption": None, "filename": "a"}, "row 0"),
        ({"caption": [], "filename": "a"}, "'caption'"),
        ({"caption": ["x", None], "filename": "a"}, "None"),
        ({"caption": [3], "filename": "a"}, "3"),
        ({"caption": " ", "filename": "a"}, "caption 1"),
        ({"caption": "x", "filename": ["a", "b"]}, "2 names"),
    ],
)
def test_a_wrong_row_is_named(row, named):
    parquet("a.parquet", [row])
    with pytest.raises(InputError, match=named):
        read("a.parquet")


@pytest.mark.parametrize(
    ("content", "named"), [("[1]", "item 0"), ("{}", "item 0"), ("[]", "no captions"), ("{", "a.json")]
)
def test_wrong_json_is_refused(content, named):
    Path("a.json").write_text(content)
    with pytest.raises(InputError, match=named):
        read("a.json")


def test_a_folder_of_several_kinds_or_of_none_and_no_file_are_refused():
    Path("empty").mkdir()
    Path("both").mkdir()
    Path("both/a.json").write_text("{}")
    Path("both/a.jsonl").write_text("{}")
    for path in ("empty", "both", "a.tar", "a.parquet", "a.jsonl"):
        with pytest.raises(InputError, match=path):
            read(path)


def test_the_command_writes_captions_and_pairing_that_others_read(run):
    rows = [
        {"image_id": 5, "caption": "a dog runs"},
        {"image_id": 8, "caption": "a cat"},
        {"image_id": 5, "caption": "dogs"},
    ]
    parquet("t.parquet", rows)
    assert run("captions", "t.parquet", "-o", "c.txt").code == 1 and not Path("c.txt").exists()
    options = ("--image-of-caption", "o.txt", "--image-names", "n.txt")
    said = run("captions", "t.parquet", "-o", "c.txt", *options)
    assert said.code == 0 and "3 captions of 2 images, t.parquet; " in said.out
    files = [Path(name).read_text().split("\n")[:-1] for name in ("c.txt", "o.txt", "n.txt")]
    assert files == [["a dog runs", "a cat", "dogs"], ["0", "1", "0"], ["5", "8"]]
    assert run("phi", "cider", "c.txt", "--image-of-caption", "o.txt", "-o", "cider.npy").code == 0
    assert run("captions", "t.parquet", "--column", "image_id", "-o", "x.txt").code == 1
    assert run("captions", "f30k", "--column", "caption", "-o", "x.txt").code == 1


def test_a_corpus_of_the_workflow_is_still_read_as_one(run):
    rows = [CaptionRow("a", "a.jpg", "1", "A dog.", "test"), CaptionRow("b", "b.jpg", "2", "A cat.", "dev")]
    corpus_of("own", rows).write("own.parquet")
    assert run("captions", "own.parquet", "-o", "c.txt", "--split", "dev").code == 0
    assert Path("c.txt").read_text() == "A cat.\n"
    assert run("captions", "own.parquet", "-o", "x.txt", "--column", "caption").code == 1
    Path("own.parquet").write_bytes(Path("own.parquet").read_bytes()[:90])
    assert run("captions", "own.parquet", "-o", "x.txt").code == 1 and not Path("x.txt").exists()
