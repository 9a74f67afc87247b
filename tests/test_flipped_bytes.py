"""One byte of a kept file that flips: whoever reads it says so, or finds the same as before."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file

from fivesentences.corpus import Corpus
from fivesentences.corpus.judgements import read_truth
from fivesentences.corpus.labels import read_labels, write_labels
from fivesentences.corpus.parquet import read_frame, write_frame
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_matrix, read_similarity
from fivesentences.features.detectors import weights as detectors
from fivesentences.features.files import read_source, write_beside
from fivesentences.features.precomp import SplitFeatures
from fivesentences.features.table import FeatureTable
from fivesentences.models.labelled_weights import read_labelled, write_labelled
from fivesentences.reproduction.categories.corpus.documents import Documents, LoadedDocuments, write_documents
from fivesentences.reproduction.categories.corpus.documents import read_documents as read_table
from fivesentences.reproduction.categories.corpus.documents import read_vectors as read_document_vectors
from fivesentences.reproduction.evaluation.run import write_mean_similarity
from fivesentences.reproduction.evaluation.tidy import collect_histories, read_evaluations
from fivesentences.semantics import read_phi, read_top_k, top_k, write_phi, write_top_k
from fivesentences.semantics.sentence_encoders import CaptionVectors, read_vectors, write_vectors
from fivesentences.storage import write_json
from fivesentences.training.checkpoint import ResumeFolder
from fivesentences.training.fingerprint import finish

pytestmark = pytest.mark.slow

N_IMAGES, PLACES = 6, 24
IDS = [f"image{number}" for number in range(N_IMAGES)]
CAPTIONS = [f"a {colour} {thing} stands here" for thing in ("dog", "cat", "car") for colour in ("red", "blue")]
CORPUS = Corpus(
    "mine",
    pd.DataFrame(
        {"image_id": IDS, "filename": IDS, "caption_id": IDS, "caption": CAPTIONS, "split": "test", "category": None}
    ),
)
LABELS = pd.DataFrame({"image_id": IDS, "1": [True, False] * 3, "2": [False] * 6})
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
    images = pd.DataFrame({"image_id": IDS, "filename": IDS})
    write_beside(folder / "f.npy", folder / "f.npy", images, {"weights": "0123456789"})
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
    write_frame(LABELS, folder / "labels.parquet")
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
    write_json(folder / "runs.json", entries)
    return folder / "runs.json"


def history(folder: Path) -> Path:
    lines = {"epoch": [1, 2], "learning_rate": 0.1, "loss": draws().random(2), "dev_Rsum": 1.0, "best": [0, 1]}
    pd.DataFrame(lines).to_csv(folder / "history.csv", index=False)
    finish(folder, {"the device": "cpu x86_64", "the version of torch": "2.1.0"}, ["history.csv"])
    return folder / "history.csv"


def truth(folder: Path) -> Path:
    np.save(folder / "truth.npy", draws().random((N_IMAGES, N_IMAGES), dtype=np.float32))
    write_labels(LABELS, folder / "labels.parquet", [folder / "truth.npy"])
    return folder / "truth.npy"


def documents(folder: Path) -> Path:
    table = Documents(tuple(IDS), ("art", "sport") * 3, ("",) * 6, ("",) * 6, (None,) * 6, tuple(IDS))
    images, texts = draws().random((2, N_IMAGES, 5))
    LoadedDocuments(table, images, texts).write(folder / "d.parquet", folder / "i.npy", folder / "t.npy")
    return folder / "d.parquet"


def weights(folder: Path) -> Path:
    tensors = {"w": torch.from_numpy(draws().random((5, 5))), "n": torch.arange(3), "b": torch.zeros((), dtype=bool)}
    write_labelled(folder / "released.safetensors", tensors, {"format": 1, "options": {"margin": 0.25}})
    return folder / "released.safetensors"


def numbers_as_json(folder: Path) -> Path:
    write_json(folder / "one.json", {"format": "made up", "contrasts": [{"mean": 0.25, "of": 12}, {"mean": -1.5}]})
    write_json(folder / "several.json", [{"phi": "cider", "value": 0.125}, {"phi": "bleu1", "value": 3}])
    return folder / "one.json"


class Killed(Exception):
    """A kill in the middle."""


def unfinished_store(folder: Path) -> Path:
    whole, blocks = top_k.best_of_rows, []

    def killed_later(rows, k):
        blocks.append(rows)
        if len(blocks) > 3:
            raise Killed
        return whole(rows, k)

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(top_k, "ROWS_OF_BLOCK", 1)
        patch.setattr(top_k, "ahead", lambda work, groups: ((group, work(group)) for group in groups))  # no threads
        patch.setattr(top_k, "best_of_rows", killed_later)
        write_top_k("cider", CAPTIONS, np.arange(N_IMAGES), folder / "best", k=2)
    return folder / ".best.partial"


def resume_store(partial: Path) -> bytes:
    again = partial.with_name("again")
    shutil.rmtree(again, ignore_errors=True)
    shutil.copytree(partial, again / partial.name)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as said:
        patch.setattr(top_k, "ROWS_OF_BLOCK", 1)
        write_top_k("cider", CAPTIONS, np.arange(N_IMAGES), again / "best", k=2)
    found = read_top_k(again / "best")
    if "continuing after 3" not in said.getvalue():
        assert found.scores.tobytes() == read_top_k(store(again / "whole")).scores.tobytes()
        raise InputError("all captions are scored again", where=partial)
    return found.images.tobytes() + found.scores.tobytes()


def read_documents(path: Path) -> bytes:
    roles = {"image": path.with_name("i.npy"), "text": path.with_name("t.npy")}
    return b"".join(read_document_vectors(file, path, role).tobytes() for role, file in roles.items())


def read_weights(path: Path) -> str:
    label, tensors = read_labelled(path, "an imported checkpoint", 1, "import it again")
    return repr((label, {name: tensor.tolist() for name, tensor in sorted(tensors.items())}))


def read_state(folder: Path) -> str:
    found, _ = ResumeFolder(folder, IDENTITY).load()
    if found is None:
        raise InputError("training starts over", where=folder)
    return repr((found["epoch"], found["step"], found["model"]["w"].tolist()))


READERS = {
    corpus: lambda path: (lambda read: (read.name, read.table.to_csv()))(Corpus.read(path)),
    phi: lambda path: read_phi(path).tobytes(),
    store: lambda path: (lambda read: read.images.tobytes() + read.scores.tobytes())(read_top_k(path)),
    features: lambda path: (FeatureTable.open(path).rows(IDS).tobytes(), read_source(path).get("weights")),
    similarity: lambda path: read_similarity(path, CORPUS).tobytes(),
    ensemble: lambda path: read_similarity(path, CORPUS).tobytes(),
    state: read_state,
    evaluations: lambda path: repr([entry["values"] for entry in read_evaluations([path])]),
    history: lambda path: collect_histories({"run": path.parent}).to_csv(),
    truth: lambda path: read_truth(path, CORPUS).tobytes(),
    documents: read_documents,
    weights: read_weights,
    numbers_as_json: lambda path: repr(
        [read_json(path)["contrasts"], [one["value"] for one in read_json(path.with_name("several.json"))]]
    ),
    unfinished_store: resume_store,
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
        for place in [*rng.integers(0, len(content), PLACES).tolist(), "half", -9]:
            damaged = bytearray(content)
            if place in ("half", -9):
                del damaged[len(content) // 2 if place == "half" else place :]
            else:
                damaged[place] ^= 1 << int(rng.integers(0, 8))
            file.write_bytes(damaged)
            try:
                assert read(path) == whole, (file.name, place)
                assert place not in ("half", -9) or make is unfinished_store, (file.name, place)
            except InputError:
                noticed += 1
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


@pytest.mark.parametrize(
    ("make", "array"),
    [(truth, "truth.npy"), (documents, "i.npy"), (similarity, "similarity_test.npy"), (features, "f.npy")],
)
def test_an_array_of_another_result_is_refused(tmp_path, make, array):
    path = make(tmp_path)
    whole = np.load(tmp_path / array)
    for other in (1 - whole, whole[::-1]):  # of the same shape, and whole; of the same numbers in another order
        np.save(tmp_path / array, other)
        with pytest.raises(InputError) as error:
            READERS[make](path)
        assert error.value.where == tmp_path / array


ROWS = np.random.default_rng(1).random((N_IMAGES, 40), dtype=np.float32)


PLAIN = {"compression": "none", "use_dictionary": False}


def of_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("feat", data=ROWS, chunks=(2, 40), fletcher32=True)


@pytest.mark.parametrize(
    ("name", "write", "read"),
    [
        ("m.npz", lambda path: np.savez(path, m=ROWS), read_matrix),
        ("m.pt", lambda path: torch.save(torch.from_numpy(ROWS), path), read_matrix),
        ("m.pt", lambda path: torch.save({"w": torch.from_numpy(ROWS)}, path), detectors.read_state),
        (
            "t.parquet",
            lambda path: pq.write_table(pa.table({"v": ROWS[0]}), path, write_page_checksum=True, **PLAIN),
            lambda path: read_frame(path, "fetch it again"),
        ),
        ("f.h5", of_hdf5, lambda path: SplitFeatures(str(path), "hdf5", 6, 1, [40], "float32", 1).take(np.arange(6))),
    ],
)
def test_a_file_of_others_with_checksums_of_its_own_ends_in_one_sentence(tmp_path, name, write, read):
    write(tmp_path / name)
    read(tmp_path / name)
    content = bytearray((tmp_path / name).read_bytes())
    content[content.index(ROWS[0].tobytes()[:16]) + 5] ^= 16
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        read(tmp_path / name)
    assert name in str(error.value)


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
    path = truth(tmp_path)
    LABELS.to_parquet(tmp_path / "labels.parquet")
    READERS[truth](path)
    path = documents(tmp_path)
    write_documents(read_table(path), path)
    np.save(tmp_path / "i.npy", np.ones((N_IMAGES, 2), np.float32))
    READERS[documents](path)
    (tmp_path / "old.json").write_text('[{"phi": "cider", "value": 0.25}]')
    assert read_json(tmp_path / "old.json") == [{"phi": "cider", "value": 0.25}]
    save_file({"w": torch.ones(2)}, weights(tmp_path), {"fivesentences": json.dumps({"format": 1})})
    READERS[weights](tmp_path / "released.safetensors")


def test_no_bit_of_a_saved_state_changes_it_without_a_word(tmp_path):
    """One makes an entry of the archive a folder, of which torch returns memory that nobody has written."""
    path, read = state(tmp_path), READERS[state]
    (file,), whole = files_of(path), read(path)
    content = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        begins = archive.start_dir
    for place in range(begins, len(content)):
        for bit in range(8):
            file.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
            with contextlib.suppress(InputError):
                assert read(path) == whole, (place, bit)
