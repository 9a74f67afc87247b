"""Extraction: resumed after a kill, never half-written, and errors in one sentence."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.corpus import Photographs, decode
from fivesentences.errors import InputError
from fivesentences.features import extract, extract_features
from fivesentences.features.chunks import Chunks
from fivesentences.features.grid_descriptors import GridDescriptors
from kill import Program

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


def chunk_files(out: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each finished chunk: a file that is written again has others."""
    found = sorted(out.parent.glob(f".{out.stem}.chunks/*/chunk-*.npy"))
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


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
    beside = tmp_path / "grid_descriptors-global.images.parquet"
    assert pd.read_parquet(beside).to_dict("list") == images.to_dict("list")
    assert set(tmp_path.iterdir()) == {out, beside}


def test_a_killed_extraction_resumes_from_finished_chunks(archive, images, tmp_path, monkeypatch):
    table, out = tmp_path / "images.csv", tmp_path / "out" / "features.npy"
    images.to_csv(table, index=False)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with Program(script, archive, table, out) as program:
        program.wait_for(lambda: len(chunk_files(out)) >= 5)
        program.kill_alone()
        printed = program.end().out
    before = chunk_files(out)
    assert printed == "the script runs\n"  # it was killed before its end, and workers did not run it again
    assert 5 <= len(before) < len(images)
    assert not out.exists()

    monkeypatch.setattr(Chunks, "remove", lambda self: None)
    with described() as chunks:
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=1)
    after = chunk_files(out)
    assert {name: after[name] for name in before} == before
    assert len(chunks) == len(images) - len(before)
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "fewer rows"])
def test_a_damaged_chunk_is_made_again(damage, archive, images, tmp_path):
    out = tmp_path / "features.npy"
    arguments = (Photographs(archive), images, "grid_descriptors", "grid", out)
    with described(most=3):
        extract_features(*arguments, workers=0, chunk_size=8)
    chunk = next(tmp_path.glob(".features.chunks/*/chunk-000001.npy"))
    (chunk.parent / ".chunk-000004.77.partial.npy").write_bytes(chunk.read_bytes()[:1000])
    if damage == "fewer rows":
        np.save(chunk, np.load(chunk)[:5])
    else:
        chunk.write_bytes({"cut": chunk.read_bytes()[:5000], "empty": b"", "text": b"half of"}[damage])
    extract_features(*arguments, workers=0, chunk_size=8)
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"]), "grid"))


@pytest.mark.parametrize("change", ["layout", "images", "order", "photographs", "chunk size", "storage"])
def test_chunks_of_other_settings_are_not_taken(change, archive, images, tmp_path):
    out = tmp_path / "features.npy"
    with described(most=3):
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=8)
    assert len(chunk_files(out)) == 3
    layout = "grid" if change == "layout" else "global"
    size = 4 if change == "chunk size" else 8
    storage = "float16" if change == "storage" else "auto"
    if change == "images":
        images = images.iloc[1:]
    if change == "order":
        images = images.iloc[::-1]
    if change == "photographs":  # the same names with other pictures: a corpus drawn from another seed
        with zipfile.ZipFile(archive) as old, zipfile.ZipFile(tmp_path / "photographs.zip", "w") as new:
            for name, other in zip(old.namelist(), reversed(old.namelist()), strict=True):
                new.writestr(name, old.read(other))
        archive = tmp_path / "photographs.zip"
    with described() as chunks:
        extract_features(
            Photographs(archive), images, "grid_descriptors", layout, out, workers=0, chunk_size=size, storage=storage
        )
    assert len(chunks) == -(-len(images) // size)
    wanted = descriptors(archive, list(images["filename"]), layout)
    np.testing.assert_array_equal(np.load(out), wanted.astype("float16" if storage == "float16" else "float32"))


def test_an_accelerator_describes_what_workers_decoded(archive, images, tmp_path, monkeypatch):
    built = GridDescriptors("global")
    built.on_accelerator = True
    recipe = extract.Recipe("grid_descriptors", "global", None)
    monkeypatch.setattr(extract, "_resolve", lambda *_: (recipe, built, {}))
    out = tmp_path / "features.npy"
    extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=1, chunk_size=16)
    np.testing.assert_array_equal(np.load(out), descriptors(archive, list(images["filename"])))


def test_a_truncated_photograph_is_named_and_finished_work_stays(archive, images, tmp_path):
    broken, out = tmp_path / "broken.zip", tmp_path / "features.npy"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data[: len(data) // 2] if name.endswith("/43.png") else data)
    out.write_bytes(b"an earlier result")
    with pytest.raises(InputError, match=r"broken\.zip: photograph '43\.png' cannot be decoded") as caught:
        extract_features(Photographs(broken), images, "grid_descriptors", "global", out, workers=2, chunk_size=4)
    assert "\n" not in str(caught.value)
    assert len(chunk_files(out)) >= 7
    assert out.read_bytes() == b"an earlier result"


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
