"""One byte of a kept file that flips: whoever reads it says so, or finds the same as before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fivesentences.corpus import Corpus
from fivesentences.corpus.labels import read_labels
from fivesentences.corpus.parquet import read_frame, write_frame
from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_similarity
from fivesentences.evaluation.run import write_mean_similarity
from fivesentences.evaluation.tidy import read_evaluations, read_recorded
from fivesentences.features.files import write_beside
from fivesentences.features.table import FeatureTable
from fivesentences.semantics import read_phi, read_top_k, write_phi, write_top_k
from fivesentences.semantics.sentence_encoders import CaptionVectors, read_vectors, write_vectors
from fivesentences.storage import seal_of, write_json
from fivesentences.training.checkpoint import ResumeFolder
from fivesentences.training.fingerprint import finish

N_IMAGES, PLACES = 6, 40
IDS = [f"image{number}" for number in range(N_IMAGES)]
CAPTIONS = [f"a {colour} {thing} stands here" for thing in ("dog", "cat", "car") for colour in ("red", "blue")]
CORPUS = Corpus(
    "mine",
    pd.DataFrame(
        {"image_id": IDS, "filename": IDS, "caption_id": IDS, "caption": CAPTIONS, "split": "test", "category": None}
    ),
)
IDENTITY = {"format": "made up"}


def draws() -> np.random.Generator:
    return np.random.default_rng(0)


def corpus(folder: Path) -> Path:
    CORPUS.write(folder / "corpus.parquet")
    return folder / "corpus.parquet"


def phi(folder: Path) -> Path:
    write_phi("cider", CAPTIONS, np.arange(N_IMAGES), folder / "phi.npy")
    return folder / "phi.npy"


def store(folder: Path) -> Path:
    write_top_k("cider", CAPTIONS, np.arange(N_IMAGES), folder / "best", k=2)
    return folder / "best"


def features(folder: Path) -> Path:
    np.save(folder / "f.npy", draws().random((N_IMAGES, 4), dtype=np.float32))
    write_beside(folder / "f.npy", folder / "f.npy", pd.DataFrame({"image_id": IDS, "filename": IDS}))
    return folder / "f.npy"


def similarity(folder: Path) -> Path:
    np.save(folder / "similarity_test.npy", draws().random((N_IMAGES, N_IMAGES), dtype=np.float32))
    finish(folder, {}, ["similarity_test.npy"])
    return folder / "similarity_test.npy"


def ensemble(folder: Path) -> Path:
    (folder / "mean").mkdir()
    write_mean_similarity([similarity(folder)] * 2, folder / "mean" / "similarity_test.npy")
    return folder / "mean" / "similarity_test.npy"


def state(folder: Path) -> Path:
    ResumeFolder(folder, IDENTITY).save({"epoch": 1, "step": 2, "model": {"w": torch.arange(50.0)}})
    return folder


def vectors(folder: Path) -> Path:
    rows = draws().random((N_IMAGES, 3), dtype=np.float32)
    write_vectors(CaptionVectors(rows, {"model": "mine"}), CORPUS.table, folder / "v.npy")
    return folder / "v.npy"


def labels(folder: Path) -> Path:
    write_frame(pd.DataFrame({"image_id": IDS, "1": [True, False] * 3, "2": [False] * 6}), folder / "labels.parquet")
    return folder / "labels.parquet"


def numbers(folder: Path) -> Path:
    table = {"run": IDS, "value": draws().random(N_IMAGES), "k": range(N_IMAGES), "rare": [None, 1.5] * 3}
    write_frame(pd.DataFrame(table), folder / "numbers.parquet")
    return folder / "numbers.parquet"


def evaluations(folder: Path) -> Path:
    entries = [
        {"run": name, "values": [{"metric": "Rsum", "value": value}]}
        for name, value in zip(IDS, draws().random(6), strict=True)
    ]
    write_json(folder / "runs.json", [entry | {"sha256": seal_of(entry)} for entry in entries])
    return folder / "runs.json"


def history(folder: Path) -> Path:
    pd.DataFrame({"epoch": [1, 2], "loss": draws().random(2), "best": [0, 1]}).to_csv(folder / "history.csv")
    finish(folder, {}, ["history.csv"])
    return folder / "history.csv"


def read_state(folder: Path) -> str:
    found, _ = ResumeFolder(folder, IDENTITY).load()
    if found is None:
        raise InputError("training starts over", where=folder)
    return repr((found["epoch"], found["step"], found["model"]["w"].tolist()))


READERS = {
    corpus: lambda path: (lambda read: (read.name, read.table.to_csv()))(Corpus.read(path)),
    phi: lambda path: read_phi(path).tobytes(),
    store: lambda path: (lambda read: read.images.tobytes() + read.scores.tobytes())(read_top_k(path)),
    features: lambda path: FeatureTable.open(path).rows(IDS).tobytes(),
    similarity: lambda path: read_similarity(path, CORPUS).tobytes(),
    ensemble: lambda path: read_similarity(path, CORPUS).tobytes(),
    state: read_state,
    evaluations: lambda path: repr([entry["values"] for entry in read_evaluations([path])]),
    history: lambda path: read_recorded(path, {}).to_csv(),
    vectors: lambda path: read_vectors(path, CORPUS.table).array.tobytes(),
    labels: lambda path: read_labels(path, IDS).tobytes(),
    numbers: lambda path: read_frame(path, "make it again").to_csv(),
}


def files_of(path: Path) -> list[Path]:
    """The files of a result: all in its folder that belong to it."""
    return sorted(one for one in (path if path.is_dir() else path.parent).iterdir() if one.is_file())


@pytest.mark.parametrize("make", READERS, ids=lambda make: make.__name__)
def test_a_flipped_byte_is_noticed_or_changes_nothing(tmp_path, make):
    path, read = make(tmp_path), READERS[make]
    whole, noticed = read(path), 0
    for file in files_of(path):
        content = file.read_bytes()
        rng = np.random.default_rng(len(content))
        for place in rng.integers(0, len(content), PLACES).tolist():
            damaged = bytearray(content)
            damaged[place] ^= 1 << int(rng.integers(0, 8))
            file.write_bytes(damaged)
            try:
                assert read(path) == whole, (file.name, place)
            except InputError:
                noticed += 1
        for cut in (content[: len(content) // 2], content[:-9]):
            file.write_bytes(cut)
            with pytest.raises(InputError):
                read(path)
        file.write_bytes(content)
    assert noticed > PLACES // 4
    assert read(path) == whole


@pytest.mark.parametrize("make", [phi, store], ids=lambda make: make.__name__)
def test_a_matrix_beside_the_note_of_another_metric_is_refused(tmp_path, make):
    path = make(tmp_path)
    other = tmp_path / "other" / path.name
    writer = write_phi if make is phi else write_top_k
    writer("bleu1", CAPTIONS, np.arange(N_IMAGES), other, **({} if make is phi else {"k": 2}))
    array = Path() if make is phi else Path("scores.npy")
    (path / array).write_bytes((other / array).read_bytes())
    with pytest.raises(InputError) as error:
        READERS[make](path)
    assert str(path) in str(error.value.where)


def test_what_an_earlier_version_wrote_without_checksums_is_read(tmp_path):
    for make in (phi, store, vectors):
        path = make(tmp_path)
        note = path / "note.json" if path.is_dir() else path.with_suffix(".json")
        note.write_text(
            json.dumps({key: value for key, value in json.loads(note.read_text()).items() if key != "sha256"})
        )
        READERS[make](path)
    path = features(tmp_path)
    pd.DataFrame({"image_id": IDS}).to_parquet(path.with_suffix(".images.parquet"))
    READERS[features](path)
    path = similarity(tmp_path)
    (tmp_path / "finished.json").unlink()
    READERS[similarity](path)
