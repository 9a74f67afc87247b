"""`fivesentences similarity`: a finished run scores a split with the bits of training; an imported checkpoint too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from fivesentences.corpus import Corpus
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.models.released_checkpoints import import_checkpoint, load_imported
from fivesentences.reproduction.evaluation.scoring import score_split
from fivesentences.training import train_run


def test_a_checkpoint_scores_a_split_as_training_did(run, inputs, spec_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    asked = ["similarity", "run", "-o", "sims.npy", "--captions", "c.txt", "--image-of-caption", "i.txt"]
    for split in ("test", "dev"):
        said = run(*asked, "--split", split)
        assert said.code == 0 and "sims.npy: similarity, float32 [8 images, 24 captions]" in said.out
        np.testing.assert_array_equal(np.load("sims.npy"), score_split("run", split)[1])
        gallery = Corpus.read(inputs.corpus).split(split)
        assert (tmp_path / "c.txt").read_text().splitlines() == gallery.captions
        assert [int(line) for line in (tmp_path / "i.txt").read_text().split()] == [c // 3 for c in range(24)]
    np.testing.assert_array_equal(score_split("run", "test")[1], np.load("run/similarity_test.npy"))
    assert score_split("run", "train")[1].shape == (24, 72)  # which training does not score
    said = run("evaluate", "sims.npy", "--captions", "c.txt", "--quiet")
    assert said.code == 0 and "NCS@k" in said.out

    with pytest.raises(InputError, match="has no images"):
        score_split("run", "tset")
    wider = tmp_path / "wide.npy"
    np.save(wider, np.zeros((40, 21), dtype=np.float32))
    wider.with_suffix(".images.parquet").write_bytes(inputs.features.with_suffix(".images.parquet").read_bytes())
    with pytest.raises(InputError, match="21 dimensions"):
        score_split("run", features=wider)
    np.save(wider, np.zeros((40, 7, 20), dtype=np.float32))
    with pytest.raises(InputError, match="features"):
        score_split("run", features=wider)
    with pytest.raises(InputError, match="name the corpus"):
        score_split("run", corpus="elsewhere.parquet")


# --- an imported checkpoint ---------------------------------------------------------------------------------

NUMBER = {word: at for at, word in enumerate(("<pad>", "<start>", "<end>", "<unk>", "a", "dog", "cat", "red", "."))}


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    """Makes a checkpoint as VSE++ and SCAN release it, imports it, and writes its authors' vocabulary."""
    monkeypatch.chdir(tmp_path)

    def made(name: str) -> str:
        torch.manual_seed(0)
        gru = torch.nn.GRU(3, 6)
        text = {f"rnn.{key}": value.detach() for key, value in gru.named_parameters()}
        text["embed.weight"] = torch.randn(len(NUMBER), 3)
        image = {"fc.weight": torch.randn(6, 20), "fc.bias": torch.randn(6)}
        torch.save({"model": [image, text]}, "model_best.pth.tar")
        # Without its command line, a SCAN that reads captions in one direction looks like VSE++.
        import_checkpoint("model_best.pth.tar", name, name, {"bidirectional": False} if name == "scan" else {})
        Path("words.json").write_text(json.dumps({"word2idx": NUMBER, "idx2word": {}, "idx": len(NUMBER)}))
        return name

    return made


@pytest.mark.parametrize("name", ["vsepp", "scan"])
def test_an_imported_checkpoint_scores_our_features_and_its_matrix_is_evaluated(name, checkpoint, inputs_of, run):
    folder, inputs = checkpoint(name), inputs_of(name)
    data = ("--corpus", inputs.corpus, "--features", inputs.features, "--vocabulary", "words.json")
    lines = ("--captions", "c.txt", "--image-of-caption", "i.txt")
    said = run("similarity", folder, "-o", "sims.npy", *data, *lines)
    assert said.code == 0 and said.err == ""
    assert said.out == "sims.npy: similarity, float32 [8 images, 24 captions] of tiny/test\n"
    gallery, model, matrix = Corpus.read(inputs.corpus).split("test"), load_imported(folder), np.load("sims.npy")
    images = torch.from_numpy(FeatureTable.open(inputs.features).rows(gallery.images["image_id"].tolist()))
    for column, caption in enumerate(gallery.captions):
        words = [*caption.lower().removesuffix(".").split(), "."]
        tokens = torch.tensor([[1, *(NUMBER.get(word, 3) for word in words), 2]])
        with torch.inference_mode():
            expected = model(images, tokens, torch.tensor([tokens.shape[1]]))
        np.testing.assert_allclose(matrix[:, column], expected[:, 0].numpy(), atol=1e-6)
    assert len(np.unique(matrix)) > len(matrix)
    said = run("evaluate", "sims.npy", "--captions", "c.txt", "--image-of-caption", "i.txt", "--quiet")
    assert said.code == 0 and "NCS@k" in said.out


def test_what_does_not_fit_an_imported_checkpoint_ends_in_a_sentence(checkpoint, inputs, grid_inputs, run, tmp_path):
    folder, corpus = checkpoint("vsepp"), ("--corpus", inputs.corpus)
    features, words = ("--features", inputs.features), ("--vocabulary", "words.json")
    Path("few.json").write_text(json.dumps({"word2idx": {word: NUMBER[word] for word in list(NUMBER)[:6]}}))
    wider = tmp_path / "wide.npy"
    np.save(wider, np.zeros((40, 21), dtype=np.float32))
    wider.with_suffix(".images.parquet").write_bytes(inputs.features.with_suffix(".images.parquet").read_bytes())
    for given, what in (
        ((*corpus, *features), "give --corpus, --features and --vocabulary"),
        ((*features, *words), "give --corpus, --features and --vocabulary"),
        ((*corpus, *features, "--vocabulary", "none.json"), "name the vocabulary"),
        ((*corpus, "--features", "none.npy", *words), "name the features"),
        ((*corpus, *features, "--vocabulary", "few.json"), "few.json has 6 words, but vsepp was trained with 9"),
        ((*corpus, "--features", grid_inputs.features, *words), "reads one vector per image"),
        ((*corpus, "--features", wider, *words), "does not fit the weights"),
    ):
        said = run("similarity", folder, "-o", "sims.npy", *given)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith("Error: ") and what in said.err and said.err.count("\n") == 1, said
    assert not Path("sims.npy").exists()


# --- folders whose files are of two runs --------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_runs(inputs, spec_of, tmp_path_factory):
    """Two finished runs of one corpus: another seed, a vocabulary of other words of the same number."""

    folder = tmp_path_factory.mktemp("runs")
    train_run(spec_of(epochs=1), *inputs, folder / "first")
    train_run(spec_of(epochs=1, seed=1), *inputs, folder / "second")
    train_run(spec_of(epochs=1, min_word_count=9), *inputs, folder / "fewer")
    return folder


@pytest.mark.parametrize("record", [True, False], ids=["with record", "without record"])
def test_a_copied_folder_scores_as_long_as_its_files_are_of_one_run(two_runs, tmp_path, record):
    folder = tmp_path / "copy"
    shutil.copytree(two_runs / "first", folder)
    if not record:
        (folder / "finished.json").unlink()
    np.testing.assert_array_equal(score_split(folder)[1], np.load(folder / "similarity_test.npy"))
    for name in ("run.yaml", "weights.safetensors"):
        shutil.copy(two_runs / "second" / name, folder)
        with pytest.raises(InputError, match=r"run\.yaml: its seed is .*files are of two runs"):
            score_split(folder)
        shutil.copy(two_runs / "first" / name, folder)


def test_a_vocabulary_of_another_run_is_noticed(two_runs, tmp_path):
    path = tmp_path / "copy" / "vocabulary.json"
    shutil.copytree(two_runs / "first", tmp_path / "copy")
    content = read_json(path)  # without its checksum, as an earlier version wrote it
    content["words"][-2:] = content["words"][:-3:-1]  # of the same length: only the record can tell
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"vocabulary\.json.*finished\.json"):
        score_split(tmp_path / "copy")
    (tmp_path / "copy" / "finished.json").unlink()
    shutil.copy(two_runs / "fewer" / "vocabulary.json", tmp_path / "copy")
    with pytest.raises(InputError, match=r"weights\.safetensors"):
        score_split(tmp_path / "copy")
