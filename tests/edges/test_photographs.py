"""Edges of what users bring: photographs, CSVs of captions, corpora built in Python, and the captions command."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from edge_cases import refused, right
from fivesentences.config.datasets import FolderData
from fivesentences.corpus import COLUMNS, Corpus, Photographs, decode, load, load_folder
from fivesentences.semantics import cider_matrix

pytestmark = pytest.mark.slow

HEADER = "filename,caption,split\n"


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    images = folder / "images"
    (images / "more").mkdir(parents=True)
    picture = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
    for name in ("a.jpg", "B.JPG", "cafe\u0301.jpg", "more/a.jpg"):
        picture.save(images / name, "JPEG")
    grey = rng.integers(0, 65536, (12, 16)).astype(np.uint16)
    grey[0, 0], grey[0, 1] = 65535, 0
    Image.fromarray(grey).save(images / "16.png")
    Image.fromarray(grey).save(images / "16.pgm")
    Image.fromarray(grey.astype(np.float32)).save(images / "float.tif")
    Image.fromarray(grey.astype(np.int32)).save(images / "32.tif")
    Image.new("RGBA", (12, 16), (10, 20, 30, 0)).save(images / "clear.png")
    Image.new("LA", (12, 16), (10, 0)).save(images / "grey_clear.png")
    picture.quantize(8).save(images / "palette.gif", transparency=0)
    exif = Image.Exif()
    exif[0x112] = 6
    picture.save(images / "turned.jpg", exif=exif)
    picture.save(images / "damaged_exif.jpg", exif=b"Exif\0\0MM\0*" + bytes(8))
    picture.convert("CMYK").save(images / "cmyk.jpg")
    picture.save(images / "two.gif", save_all=True, append_images=[picture.rotate(90)])
    (images / "empty.jpg").write_bytes(b"")
    picture.resize((200, 200)).save(images / "short.jpg")
    (images / "short.jpg").write_bytes((images / "short.jpg").read_bytes()[:-2000])
    (images / "phone.jpg").write_bytes(b"\0\0\0\x18ftypheic" + bytes(99))
    (images / "page.jpg").write_text("<html>not found</html>")
    Image.new("RGB", (1, 1)).save(images / "1.png")
    Image.new("RGB", (1, 500)).save(images / "thread.png")
    header = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunks = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)) + bytes(4) + b"IDAT" + bytes(4)
    (images / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        archive.write(images / "a.jpg", "deep/a.jpg")
    for name, stated in (("bomb.zip", 1 << 30), ("shy_bomb.zip", 10)):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(3):
                archive.writestr(f"{number}.jpg", bytes(50_000_000 if stated == 10 and number == 0 else 10))
        state_sizes(folder / name, stated)
    for name in (b"caf\xe9.jpg", BACKSLASH, TAB, LINE):
        odd = folder / f"odd_{name.hex()}"
        odd.mkdir()
        shutil.copy(images / "a.jpg", os.fsencode(odd) + b"/" + name)
    (folder / "broken.zip").write_bytes((folder / "images.zip").read_bytes()[:60])
    (folder / "nothing").mkdir()
    corpus().write(folder / "mine.parquet")
    corpus([1, 2, 3]).write(folder / "unequal.parquet")
    (folder / "datasets.yaml").write_text(json.dumps({"datasets": {"flickr30k": {"title": "F", "files": FILES}}}))
    (folder / "data" / "flickr30k").mkdir(parents=True)
    karpathy = {"images": [{"filename": "a.jpg", "split": "test", "sentences": [{"raw": "a dog"}] * 5}]}
    (folder / "data" / "flickr30k" / "f.json").write_text(json.dumps(karpathy))
    (folder / "half.json").write_text('["a dog", "half \\ud83d of a sign"]')


def state_sizes(path: Path, size: int) -> None:
    """Make every entry of an archive state this size, whatever it unpacks to."""
    data = bytearray(path.read_bytes())
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 24 : place + 28] = struct.pack("<I", size)
        place = data.find(b"PK\x01\x02", place + 4)
    path.write_bytes(data)


FILES = {
    "captions": {"path": "flickr30k/f.json", "version": "1", "licence": "none"}
    | dict.fromkeys(("url", "sha256", "size"))
}


def corpus(counts: list[int] | None = None, caption: str = "a dog") -> Corpus:
    rows = [
        (f"{image}", f"{image}.jpg", f"{image}#{number}", f"{caption} {number}", "test", None)
        for image, count in enumerate(counts or [5, 5])
        for number in range(count)
    ]
    return Corpus("mine", pd.DataFrame(rows, columns=list(COLUMNS), dtype=object))


def pixels(name: str) -> Callable[[Path], Any]:
    """The size and the values of the first two pixels of a photograph."""

    def decoded(folder: Path) -> tuple[Any, ...]:
        image = decode(Photographs(folder / "images").read(name), name)
        return image.size, np.asarray(image)[0, :2].tolist()

    return decoded


def rows(text: str | bytes, photographs: str = "images", **options: Any) -> Callable[[Path], Any]:
    """Captions and splits of a CSV."""

    def loaded(folder: Path) -> Any:
        path = folder / "captions.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if options:
            data = FolderData(loader="folder", photographs=folder / photographs, captions=path)
            return load("mine", data, path, **options).captions
        found = load_folder(folder / photographs, path, "mine")
        return found.captions, found.splits

    return loaded


def unpacked(archive: str, name: str) -> Callable[[Path], Any]:
    """Reads one photograph of an archive, and checks that little memory was taken."""

    def read(folder: Path) -> Any:
        photographs = Photographs(folder / archive)
        tracemalloc.start()
        try:
            return photographs.read(name)
        finally:
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < 10_000_000, f"took {most:,} bytes"

    return read


def extracted(name: bytes) -> str:
    return f"features extract odd_{name.hex()} --network grid_descriptors -o f.npy --workers 0"


def excel(*rows: tuple[str, ...]) -> bytes:
    """A CSV as Excel writes it where the comma is the decimal point."""
    file = io.StringIO()
    csv.writer(file, delimiter=";", lineterminator="\r\n").writerows(rows)
    return b"\xef\xbb\xbf" + file.getvalue().encode()


BACKSLASH, TAB, LINE = b"\\a.jpg", b"a\tb.jpg", b"a\nb.jpg"
WHITE = "[[255, 255, 255], [255, 255, 255]]"
CASES = [
    right(pixels("16.png"), "[[255, 255, 255], [0, 0, 0]]", name="16-bit PNG"),
    right(pixels("16.pgm"), "[[255, 255, 255], [0, 0, 0]]", name="16-bit PGM"),
    refused(pixels("float.tif"), "float.tif", "floating-point", "0..255", name="float TIFF"),
    refused(pixels("32.tif"), "32.tif", "8-bit", name="32-bit TIFF"),
    right(pixels("clear.png"), WHITE, name="transparent colours"),
    right(pixels("grey_clear.png"), WHITE, name="transparent grey"),
    right(pixels("palette.gif"), "(16, 12)", name="transparent palette"),
    right(pixels("turned.jpg"), "(12, 16)", name="EXIF orientation"),
    right(pixels("damaged_exif.jpg"), "(16, 12)", name="damaged EXIF block"),
    right(pixels("cmyk.jpg"), "(16, 12)", name="CMYK"),
    right(pixels("two.gif"), "(16, 12)", name="animation"),
    right(pixels("1.png"), "(1, 1)", name="one pixel"),
    refused(pixels("empty.jpg"), "empty.jpg", name="0 bytes"),
    refused(pixels("short.jpg"), "short.jpg", "truncated", "fetch it again", name="truncated JPEG"),
    refused(pixels("phone.jpg"), "phone.jpg", "8-bit", "JPEG", name="HEIC named .jpg"),
    refused(pixels("page.jpg"), "page.jpg", name="HTML named .jpg"),
    refused(pixels("thread.png"), "1 x 500 pixels", "refused", name="thread of pixels"),
    refused(pixels("bomb.png"), "bomb.png", "refused", name="decompression bomb"),
    refused(pixels("b.jpg"), "'b.jpg'", "'B.JPG'", name=".JPG for .jpg"),
    refused(pixels("caf\xe9.jpg"), "NFC", "NFD", name="NFC for NFD"),
    right(rows(HEADER + "a.jpg,one,train\n"), "['one'], ['train']", name="CSV"),
    right(rows(excel(("Filename", "Caption", "Split"), ("a.jpg", "x, y", "Val"))), "['x, y'], ['dev']", name="Excel"),
    right(rows(HEADER + "a.jpg,one,test\na.jpg,two,test\nB.JPG,x,test\n,,\n"), "'two'", name="unequal numbers"),
    right(rows("Split\tFilename\tCaption\ntest\ta.jpg\tx;y\n"), "x;y", name="tabs"),
    right(rows(HEADER + "a.jpg,one,test\n", "images.zip"), "one", name="CSV of a zip archive"),
    right(rows("image,split,raw\na.jpg,test,\"['x', 'y']\"\n"), "['x', 'y']", name="CSV: a list as Python prints it"),
    right(
        rows('filename,split,caption\na.jpg,val,"[""x"", ""y z""]"\n'), "['x', 'y z'], ['dev']", name="CSV: JSON's list"
    ),
    right(rows("image_name| split| comment\na.jpg| test| x, y\n"), "['x, y']", name="CSV: bars"),
    refused(rows(HEADER + "a.jpg,\"['x' 'y']\",test\n"), "line 2", "'x'", name="CSV: numpy's list"),
    refused(rows(HEADER + "p.heic,x,test\n"), "line 2", "p.heic", "JPEG", name="CSV: HEIC"),
    refused(rows(HEADER + "b.jpg,x,test\n"), "line 2", "'B.JPG'", name="CSV: other case"),
    refused(rows(HEADER + "caf\xe9.jpg,x,test\n"), "line 2", "composed otherwise", name="CSV: other accents"),
    refused(rows(HEADER + "images/a.jpg,x,test\n"), "'a.jpg'", name="CSV: folder's own name"),
    refused(rows(HEADER + "a.jpg,x,trian\n"), "'trian'", "'train'", name="CSV: unknown split"),
    refused(rows(HEADER + "a.jpg,x,train\n", needs=["train", "dev"]), "'dev'", "put some into", name="CSV without dev"),
    refused(rows("picture,caption,split\na.jpg,x,test\n"), "'filename' once", "'filename'", name="CSV: other column"),
    refused(rows("a.jpg,x,test\n"), "'filename'", name="CSV without a header"),
    refused(rows(HEADER.encode("utf-16") + b"\n"), "UTF-8", name="CSV in UTF-16"),
    refused(rows(HEADER.encode() + b"a.jpg,\xed\xa0\xbd,test\n"), "line 2", "UTF-8", name="CSV: half of a pair"),
    refused(rows(HEADER + "\\a.jpg,x,test\n", f"odd_{BACKSLASH.hex()}"), "line 2", "leaves", name="CSV: a backslash"),
    refused(
        rows(HEADER + "a\tb.jpg,x,test\n", f"odd_{TAB.hex()}"), "line 2", r"a\tb.jpg", "control", name="CSV: a tab"
    ),
    refused(rows(HEADER + '"a\nb.jpg",x,test\n', f"odd_{LINE.hex()}"), "line 2", r"a\nb.jpg", name="CSV: a line break"),
    refused(extracted(b"caf\xe9.jpg"), "'caf\\udce9.jpg'", name="extract: Latin-1"),
    refused(extracted(BACKSLASH), "'\\\\a.jpg'", name="extract: a backslash"),
    refused(extracted(TAB), "'a\\tb.jpg'", name="extract: a tab"),
    refused(extracted(LINE), "'a\\nb.jpg'", name="extract: a line break"),
    refused(unpacked("bomb.zip", "1.jpg"), "bomb.zip", "'1.jpg'", "1,073,741,824", name="zip bomb"),
    refused(unpacked("shy_bomb.zip", "0.jpg"), "shy_bomb.zip", "'0.jpg'", name="zip bomb that lies"),
    refused(rows(HEADER, "nothing"), "contains no photographs", name="CSV of an empty folder"),
    refused(rows(HEADER, "broken.zip"), "broken.zip", name="CSV of a damaged archive"),
    refused(rows(HEADER, "nowhere"), "nowhere", name="CSV of no folder"),
    refused(lambda _: corpus(caption="half \ud83d"), "row 0", name="corpus: half of a pair"),
    refused(lambda _: cider_matrix(["a \udc00"], [0]), "captions[0]", "U+DC00", name="captions: half of a pair"),
    refused("phi cider half.json -o c.npy --per-image 1", "half.json", "U+D83D", "surrogate"),
    right("captions mine.parquet -o c.txt", "10 captions of 2 images, mine.parquet/test", makes=["c.txt"]),
    right(
        "captions unequal.parquet -o c.txt --image-of-caption i.txt",
        '"phi" needs --image-of-caption i.txt',
        makes=["c.txt", "i.txt"],
    ),
    refused("captions unequal.parquet -o c.txt", "has 1 to 3 captions", "FILE"),
    refused("captions mine.parquet -o c.txt --split dev", "'dev'", "'mine'"),
    refused("captions mine.parquet -o mine.parquet", "mine.parquet"),
    refused("captions mine.parquet -o c.txt --image-of-caption c.txt", "--image-of-caption", "--out"),
    refused("captions nowhere.parquet -o c.txt", "nowhere.parquet"),
    refused("captions images.zip -o c.txt", "images.zip", "compressed"),
    refused("captions flickr30k -o c.txt --catalogue datasets.yaml", "1 test images", "1,000"),
    refused("captions f30k -o c.txt --catalogue datasets.yaml", "1 test images", "1,000"),
    refused(
        "captions f30k -o c.txt --catalogue datasets.yaml --data nothing --mirror nothing", "fivesentences download"
    ),
    refused("captions coco-5k -o c.txt --catalogue datasets.yaml", "datasets.coco"),
    refused("captions mine.parquet -o images", "images", "folder"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_photographs(case, carry_out, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    carry_out(case if isinstance(case.what, str) else case._replace(makes=("captions.csv",)))  # which rows() writes
