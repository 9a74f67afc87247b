"""The files of the example, and photographs in many forms."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from drawn_photographs import jpeg
from fivesentences.commands.example import example
from fivesentences.pages.report import Report, look

N_IMAGES, PER_IMAGE = 8, 5
WORDS = ["dog", "cat", "boat", "tree", "house", "ball", "river", "girl"]


@pytest.fixture(scope="session")
def shipped(tmp_path_factory) -> Path:
    """The files of `fivesentences example`."""
    folder = tmp_path_factory.mktemp("example")
    example(out=folder, quiet=True)
    return folder


@pytest.fixture(scope="session")
def report(shipped) -> Report:
    """Both models of the example, without photographs."""
    models = {"first": np.load(shipped / "sims.npy"), "second": np.load(shipped / "hardest.npy")}
    return look(models, captions=shipped / "captions.txt")


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """Eight images with five captions each, their photographs in a folder, a zip and a list, where the test runs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("sims.npy", rng.normal(size=(N_IMAGES, N_IMAGES * PER_IMAGE)) + np.repeat(np.eye(N_IMAGES), PER_IMAGE, 1))
    texts = [f"a {WORDS[image]} and a {WORDS[(image + at) % 8]}" for image in range(8) for at in range(PER_IMAGE)]
    Path("captions.txt").write_text("".join(f"{text}\n" for text in texts))
    Path("photos").mkdir()
    with zipfile.ZipFile("photos.zip", "w") as archive:
        for number in range(N_IMAGES):
            Path(f"photos/{number}.jpg").write_bytes(jpeg(number))
            archive.writestr(f"{number}.jpg", jpeg(number))
    Path("list.txt").write_text("".join(f"photos/{number}.jpg\n" for number in range(N_IMAGES)))
    return tmp_path
