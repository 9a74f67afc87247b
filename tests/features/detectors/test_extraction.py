"""From a folder of photographs to features with boxes: as one by one, resumed after a kill, broken ones named."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from safetensors.torch import save_file

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.features.detectors import detect
from fivesentences.features.detectors.bottom_up import BottomUpAttention
from fivesentences.features.detectors.extraction import Detected, extract_regions
from fivesentences.features.files import read_source
from fivesentences.features.formats.record import RECOGNISED
from fivesentences.features.formats.table import NpyTable
from fivesentences.storage import sha256_of

COUNT = 5
SIZES = {"short": 60, "long": 90}  # few cells, so few proposals


def picture(seed: int) -> Image.Image:
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    return coarse.resize((140 + 10 * seed, 112), Image.Resampling.BICUBIC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    for seed in range(COUNT):
        picture(seed).save(tmp_path / "photos" / f"{seed}.png")
    return tmp_path / "photos"


@pytest.fixture(scope="module")
def small(case: Any, tmp_path_factory: pytest.TempPathFactory) -> BottomUpAttention:
    one = case("d2", "small")
    path = tmp_path_factory.mktemp("weights") / "weights.safetensors"
    save_file(one.state(), path)
    return BottomUpAttention(path, "d2", replace(one.settings, **SIZES))


def extracted(folder: Path, detector: Any, out: Path, **settings: Any) -> Detected:
    photographs = Photographs(folder)
    names = photographs.names()
    images = pd.DataFrame({"image_id": [Path(name).stem for name in names], "filename": names})
    return extract_regions(photographs, images, detector, out, **settings)


class Counting:
    """A detector that counts the images that it sees, and fails at one of them."""

    def __init__(self, detector: BottomUpAttention, fail_at: int = -1):
        self.detector, self.seen, self.fail_at = detector, 0, fail_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self.detector, name)

    def regions(self, image: Image.Image) -> Any:
        if self.seen == self.fail_at:
            raise KeyboardInterrupt
        self.seen += 1
        return self.detector.regions(image)


@pytest.mark.parity
@pytest.mark.parametrize("storage", ["float16"])
def test_files_hold_what_the_detector_returns(storage, small, folder, tmp_path):
    out = tmp_path / "regions.npy"
    done = extracted(folder, small, out, storage=storage)
    assert (done.images, done.made, done.corrupt) == (COUNT, COUNT, ())
    with NpyTable(out) as table:
        assert list(table.outline.ids) == [str(seed) for seed in range(COUNT)]
        for seed in range(COUNT):
            stored, expected = table.read(seed), detect(picture(seed), small)
            assert stored.features.dtype == storage
            np.testing.assert_array_equal(stored.features, expected.features.astype(storage))
            np.testing.assert_array_equal(stored.boxes, expected.boxes)
            for name in RECOGNISED:
                np.testing.assert_array_equal(getattr(stored, name), getattr(expected, name))
            assert (stored.filename, stored.width, stored.height) == (f"{seed}.png", 140 + 10 * seed, 112)
    rows = FeatureTable.open(out).rows(["3"])  # as training reads them
    np.testing.assert_array_equal(rows[0], detect(picture(3), small).features.astype(storage))
    source = read_source(out)
    assert source["extractor"] == "bottom_up_attention"
    assert len(source["weights_sha256"]) == 64
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parity
def test_a_killed_run_resumes_with_the_next_image(small, folder, tmp_path):
    whole, out = tmp_path / "whole.npy", tmp_path / "resumed.npy"
    extracted(folder, small, whole)
    with pytest.raises(KeyboardInterrupt):
        extracted(folder, Counting(small, fail_at=3), out)
    assert not out.exists()
    rest = Counting(small)
    done = extracted(folder, rest, out)
    assert (rest.seen, done.images, done.made) == (COUNT - 3, COUNT, COUNT - 3)
    for suffix in (".npy", ".images.parquet", ".regions.parquet"):
        assert out.with_suffix(suffix).read_bytes() == whole.with_suffix(suffix).read_bytes()
    again = Counting(small)
    assert extracted(folder, again, out).made == again.seen == 0


@pytest.mark.parity
def test_finished_images_of_other_settings_are_not_used(small, folder, tmp_path):
    out = tmp_path / "regions.npy"
    with pytest.raises(KeyboardInterrupt):
        extracted(folder, Counting(small, fail_at=3), out)
    other = BottomUpAttention.of(small.network, small.settings)  # which does not say whose weights it has
    counting = Counting(other)
    extracted(folder, counting, out)
    assert counting.seen == COUNT
    with pytest.raises(InputError, match="photographs"):
        extracted(folder, small, out)


@pytest.mark.parity
def test_broken_photographs_are_named_at_the_end(small, folder, tmp_path):
    (folder / "1.png").write_bytes(b"no picture")
    whole = (folder / "3.png").read_bytes()
    (folder / "3.png").write_bytes(whole[: len(whole) // 2])
    out, counting = tmp_path / "regions.npy", Counting(small)
    with pytest.raises(
        InputError, match=r"2 of 5 photographs have no features.*'1.png'.*'3.png'.*repair them"
    ) as caught:
        extracted(folder, counting, out)
    assert "\n" not in str(caught.value)
    assert counting.seen == 3
    assert not out.exists()
    again = Counting(small)
    skipped = extracted(folder, again, tmp_path / "regions.npy", on_corrupt="skip")
    assert (again.seen, skipped.images, len(skipped.corrupt)) == (0, 3, 2)
    for path in tmp_path.glob("regions.*"):
        path.unlink()
    # One is repaired by its content, which makes it another set of photographs; the other is skipped.
    (folder / "3.png").write_bytes(whole)
    done = extracted(folder, small, out, on_corrupt="skip")
    assert (done.images, len(done.corrupt)) == (4, 1)
    assert "'1.png': cannot be decoded" in done.corrupt[0]
    assert read_source(out)["skipped"] == ["1.png"]
    with NpyTable(out) as table:
        assert list(table.outline.ids) == ["0", "2", "3", "4"]


@pytest.mark.parity
def test_an_image_that_the_network_cannot_take_does_not_end_the_others(small, folder, tmp_path):
    Image.new("RGB", (200, 1)).save(folder / "1.png")
    done = extracted(folder, small, tmp_path / "regions.npy", on_corrupt="skip")
    assert done.images == COUNT - 1
    assert done.corrupt == (
        f"photograph '1.png': an image is {small.settings.long} x 1 when resized; the network needs 5 pixels per side.",
    )


@pytest.mark.parity
def test_if_nothing_can_be_read_nothing_is_written(small, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "0.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match="1"):
        extracted(tmp_path / "photos", small, tmp_path / "regions.npy", on_corrupt="skip")
    assert not (tmp_path / "regions.npy").exists()


@pytest.mark.parity
def test_the_command(small, case, folder, tmp_path, run, monkeypatch):
    one = case("d2", "small")
    archive, weights = tmp_path / "photos.zip", tmp_path / "weights.safetensors"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.iterdir()):
            file.write(path, f"inside/{path.name}")
    save_file(one.state(), weights)
    # The published network would take 20 s per photograph.
    from fivesentences.features.detectors import network

    monkeypatch.setattr(network, "Widths", lambda: one.widths)
    out = tmp_path / "regions.npy"
    arguments = ("features", "regions", archive, "--weights", weights, "-o", out, "--device", "cpu")
    said = run(*arguments, "--regions", "10-20", "--short", 60, "--long", 90, "--resize", "torch")
    assert said.code == 0, said.err
    assert f"{COUNT} images, {COUNT} of them by this call, {small.dim} numbers per region" in said.out
    source = read_source(out)
    assert source["weights_sha256"] == sha256_of(weights)
    assert [source[name] for name in ("least", "most", "short", "resize", "flavour")] == [10, 20, 60, "torch", "d2"]
    with NpyTable(out) as table:
        assert list(table.outline.ids) == [f"inside/{seed}.png" for seed in range(COUNT)]
        assert 10 <= int(table.outline.counts.min()) <= int(table.outline.counts.max()) <= 20

    half = tmp_path / "half.npy"
    said = run(*arguments[:-4], "-o", half, "--short", 60, "--long", 90, "--part", "2/2")
    assert said.code == 0, said.err
    with NpyTable(half) as table:
        assert list(table.outline.ids) == [f"inside/{seed}.png" for seed in (2, 3, 4)]

    for wrong, sentence in (
        ((*arguments, "--part", "3/2"), "give I/N with I from 1 to N"),
        ((*arguments, "--part", "1/9"), "9 parts of 5 images are too many"),
        (("features", "regions", archive, "-o", out), "bottom_up needs a file of weights"),
        ((*arguments, "--regions", "many"), "--regions is 'many'; give at least 1"),
        ((*arguments, "--network", "faster_rcnn", "--flavour", "d2"), "faster_rcnn has no --flavour"),
    ):
        said = run(*wrong)
        assert said.code in (1, 2)
        assert sentence in " ".join(said.err.split())
