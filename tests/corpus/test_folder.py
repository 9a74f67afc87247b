"""A user's own folder of photographs and CSV of captions."""

from __future__ import annotations

import pytest

from fivesentences.corpus import load_folder

HEADER = "filename,caption,split\n"


@pytest.fixture
def photographs(tmp_path):
    folder = tmp_path / "photographs"
    (folder / "more").mkdir(parents=True)
    for name in ("a.jpg", "b.jpg", "more/c.png"):
        (folder / name).write_bytes(b"not looked at here")
    return folder


@pytest.fixture
def load(photographs, tmp_path):
    def load(content):
        path = tmp_path / "captions.csv"
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_folder(photographs, path, "mine")

    return load


def test_rows_of_an_image_are_brought_together_in_order_of_first_appearance(load):
    corpus = load(
        HEADER + "b.jpg,b one,train\nmore/c.png,c one,val\na.jpg,a one,test\nb.jpg,b two,train\nc.png,x,dev\n"
    )
    assert corpus.images["filename"].tolist() == ["b.jpg", "more/c.png", "a.jpg", "c.png"]
    assert corpus.images["split"].tolist() == ["train", "dev", "test", "dev"]
    assert corpus.captions == ["b one", "b two", "c one", "a one", "x"]
    assert corpus.table["caption_id"].tolist()[:2] == ["b.jpg#0", "b.jpg#1"]


def test_quotes_line_breaks_other_columns_categories_and_a_byte_order_mark(load):
    content = 'caption,filename,note,category,split\r\n"A dog, ""Rex"",\r\nruns",a.jpg,,dogs,train\r\n\r\n'
    content += "two,b.jpg,x,,test\r\n"
    corpus = load(b"\xef\xbb\xbf" + content.encode())
    assert corpus.captions == ['A dog, "Rex", runs', "two"]
    assert corpus.images["category"].isna().tolist() == [False, True]
    assert corpus.images["category"][0] == "dogs"


@pytest.mark.parametrize(
    "content",
    [
        "filename;caption;split\r\na.jpg;A dog, a cat;train\r\nb.jpg;two;test\r\n",
        "\ufefffilename;caption;split\r\na.jpg;A dog, a cat;train\r\n;;\r\nb.jpg;two;test\r\n",
        "filename\tcaption\tsplit\na.jpg\tA dog, a cat\ttrain\nb.jpg\ttwo\ttest\n",
        'Filename,Caption,Split,,\na.jpg,"A dog, a cat",Train,,\nb.jpg,two,TEST,,\n,,,,\n',
        'filename,caption,split\ra.jpg,"A dog, a cat",train\rb.jpg,two,test\r',
    ],
    ids=["semicolons", "mark", "tabs", "capitals", "returns"],
)
def test_a_csv_is_read_as_spreadsheets_write_it(load, content):
    corpus = load(content.encode())
    assert corpus.captions == ["A dog, a cat", "two"] and corpus.splits == ["train", "test"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("A.JPG", "did you mean 'a.jpg'?"),
        ("a.jpeg", "did you mean 'a.jpg'?"),
        ("a", "did you mean 'a.jpg'?"),
        ("photographs/a.jpg", "did you mean 'a.jpg'?"),
        ("more\\c.png", "did you mean 'more/c.png'?"),
        ("caf\u00e9.jpg", "there is 'cafe\u0301.jpg', whose accents are composed otherwise"),
        ("z.jpg", "in {folder}; add it, or remove its captions."),
    ],
)
def test_a_missing_photograph_suggests_the_one_that_is_there(load, photographs, refused, name, hint):
    (photographs / "cafe\u0301.jpg").write_bytes(b"")
    with refused(f"line 2: there is no photograph '{name}' in {photographs}", hint.format(folder=photographs)):
        load(HEADER + f"{name},x,train\n")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "there is no such file"),
        ("", "'filename' once"),
        (HEADER, "has a header but no captions"),
        ("filename,caption\na.jpg,x\n", "'split' once"),
        ("filename,caption,split,split\n", "'split' once"),
        (HEADER + "../a.jpg,x,train\n", "line 2: there is no photograph '../a.jpg'"),
        (HEADER + "a.jpg, ,train\n", "line 2: the caption of 'a.jpg' is empty"),
        (HEADER + ",x,train\n", "line 2: filename is empty"),
        (HEADER + "a.jpg,A dog, a cat,train\n", "line 2: 4 values for 3 columns"),
        (HEADER + 'a.jpg,"x\ny",train\nb.jpg,x\n', "line 4: 2 values for 3 columns"),
        (HEADER + "a.jpg,x,Training\n", "line 2: the split is 'training'"),
        (HEADER + "a.jpg,x,train\na.jpg,y,test\n", "line 3: 'a.jpg' is in test"),
        (HEADER + 'a.jpg,"never closed,train\n', "is not CSV"),
        ((HEADER + "a.jpg,x,train\n").encode("utf-16"), "byte 0 (line 1) is not UTF-8"),
    ],
)
def test_a_wrong_csv_is_one_sentence(load, refused, content, sentence):
    with refused(sentence, "captions.csv"):
        load(content)
