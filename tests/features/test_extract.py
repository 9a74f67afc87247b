"""Extraction: resumed after a kill image by image, never half-written, and errors in one sentence."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences import machine
from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, describing, extract, extract_features, networks
from fivesentences.features.files import read_source
from fivesentences.features.grid_descriptors import GridDescriptors
from fivesentences.features.unfinished import FinishedParts
from kill import Program
from random_networks import fresh

# No `if __name__ == "__main__"`: a Snakemake script has none either.
SCRIPT = """
import sys
from pathlib import Path
import pandas as pd
from fivesentences.corpus import Photographs
from fivesentences.features import extract_features
print("the script runs", flush=True)
archive, table, out = sys.argv[1:]
extract_features(Photographs(archive), pd.read_csv(table), "grid_descriptors", "global", Path(out),
                 workers=2, chunk_size=1)
"""


def descriptors(archive: Path, filenames: list[str], layout: str = "global") -> np.ndarray:
    """The slow way: one image after the other."""
    one, photographs = GridDescriptors(layout), Photographs(archive)
    return np.stack([one.describe(one.prepare(photographs.decoded(name))[None])[0] for name in filenames])


def finished(out: Path) -> dict[str, bytes]:
    """The parts that are finished."""
    return {path.name: path.read_bytes() for path in out.parent.glob(f".{out.stem}.unfinished/*/[!.]*.npz")}


def with_other_bytes(archive: Path, out: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """A copy of an archive with other entries."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(Path(name).name, old.read(name)))
    return out


def half_of(*names: str) -> Callable[[str, bytes], bytes]:
    return lambda name, data: data[: len(data) // 2] if name in names else data


@contextmanager
def described(most: int | None = None) -> Iterator[list[str]]:
    """First files of the parts described in the block, which is interrupted where there would be more than ``most``."""
    real, parts = describing.work, []

    def describe(task: describing.Task) -> describing.Chunk:
        if len(parts) == most:
            raise KeyboardInterrupt
        parts.append(task.filenames[0])
        return real(task)

    interrupted = nullcontext() if most is None else pytest.raises(KeyboardInterrupt)
    with pytest.MonkeyPatch.context() as patch, interrupted:
        patch.setattr(describing, "work", describe)
        yield parts


def extracted(archive: Path, images: pd.DataFrame, out: Path, layout: str = "global", **options) -> extract.Extracted:
    return extract_features(Photographs(archive), images, "grid_descriptors", layout, out, **{"workers": 0} | options)


def test_rows_are_the_images_in_the_tables_order(archive, images, tmp_path, capsys):
    images = images.sample(frac=1, random_state=3)
    out = tmp_path / "grid_descriptors-global.npy"
    extracted(archive, images, out, chunk_size=10)
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))
    assert f"{len(images)}/{len(images)}" in capsys.readouterr().err  # the progress bar of a log file
    beside, source = (out.with_suffix(f".{kind}") for kind in ("images.parquet", "source.json"))
    assert pd.read_parquet(beside).to_dict("list") == images.to_dict("list")
    assert set(tmp_path.iterdir()) == {out, beside, source}
    np.testing.assert_array_equal(FeatureTable.open(out).rows(["image3"]), descriptors(archive, ["3.png"]))


@pytest.mark.slow
def test_a_killed_extraction_resumes_from_finished_images(archive, images, tmp_path, monkeypatch):
    table, out = tmp_path / "images.csv", tmp_path / "out" / "features.npy"
    # Several images of each photograph, so that the work takes long enough.
    images = pd.concat([images.assign(image_id=images["image_id"] + f"-{k}") for k in range(4)], ignore_index=True)
    images.to_csv(table, index=False)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with Program(script, archive, table, out) as program:
        program.wait_for(lambda: len(finished(out)) >= 2)
        program.kill_alone()
        printed = program.end().out
    before = finished(out)
    assert printed == "the script runs\n"  # it was killed before its end, and workers did not run it again
    assert 2 <= len(before) < len(images) and not out.exists()
    half = out.with_name(f".features.{'0' * 24}.1.partial.npy")
    half.write_bytes(b"of a process that was killed while it put the parts together")
    monkeypatch.setattr(FinishedParts, "remove", lambda self: None)
    with described() as parts:
        extracted(archive, images, out, chunk_size=1)
    assert not half.exists()
    assert before.items() <= finished(out).items()
    assert len(parts) == len(images) - len(before)
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_part_is_made_again(damage, archive, images, tmp_path):
    out = tmp_path / "features.npy"
    with described(most=2):
        extracted(archive, images, out, "grid", chunk_size=4)
    path = next(tmp_path.glob(".features.unfinished/*/[!.]*.npz"))
    data = bytearray(path.read_bytes())
    data[5000] ^= 1  # a fault of the disk
    path.write_bytes({"cut": data[:-100], "changed": data}[damage])
    with described() as parts:
        extracted(archive, images, out, "grid", chunk_size=4)
    assert len(parts) == 2
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"]), "grid"))


@pytest.mark.parametrize("change", [{"layout": "grid"}, {"storage": "float16"}, {"normalise": True}])
def test_rows_of_other_settings_are_not_taken(change, archive, images, tmp_path):
    out = tmp_path / "features.npy"
    with described(most=2):
        extracted(archive, images, out, chunk_size=4)
    with described() as parts:
        extracted(archive, images, out, chunk_size=4, **change)
    assert len(parts) == len(images) // 4
    wanted = descriptors(archive, list(images["filename"]), change.get("layout", "global"))
    if "normalise" in change:
        wanted /= np.linalg.norm(wanted, axis=-1, keepdims=True)
    np.testing.assert_array_equal(np.load(out), wanted.astype(change.get("storage", "float32")))


def test_only_new_and_changed_photographs_are_described(archive, images, tmp_path):
    out = tmp_path / "features.npy"
    with described(most=8):
        extracted(archive, images, out, chunk_size=1)
    other = Photographs(archive).read("9.png")
    other = with_other_bytes(archive, tmp_path / "o.zip", lambda name, data: other if name == "4.png" else data)
    images = images.iloc[::-1].drop(index=[2, 3])
    with described() as parts:
        extracted(other, images, out, chunk_size=1)
    assert parts == [*(f"{n}.png" for n in range(11, 7, -1)), "4.png"]
    np.testing.assert_array_equal(np.load(out), descriptors(other, list(images["filename"])))


def test_two_processes_do_not_write_the_same_features(archive, images, tmp_path):
    out = tmp_path / "features.npy"
    with FinishedParts(out, {}), pytest.raises(InputError, match=r"features\.npy"):
        extracted(archive, images.iloc[:2], out)
    extracted(archive, images.iloc[:2], out)


@pytest.mark.slow
def test_an_accelerator_describes_what_workers_decoded(archive, images, tmp_path, monkeypatch):
    _, weights = fresh("test_resnet", tmp_path)
    given, expected = ("test_resnet", "global"), tmp_path / "expected.npy"
    extract_features(Photographs(archive), images, *given, expected, workers=0, weights=weights)

    # A network on the CPU that claims to be on a device of which there is one.
    monkeypatch.setattr(machine, "best_device", lambda: "meta")
    real = networks.Network

    def pretended(recipe: describing.Recipe) -> networks.Network:
        network = real(replace(recipe, device="cpu"))
        network.on_accelerator = True
        return network

    monkeypatch.setattr(networks, "Network", pretended)
    monkeypatch.setattr(networks, "_device_name", lambda device: "pretended")
    out = tmp_path / "features.npy"
    extract_features(Photographs(archive), images, *given, out, workers=1, weights=weights, chunk_size=4)
    assert read_source(out)["device"] == "pretended"
    np.testing.assert_allclose(np.load(out), np.load(expected), atol=1e-5)


@pytest.mark.slow
def test_truncated_photographs_are_named_at_the_end_and_finished_work_stays(archive, images, tmp_path):
    out = tmp_path / "features.npy"
    broken = with_other_bytes(archive, tmp_path / "broken.zip", half_of("11.png", "7.png"))
    out.write_bytes(b"an earlier result")
    with pytest.raises(InputError) as caught:
        extracted(broken, images, out, workers=2, chunk_size=4)
    first, second = str(caught.value).split("\n")
    assert first.startswith(f"{broken}: photograph '7.png': cannot be decoded")
    assert second.startswith(f"{broken}: photograph '11.png': cannot be decoded")
    assert len(finished(out)) == 3 and out.read_bytes() == b"an earlier result"
    # With whole photographs in their place only these are described.
    with described() as parts:
        extracted(archive, images, out, chunk_size=4)
    assert parts == ["4.png", "8.png"]
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))


@pytest.mark.slow
def test_corrupt_photographs_can_be_skipped_or_become_zeros(archive, images, tmp_path, capsys):
    out = tmp_path / "features.npy"
    broken = with_other_bytes(archive, tmp_path / "broken.zip", half_of("0.png", "1.png", "10.png"))
    wanted, bad = descriptors(archive, list(images["filename"])), [0, 1, 10]
    wanted[bad] = 0
    for size in (1, 2, 12):  # a corrupt photograph among others, and nothing but corrupt ones
        done = extracted(broken, images, out, chunk_size=size, on_corrupt="zero")
        assert list(done.corrupt) == ["image0", "image1", "image10"]
        np.testing.assert_array_equal(np.load(out), wanted)
        done = extracted(broken, images, out, chunk_size=size, on_corrupt="skip")
        np.testing.assert_array_equal(np.load(out), np.delete(wanted, bad, axis=0))
        kept = list(images["image_id"].drop(index=bad))
        assert list(pd.read_parquet(out.with_suffix(".images.parquet"))["image_id"]) == kept
        assert json.loads(out.with_suffix(".corrupt.json").read_text())["images"].keys() == done.corrupt.keys()
    said = capsys.readouterr().err
    assert "3 of 12 photographs cannot be read and have no row (see features.corrupt.json):" in said
    assert "photograph '10.png': cannot be decoded" in said
    extracted(archive, images, out)
    assert not out.with_suffix(".corrupt.json").exists()
    hopeless = with_other_bytes(archive, tmp_path / "hopeless.zip", lambda name, data: data[:40])
    with pytest.raises(InputError, match=r"'0\.png'"):
        extracted(hopeless, images, out, on_corrupt="skip")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"images": lambda table: table.iloc[:0]}, "it has 0 images"),
        ({"images": lambda table: pd.concat([table, table.iloc[3:4]])}, "'image3'"),
        ({"images": lambda table: table.replace("7.png", "44.png")}, r"'44\.png'"),
        ({"extractor": "mobilenet_v2_100"}, "'mobilenetv2_100'"),
        ({"extractor": "grid_descriptor"}, "'grid_descriptors'"),
        ({"layout": "regions"}, "layout is 'regions'"),
        ({"crops": "ten"}, "precision"),
        ({"weights": Path("w.safetensors")}, "has no weights"),
        ({"extractor": "test_resnet", "weights": Path("w.safetensors")}, "no such file"),
    ],
)
def test_every_mistake_ends_in_one_sentence_before_any_work(changed, sentence, archive, images, tmp_path):
    right = {"images": images, "extractor": "grid_descriptors", "layout": "global", "workers": 0}
    table = {"images": changed["images"](images)} if "images" in changed else {}
    with described() as parts, pytest.raises(InputError, match=sentence) as caught:
        extract_features(Photographs(archive), out=tmp_path / "x.npy", **(right | changed | table))
    assert "\n" not in str(caught.value) and parts == []


def test_long_rows_are_stored_as_float16_and_an_overflow_is_an_error():
    ids = ("a", "b")
    assert extract._stored(np.ones((2, 8192), np.float32), "auto", ids, "x").dtype == np.float32
    assert extract._stored(np.ones((2, 49, 2048), np.float32), "auto", ids, "x").dtype == np.float16
    large = np.ones((2, 5), np.float32)
    large[1, 3] = 70000
    assert extract._stored(large, "float32", ids, "x").dtype == np.float32
    with pytest.raises(InputError, match=r"'b'.*float16"):
        extract._stored(large, "float16", ids, "x")
    large[0, 0] = np.nan
    with pytest.raises(InputError, match="'a' is not finite"):
        extract._stored(large, "float32", ids, "x")
