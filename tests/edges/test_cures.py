"""No cure leads back to its error: each is applied as the sentence says it, and the same work then succeeds."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from fivesentences.semantics import cider_matrix

RNG = np.random.default_rng(8)
WORDS = ["dog", "cat", "boat", "tree", "house", "ball", "river", "girl", "boy", "horse", "red", "blue", "runs", "sits"]
CAPTIONS = [f"a {' '.join(RNG.choice(WORDS, 3, replace=False))}" for _ in range(30)]  # of six images
NAMES = [f"{number}.jpg" for number in range(6)]
ROWS = [{"image": NAMES[place // 5], "caption": text} for place, text in enumerate(CAPTIONS)]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a small model, its captions and phi, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(3)
    np.save("s.npy", values.normal(size=(6, 30)))
    np.save("other.npy", values.normal(size=(6, 30)))
    np.save("images.npy", values.normal(size=(6, 8)))
    np.save("texts.npy", values.normal(size=(30, 8)))
    np.save("phi.npy", cider_matrix(CAPTIONS))
    lines("c.txt", CAPTIONS)
    lines("made.txt", CAPTIONS[::5])
    lines("of.txt", [place // 5 for place in range(30)])
    return tmp_path


def lines(name: str, texts: list[Any], encoding: str = "utf-8") -> None:
    Path(name).write_text("".join(f"{text}\n" for text in texts), encoding=encoding)


def table(name: str, rows: list[Any]) -> None:
    match Path(name).suffix:
        case ".json":
            Path(name).write_text(json.dumps(rows))
        case ".jsonl":
            lines(name, list(map(json.dumps, rows)))
        case ".parquet":
            pd.DataFrame(rows).to_parquet(name)
        case _:
            pd.DataFrame(rows).to_csv(name, index=False)


def matrix(name: str = "s.csv", rows: Any = None, **how: Any) -> None:
    pd.DataFrame(np.load("s.npy") if rows is None else rows).to_csv(name, **how)


def of_lists(**changed: Any) -> list[dict[str, Any]]:
    """One row per image, some of whose captions are changed: ``c7=None`` is caption 7."""
    texts: list[Any] = list(CAPTIONS)
    for name, text in changed.items():
        texts[int(name[1:])] = text
    return [{"image": name, "captions": texts[5 * at : 5 * at + 5]} for at, name in enumerate(NAMES)]


class Case(NamedTuple):
    """An error, and its cure.

    Attributes:
        prepare: Writes what is wrong.
        line: The command that fails.
        cure: Words of the sentence, or a pattern whose group is the command that it names. FILE of a command of the
            shell is ``file``, whose content what the command prints replaces.
        apply: What a person does who follows other words: a function, or the changed command.
        file: The file that a command of the shell reads.
    """

    prepare: Callable[[], Any]
    line: str
    cure: str
    apply: Callable[[], Any] | str | None = None
    file: str = ""


def nothing() -> None:
    pass


def doubled() -> None:
    rows = np.load("s.npy")
    np.save("s.npy", np.repeat(rows, 5, axis=0))


SHELL = r"(?:^|[:(] )((?:sed|tr|iconv) .*FILE)"
CASES = {
    # what stands in a file of captions
    "a tab inside captions": Case(
        lambda: lines("c.txt", [text.replace(" ", "\t", 2).replace("\t", " ", 1) for text in CAPTIONS]),
        "phi cider c.txt -o p.npy",
        r"blanks: (tr .* FILE)",
        file="c.txt",
    ),
    "rows of ids": Case(
        lambda: lines("c.txt", [f"{place:05},{text}" for place, text in enumerate(CAPTIONS)]),
        "phi cider c.txt -o p.npy",
        r"alone: (sed .* FILE)",
        file="c.txt",
    ),
    "rows of ids, as a table": Case(
        lambda: lines("c.txt", [f"{place // 5:05},{text}" for place, text in enumerate(CAPTIONS)]),
        "evaluate s.npy --captions c.txt",
        'first line, such as "image,caption"',
        lambda: Path("c.txt").write_text(f"image,caption\n{Path('c.txt').read_text()}"),
    ),
    "ids and a blank": Case(
        lambda: lines("c.txt", [f"{place // 5:012} {text}" for place, text in enumerate(CAPTIONS)]),
        "phi cider c.txt -o p.npy",
        r"by: (sed .* FILE)",
        file="c.txt",
    ),
    "names and a blank": Case(
        lambda: lines("c.txt", [f"{NAMES[place // 5]} {text}" for place, text in enumerate(CAPTIONS)]),
        "evaluate s.npy --captions c.txt",
        r"table: (\(.*FILE\))",
        file="c.txt",
    ),
    "marks around captions": Case(
        lambda: lines("c.txt", [f'"{text}"' for text in CAPTIONS]),
        "phi cider c.txt -o p.npy",
        r"marks: (sed .* FILE)",
        file="c.txt",
    ),
    "captions called a table": Case(
        lambda: lines("c.csv", CAPTIONS),
        "phi cider c.csv -o p.npy",
        "alone as .txt",
        lambda: Path("c.csv").rename("d.txt") and "phi cider d.txt -o p.npy",
    ),
    "UTF-16 without a mark": Case(
        lambda: lines("c.txt", CAPTIONS, "utf-16-le"), "phi cider c.txt -o p.npy", r"(iconv .* FILE)", file="c.txt"
    ),
    "UTF-16": Case(
        lambda: lines("c.txt", CAPTIONS, "utf-16"), "phi cider c.txt -o p.npy", r"(iconv .* FILE)", file="c.txt"
    ),
    "UTF-32": Case(
        lambda: lines("c.txt", CAPTIONS, "utf-32-be"), "phi cider c.txt -o p.npy", r"(iconv .* FILE)", file="c.txt"
    ),
    "compressed captions": Case(
        lambda: subprocess.run(["gzip", "c.txt"], check=True),
        "phi cider c.txt.gz -o p.npy",
        "unpack it",
        lambda: subprocess.run(["gunzip", "c.txt.gz"], check=True) and "phi cider c.txt -o p.npy",
    ),
    "a null among five captions": Case(
        lambda: table("c.json", of_lists(c7=None)),
        "captions c.json -o o.txt",
        "leave it out of the list",
        lambda: (
            table("c.json", [{**row, "captions": list(filter(None, row["captions"]))} for row in of_lists(c7=None)]),
            "captions c.json -o o.txt --image-of-caption of.txt",
        )[1],
    ),
    "a null among five captions, filled": Case(
        lambda: table("c.jsonl", of_lists(c7=None)),
        "evaluate s.npy --captions c.jsonl",
        "write a caption in its place",
        lambda: table("c.jsonl", of_lists(c7="a dog")),
    ),
    "a null among five captions of a parquet": Case(
        lambda: table("c.parquet", of_lists(c7=None)),
        "phi cider c.parquet -o p.npy",
        "leave it out of the list",
        lambda: table(
            "c.parquet", [{**row, "captions": [one for one in row["captions"] if one]} for row in of_lists(c7=None)]
        ),
    ),
    "a row without its caption": Case(
        lambda: table("c.parquet", [*ROWS, {"image": "7.jpg", "caption": None}]),
        "phi cider c.parquet -o p.npy",
        "leave the row out",
        lambda: table("c.parquet", ROWS),
    ),
    "an empty list": Case(
        lambda: table("c.json", [*of_lists(), {"image": "7.jpg", "captions": []}]),
        "phi cider c.json -o p.npy",
        "leave the row out",
        lambda: table("c.json", of_lists()),
    ),
    "an image twice": Case(
        lambda: table("c.json", [*of_lists(), of_lists()[0]]),
        "phi cider c.json -o p.npy",
        "give each image once",
        lambda: table("c.json", of_lists()),
    ),
    "a column of objects": Case(
        lambda: table("c.jsonl", [{"image": row["image"], "sentences": {"raw": row["caption"]}} for row in ROWS]),
        "captions c.jsonl -o o.txt",
        r"name a field, such as (sentences\.raw)",
        "captions c.jsonl -o o.txt --column sentences.raw",
    ),
    "a column of another name": Case(
        lambda: table("c.csv", [{"image": row["image"], "words": row["caption"]} for row in ROWS]),
        "captions c.csv -o o.txt",
        "first line",
        lambda: table("c.csv", ROWS),
    ),
    "a column of another name in a parquet": Case(
        lambda: table("c.parquet", [{"image": row["image"], "words": row["caption"]} for row in ROWS]),
        "captions c.parquet -o o.txt",
        "--column",
        "captions c.parquet -o o.txt --column words",
    ),
    "a column that is named twice": Case(
        lambda: lines("c.csv", ["image,caption,caption", *(f"{row['image']},{row['caption']},x" for row in ROWS)]),
        "captions c.csv -o o.txt",
        "rename one of them",
        lambda: Path("c.csv").write_text(Path("c.csv").read_text().replace("caption,caption", "caption,other", 1)),
    ),
    "no row of the split": Case(
        lambda: table("c.csv", [row | {"split": "train"} for row in ROWS]),
        "captions c.csv -o o.txt",
        r"fivesentences (captions c\.csv --split train)",
        "captions c.csv --split train -o o.txt",
    ),
    "unknown splits": Case(
        lambda: table("c.csv", [row | {"split": "holdout"} for row in ROWS]),
        "captions c.csv -o o.txt",
        "leave the column out",
        lambda: table("c.csv", ROWS),
    ),
    "unknown splits, renamed": Case(
        lambda: table("c.csv", [row | {"split": "holdout"} for row in ROWS]),
        "captions c.csv -o o.txt",
        "call its splits train, dev and test",
        lambda: table("c.csv", [row | {"split": "test"} for row in ROWS]),
    ),
    "splits that are numbers": Case(
        lambda: table("c.parquet", [row | {"split": 2} for row in ROWS]),
        "captions c.parquet -o o.txt",
        "leave the column out",
        lambda: table("c.parquet", ROWS),
    ),
    "a varying number of captions": Case(
        lambda: table("c.csv", ROWS[:-1]),
        "captions c.csv -o o.txt",
        "--image-of-caption FILE",
        "captions c.csv -o o.txt --image-of-caption o.of.txt",
    ),
    "a web page": Case(
        lambda: Path("c.txt").write_text("<!doctype html>\n<p>log in\n"),
        "phi cider c.txt -o p.npy",
        "fetch the captions again",
        lambda: lines("c.txt", CAPTIONS),
    ),
    # captions that were generated
    "an empty caption": Case(
        lambda: lines("made.txt", ["", *CAPTIONS[5::5]]),
        "captioning made.txt c.txt --tokens whitespace",
        "a placeholder word",
        lambda: lines("made.txt", ["nothing", *CAPTIONS[5::5]]),
    ),
    "references first": Case(
        nothing,
        "captioning c.txt made.txt --tokens whitespace",
        "candidates first",
        "captioning made.txt c.txt --tokens whitespace",
    ),
    "four references of each image": Case(
        lambda: lines("c.txt", CAPTIONS[:24]),
        "captioning made.txt c.txt --tokens whitespace",
        "--per-image N",
        "captioning made.txt c.txt --tokens whitespace --per-image 4",
    ),
    "another split": Case(
        lambda: (
            table(
                "c.json",
                {
                    "images": [
                        {"filename": name, "split": "val" if at else "test", "sentences": [{"raw": CAPTIONS[5 * at]}]}
                        for at, name in enumerate(NAMES)
                    ]
                },
            )
            or table("made.json", [{"image_id": name, "caption": "a dog"} for name in NAMES[1:]])
        ),
        "captioning made.json c.json --tokens whitespace",
        r"give (--split dev)",
        "captioning made.json c.json --tokens whitespace --split dev",
    ),
    "a subset": Case(
        lambda: (
            table("c.json", of_lists())
            or table("made.json", [{"image_id": name, "caption": "a dog runs"} for name in NAMES[:2]])
        ),
        "captioning made.json c.json --tokens whitespace",
        "--subset",
        "captioning made.json c.json --tokens whitespace --subset",
    ),
    # matrices
    "a written nan": Case(
        lambda: matrix(rows=[[0.5, "nan"], [0.25, 0.5]], header=False, index=False),
        "evaluate s.csv",
        "let the model write it again",
        lambda: matrix(rows=[[0.5, 0.75], [0.25, 0.5]], header=False, index=False),
    ),
    "a heading": Case(
        lambda: matrix(index=False),
        "evaluate s.csv",
        "header=False, index=False",
        lambda: matrix(header=False, index=False),
    ),
    "a column of numbers": Case(
        lambda: matrix(header=False),
        "evaluate s.csv",
        "header=False, index=False",
        lambda: matrix(header=False, index=False),
    ),
    "commas in numbers": Case(
        lambda: lines("s.csv", ["0,5;0,25", "0,1;0,9"]),
        "evaluate s.csv",
        "decimal points",
        lambda: lines("s.csv", ["0.5;0.25", "0.1;0.9"]),
    ),
    "blanks between numbers": Case(
        lambda: lines("s.csv", ["0.5 0.25", "0.1 0.9"]),
        "evaluate s.csv",
        "by commas",
        lambda: lines("s.csv", ["0.5,0.25", "0.1,0.9"]),
    ),
    "an empty row": Case(
        lambda: lines("s.csv", ["0.5,0.25", "", "0.1,0.9"]),
        "evaluate s.csv",
        "row 1, column 0 is empty",
        lambda: lines("s.csv", ["0.5,0.25", "0.1,0.9"]),
    ),
    "a cut array": Case(
        lambda: Path("s.npy").write_bytes(Path("s.npy").read_bytes()[:-9]),
        "evaluate s.npy",
        "numpy.save",
        lambda: np.save("s.npy", np.ones((6, 30)) + np.arange(30)),
    ),
    "an archive of two arrays": Case(
        lambda: np.savez("s.npz", a=np.load("s.npy"), b=np.load("other.npy")),
        "evaluate s.npz",
        r"name one, such as (s\.npz:a)",
        "evaluate s.npz:a",
    ),
    "embeddings in an archive": Case(
        lambda: np.savez("e.npz", img=np.load("images.npy"), txt=np.load("texts.npy")),
        "evaluate e.npz",
        r"captions: (e\.npz:img,e\.npz:txt)",
        "evaluate e.npz:img,e.npz:txt",
    ),
    "an array under another name": Case(
        lambda: shutil.copy("s.npy", "s.npz"),
        "evaluate s.npz",
        r"rename it to s\.npy",
        "evaluate s.npy",
    ),
    "captions for a matrix": Case(
        nothing,
        "evaluate s.npy --phi c.txt",
        "--captions",
        "evaluate s.npy --captions c.txt",
    ),
    "a transposed similarity": Case(
        lambda: np.save("s.npy", np.load("s.npy").T),
        "evaluate s.npy",
        "--transposed",
        "evaluate s.npy --transposed",
    ),
    "a similarity that is not transposed": Case(
        nothing,
        "evaluate s.npy --transposed",
        "leave out --transposed",
        "evaluate s.npy",
    ),
    "a transposed phi": Case(
        lambda: np.save("phi.npy", np.load("phi.npy").T),
        "evaluate s.npy --phi phi.npy",
        "save its transpose",
        lambda: np.save("phi.npy", np.load("phi.npy").T),
    ),
    "images in unequal numbers": Case(
        lambda: np.save("s.npy", np.load("s.npy")[:, :29]),
        "evaluate s.npy",
        "--image-of-caption FILE",
        lambda: (lines("of.txt", [place // 5 for place in range(29)]), "evaluate s.npy --image-of-caption of.txt")[1],
    ),
    "indices from 1": Case(
        lambda: lines("of.txt", [1 + place // 5 for place in range(30)]),
        "evaluate s.npy --image-of-caption of.txt",
        "0",
        lambda: lines("of.txt", [place // 5 for place in range(30)]),
    ),
    "numbers as text": Case(
        lambda: np.savetxt("s.txt", np.load("s.npy")),
        "evaluate s.txt",
        r"numpy\.save, such as numpy\.loadtxt\(FILE\)",
        lambda: (np.save("t.npy", np.loadtxt("s.txt")), "evaluate t.npy")[1],
    ),
    "captions for a model": Case(
        nothing, "evaluate s.npy --labels c.txt", "--captions", "evaluate s.npy --captions c.txt"
    ),
    "images that are repeated": Case(
        lambda: np.save("s.npy", np.repeat(np.load("s.npy"), 5, axis=0)),
        "evaluate s.npy",
        r"matrix\[::5\]",
        lambda: np.save("s.npy", np.load("s.npy")[::5]),
    ),
    "negative phi": Case(
        lambda: np.save("phi.npy", np.load("phi.npy") - 0.1),
        "evaluate s.npy --phi phi.npy",
        r"numpy\.maximum\(phi, 0\)",
        lambda: np.save("phi.npy", np.maximum(np.load("phi.npy"), 0)),
    ),
    "negative phi, shifted": Case(
        lambda: np.save("phi.npy", np.load("phi.npy") - 0.1),
        "evaluate s.npy --phi phi.npy",
        r"phi - phi\.min\(\)",
        lambda: np.save("phi.npy", np.load("phi.npy") - np.load("phi.npy").min()),
    ),
    "an embedding of zeros": Case(
        lambda: np.save("images.npy", np.load("images.npy") * (np.arange(6) != 5)[:, None]),
        "evaluate images.npy,texts.npy",
        "leave out these images with their captions",
        lambda: (np.save("images.npy", np.load("images.npy")[:5]), np.save("texts.npy", np.load("texts.npy")[:25])),
    ),
    "embeddings for a similarity": Case(
        nothing, "evaluate texts.npy", "IMAGES,TEXTS if these are embeddings", "evaluate images.npy,texts.npy"
    ),
    "a number of captions that is no multiple": Case(
        lambda: (lines("c.txt", CAPTIONS[:29]), lines("of.txt", [place // 5 for place in range(29)])),
        "phi cider c.txt -o p.npy",
        "--image-of-caption FILE",
        "phi cider c.txt -o p.npy --image-of-caption of.txt",
    ),
    "four captions of an image": Case(
        lambda: lines("c.txt", CAPTIONS[:24] + CAPTIONS[:4]),
        "phi cider c.txt -o p.npy",
        "--per-image N",
        "phi cider c.txt -o p.npy --per-image 4",
    ),
    "a comma within a caption": Case(
        lambda: lines("c.csv", ["image,caption", "a.jpg,a dog, running", "b.jpg,a cat"]),
        "captions c.csv -o o.txt",
        "in double quotes",
        lambda: lines("c.csv", ["image,caption", 'a.jpg,"a dog, running"', "b.jpg,a cat"]),
    ),
    "ids as text": Case(
        lambda: (
            table("made.json", [{"image_id": str(at), "caption": CAPTIONS[5 * at]} for at in range(6)]),
            Path("c.json").write_text(
                json.dumps(
                    {"annotations": [{"image_id": at // 5, "id": at, "caption": c} for at, c in enumerate(CAPTIONS)]}
                )
            ),
        ),
        "captioning made.json c.json --tokens whitespace",
        "without quotes",
        lambda: table("made.json", [{"image_id": at, "caption": CAPTIONS[5 * at]} for at in range(6)]),
    ),
    "a second caption of an image": Case(
        lambda: (
            table("c.json", of_lists()),
            table("made.json", [{"image_id": name, "caption": "a dog"} for name in [*NAMES, NAMES[0]]]),
        ),
        "captioning made.json c.json --tokens whitespace",
        "one caption of each image",
        lambda: table("made.json", [{"image_id": name, "caption": "a dog"} for name in NAMES]),
    ),
    "fields of other names": Case(
        lambda: Path("c.json").write_text(
            json.dumps({"data": [{"pic": row["image"], "words": row["caption"]} for row in ROWS]})
        ),
        "captions c.json -o o.txt",
        "call their fields image and caption",
        lambda: Path("c.json").write_text(json.dumps({"data": ROWS})),
    ),
    # models and options
    "two models of one name": Case(
        lambda: (Path("d").mkdir(), shutil.copy("other.npy", "d/s.npy")),
        "evaluate s.npy d/s.npy --resamples 9",
        r"such as (A=s\.npy B=d/s\.npy)",
        "evaluate A=s.npy B=d/s.npy --resamples 9",
    ),
    "two phi of one name": Case(
        lambda: (Path("d").mkdir(), shutil.copy("phi.npy", "d/phi.npy")),
        "evaluate s.npy --phi phi.npy --phi d/phi.npy",
        "NAME=FILE",
        "evaluate s.npy --phi phi.npy --phi b=d/phi.npy",
    ),
    "the direction first": Case(
        nothing,
        "evaluate s.npy t2i=other.npy",
        r"write (s\.npy,t2i=other\.npy)",
        "evaluate s.npy,t2i=other.npy",
    ),
    "NCS without phi": Case(
        nothing,
        "evaluate s.npy --metrics NCS",
        "give --captions FILE",
        "evaluate s.npy --metrics NCS --captions c.txt",
    ),
    "a cut-off that was not asked for": Case(
        nothing,
        "evaluate s.npy --metrics R@3",
        r"set by (--ks [0-9,]+)",
        "evaluate s.npy --metrics R@3 --ks {0}",
    ),
    "the protocol of a larger gallery": Case(
        nothing,
        "evaluate s.npy --dataset f30k",
        "leave --dataset out",
        "evaluate s.npy",
    ),
    "phi of SPICE from captions": Case(
        lambda: np.save("spice.npy", np.load("phi.npy")),
        "evaluate s.npy --captions c.txt --metric spice",
        r"pass (--phi spice\.npy)",
        "evaluate s.npy --phi spice.npy",
    ),
    "captions before the metric": Case(
        nothing,
        "phi c.txt cider -o p.npy",
        r"first: fivesentences (phi cider c\.txt -o p\.npy)",
        "phi cider c.txt -o p.npy",
    ),
    "several metrics in one option": Case(
        nothing,
        "evaluate s.npy --captions c.txt --metric cider,bleu4",
        "repeat the option",
        "evaluate s.npy --captions c.txt --metric cider --metric bleu4",
    ),
    "a store for a matrix": Case(
        lambda: None,
        "evaluate s.npy --phi store",
        "fivesentences phi",
        "evaluate s.npy --phi phi.npy",
    ),
    "phi of other captions": Case(
        lambda: lines("d.txt", [f"{text} now" for text in CAPTIONS]),
        "evaluate s.npy --captions d.txt --phi p.npy",
        "recompute phi",
        "phi cider d.txt -o p.npy && evaluate s.npy --captions d.txt --phi p.npy",
    ),
    "a file's own pairing and another": Case(
        lambda: table("c.csv", ROWS) or lines("of.txt", [place % 6 for place in range(30)]),
        "evaluate s.npy --captions c.csv --image-of-caption of.txt",
        "leave them out",
        "evaluate s.npy --captions c.csv",
    ),
    "blank categories": Case(
        lambda: lines("cat.txt", ["a", "b", "", "a", "b", "c"]),
        "evaluate s.npy --categories cat.txt",
        "write one for each",
        lambda: lines("cat.txt", ["a", "b", "c", "a", "b", "c"]),
    ),
    "a blank category at the end": Case(
        lambda: lines("cat.txt", ["a", "b", "c", "a", "b", "c", ""]),
        "evaluate s.npy --categories cat.txt",
        "remove it",
        lambda: lines("cat.txt", ["a", "b", "c", "a", "b", "c"]),
    ),
    "categories and labels of what nobody has": Case(
        nothing,
        "evaluate s.npy --per-query q.txt",
        ".csv or .parquet",
        "evaluate s.npy --per-query q.csv",
    ),
    "the positives of another gallery": Case(
        lambda: pytest.importorskip("eccv_caption"), "evaluate s.npy --eccv", "leave --eccv out", "evaluate s.npy"
    ),
    "a name of another ending": Case(
        nothing, "evaluate s.npy --json o.csv", r"name it (o\.json)", "evaluate s.npy --json {0}"
    ),
    "a file that is missing": Case(nothing, "evaluate x.npy,text.npy", "did you mean", "evaluate images.npy,texts.npy"),
    "a setting twice": Case(
        nothing,
        "evaluate s.npy --inference csls,k=2,k=3",
        "keep one",
        "evaluate s.npy --inference csls,k=3",
    ),
    # features and photographs
    "names that a format cannot hold": Case(
        lambda: features(),
        "features convert f.npy dev_ims.npy",
        r"give --drop ([a-z_,]+)",
        "features convert f.npy dev_ims.npy --drop {0}",
    ),
    "features without boxes": Case(
        lambda: features(photographs=True),
        "features show f.npy -p photos -o o.png --what boxes",
        "--what neighbours",
        "features show f.npy -p photos -o o.png --what neighbours",
    ),
    "a shard that is missing": Case(
        lambda: (Path("shards").mkdir(), table("shards/test-00001-of-00002.parquet", ROWS[15:])),
        "captions shards -o o.txt",
        "fetch the others too",
        lambda: table("shards/test-00000-of-00002.parquet", ROWS[:15]),
    ),
    "an archive that is cut": Case(
        lambda: Path("t.zip").write_bytes(zipped()[:-40]),
        "features extract t.zip --network grid_descriptors -o o.npy",
        "pack it again",
        lambda: Path("t.zip").write_bytes(zipped()),
    ),
}
BEFORE = {
    "a store for a matrix": "phi cider c.txt -o store --top-k 2",
    "phi of other captions": "phi cider c.txt -o p.npy",
}


def features(photographs: bool = False) -> None:
    from PIL import Image

    np.save("f.npy", RNG.normal(size=(6, 3)).astype(np.float32))
    ids = [name.partition(".")[0] for name in NAMES]
    pd.DataFrame({"image_id": ids, "filename": NAMES}).to_parquet("f.images.parquet")
    Path("photos").mkdir()
    for number, name in enumerate(NAMES if photographs else ()):
        Image.new("RGB", (20 + number, 20), (40 * number, 9, 9)).save(f"photos/{name}")


def zipped() -> bytes:
    from io import BytesIO

    from PIL import Image

    picture, archive = BytesIO(), BytesIO()
    Image.new("RGB", (40, 40), "red").save(picture, "png")
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("a.png", "b.png"):
            file.writestr(name, picture.getvalue())
    return archive.getvalue()


@pytest.mark.parametrize("name", CASES)
def test_the_cure_that_an_error_names_cures_it(name, folder, run):
    case = CASES[name]
    case.prepare()
    if name in BEFORE:
        assert run(*shlex.split(BEFORE[name])).code == 0
    said = run(*shlex.split(case.line))
    sentence = " ".join(re.sub(r"[│╭╮╰╯─]", " ", said.err).split())
    assert said.code in (1, 2) and sentence.count("Error") <= 1, said
    found = re.search(case.cure, sentence)
    assert found is not None, sentence
    line: Any = case.line
    if case.file:  # a command of the shell, whose output takes the place of the file
        command = found[1].replace("FILE", shlex.quote(case.file))
        done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
        Path(case.file).write_bytes(done.stdout)
    elif callable(case.apply):
        line = case.apply()
        line = line if isinstance(line, str) else case.line
    elif case.apply is not None:
        line = case.apply.format(*(group.removeprefix("--ks ") for group in found.groups()))
    for one in line.split(" && "):
        after = run(*shlex.split(one))
        assert after.code == 0, f"{sentence}\n{one}\n{after.err}"
