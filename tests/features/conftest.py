"""A small archive of drawn pictures for the tests of this folder."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image, ImageDraw

COUNT = 12


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Small networks on several threads mostly wait, above all where tests share the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def picture(number: int) -> Image.Image:
    random = np.random.default_rng(number)
    image = Image.new("RGB", (100, 80), tuple(random.integers(0, 256, 3).tolist()))
    pen = ImageDraw.Draw(image)
    for _ in range(4):
        x, y, width, height = random.integers(0, 60, 4).tolist()
        shape = pen.ellipse if random.random() < 0.5 else pen.rectangle
        shape((x, y, x + width + 5, y + height + 5), fill=tuple(random.integers(0, 256, 3).tolist()))
    return image


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zip with the pictures 0.png to 11.png in a folder."""
    path = tmp_path_factory.mktemp("photographs") / "photographs.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(COUNT):
            buffer = io.BytesIO()
            picture(number).save(buffer, "PNG")
            file.writestr(f"pictures/{number}.png", buffer.getvalue())
    return path


@pytest.fixture
def images() -> pd.DataFrame:
    return pd.DataFrame(
        {"image_id": [f"image{n}" for n in range(COUNT)], "filename": [f"{n}.png" for n in range(COUNT)]}
    )
