"""`fivesentences example`: small files on which the other commands can be tried."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.commands.arguments import Quiet
from fivesentences.errors import InputError
from fivesentences.storage import replacing

SHIPPED = Path(__file__).with_name("example_files")  # docs/tools/example makes them
DECIMALS = 5  # processors differ in later ones, and equal captions must tie on all of them


def example(
    *, out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER")] = Path(), quiet: Quiet = False
) -> None:
    """Write a similarity matrix, embeddings, captions and pictures to try the other commands on.

    200 drawn scenes with 1,000 captions, scored by two small models that were
    trained on 3,000 other scenes: one with InfoNCE (sims.npy, images.npy,
    texts.npy), one with a triplet loss on hardest negatives (hardest.npy).
    generated.txt has one caption per image, for "fivesentences captioning".
    2 MB in all; nothing is downloaded, and a file of yours is not overwritten.

    Args:
        out: The folder to write to.
        quiet: Print nothing.

    Examples:

        fivesentences example

        fivesentences evaluate sims.npy --captions captions.txt
    """
    contents = {name: (content, text) for name, content, text in _files()}
    for name, (content, _) in contents.items():
        if (out / name).exists() and (out / name).read_bytes() != content:
            cure = "choose another folder with --out, or move the file away"
            raise InputError("another file of this name is there already", where=out / name, cure=cure)
    if out.exists() and not out.is_dir():
        raise InputError("this is a file, and several files are written", where=out, cure="name a folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    width = max(len(str(out / name)) for name in contents) + 1
    for name, (content, text) in contents.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)
        if not quiet:
            print(f"{out / name!s:<{width}} {text}")
    if not quiet:
        sims, captions, scenes = (shlex.quote(str(out / one)) for one in ("sims.npy", "captions.txt", "scenes.zip"))
        print(f"\nNext: fivesentences evaluate {sims} --captions {captions}")
        print(f"      fivesentences look {sims} --captions {captions} --images {scenes}")


def _files() -> list[tuple[str, bytes, str]]:
    images, texts, *hardest = (
        read_npy(SHIPPED / f"{name}.npy").astype(np.float64)
        for name in ("images", "texts", "hardest_images", "hardest_texts")
    )
    return [
        ("captions.txt", (SHIPPED / "captions.txt").read_bytes(), "1,000 captions, five per image, one per line"),
        ("sims.npy", _npy(_cosines(images, texts)), "similarity [200 images, 1,000 captions], trained with InfoNCE"),
        ("hardest.npy", _npy(_cosines(*hardest)), "the same, trained with a triplet loss on hardest negatives"),
        ("images.npy", _npy(images), "image embeddings [200, 64] of the first model"),
        ("texts.npy", _npy(texts), "caption embeddings [1,000, 64] of the first model"),
        ("scenes.zip", (SHIPPED / "scenes.zip").read_bytes(), 'the 200 images, for "fivesentences look"'),
        ("generated.txt", (SHIPPED / "generated.txt").read_bytes(), "one caption per image, to be scored itself"),
    ]


def _cosines(images: NDArray[np.float64], texts: NDArray[np.float64]) -> NDArray[np.float64]:
    images, texts = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (images, texts))
    return (images @ texts.T).round(DECIMALS)


def _npy(values: NDArray[np.float64]) -> bytes:
    file = io.BytesIO()
    np.save(file, values.astype(np.float32), allow_pickle=False)
    return file.getvalue()
