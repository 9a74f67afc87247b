"""Extraction: resumed after a kill, never half-written, and errors in one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus.photographs import Photographs, decode
from fivesentences.errors import InputError
from fivesentences.features import extract, extract_features
from fivesentences.features.chunks import Chunks
from fivesentences.features.grid_descriptors import GridDescriptors

# No `if __name__ == "__main__"`: a Snakemake script has none either.
SCRIPT = """
import sys
from pathlib import Path
import pandas as pd
from fivesentences.corpus.photographs import Photographs
from fivesentences.features import extract_features
print("the script runs", flush=True)
archive, table, out, workers = sys.argv[1:]
extract_features(Photographs(archive), pd.read_csv(table), "grid_descriptors", "global", Path(out),
                 workers=int(workers), chunk_size=1)
"""


def descriptors(photographs: Photographs, filenames: list[str]) -> np.ndarray:
    """The slow way: one image after the other."""
    one = GridDescriptors("global")
    rows = [one.describe(one.prepare(decode(photographs.read(name), name))[None])[0] for name in filenames]
    return np.stack(rows)


def chunk_files(out: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each finished chunk: a file written anew has others."""
    found = sorted(out.parent.glob(f".{out.stem}.chunks/*/chunk-*.npy"))
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def test_rows_are_the_images_in_the_tables_order(
    archive: Path, images: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = images.sample(frac=1, random_state=3)
    out = tmp_path / "grid_descriptors-global.npy"
    extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=10)
    np.testing.assert_array_equal(np.load(out), descriptors(Photographs(archive), list(images["filename"])))
    assert "44/44" in capsys.readouterr().err  # the progress bar of a log file
    beside = pd.read_parquet(tmp_path / "grid_descriptors-global.images.parquet")
    assert beside.to_dict("list") == images.to_dict("list")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "grid_descriptors-global.images.parquet",
        "grid_descriptors-global.npy",
    ]


def test_a_killed_extraction_goes_on_from_its_finished_chunks(
    archive: Path, images: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, table, out = tmp_path / "script.py", tmp_path / "images.csv", tmp_path / "out" / "features.npy"
    script.write_text(SCRIPT)
    images.to_csv(table, index=False)
    command = [sys.executable, str(script), str(archive), str(table), str(out), "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(chunk_files(out)) < 5:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    printed, _ = process.communicate()
    before = chunk_files(out)
    assert printed == "the script runs\n"  # it was killed before its end, and workers did not run it again
    assert 5 <= len(before) < len(images)
    assert not out.exists()

    described = []
    monkeypatch.setattr(
        extract,
        "describe_chunk",
        lambda task, real=extract.describe_chunk: (described.append(task.chunk), real(task))[1],
    )
    monkeypatch.setattr(Chunks, "remove", lambda self: None)
    extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=1)
    after = chunk_files(out)
    assert {name: after[name] for name in before} == before
    assert len(described) == len(images) - len(before)

    undisturbed = tmp_path / "undisturbed.npy"
    extract_features(Photographs(archive), images, "grid_descriptors", "global", undisturbed, workers=0)
    assert out.read_bytes() == undisturbed.read_bytes()


def stop_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    real, calls = extract.describe_chunk, []

    def describe(task: extract.Task) -> np.ndarray:
        calls.append(task.chunk)
        if len(calls) > count:
            raise KeyboardInterrupt
        return real(task)

    monkeypatch.setattr(extract, "describe_chunk", describe)


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "fewer rows"])
def test_a_damaged_chunk_is_made_again(
    damage: str, archive: Path, images: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "features.npy"
    arguments = (Photographs(archive), images, "grid_descriptors", "grid", out)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        stop_after(patch, 3)
        extract_features(*arguments, workers=0, chunk_size=8)
    chunk = next(tmp_path.glob(".features.chunks/*/chunk-000001.npy"))
    (chunk.parent / ".chunk-000004.77.partial.npy").write_bytes(chunk.read_bytes()[:1000])
    if damage == "fewer rows":
        np.save(chunk, np.load(chunk)[:5])
    else:
        chunk.write_bytes({"cut": chunk.read_bytes()[:5000], "empty": b"", "text": b"half of"}[damage])
    extract_features(*arguments, workers=0, chunk_size=8)
    whole = tmp_path / "whole.npy"
    extract_features(*arguments[:4], whole, workers=0, chunk_size=8)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("change", ["layout", "images", "order", "photographs", "chunk size", "storage"])
def test_chunks_of_other_settings_are_not_taken(
    change: str, archive: Path, images: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "features.npy"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        stop_after(patch, 3)
        extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=0, chunk_size=8)
    assert len(chunk_files(out)) == 3
    layout, size, storage = "global", 8, "auto"
    if change == "layout":
        layout = "grid"
    if change == "images":
        images = images.iloc[1:]
    if change == "order":
        images = images.iloc[::-1]
    if change == "photographs":  # the same names with other pictures: a corpus drawn from another seed
        with zipfile.ZipFile(archive) as old, zipfile.ZipFile(tmp_path / "photographs.zip", "w") as new:
            names = old.namelist()
            for name, other in zip(names, reversed(names), strict=True):
                new.writestr(name, old.read(other))
        archive = tmp_path / "photographs.zip"
    if change == "chunk size":
        size = 4
    if change == "storage":
        storage = "float16"
    described = []
    monkeypatch.setattr(
        extract,
        "describe_chunk",
        lambda task, real=extract.describe_chunk: (described.append(task.chunk), real(task))[1],
    )
    extract_features(
        Photographs(archive), images, "grid_descriptors", layout, out, workers=0, chunk_size=size, storage=storage
    )
    assert len(described) == -(-len(images) // size)
    expected = GridDescriptors(layout)
    prepared = [expected.prepare(decode(Photographs(archive).read(name), name)) for name in images["filename"]]
    wanted = expected.describe(np.stack(prepared)).astype("float16" if storage == "float16" else "float32")
    np.testing.assert_array_equal(np.load(out), wanted)


def test_an_accelerator_describes_what_workers_decoded(
    archive: Path, images: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = GridDescriptors("global")
    built.on_accelerator = True
    recipe = extract.Recipe("grid_descriptors", "global", None)
    monkeypatch.setattr(extract, "_resolve", lambda *_: (recipe, built, {}))
    out = tmp_path / "features.npy"
    extract_features(Photographs(archive), images, "grid_descriptors", "global", out, workers=1, chunk_size=16)
    np.testing.assert_array_equal(np.load(out), descriptors(Photographs(archive), list(images["filename"])))


def test_a_truncated_photograph_is_named_and_finished_work_stays(
    archive: Path, images: pd.DataFrame, tmp_path: Path
) -> None:
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


def test_every_mistake_ends_in_one_sentence_before_any_work(
    archive: Path, images: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(monkeypatch, 0)

    def message(extractor: str = "grid_descriptors", table: pd.DataFrame = images, **settings: object) -> str:
        layout = settings.pop("layout", "global")
        with pytest.raises(InputError) as caught:
            extract_features(
                Photographs(archive), table, extractor, layout, tmp_path / "x.npy", **({"workers": 0} | settings)
            )
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no images" in message(table=images.iloc[:0])
    assert "no column filename" in message(table=images[["image_id"]])
    assert "'image3' stands twice" in message(table=pd.concat([images, images.iloc[3:4]]))
    assert "there is no photograph '44.png'" in message(table=images.replace("7.png", "44.png"))
    assert "did you mean 'mobilenetv2_100'" in message("mobilenet_v2_100")
    assert "'grid_descriptors'" in message("grid_descriptor")
    assert "layout is 'regions'" in message(layout="regions")
    assert "storage is 'float64'" in message(storage="float64")
    assert "workers is -1" in message(workers=-1)
    assert "has no weights" in message(weights=tmp_path / "w.safetensors")
    assert "no such file of weights" in message("test_resnet", weights=tmp_path / "w.safetensors")


def test_long_rows_are_stored_as_float16_and_an_overflow_is_an_error() -> None:
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
