"""Edges of files: what is no file, what is damaged as a file, and outputs that would destroy something."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from edge_cases import refused, right
from fivesentences.semantics import write_phi

DEEP = "[" * 5000
LONG = "1" * 5000
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 30)
)


def npy(shape: str, data: bytes = b"") -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    captions = [f"a {colour} dog runs" for colour in ["red", "blue", "green", "white", "black"] for _ in range(5)]
    np.save(folder / "s.npy", rng.normal(size=(5, 25)).astype(np.float32))
    (folder / "captions.txt").write_text("".join(f"{caption}\n" for caption in captions))
    (folder / "caps.json").write_text(json.dumps(captions))
    (folder / "mine.json").write_text('{"notes": "of my own"}')
    (folder / "pairing.txt").write_text("".join(f"{index // 5}\n" for index in range(25)))
    write_phi("cider", captions, np.arange(25) // 5, folder / "cider.npy", captions_file="captions.txt")
    (folder / "link.npy").symlink_to("s.npy")
    os.link(folder / "s.npy", folder / "hard.npy")
    (folder / "gone.npy").symlink_to("nowhere.npy")
    os.mkfifo(folder / "pipe.npy")
    (folder / "folder.npy").mkdir()
    (folder / "Photo.NPY").write_bytes(b"x")
    for name, content in {
        "text.npy": b"0.1 0.2\n0.3 0.4\n",
        "empty.npy": b"",
        "huge.npy": npy(f"({10**30},)"),
        "true.npy": npy("(True, 100)", b"\0" * 400),
        "cut.npy": npy("(5, 25)", b"\0" * 400),
        "more.npy": npy("(5, 25)", b"\0" * 600),
        "parser.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", 5000) + b"(" * 5000,
        "deep.json": DEEP.encode(),
        "deeper.json": b"[" * 300_000,
        "long.json": f"[[{LONG}, 1], [2, 3]]".encode(),
        "long_captions.json": f"[{LONG}]".encode(),
        "twice.json": b'{"a": 1, "a": 2}',
        "half.json": b'["a \\ud800 dog"]',
        "half.txt": b"a dog \xed\xa0\x80 runs\n",
        "empty.json": b"",
        "long.txt": f"{LONG}\n".encode() * 25,
        "bomb.yaml": BOMB.encode(),
        "loop.yaml": b"scale: &a [*a]\n",
        "deep.yaml": DEEP.encode(),
        "long.yaml": f"scale: {LONG}\n".encode(),
        "twice.yaml": b"scale: a\ntitle: b\nscale: c\n",
        "tag.yaml": b"scale: !!python/object/apply:os.system [touch pwned]\n",
        "bytes.yaml": b"scale: \xff\n",
        "nul.yaml": b"scale: a\0b\n",
    }.items():
        (folder / name).write_bytes(content)


NOT_FILES = [
    refused("evaluate folder.npy", "folder.npy: this is a folder"),
    refused("evaluate pipe.npy", "pipe.npy: this is a pipe"),
    refused("evaluate gone.npy", "gone.npy: it is a link to nowhere.npy, which is missing"),
    refused("evaluate S.npy", "S.npy: there is no such file; did you mean 's.npy'?"),
    refused("evaluate ss.npy", "ss.npy: there is no such file; did you mean 's.npy'?"),
    refused("evaluate s.npy/inside.npy", "there is no such file"),
    refused("evaluate /dev/null", "/dev/null"),
    refused(f"evaluate {'x' * 300}.npy", "File name too long", name="a name of 300 characters"),
    right("evaluate link.npy", "5 images, 25 captions"),
    refused("evaluate s.npy --captions folder.npy", "folder.npy: this is a folder"),
    refused("evaluate s.npy --captions pipe.npy", "pipe.npy: this is a pipe"),
    refused("evaluate s.npy --image-of-caption pipe.npy", "pipe.npy: this is a pipe"),
    refused("phi cider pipe.npy -o new.npy", "pipe.npy: this is a pipe"),
    refused("phi cider folder.npy -o new.npy", "folder.npy: this is a folder"),
    refused("phi cider captoins.txt -o new.npy", "did you mean 'captions.txt'?"),
    refused("train folder.npy", "folder.npy: this is a folder"),
    refused("train pipe.npy", "pipe.npy: this is a pipe"),
    refused("train nowhere.yaml", "nowhere.yaml: there is no such file"),
]
DAMAGED = [
    refused("evaluate text.npy", "text.npy: this is not a complete .npy"),
    refused("evaluate empty.npy", "empty.npy", "numpy.save"),
    refused("evaluate huge.npy", "huge.npy"),
    refused("evaluate cut.npy", "cut.npy"),
    refused("evaluate more.npy", "more.npy"),
    refused("evaluate parser.npy", "parser.npy"),
    refused("evaluate s.npy --phi text.npy", "text.npy: this is not a complete .npy file"),
    refused("evaluate s.npy --image-of-caption true.npy", "true.npy"),
    refused("checkpoint import text.npy -o new --model scan", "text.npy"),
    refused("evaluate deep.json", "deep.json: behind row 0"),
    refused("evaluate long.json", "long.json", "row 0"),
    refused("evaluate empty.json", "empty.json"),
    refused("phi cider deep.json -o new.npy", "deep.json: it is nested more than 100 levels deep"),
    refused("phi cider deeper.json -o new.npy", "deeper.json: it is nested more than 100 levels deep"),
    refused("phi cider long_captions.json -o new.npy", "long_captions.json", "more than 308 digits"),
    refused("phi cider twice.json -o new.npy", "twice.json: the key 'a' is given twice"),
    refused("phi cider half.json -o new.npy", "half.json", "U+D800, half of a surrogate pair"),
    refused("phi cider half.txt -o new.npy", "half.txt: byte 6 (line 1) is not UTF-8"),
    refused("phi cider empty.json -o new.npy", "empty.json: it is empty"),
    refused("evaluate s.npy --image-of-caption long.txt", "long.txt: line 1"),
    refused("evaluate s.npy --instances deep.json --image-ids pairing.txt", "pairing.txt"),
    refused("train bomb.yaml --list", "bomb.yaml", "more than 1,000,000 values"),
    refused("train loop.yaml --list", "loop.yaml"),
    refused("train deep.yaml --list", "deep.yaml", "nested more than 100 levels"),
    refused("train long.yaml --list", "long.yaml", "more than 308 digits"),
    refused("train twice.yaml --list", "twice.yaml: line 3"),
    refused("train tag.yaml --list", "tag.yaml: line 1 is not YAML"),
    refused("train bytes.yaml --list", "bytes.yaml: byte 7 (line 1) is not UTF-8"),
    refused("train nul.yaml --list", "nul.yaml", "is not YAML (special characters are not allowed)"),
]
FORMS = ("json", "csv", "markdown", "latex")
OUTPUTS = [
    *(refused(f"evaluate s.npy --{form} s.npy", f"--{form} would overwrite s.npy, which is read") for form in FORMS),
    refused("evaluate s.npy --json link.npy", "--json would overwrite s.npy"),
    refused("evaluate s.npy --json hard.npy", "--json would overwrite s.npy"),
    refused("evaluate s.npy --json folder.npy/../s.npy", "--json would overwrite s.npy"),
    refused("evaluate link.npy --csv s.npy", "--csv would overwrite link.npy"),
    refused("evaluate s.npy --phi cider.npy --csv cider.npy", "--csv would overwrite cider.npy"),
    refused("evaluate s.npy --phi mine=cider.npy --csv cider.npy", "--csv would overwrite cider.npy"),
    refused("evaluate s.npy --phi cider.npy --json cider.json", "--json would overwrite cider.json"),
    refused("evaluate s.npy --captions captions.txt --csv captions.txt", "--csv would overwrite captions.txt"),
    refused("evaluate s.npy --image-of-caption pairing.txt --csv pairing.txt", "--csv would overwrite pairing.txt"),
    refused("evaluate s.npy --categories pairing.txt --csv pairing.txt", "pairing.txt"),
    refused("evaluate s.npy --json new.json --csv ./new.json", "write"),
    refused("evaluate s.npy link.npy --csv link.npy", "link.npy"),
    refused("phi cider captions.txt -o cider.txt", "must end in .npy"),
    refused("phi cider caps.json -o caps.npy", "the note beside --out would overwrite caps.json"),
    refused("phi cider captions.txt -o mine.npy", "mine.json, and that file is no such note"),
    refused("phi cider captions.txt -o captions.txt --top-k 2", "captions.txt"),
    refused("phi cider captions.txt --image-of-caption pairing.txt -o pairing.txt --top-k 2", "pairing.txt"),
    right("evaluate s.npy --json /dev/null --csv /dev/null -q", name="devices may be written twice"),
    right("evaluate s.npy --json new.json --csv new.csv -q", makes=("new.json", "new.csv")),
    right("phi cider captions.txt -o cider.npy", "cider.npy", makes=("cider.npy", "cider.json")),
    refused(f"evaluate s.npy --csv {'x' * 250}.csv", "name too long", name="an output of 254 characters"),
    refused("evaluate s.npy --csv folder.npy", "folder.npy cannot be written (it is a folder)"),
    refused("evaluate s.npy --csv captions.txt/new.csv", "captions.txt is not a folder"),
    refused("evaluate s.npy --csv /dev/full", "/dev/full cannot be written (No space left on device)"),
]


@pytest.mark.parametrize("case", [*NOT_FILES, *DAMAGED, *OUTPUTS], ids=str)
def test_files(case, carry_out):
    carry_out(case)
