"""Loaders of small datasets: Flickr8k, precomp folders, Pascal Sentences, and a user's own folder and CSV."""

from __future__ import annotations

import json
import zipfile

import pytest
from pydantic import ValidationError

from fivesentences.config.datasets import CatalogueData, FolderData, PrecompData
from fivesentences.corpus import Photographs, load, load_flickr8k, load_folder, load_precomp
from fivesentences.corpus.pascal_sentences import load_pascal_sentences
from fivesentences.errors import InputError

# --- Flickr8k -----------------------------------------------------------------------------------------------

TRAIN, DEV, TEST = (f"Flickr_8k.{split}Images.txt" for split in ("train", "dev", "test"))
LISTS = {TRAIN: ["c.jpg", "a.jpg"], DEV: ["d.jpg"], TEST: ["b.jpg"]}
TOKENS = [f"{image}#{k}\tA {image[0]} number {k} ." for image in ("a.jpg", "b.jpg", "c.jpg", "d.jpg") for k in range(5)]
UNUSED = [f"lost.jpg.1#{k}\tNo photograph {k} ." for k in range(5)]


@pytest.fixture
def archive(zipped):
    """The archive with other tokens (lines or bytes), or other lists."""

    def archive(tokens=TOKENS + UNUSED, lists=None):
        members = {"__MACOSX/Flickr8k.token.txt": b"\xff junk", "readme.txt": b"x"}
        members["Flickr8k.token.txt"] = tokens if isinstance(tokens, bytes) else "\n".join(tokens)
        lists = {name: images for name, images in (LISTS | (lists or {})).items() if images is not None}
        return zipped("text.zip", members | {name: "\n".join(images) + "\n" for name, images in lists.items()})

    return archive


def replaced(line, by):
    return [by if token.startswith(line) else token for token in TOKENS]


def test_images_of_flickr8k_come_in_the_order_of_the_lists_and_captions_by_number(archive):
    corpus = load_flickr8k(archive(TOKENS[::-1] + UNUSED))
    assert corpus.images["image_id"].tolist() == ["c", "a", "d", "b"]
    assert corpus.images["filename"].tolist() == ["c.jpg", "a.jpg", "d.jpg", "b.jpg"]
    assert corpus.images["split"].tolist() == ["train", "train", "dev", "test"]
    assert corpus.split("test").captions == [f"A b number {k} ." for k in range(5)]
    # Windows' ends of lines and a byte order mark change nothing.
    data = b"\xef\xbb\xbf" + "\r\n".join(TOKENS).encode() + b"\r\n"
    lists = {name: [f"{image}\r" for image in images] for name, images in LISTS.items()}
    assert load_flickr8k(archive(data, lists)).table.equals(corpus.table)


def test_a_line_separator_inside_a_caption_moves_no_caption(archive, tmp_path):
    corpus = load_flickr8k(archive(replaced("a.jpg#1", "a.jpg#1\tone\u2028two\x85three\x0cfour\rfive")))
    captions = dict(zip(corpus.caption_ids, corpus.captions, strict=True))
    assert (captions["a.jpg#1"], captions["a.jpg#2"]) == ("one two three four five", "A a number 2 .")
    lines = ["zero", "one\u2028two\x85three\x0bfour", "two", "three", "four"]
    (tmp_path / "test_caps.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert load_precomp(tmp_path).captions == [lines[0], "one two three four", *lines[2:]]


NOT_UTF8 = "\n".join(TOKENS).encode().replace(b"A b number 1", b"A caf\xe9")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"tokens": [token for token in TOKENS if not token.startswith("d.jpg#3")]}, "lacks caption #3 of 'd.jpg'"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#2\t ")}, "token.txt, line 8: caption #2 of 'b.jpg' is empty"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#2 no tab")}, "token.txt, line 8 is 'b.jpg#2 no tab'"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#1\tagain")}, "line 8: caption #1 of 'b.jpg' appears a second time"),
        ({"tokens": replaced("b.jpg#2", "b.jpg#x\tno number")}, "token.txt, line 8 is 'b.jpg#x"),
        ({"tokens": NOT_UTF8}, f"Flickr8k.token.txt: byte {NOT_UTF8.index(0xE9)} (line 7) is not UTF-8"),
        ({"lists": {TEST: ["b.jpg", "a.jpg"]}}, f"{TEST}, line 2: 'a.jpg' is listed a second time"),
        ({"lists": {DEV: ["", "d.jpg"]}}, f"{DEV}, line 1"),
        ({"lists": {DEV: None}}, f"there is no '{DEV}' in it"),
    ],
)
def test_a_damaged_archive_of_flickr8k_is_one_sentence(archive, refused, changed, sentence):
    with refused(sentence, "text.zip: "):
        load_flickr8k(archive(**changed))


@pytest.mark.data
def test_the_released_archive_has_6000_1000_1000_images_and_40000_captions(mirror):
    corpus = load_flickr8k(mirror / "flickr8k" / "Flickr8k_text.zip")
    assert corpus.images["split"].value_counts().to_dict() == {"train": 6000, "dev": 1000, "test": 1000}
    assert corpus.n_captions == 40_000
    with zipfile.ZipFile(mirror / "flickr8k" / "Flickr8k_text.zip") as file:
        assert corpus.split("train").images["filename"].tolist() == file.read(TRAIN).decode().split()
    photographs = Photographs(mirror / "flickr8k" / "Flickr8k_Dataset.zip")
    assert all(filename in photographs for filename in corpus.images["filename"])


# --- precomp folders ----------------------------------------------------------------------------------------


def write_split(folder, split, ids, repeat=1):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{split}_caps.txt").write_text(
        "".join(f"{split} image {i} caption {k}\n" for i in ids for k in range(5))
    )
    (folder / f"{split}_ids.txt").write_text("".join(f"{i}\n" * repeat for i in ids))


@pytest.fixture
def folder(tmp_path):
    write_split(tmp_path / "f30k_precomp", "train", [7, 3, 9])
    write_split(tmp_path / "f30k_precomp", "dev", [1, 2], repeat=5)
    write_split(tmp_path / "f30k_precomp", "test", [5], repeat=5)
    return tmp_path / "f30k_precomp"


def test_ids_repeated_or_not_give_images_of_five_captions_in_file_order(folder):
    corpus = load_precomp(folder.parent, "f30k")
    assert corpus.images["image_id"].tolist() == ["7", "3", "9", "1", "2", "5"]
    assert corpus.images["split"].tolist() == ["train"] * 3 + ["dev"] * 2 + ["test"]
    assert corpus.image_of_caption.tolist() == [i for i in range(6) for _ in range(5)]
    assert corpus.split("dev").captions[5] == "dev image 2 caption 0"
    assert load_precomp(folder).table.equals(corpus.table)
    assert load_precomp(folder).name == corpus.name == "f30k"


def test_testall_is_the_test_split_when_asked_and_without_ids_images_are_numbered(folder):
    write_split(folder, "testall", [5, 6, 8])
    assert load_precomp(folder, testall=True).split("test").images["image_id"].tolist() == ["5", "6", "8"]
    (folder / "test_ids.txt").unlink()
    assert load_precomp(folder).split("test").images["image_id"].tolist() == ["test-0"]


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("train_ids.txt", b"7\n" * 4, "its 4 lines"),
        ("train_ids.txt", b"7\n\n9\n", "its 3 lines"),
        ("dev_ids.txt", b"1\n" * 4 + b"2\n" * 6, "its 10 lines"),
        ("dev_caps.txt", b"x\n" * 6 + b"  \n" + b"x\n" * 3, "line 7: the caption of image '2' is empty"),
        ("dev_caps.txt", b"a\nb\xff\n", "byte 3 (line 2) is not UTF-8"),
    ],
)
def test_a_damaged_file_of_a_precomp_folder_is_one_sentence(folder, refused, file, content, sentence):
    (folder / file).write_bytes(content)
    with refused(file, sentence):
        load_precomp(folder)


def test_a_folder_without_captions_is_one_sentence(tmp_path, refused):
    for given, sentence in (
        ({"folder": tmp_path / "coco_precomp"}, "there is no such folder"),
        ({"folder": tmp_path}, "contains no train_caps.txt"),
        ({"folder": tmp_path, "testall": True}, "testall_caps.txt: there is no such file"),
    ):
        with refused(sentence):
            load_precomp(**given)


# --- a user's own folder and CSV ----------------------------------------------------------------------------

HEADER = "filename,caption,split\n"


@pytest.fixture
def photographs(tmp_path):
    (tmp_path / "photographs" / "more").mkdir(parents=True)
    for name in ("a.jpg", "b.jpg", "more/c.png", "cafe\u0301.jpg"):
        (tmp_path / "photographs" / name).write_bytes(b"not looked at here")
    return tmp_path / "photographs"


@pytest.fixture
def load_csv(photographs, tmp_path):
    def load_csv(content):
        path = tmp_path / "captions.csv"
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_folder(photographs, path, "mine")

    return load_csv


def test_json_of_karpathy_and_rows_of_json_are_read_too(photographs, tmp_path):
    rows = [("b.jpg", "train", ["b one", "b two"]), ("a.jpg", "test", ["a one"])]
    images = [
        {"filename": name, "split": split, "sentences": [{"raw": text} for text in texts]}
        for name, split, texts in rows
    ]
    (tmp_path / "dataset.json").write_text(json.dumps({"images": images}))
    (tmp_path / "rows.jsonl").write_text(
        "".join(
            json.dumps({"image": name, "split": split, "caption": text}) + "\n"
            for name, split, texts in rows
            for text in texts
        )
    )
    for name in ("dataset.json", "rows.jsonl"):
        corpus = load_folder(photographs, tmp_path / name, "mine")
        assert corpus.captions == ["b one", "b two", "a one"]
        assert corpus.images[["filename", "split"]].values.tolist() == [["b.jpg", "train"], ["a.jpg", "test"]]
    (tmp_path / "coco.json").write_text(json.dumps([{"image": "a.jpg", "caption": "x"}]))
    with pytest.raises(InputError) as error:
        load_folder(photographs, tmp_path / "coco.json", "mine")
    assert "coco.json" in str(error.value) and "split" in str(error.value)


def test_rows_of_an_image_are_brought_together_in_order_of_first_appearance(load_csv):
    rows = "b.jpg,b one,train\nmore/c.png,c one,val\na.jpg,a one,test\nb.jpg,b two,train\nc.png,x,dev\n"
    corpus = load_csv(HEADER + rows)
    assert corpus.images["filename"].tolist() == ["b.jpg", "more/c.png", "a.jpg", "c.png"]
    assert corpus.images["split"].tolist() == ["train", "dev", "test", "dev"]
    assert corpus.captions == ["b one", "b two", "c one", "a one", "x"]
    assert corpus.caption_ids[:2] == ["b.jpg#0", "b.jpg#1"]


@pytest.mark.parametrize(
    "content",
    [
        "filename;caption;split\r\na.jpg;A dog, a cat;train\r\nb.jpg;two;test\r\n",
        "\ufefffilename;caption;split\r\na.jpg;A dog, a cat;train\r\n;;\r\nb.jpg;two;test\r\n",
        "filename\tcaption\tsplit\na.jpg\tA dog, a cat\ttrain\nb.jpg\ttwo\ttest\n",
        'Filename,Caption,Split,,\na.jpg,"A dog, a cat",Train,,\nb.jpg,two,TEST,,\n,,,,\n',
        'filename,caption,split\ra.jpg,"A dog, a cat",train\rb.jpg,two,test\r',
        'caption,filename,note,category,split\r\n"A dog,\r\na cat",a.jpg,,dogs,train\r\n\r\ntwo,b.jpg,x,,test\r\n',
    ],
    ids=["semicolons", "mark", "tabs", "capitals", "returns", "line break"],
)
def test_a_csv_is_read_as_spreadsheets_write_it(load_csv, content):
    corpus = load_csv(content)
    assert corpus.captions == ["A dog, a cat", "two"] and corpus.splits == ["train", "test"]
    assert corpus.images["category"].isna().tolist() == ["category" not in content, True]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a", "did you mean 'a.jpg'?"),
        ("more\\c.png", "did you mean 'more/c.png'?"),
        ("caf\u00e9.jpg", "there is 'cafe\u0301.jpg', whose accents are composed otherwise"),
        ("z.jpg", "photographs; add it, or remove its captions."),
    ],
)
def test_a_missing_photograph_suggests_the_one_that_is_there(load_csv, photographs, refused, name, hint):
    with refused(f"line 2: there is no photograph '{name}' in {photographs}", hint):
        load_csv(HEADER + f"{name},x,train\n")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "there is no such file"),
        ("", "'filename' once"),
        (HEADER, "has a header but no captions"),
        ("filename,caption\na.jpg,x\n", "'split' once"),
        (HEADER + "a.jpg, ,train\n", "line 2: the caption of 'a.jpg' is empty"),
        (HEADER + ",x,train\n", "line 2: filename is empty"),
        (HEADER + 'a.jpg,"x\ny",train\nb.jpg,x\n', "line 4: 2 values for 3 columns"),
        (HEADER + "a.jpg,x,train\na.jpg,y,test\n", "line 3: 'a.jpg' is in test"),
        (HEADER + 'a.jpg,"never closed,train\n', "is not CSV"),
    ],
)
def test_a_wrong_csv_is_one_sentence(load_csv, refused, content, sentence):
    with refused(sentence, "captions.csv"):
        load_csv(content)


# --- Pascal Sentences, and the choice of the loader ---------------------------------------------------------

PASCAL = {
    "b_1.jpg": {"category": "bird", "captions": ["A bird.", "A  bird\nflies ."]},
    "a_2.jpg": {"category": "cat", "captions": ["A cat."]},
}


def written(tmp_path, content):
    (tmp_path / "d.json").write_text(json.dumps(content))
    return tmp_path / "d.json"


def test_images_of_pascal_sentences_come_in_file_order_with_their_category(tmp_path):
    corpus = load("pascal", CatalogueData(loader="pascal_sentences"), written(tmp_path, PASCAL))
    assert corpus.name == "pascal" and corpus.splits == ["all"]
    assert corpus.images[["image_id", "category"]].values.tolist() == [["b_1", "bird"], ["a_2", "cat"]]
    assert corpus.captions == ["A bird.", "A bird flies .", "A cat."]
    assert corpus.caption_ids == ["b_1.jpg#0", "b_1.jpg#1", "a_2.jpg#0"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "map filenames"),
        ({"a.jpg": ["A cat."]}, "'a.jpg' has no category"),
        ({"a.jpg": {"category": "", "captions": ["A cat."]}}, "'a.jpg' has no category"),
        ({"a.jpg": {"category": "cat", "captions": "A cat."}}, "'a.jpg' has no list of captions"),
        ({"a.jpg": {"category": "cat", "captions": ["x", " "]}}, "'a.jpg': caption 1 is empty"),
    ],
)
def test_what_a_file_of_pascal_sentences_lacks_is_named(tmp_path, refused, content, words):
    with refused("d.json", words):
        load_pascal_sentences(written(tmp_path, content))


@pytest.mark.data
def test_the_real_pascal_sentences(mirror):
    corpus = load_pascal_sentences(mirror / "pascal_sentences" / "pascal_sentences.json")
    assert (corpus.n_images, corpus.n_captions) == (1000, 4998)
    assert corpus.images["category"].value_counts().tolist() == [50] * 20


def test_each_block_is_read_by_its_loader(tmp_path, photographs, folder, refused):
    (tmp_path / "c.csv").write_text(HEADER + "a.jpg,a dog,train\n")
    block = FolderData(loader="folder", photographs=photographs, captions=tmp_path / "c.csv")
    assert load("mine", block, tmp_path / "c.csv").captions == ["a dog"]
    with refused("no image of 'mine' is in the split 'dev'"):
        load("mine", block, tmp_path / "c.csv", needs=["train", "dev"])
    assert load("f30k", PrecompData(loader="precomp", folder=folder), folder).n_captions == 30
    images = [
        {"filename": f"{name}.jpg", "split": split, "sentences": [{"raw": f"{name} {k}"} for k in range(3)]}
        for name, split in (("a", "restval"), ("b", "test"), ("c", "train"))
    ]
    block = CatalogueData(loader="karpathy", order="released", captions_per_image=2, splits=["train"])
    corpus = load("coco", block, written(tmp_path, {"images": images}))
    assert corpus.captions == ["c 0", "c 1", "a 0", "a 1"]
    assert corpus.read_as == {"order": "released", "captions_per_image": 2}
    with pytest.raises(ValidationError, match="karpathy"):
        CatalogueData(loader="flickr8k", order="released")
