"""Extraction: resumed after a kill image by image, never half-written, and errors in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences import machine
from fivesentences.corpus import Photographs, decode
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, extract, extract_features, networks
from fivesentences.features.files import read_source
from fivesentences.features.grid_descriptors import GridDescriptors
from fivesentences.features.progress import KEY, FinishedRows
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
    rows = [one.describe(one.prepare(decode(photographs.read(name), name))[None])[0] for name in filenames]
    return np.stack(rows)


def finished(out: Path) -> bytes:
    """The rows that are finished, in the order in which they were written."""
    found = list(out.parent.glob(f".{out.stem}.rows/*/rows.bin"))
    return found[0].read_bytes() if found else b""


def with_other_bytes(archive: Path, out: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """A copy of an archive with other entries."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = change(Path(name).name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return out


def half_of(*names: str) -> Callable[[str, bytes], bytes]:
    return lambda name, data: data[: len(data) // 2] if name in names else data


@contextmanager
def described(most: int | None = None) -> Iterator[list[int]]:
    """The chunks that are described in the block, which is interrupted where there would be more than ``most``."""
    real, chunks = extract.describe_chunk, []

    def describe(task: extract.Task) -> np.ndarray:
        if len(chunks) == most:
            raise KeyboardInterrupt
        chunks.append(task.chunk)
        return real(task)

    interrupted = nullcontext() if most is None else pytest.raises(KeyboardInterrupt)
    with pytest.MonkeyPatch.context() as patch, interrupted:
        patch.setattr(extract, "describe_chunk", describe)
        yield chunks


def test_rows_are_the_images_in_the_tables_order(archive, images, tmp_path, capsys):
    images = images.sample(frac=1, random_state=3)
    out = tmp_path / "grid_descriptors-global.npy"
    extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=10)
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))
    assert "44/44" in capsys.readouterr().err  # the progress bar of a log file
    beside, source = (out.with_suffix(f".{kind}") for kind in ("images.parquet", "source.json"))
    assert pd.read_parquet(beside).to_dict("list") == images.to_dict("list")
    assert set(tmp_path.iterdir()) == {out, beside, source}
    table = FeatureTable.open(out)
    np.testing.assert_array_equal(table.rows(["image3"]), descriptors(archive, ["3.png"]))


def test_a_killed_extraction_resumes_from_finished_images(archive, images, tmp_path, monkeypatch):
    table, out = tmp_path / "images.csv", tmp_path / "out" / "features.npy"
    images.to_csv(table, index=False)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    row = 1199 * 4
    with Program(script, archive, table, out) as program:
        program.wait_for(lambda: len(finished(out)) >= 5 * row)
        program.kill_alone()
        printed = program.end().out
    before = finished(out)
    assert printed == "the script runs\n"  # it was killed before its end, and workers did not run it again
    count = len(before) // row
    assert 5 <= count < len(images)
    assert not out.exists()

    half_written = [
        out.with_name(f".{name}") for name in ("features.1.partial.npy", "features.images.1.partial.parquet")
    ]
    for path in half_written:
        path.write_bytes(b"of a process that was killed while it put the rows together")
    monkeypatch.setattr(FinishedRows, "remove", lambda self: None)
    with described() as chunks:
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=1)
    assert not any(path.exists() for path in half_written)
    assert finished(out)[: count * row] == before[: count * row]
    # The last row may have been written without its entry in the index.
    assert len(images) - count <= len(chunks) <= len(images) - count + 1
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))


@pytest.mark.parametrize(
    "damage", ["rows cut", "rows empty", "rows changed", "index cut", "index empty", "kind", "no kind"]
)
def test_a_damaged_row_is_made_again(damage, archive, images, tmp_path):
    out = tmp_path / "features.npy"
    arguments = (Photographs(archive), images, "grid_descriptors", "grid", out)
    with described(most=3):
        extract_features(*arguments, workers=0, chunk_size=8)
    (folder,) = (path for path in tmp_path.glob(".features.rows/*") if path.is_dir())
    rows, index, kind = (folder / name for name in ("rows.bin", "index.bin", "kind.json"))
    size = 36 * 72 * 4
    assert len(rows.read_bytes()) == 24 * size
    left = {"rows cut": 22, "rows empty": 0, "rows changed": 23, "index cut": 2, "index empty": 0}.get(damage, 0)
    if damage == "rows cut":
        rows.write_bytes(rows.read_bytes()[: 23 * size - 7])
    elif damage == "rows changed":  # a fault of the disk
        data = bytearray(rows.read_bytes())
        data[5 * size + 100] ^= 1
        rows.write_bytes(data)
    elif damage == "index cut":
        index.write_bytes(index.read_bytes()[: 3 * (KEY + 4) - 3])
    elif damage == "kind":
        kind.write_text('{"dtype": "O", "shape": [3]}')
    elif damage == "no kind":
        kind.unlink()
    else:
        (rows if damage == "rows empty" else index).write_bytes(b"")
    opened = FinishedRows(out, json.loads((folder / "identity.json").read_text()))
    assert len(opened) == left
    opened.close()
    extract_features(*arguments, workers=0, chunk_size=8)
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"]), "grid"))


@pytest.mark.parametrize("change", ["layout", "storage", "normalise", "photographs"])
def test_rows_of_other_settings_are_not_taken(change, archive, images, tmp_path):
    out = tmp_path / "features.npy"
    with described(most=3):
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=8)
    assert len(finished(out)) == 24 * 1199 * 4
    layout = "grid" if change == "layout" else "global"
    storage = "float16" if change == "storage" else "auto"
    if change == "photographs":  # the same names with other pictures: a corpus drawn from another seed
        with zipfile.ZipFile(archive) as old:
            others = dict(zip(old.namelist(), map(old.read, reversed(old.namelist())), strict=True))
        archive = with_other_bytes(archive, tmp_path / "photographs.zip", lambda name, _: others[f"pictures/{name}"])
    with described() as chunks:
        extract_features(
            Photographs(archive), images, "grid_descriptors", layout, out, workers=0, chunk_size=8, storage=storage,
            normalise=change == "normalise",
        )  # fmt: skip
    assert len(chunks) == -(-len(images) // 8)
    wanted = descriptors(archive, list(images["filename"]), layout)
    if change == "normalise":
        wanted /= np.linalg.norm(wanted, axis=-1, keepdims=True)
    np.testing.assert_array_equal(np.load(out), wanted.astype("float16" if storage == "float16" else "float32"))


def test_only_new_and_changed_photographs_are_described(archive, images, tmp_path):
    out, archive = tmp_path / "features.npy", archive
    with described(most=30):
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=1)
    other = with_other_bytes(
        archive,
        tmp_path / "other.zip",
        lambda name, data: Photographs(archive).read("9.png") if name == "4.png" else data,
    )
    images = images.iloc[::-1].drop(index=[2, 3])
    with described() as chunks:
        extract_features(Photographs(other), images, "grid_descriptors", "global", out, workers=0, chunk_size=1)
    names = list(images["filename"])
    assert [names[place] for place in chunks] == [*(f"{n}.png" for n in range(43, 29, -1)), "4.png"]
    np.testing.assert_array_equal(np.load(out), descriptors(other, names))


def test_two_processes_do_not_write_the_same_features(archive, images, tmp_path):
    out = tmp_path / "features.npy"
    rows = FinishedRows(out, {})
    with pytest.raises(InputError, match=r"features\.npy: another process extracts these features"):
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0)
    rows.close()
    extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0)


def test_an_accelerator_describes_what_workers_decoded(archive, images, tmp_path, monkeypatch):
    _, weights = fresh("test_resnet", tmp_path)
    given, expected = ("test_resnet", "global"), tmp_path / "expected.npy"
    extract_features(Photographs(archive), images, *given, expected, workers=0, weights=weights)

    # A network on the CPU that claims to be on a device of which there is one.
    monkeypatch.setattr(machine, "best_device", lambda: "meta")
    real = networks.Network

    def pretended(*arguments: object, **options: object) -> networks.Network:
        network = real(*arguments[:3], "cpu", **options)
        network.on_accelerator = True
        return network

    monkeypatch.setattr(networks, "Network", pretended)
    monkeypatch.setattr(networks, "_device_name", lambda device: "pretended")
    out = tmp_path / "features.npy"
    extract_features(Photographs(archive), images, *given, out, workers=1, weights=weights, chunk_size=16)
    assert read_source(out)["device"] == "pretended"
    np.testing.assert_allclose(np.load(out), np.load(expected), atol=1e-5)


def test_truncated_photographs_are_named_at_the_end_and_finished_work_stays(archive, images, tmp_path):
    out = tmp_path / "features.npy"
    broken = with_other_bytes(archive, tmp_path / "broken.zip", half_of("43.png", "7.png"))
    out.write_bytes(b"an earlier result")
    with pytest.raises(InputError) as caught:
        extract_features(Photographs(broken), images, "grid_descriptors", "global", out, workers=2, chunk_size=4)
    first, second = str(caught.value).split("\n")
    assert first.startswith(f"{broken}: photograph '7.png' cannot be decoded")
    assert second.startswith(f"{broken}: photograph '43.png' cannot be decoded")
    assert len(finished(out)) == 42 * 1199 * 4
    assert out.read_bytes() == b"an earlier result"
    # With whole photographs in their place only these are described.
    with described() as chunks:
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=4)
    assert chunks == [4, 40]
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))


def test_corrupt_photographs_can_be_skipped_or_become_zeros(archive, images, tmp_path, capsys):
    out = tmp_path / "features.npy"
    broken = with_other_bytes(archive, tmp_path / "broken.zip", half_of("0.png", "1.png", "20.png"))
    arguments, options = (Photographs(broken), images, "grid_descriptors", "global", out), {"workers": 0}
    wanted = descriptors(archive, list(images["filename"]))
    bad = [0, 1, 20]
    for size in (1, 2, 44):  # a corrupt photograph among others, and nothing but corrupt ones
        done = extract_features(*arguments, **options, chunk_size=size, on_corrupt="zero")
        assert list(done.corrupt) == ["image0", "image1", "image20"]
        wanted[bad] = 0
        np.testing.assert_array_equal(np.load(out), wanted)
        assert list(pd.read_parquet(out.with_suffix(".images.parquet"))["image_id"]) == list(images["image_id"])

        done = extract_features(*arguments, **options, chunk_size=size, on_corrupt="skip")
        assert done.shape == (41, 1199)
        np.testing.assert_array_equal(np.load(out), np.delete(wanted, bad, axis=0))
        kept = list(images["image_id"].drop(index=bad))
        assert list(pd.read_parquet(out.with_suffix(".images.parquet"))["image_id"]) == kept
        assert json.loads(out.with_suffix(".corrupt.json").read_text())["images"].keys() == done.corrupt.keys()
    said = capsys.readouterr().err
    assert "3 of 44 photographs cannot be read and have no row (see features.corrupt.json):" in said
    assert "photograph '20.png' cannot be decoded" in said
    extract_features(Photographs(archive), images, *arguments[2:], **options)
    assert not out.with_suffix(".corrupt.json").exists()

    hopeless = with_other_bytes(archive, tmp_path / "hopeless.zip", lambda name, data: data[:40])
    with pytest.raises(InputError, match=r"photograph '0\.png' cannot be decoded"):
        extract_features(Photographs(hopeless), images, *arguments[2:], **options, on_corrupt="skip")


def test_memory_does_not_grow_with_the_features(tmp_path):
    code = """
import resource, sys
from pathlib import Path
import numpy as np
from fivesentences.features.progress import FinishedRows, key_of
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
rows = FinishedRows(Path(sys.argv[1]), {})
keys = [key_of(number) for number in range(600)]
before = peak()
for number in range(0, 600, 8):
    rows.add(keys[number:number + 8], np.full((8, 100_000), number, np.float32))
rows.close()
rows = FinishedRows(Path(sys.argv[1]), {})
assert all(key in rows for key in keys)
print(rows.assemble(keys), peak() - before)
"""
    out = tmp_path / "f.npy"
    done = subprocess.run([sys.executable, "-c", code, str(out)], capture_output=True, text=True, check=True)
    shape, _, grown = done.stdout.rpartition(" ")
    assert shape == "((600, 100000), 'float32')"
    assert float(grown) < 60  # MB; the features have 240
    np.testing.assert_array_equal(np.load(out, mmap_mode="r")[:, 7], np.arange(600) // 8 * 8)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"images": lambda table: table.iloc[:0]}, "no images"),
        ({"images": lambda table: table[["image_id"]]}, "no column filename"),
        ({"images": lambda table: pd.concat([table, table.iloc[3:4]])}, "'image3' is in the table of images twice"),
        ({"images": lambda table: table.replace("7.png", "44.png")}, "there is no photograph '44.png'"),
        ({"extractor": "mobilenet_v2_100"}, "did you mean 'mobilenetv2_100'"),
        ({"extractor": "grid_descriptor"}, "'grid_descriptors'"),
        ({"layout": "regions"}, "layout is 'regions'"),
        ({"storage": "float64"}, "storage is 'float64'"),
        ({"crops": "five"}, "crops is 'five'"),
        ({"crops": "ten"}, "leave crops and precision out"),
        ({"precision": "int8"}, "precision is 'int8'"),
        ({"on_corrupt": "ignore"}, "on_corrupt is 'ignore'"),
        ({"workers": -1}, "workers is -1"),
        ({"weights": Path("w.safetensors")}, "has no weights"),
        ({"extractor": "test_resnet", "weights": Path("w.safetensors")}, "no such file of weights"),
    ],
)
def test_every_mistake_ends_in_one_sentence_before_any_work(changed, sentence, archive, images, tmp_path):
    right = {"images": images, "extractor": "grid_descriptors", "layout": "global", "workers": 0}
    table = {"images": changed["images"](images)} if "images" in changed else {}
    with described() as chunks, pytest.raises(InputError, match=sentence) as caught:
        extract_features(Photographs(archive), out=tmp_path / "x.npy", **(right | changed | table))
    assert "\n" not in str(caught.value)
    assert chunks == []


def test_long_rows_are_stored_as_float16_and_an_overflow_is_an_error():
    ids = ("a", "b")
    assert extract._stored(np.ones((2, 8192), np.float32), "auto", ids, "x").dtype == np.float32
    assert extract._stored(np.ones((2, 49, 2048), np.float32), "auto", ids, "x").dtype == np.float16
    large = np.ones((2, 5), np.float32)
    large[1, 3] = 70000
    assert extract._stored(large, "float32", ids, "x").dtype == np.float32
    with pytest.raises(InputError, match="'b' is too large for float16"):
        extract._stored(large, "float16", ids, "x")
    large[0, 0] = np.nan
    with pytest.raises(InputError, match="'a' is not finite"):
        extract._stored(large, "float32", ids, "x")


@pytest.mark.parametrize("workers", [0, 2])
def test_the_log_says_how_many_photographs_were_turned_or_put_on_white(tmp_path, capfd, workers):
    (tmp_path / "images").mkdir()
    exif = Image.Exif()
    exif[0x112] = 6
    for number in range(3):
        Image.new("RGB", (20, 30), "red").save(tmp_path / f"images/{number}.jpg", exif=exif if number else b"")
    Image.new("RGBA", (20, 30), (255, 0, 0, 100)).save(tmp_path / "images/3.png")
    names = sorted(path.name for path in (tmp_path / "images").iterdir())
    table, photographs = pd.DataFrame({"image_id": names, "filename": names}), Photographs(tmp_path / "images")
    extract_features(
        photographs, table, "grid_descriptors", "global", tmp_path / "f.npy", workers=workers, chunk_size=2
    )
    said = capfd.readouterr().err
    assert "Of 4 photographs: 2 turned upright by the EXIF orientation; 1 with transparency, put on white." in said
