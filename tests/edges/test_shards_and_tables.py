"""Edges of shards and parquet tables of captions that were made to break their readers, and of names of images."""

from __future__ import annotations

import datetime
import io
import json
import tarfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edge_cases import refused, right
from fivesentences.corpus import Corpus
from fivesentences.corpus.table import COLUMNS, corpus_of

pytestmark = pytest.mark.slow

BLOCK = tarfile.BLOCKSIZE
SIZE, CHECKSUM = slice(124, 136), slice(148, 156)  # of a header
BREAKS = {"lf": "\n", "cr": "\r", "crlf": "\r\n", "vt": "\v", "fs": "\x1c", "nel": "\x85", "ls": "\u2028"}
BEYOND = {"date": pa.date32(), "date64": pa.date64(), "us": pa.timestamp("us"), "tz": pa.timestamp("us", "No/Where")}


def entries(*names: str, form: int = tarfile.GNU_FORMAT) -> bytes:
    """The entries of a shard, without its end."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 6
            archive.addfile(member, io.BytesIO(b"A dog."))
        return file.getvalue()[: archive.offset]


def stated(entry: bytes, size: int, at: int = 0) -> bytes:
    """The same with another size in the header at ``at``, and its checksum."""
    header = bytearray(entry[at : at + BLOCK])
    header[SIZE] = (size & ((1 << 96) - 1)).to_bytes(12, "big") if size < 0 or size >= 8**11 else b"%011o\0" % size
    header[CHECKSUM] = b" " * 8
    header[CHECKSUM] = b"%06o\0 " % sum(header)
    return entry[:at] + bytes(header) + entry[at + BLOCK :]


def extended(**records: str) -> bytes:
    """A PAX header with records as they are, even wrong ones."""
    data = b"".join(f"{len(name) + len(text) + 5:02d} {name}={text}\n".encode() for name, text in records.items())
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, len(data)
    return header.tobuf(tarfile.USTAR_FORMAT) + data.ljust(-(-len(data) // BLOCK) * BLOCK, b"\0")


LONG, PAX, TWO = (
    entries("n" * 200 + ".txt"),
    entries("é" * 200 + ".txt", form=tarfile.PAX_FORMAT),
    entries("1.txt", "2.txt"),
)
SHARDS = {
    "minus_one": stated(TWO, -1),
    "minus": stated(TWO, -2 * BLOCK),
    "second_minus": stated(TWO, -4 * BLOCK, 2 * BLOCK),
    "photograph_minus": entries("0.txt") + stated(entries("0.jpg"), -2 * BLOCK),
    "pax_size_minus": extended(size="-512") + TWO,
    "sparse_minus": extended(**{"GNU.sparse.map": "0,5,-1", "GNU.sparse.size": "-4"}) + TWO,
    "long_minus": stated(LONG, -BLOCK),
    "eight_gigabytes": stated(TWO, 1 << 33),
    "pax_of_gigabytes": stated(PAX, 1 << 33),
    "pax_of_terabytes": stated(PAX, 1 << 40),
    "long_of_terabytes": stated(LONG, 1 << 40),
    "long_names": LONG[: 2 * BLOCK] * 3000 + TWO,
    "pax_headers": PAX[: -2 * BLOCK] * 3000 + TWO,
}


def _table(path: Path, **columns: object) -> None:
    pq.write_table(pa.table({"caption": ["A dog.", "A cat."], **columns}), path)


def write_files(folder: Path) -> None:
    """What the cases read."""
    for name, data in SHARDS.items():
        (folder / f"{name}.tar").write_bytes(data + bytes(2 * BLOCK))
    (folder / "well.tar").write_bytes(LONG + PAX + entries("1.txt", "2.txt") + bytes(2 * BLOCK))
    for kind, made in BEYOND.items():
        _table(folder / f"id_{kind}.parquet", image_id=pa.array([2**30 if kind == "date" else 2**62, 5], made))
        _table(folder / f"text_{kind}.parquet", text=pa.array([2**30 if kind == "date" else 2**62, 5], made))
    _table(folder / "date.parquet", image_id=[datetime.date(2020, 1, 1)] * 2)
    struct = pa.StructArray.from_arrays([pa.array([2**30, 5], pa.date32())], ["day"])
    _table(folder / "struct.parquet", image=struct)
    rows = pa.table({"caption": pa.repeat("A dog.", 10**6).dictionary_encode()})
    with pq.ParquetWriter(folder / "endless.parquet", rows.schema) as writer:
        writer.write_table(pa.concat_tables([rows] * 100), row_group_size=10**8)
    for name, sign in BREAKS.items():
        _table(folder / f"name_{name}.parquet", image=[f"a{sign}b", "c"])
        (folder / f"name_{name}.jsonl").write_text(json.dumps({"image": f"a{sign}", "caption": "A dog."}) + "\n")
        (folder / f"name_{name}.tar").write_bytes(entries(f"a{sign}b.jpg", f"a{sign}b.txt") + bytes(2 * BLOCK))


def _named(name: str) -> Corpus:
    row = dict.fromkeys(COLUMNS, "x") | {"filename": name, "category": None}
    return corpus_of("own", pd.DataFrame([row])[list(COLUMNS)].to_records(index=False).tolist())


CASES = [
    *(refused(f"captions {name}.tar -o c.txt", f"{name}.tar") for name in SHARDS),
    right("captions well.tar -o c.txt", "4 captions of 4 images", makes=["c.txt"]),
    *(refused(f"captions id_{kind}.parquet -o c.txt", f"id_{kind}.parquet") for kind in BEYOND),
    *(right(f"captions text_{kind}.parquet -o c.txt", "2 captions", makes=["c.txt"]) for kind in BEYOND),
    refused("captions date.parquet -o c.txt", "date.parquet, row 0", "2020"),
    refused("captions endless.parquet -o c.txt", "endless.parquet: ", "20,000,000,000 bytes"),
    refused("captions struct.parquet -o c.txt", "struct.parquet"),
    *(refused(f"captions name_{name}.{kind} -o c.txt --image-names n.txt", f"name_{name}.{kind}", "line break")
      for name in BREAKS for kind in ("parquet", "jsonl", "tar")),
    *(refused(lambda _, s=s: _named(f"a{s}.jpg"), "filename contains a line break", name=f"a corpus, {n}")
      for n, s in BREAKS.items()),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shards_and_tables(case, carry_out):
    carry_out(case)
