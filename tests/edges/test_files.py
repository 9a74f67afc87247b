"""Edges of files: what is no file, what is damaged as a file, and outputs that would destroy something."""

from __future__ import annotations

import base64
import io
import json
import os
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest

from edge_cases import refused, right
from fivesentences.semantics import write_phi

pytestmark = pytest.mark.slow

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
    mixed = [captions[5 * (at % 5) + at // 5] for at in range(25)]  # one of each image, then the second of each
    np.save(folder / "s.npy", rng.normal(size=(5, 25)).astype(np.float32))
    (folder / "captions.txt").write_text("".join(f"{caption}\n" for caption in captions))
    (folder / "caps.json").write_text(json.dumps(captions))
    (folder / "token.txt").write_text("".join(f"{at % 5}.jpg#{at // 5}\t{text}\n" for at, text in enumerate(mixed)))
    (folder / "results.csv").write_text(
        "image_name| comment_number| comment\n" + "".join(f"{at % 5}.jpg| 0| {text}\n" for at, text in enumerate(mixed))
    )
    annotations = [{"image_id": at % 5, "caption": text} for at, text in enumerate(mixed)]
    coco = {"images": [{"id": at, "file_name": f"{at}.jpg"} for at in range(5)], "annotations": annotations}
    (folder / "coco.json").write_text(json.dumps(coco))
    made = [{"image_id": at, "caption": captions[5 * at]} for at in range(5)]
    (folder / "made.json").write_text(json.dumps(made))
    (folder / "wrapped.json").write_text(json.dumps({"captions": captions}))
    (folder / "other.json").write_text(json.dumps({"parts": [{"who": at, "says": "a dog"} for at in range(5)]}))
    with tarfile.open(folder / "shard.tar", "w") as shard:
        for at in range(9):
            member = tarfile.TarInfo(f"{at}.txt")
            member.size = 5
            shard.addfile(member, io.BytesIO(b"a dog"))
    data = bytearray((folder / "shard.tar").read_bytes())
    data[1024 * 4 + 3] ^= 1
    (folder / "flipped.tar").write_bytes(data)
    (folder / "twice.csv").write_text("image_0,image_1,caption_0,caption_1\n0,1,0,1\n2,2,3,4\n")
    (folder / "once.csv").write_text("image_0;image_1;caption_0;caption_1\n0;1;0;1\n")
    matrix = rng.normal(size=(5, 25)).round(3).tolist()
    (folder / "semicolons.csv").write_text("".join(";".join(map(str, row)) + "\n" for row in matrix))
    (folder / "commas.csv").write_text("".join(";".join(map(str, row)) + "\n" for row in matrix).replace(".", ","))
    boxes, features = np.array([[1, 2, 30, 40.5]]), rng.random((1, 8))
    cells = [base64.b64encode(values.tobytes()).decode() for values in (boxes, features)]
    (folder / "f8.tsv").write_text("\t".join(["a", "50", "60", "1", *cells]) + "\n")
    (folder / "names.txt").write_text("0.jpg\n1.jpg\n")
    (folder / "untitled.txt").write_text("".join(f"{at % 5}.jpg,{text}\n" for at, text in enumerate(captions)))
    (folder / "mine.json").write_text('{"notes": "of my own"}')
    (folder / "pairing.txt").write_text("".join(f"{index // 5}\n" for index in range(25)))
    write_phi("cider", captions, np.arange(25) // 5, folder / "cider.npy", captions_file="captions.txt")
    np.save(folder / "other.npy", rng.random((25, 5)).astype(np.float32))
    (folder / "link.npy").symlink_to("s.npy")
    os.link(folder / "s.npy", folder / "hard.npy")
    (folder / "gone.npy").symlink_to("nowhere.npy")
    os.mkfifo(folder / "pipe.npy")
    (folder / "folder.npy").mkdir()
    (folder / "Photo.NPY").write_bytes(b"x")
    for name, content in {
        "text.npy": b"0.1 0.2\n0.3 0.4\n",
        "true.npy": npy("(True, 100)", b"\0" * 400),
        "deep.json": DEEP.encode(),
        "long.json": f"[[{LONG}, 1], [2, 3]]".encode(),
        "half.json": b'["a \\ud800 dog"]',
        "half.txt": b"a dog \xed\xa0\x80 runs\n",
        "long.txt": f"{LONG}\n".encode() * 25,
        "bomb.yaml": BOMB.encode(),
        "tag.yaml": b"scale: !!python/object/apply:os.system [touch pwned]\n",
    }.items():
        (folder / name).write_bytes(content)


NOT_FILES = [
    refused("evaluate folder.npy", "folder.npy"),
    refused("evaluate pipe.npy", "pipe.npy"),
    refused("evaluate gone.npy", "gone.npy", "nowhere.npy"),
    refused("evaluate S.npy", "S.npy", "'s.npy'"),
    refused("evaluate /dev/null", "/dev/null"),
    refused(f"evaluate {'x' * 300}.npy", "xxx", "long", name="a name of 300 characters"),
    right("evaluate link.npy", "5 images, 25 captions"),
    refused("evaluate s.npy --captions pipe.npy", "pipe.npy"),
    refused("phi cider captoins.txt -o new.npy", "'captions.txt'"),
    refused("train folder.npy", "folder.npy"),
]
DAMAGED = [
    refused("evaluate text.npy", "text.npy"),
    refused("evaluate s.npy --phi text.npy", "text.npy"),
    refused("evaluate s.npy --image-of-caption true.npy", "true.npy"),
    refused("evaluate deep.json", "deep.json"),
    refused("evaluate long.json", "long.json", "row 0"),
    refused("phi cider deep.json -o new.npy", "deep.json", "100"),
    refused("phi cider half.json -o new.npy", "half.json", "U+D800"),
    refused("phi cider half.txt -o new.npy", "half.txt", "UTF-8"),
    refused("evaluate s.npy --image-of-caption long.txt", "long.txt: line 1"),
    refused("evaluate s.npy --instances deep.json --image-ids pairing.txt", "pairing.txt"),
    refused("train bomb.yaml --list", "bomb.yaml", "more than 1,000,000 values"),
    refused("train tag.yaml --list", "tag.yaml", "YAML"),
]
CAPTIONS = [
    *(right(f"phi cider {name} -o new.npy", "[25 captions, 5 images]", makes=("new.npy", "new.json"))
      for name in ("token.txt", "results.csv", "coco.json", "wrapped.json")),
    *(right(f"captions {name} -o new.txt --image-of-caption new.ids", "25 captions of 5 images",
            makes=("new.txt", "new.ids")) for name in ("token.txt", "results.csv", "coco.json")),
    right("captioning made.json captions.txt", "made.json names", "captions.txt does not"),
    right("captioning made.json coco.json", "CIDEr"),
    *(right(f"evaluate s.npy --captions {name}", "5 images, 25 captions") for name in ("token.txt", "coco.json")),
    refused("evaluate s.npy --captions coco.json --image-of-caption pairing.txt", "coco.json"),
    refused("captions coco.json -o new.txt", "--image-of-caption"),
    *(refused(f"phi cider {name} -o new.npy", name) for name in ("names.txt", "untitled.txt", "other.json")),
    refused("phi cider pairing.txt -o new.npy", "pairing.txt", "numbers"),
    refused("captions other.json --column parts.says -o new.txt", "other.json", "5 objects"),
    refused("captions wrapped.json -o new.txt", "wrapped.json"),
]  # fmt: skip
OTHERS = [
    right("captions shard.tar -o new.txt", "9 captions of 9 images", makes=("new.txt",)),
    refused("captions flipped.tar -o new.txt", "flipped.tar", "4,096"),
    refused("pairs s.npy twice.csv", "twice.csv", "image 2 twice"),
    right("pairs s.npy once.csv", "group"),
    right("evaluate semicolons.csv", "5 images, 25 captions"),
    refused("evaluate commas.csv", "commas.csv", "decimal points"),
    right("features convert f8.tsv new.npy", "1 image of 1 regions, 8 numbers (float32)",
          makes=("new.npy", "new.images.parquet", "new.regions.parquet", "new.source.json")),
]  # fmt: skip
FORMS = ("json", "csv", "markdown", "latex")
OUTPUTS = [
    *(refused(f"evaluate s.npy --{form} s.npy", f"--{form} would overwrite s.npy, which is read") for form in FORMS),
    refused("evaluate s.npy --json link.npy", "--json", "s.npy"),
    refused("evaluate s.npy --json hard.npy", "--json", "s.npy"),
    refused("evaluate link.npy --csv s.npy", "link.npy"),
    refused("evaluate s.npy --phi cider.npy --csv cider.npy", "cider.npy"),
    refused("evaluate s.npy --phi cider.npy --json cider.json", "cider.json"),
    right("evaluate s.npy --json s.json -q", makes=("s.json",)),
    right("evaluate s.npy --phi other.npy --json other.json -q", makes=("other.json",)),
    refused("evaluate s.npy --captions captions.txt --csv captions.txt", "captions.txt"),
    refused("evaluate s.npy --image-of-caption pairing.txt --csv pairing.txt", "pairing.txt"),
    refused("evaluate s.npy --json new.json --csv ./new.json", "write"),
    refused("phi cider captions.txt -o cider.txt", "cider.txt", ".npy"),
    refused("phi cider caps.json -o caps.npy", "caps.json"),
    refused("phi cider captions.txt -o mine.npy", "mine.json", "note"),
    refused("phi cider captions.txt -o captions.txt --top-k 2", "captions.txt"),
    right("evaluate s.npy --json /dev/null --csv /dev/null -q", name="devices may be written twice"),
    right("evaluate s.npy --json new.json --csv new.csv -q", makes=("new.json", "new.csv")),
    right("phi cider captions.txt -o cider.npy", "cider.npy", makes=("cider.npy", "cider.json")),
    refused(f"evaluate s.npy --csv {'x' * 250}.csv", "name too long", name="an output of 254 characters"),
    refused("evaluate s.npy --csv folder.npy", "folder.npy"),
    refused("evaluate s.npy --csv /dev/full", "/dev/full"),
]


@pytest.mark.parametrize("case", [*NOT_FILES, *DAMAGED, *CAPTIONS, *OTHERS, *OUTPUTS], ids=str)
def test_files(case, carry_out):
    carry_out(case)
