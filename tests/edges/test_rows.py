"""Rows that vanish or appear: every reader takes the same rows of the same content, and says what it left out."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.choices import split_in_file, split_named
from fivesentences.corpus import load_folder, load_judgements, load_karpathy
from fivesentences.errors import InputError, say_once
from fivesentences.evaluation import cxc_within, read_caption_table
from fivesentences.evaluation.matrix_files import read_matrix
from fivesentences.semantics.caption_file import read_captions
from fivesentences.semantics.judged import read_judged

# Names that releases and tables give to splits, and what they mean.
NAMED = {
    "train": "train", "Training": "train", "TRAIN ": "train", "trainset": "train", "restval": "train",
    "RestVal": "train", "val": "dev", "Val": "dev", " validation": "dev", "valid": "dev", "dev": "dev",
    "Development": "dev", "val set": "dev",
    "test": "test", "Test": "test", "testing": "test", "test ": "test", "\tTEST\n": "test", "test_split": "test",
    "holdout": "holdout", "test2": "test2",
}  # fmt: skip


@pytest.fixture(autouse=True)
def said_anew():
    """Each test hears what another has heard."""
    say_once.cache_clear()


@pytest.mark.parametrize(("name", "split"), NAMED.items())
def test_a_split_has_one_name(name, split):
    assert split_in_file(name) == split
    if name.strip().casefold() not in ("restval", "valid"):  # which files alone use
        assert split_named(name) == split


def written(folder: Path, rows: list[dict[str, Any]], suffix: str) -> Path:
    """A table in one of the formats that captions are read from."""
    path, table = folder / f"table{suffix}", pd.DataFrame(rows)
    match suffix:
        case ".parquet":
            table.to_parquet(path)
        case ".csv":
            table.to_csv(path, index=False)
        case ".tsv":
            table.to_csv(path, index=False, sep="\t")
        case ".json":
            path.write_text(json.dumps(rows))
        case ".jsonl":
            path.write_text("\n".join(map(json.dumps, rows)))
    return path


FORMATS = (".parquet", ".csv", ".tsv", ".json", ".jsonl")
ROWS = [
    {"filename": f"{number}.jpg", "caption": f"caption number {number}", "split": split}
    for number, split in enumerate([*NAMED, None, "test"])
]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_every_format_takes_the_rows_of_a_split_and_counts_the_others(suffix, split, tmp_path, capsys):
    wanted = [row["caption"] for row in ROWS if NAMED.get(str(row["split"])) == split]
    path = written(tmp_path, ROWS, suffix)
    table = read_caption_table(path, split=split)
    assert table.captions == wanted and table.split == split
    said = capsys.readouterr().err
    assert f"{len(wanted)} captions of {split} read" in said and "1 without a split" in said and "1 of holdout" in said
    counted = sum(int(word) for word in said.replace(",", "").split("left out:")[1].split() if word.isdigit())
    assert len(wanted) + counted == len(ROWS)


@pytest.mark.parametrize("suffix", FORMATS)
def test_where_no_row_has_a_split_all_are_read(suffix, tmp_path, capsys):
    rows = [row | {"split": None} for row in ROWS]
    assert read_caption_table(written(tmp_path, rows, suffix)).captions == [row["caption"] for row in ROWS]
    assert "no row has a split" in capsys.readouterr().err
    rows = [{key: value for key, value in row.items() if key != "split"} for row in ROWS]
    assert len(read_caption_table(written(tmp_path, rows, suffix)).captions) == len(ROWS)
    assert not capsys.readouterr().err


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_of_splits_may_be_capitalised(suffix, tmp_path):
    rows = [{"filename": row["filename"], "caption": row["caption"], "Split": row["split"]} for row in ROWS]
    assert len(read_caption_table(written(tmp_path, rows, suffix), split="dev").captions) == 7


def test_splits_that_are_numbers_or_unknown_are_named(tmp_path):
    rows = [row | {"split": number % 3} for number, row in enumerate(ROWS)]
    with pytest.raises(InputError, match="split is 0"):
        read_caption_table(written(tmp_path, rows, ".parquet"))
    for suffix in (".csv", ".jsonl"):
        with pytest.raises(InputError, match=r"holdout \(23 captions\)"):
            read_caption_table(written(tmp_path, [row | {"split": "holdout"} for row in ROWS], suffix))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_empty_cells_of_numbered_columns_are_left_out_and_counted(suffix, tmp_path, capsys):
    rows = [{"image": f"{i}.jpg", **{f"caption_{k}": f"a {i} {k}" for k in range(3)}} for i in range(4)]
    rows[1]["caption_2"] = rows[3]["caption_0"] = None
    table = read_caption_table(written(tmp_path, rows, suffix))
    assert table.captions == [row[f"caption_{k}"] for row in rows for k in range(3) if row[f"caption_{k}"]]
    assert table.image_of_caption.tolist() == [0] * 3 + [1] * 2 + [2] * 3 + [3] * 2
    assert "10 captions read; left out: 2 missing captions" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["captions.txt", "captions.pq", "CAPTIONS.PARQUET"])
def test_a_table_is_read_by_its_content_whatever_its_name(name, tmp_path):
    path = written(tmp_path, ROWS, ".parquet").rename(tmp_path / name)
    assert read_caption_table(path, split="dev").captions == [
        row["caption"] for row in ROWS if NAMED.get(str(row["split"])) == "dev"
    ]
    assert read_captions(path) == read_caption_table(path).captions


def karpathy(*images: dict[str, Any]) -> dict[str, Any]:
    made = []
    for number, image in enumerate(images):
        sentences = [{"raw": f"a dog {number} runs {k}", "sentid": 10 * number + k} for k in range(2)]
        made.append({"filename": f"{number}.jpg", "split": "test", "sentences": sentences} | image)
    return {"images": made}


@pytest.mark.parametrize(
    "images",
    [
        [{"cocoid": 1}, {"cocoid": 2}, {"cocoid": 1}],
        [{}, {}, {"filename": "0.jpg"}],
        [{"cocoid": 1}, {"cocoid": 2}, {"cocoid": 3, "filename": "0.jpg"}],
        [{"cocoid": 1, "split": "test"}, {"cocoid": 1, "split": "train"}],
    ],
)
def test_an_image_twice_in_karpathys_json_is_refused_by_every_reader(images, tmp_path):
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(karpathy(*images)))
    for read in (read_caption_table, lambda path: load_karpathy(path, "made")):
        with pytest.raises(InputError, match=rf"images\[{len(images) - 1}\].*earlier"):
            read(path)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
def test_an_image_with_two_lists_of_captions_is_refused(suffix, tmp_path):
    rows = [{"image": f"{i}.jpg", "captions": [f"a {i} {k}" for k in range(5)]} for i in range(3)]
    assert len(read_caption_table(written(tmp_path, rows, suffix)).captions) == 15
    with pytest.raises(InputError, match=r"1\.jpg.*earlier"):
        read_caption_table(written(tmp_path, [*rows, rows[1]], suffix))


def test_a_caption_that_stands_twice_is_counted(tmp_path, capsys):
    rows = [{"image": f"{i % 3}.jpg", "caption": f"a dog {i % 3} runs {i % 2}"} for i in range(12)]
    assert len(read_caption_table(written(tmp_path, rows, ".csv")).captions) == 12
    assert "6 rows repeat" in capsys.readouterr().err


def test_photographs_without_captions_are_counted(tmp_path, capsys):
    (tmp_path / "photos").mkdir()
    for number in range(4):
        Image.new("RGB", (2 + number, 2)).save(tmp_path / f"photos/{number}.jpg")
    rows = [{"filename": f"{i}.jpg", "caption": "a dog", "split": name} for i, name in enumerate(["Training", "VAL"])]
    corpus = load_folder(tmp_path / "photos", written(tmp_path, rows, ".csv"), "mine")
    assert corpus.splits == ["train", "dev"]
    assert "2 photographs read; left out: 2 without a caption" in capsys.readouterr().err
    rows += [{"filename": "2.jpg", "caption": json.dumps(["a cat", "a dog"]), "split": "test"}] * 2
    with pytest.raises(InputError, match=r"line 5.*2\.jpg"):
        load_folder(tmp_path / "photos", written(tmp_path, rows, ".csv"), "mine")


def test_captions_of_images_on_no_list_are_counted(tmp_path, capsys, run, monkeypatch):
    names = {"train": ["a.jpg"], "dev": ["b.jpg"], "test": ["c.jpg"]}
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        for split, listed in names.items():
            archive.writestr(f"Flickr_8k.{split}Images.txt", "".join(f"{name}\n" for name in listed))
        lines = [f"{name}.jpg#{k}\ta dog {name} runs {k}\n" for name in "abcd" for k in range(5)]
        archive.writestr("Flickr8k.token.txt", "".join(lines))
    from fivesentences.corpus import load_flickr8k

    assert load_flickr8k(tmp_path / "text.zip").n_captions == 15
    assert "15 captions read; left out: 5 captions of images on no list" in capsys.readouterr().err


def test_ratings_of_others_are_counted(tmp_path, capsys):
    named = [f"COCO_val2014_{number:012}.jpg" for number in range(4)]
    lines = [f"{a},{b},4.5" for at, a in enumerate(named) for b in named[:at]]
    (tmp_path / "sis.csv").write_text("image1,image2,agg_score\n" + "\n".join(lines) + "\n")
    found = cxc_within(np.eye(3) + np.arange(9).reshape(3, 3), tmp_path / "sis.csv", [0, 1, 2])
    assert found["pairs"] == 3
    assert "3 rated pairs read; left out: 3 of other images" in capsys.readouterr().err


def test_pairs_without_a_score_are_counted(tmp_path, capsys):
    (tmp_path / "scores.csv").write_text("caption,image,score\n0,0,1\n1,1,2\n")
    assert read_judged(tmp_path / "scores.csv", ["0", "1"], ["0", "1"]).tolist() == [[1, 0], [0, 2]]
    assert "2 of 4 pairs are scored" in capsys.readouterr().err


def test_judgements_of_captions_that_a_corpus_lacks_are_counted(tmp_path, capsys):
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(karpathy({"cocoid": 1}, {"cocoid": 2})))
    lines = [f"COCO_val2014:sentid:{sentid},COCO_val2014_{1:012}.jpg,3,x" for sentid in (0, 10, 77, 78, 79)]
    (tmp_path / "sits.csv").write_text("caption,image,agg_score,sampling_method\n" + "\n".join(lines) + "\n")
    _, judgements = load_judgements("cxc", tmp_path / "sits.csv", load_karpathy(path, "coco"))
    assert len(judgements.pairs) == 2
    assert "2 judgements read; left out: 3 of captions or images" in capsys.readouterr().err


# --- text -------------------------------------------------------------------------------------------------------------

WIDE = ("utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32")
TEXTS = [f"a dog {number} runs" for number in range(10)]
OPTIONS = {
    "captions.txt": ("--captions", TEXTS),
    "categories.txt": ("--categories", [f"category {number % 3}" for number in range(10)]),
    "image_of_caption.txt": ("--image-of-caption", [str(number) for number in range(10)]),
    "phi.csv": ("--phi", [",".join(str(0.1 * (row == column)) for column in range(10)) for row in range(10)]),
}


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("file", OPTIONS)
def test_text_in_another_encoding_is_named_and_reads_once_it_is_utf8(file, encoding, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    np.save("s.npy", np.random.default_rng(0).normal(size=(10, 10)))
    option, lines = OPTIONS[file]
    text = "".join(f"{line}\n" for line in lines)
    Path(file).write_bytes(text.encode(encoding))
    said = run("evaluate", "s.npy", option, file)
    named = encoding.upper().replace("UTF-16-", "UTF-16").replace("UTF-32-", "UTF-32")
    assert said.code == 1 and file in said.err and f"iconv -f {named} " in said.err, said.err
    Path(file).write_text(Path(file).read_bytes().decode(named), encoding="utf-8")  # as iconv would
    assert run("evaluate", "s.npy", option, file).code == 0


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
@pytest.mark.parametrize("option", ["--categories", "--image-ids"])
def test_a_blank_line_is_no_category_and_no_id(option, blank, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    np.save("s.npy", np.random.default_rng(0).normal(size=(3, 15)))
    Path("list.txt").write_text(f"1\n{blank}\n3\n")
    said = run("evaluate", "s.npy", option, "list.txt", *(["--trec", "runs"] if option == "--image-ids" else []))
    assert said.code == 1 and "line 2" in said.err, said.err
    Path("list.txt").write_text(f"1\n2\n3\n{blank}\n")
    said = run("evaluate", "s.npy", option, "list.txt", *(["--trec", "runs"] if option == "--image-ids" else []))
    assert said.code == 1 and "line 4" in said.err and "remove" in said.err, said.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n\n3,4\n", "row 1, column 0 is empty"),
        ("\n1,2\n3,4\n", "row 0 is empty"),
        ("1,2\n3,4\n,\n", "row 2, column 0 is empty"),
        ("1,2\n3,nan\n", r"row 1, column 1 is 'nan'.*finite"),
        ("1,2\nNA,4\n", r"row 1, column 0 is 'NA'.*finite"),
        ("1,\n2,3\n", "row 0, column 1 is empty"),
    ],
)
def test_no_row_of_a_matrix_vanishes(text, said, tmp_path):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_matrix(tmp_path / "s.csv")


@pytest.mark.parametrize("text", ["1,2\n3,4", "1,2\n3,4\n", "1,2\n3,4\n\n\n", "1,2,\r\n3,4,\r\n \r\n"])
def test_blank_lines_behind_a_matrix_are_no_rows(text, tmp_path):
    (tmp_path / "s.csv").write_bytes(text.encode())
    np.testing.assert_array_equal(read_matrix(tmp_path / "s.csv"), [[1, 2], [3, 4]])
