"""A run from files to files, its determinism, and its errors."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from fivesentences.corpus import Corpus, take_fraction
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.models import model_spec
from fivesentences.training import load_trained, read_run, train_run


def rsum(similarity: np.ndarray, captions_per_image: int = 3) -> float:
    """Sum of recalls written from the definition; scores of a trained network have no ties."""
    images, captions = similarity.shape
    own = np.arange(captions) // captions_per_image == np.arange(images)[:, None]
    best_own = np.where(own, similarity, -np.inf).max(axis=1, keepdims=True)
    i2t = (similarity > best_own).sum(axis=1)
    t2i = (similarity > similarity.T[own.T][None, :]).sum(axis=0)
    return sum(100 * np.mean(ranks < k) for ranks in (i2t, t2i) for k in (1, 5, 10))


def test_a_run_learns_and_records_what_it_did(inputs_in, spec_of, tmp_path, outputs_of):
    spec = spec_of(epochs=12)
    train_run(spec, *inputs_in(tmp_path / "inputs", sizes=(80, 8, 8)), tmp_path / "run")
    outputs_of(tmp_path / "run")
    history = pd.read_csv(tmp_path / "run/history.csv")
    assert history["epoch"].tolist() == list(range(1, 13))
    assert history["loss"].iloc[-1] < 0.5 * history["loss"].iloc[0]
    assert history["learning_rate"].tolist() == pytest.approx([0.01] * 6 + [0.001] * 6)
    dev, test = (np.load(tmp_path / f"run/similarity_{split}.npy") for split in ("dev", "test"))
    assert dev.shape == test.shape == (8, 24)
    assert dev.dtype == test.dtype == np.float32
    # The weights that are kept are those of the first epoch with the best dev Rsum.
    assert history["best"].sum() == 1
    assert history.loc[history["best"] == 1, "dev_Rsum"].item() == history["dev_Rsum"].max()
    assert rsum(dev) == pytest.approx(history["dev_Rsum"].max(), abs=1e-9)
    chance = np.mean([rsum(np.random.default_rng(seed).random((8, 24))) for seed in range(200)])
    assert rsum(test) > 1.3 * chance


def test_equal_runs_give_equal_bytes_and_another_seed_does_not(inputs, spec_of, tmp_path, outputs_of):
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        torch.rand(5)  # the caller's generator is neither used nor moved
        train_run(spec_of(seed=seed), *inputs, tmp_path / name)
    one, two, three = (outputs_of(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert one["weights.safetensors"] != three["weights.safetensors"]


def test_torchs_settings_and_generator_are_left_alone(inputs, spec_of, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads
    assert torch.get_deterministic_debug_mode() == 0
    train_run(spec_of(epochs=1, arithmetic="fast"), *inputs, tmp_path / "fast")
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(("selection", "column"), [("ncs", "dev_Nsum"), ("ncs_discounted", "dev_Nsum_discounted")])
def test_selection_by_ncs_keeps_the_epoch_with_the_best_nsum(inputs, spec_of, tmp_path, selection, column):
    train_run(spec_of(selection=selection), *inputs, tmp_path)
    history = pd.read_csv(tmp_path / "history.csv")
    assert history.loc[history["best"] == 1, column].item() == history[column].max()
    assert history[column].between(0, 600).all()


def test_a_released_vocabulary_is_that_of_the_run_whatever_it_trains_on(inputs, spec_of, tmp_path):
    words = ["<pad>", "<start>", "<end>", "<unk>", "zebra", "a", ".", "the"]
    number = {word: place for place, word in enumerate(words)}
    (tmp_path / "v.json").write_text(json.dumps({"word2idx": number}))
    spec = spec_of(epochs=1, fraction=0.25, vocabulary=tmp_path / "v.json")
    train_run(spec, *inputs, tmp_path / "run")
    trained = load_trained(tmp_path / "run")
    assert trained.vocabulary.words == tuple(words) and trained.spec == spec
    assert trained.vocabulary.encode("A dog, the zebra.") == [1, 5, 3, 3, 7, 4, 6, 2]  # a dog , the zebra .
    (tmp_path / "v.json").write_text(json.dumps({"word2idx": number | {"one": len(number)}}))
    train_run(spec, *inputs, tmp_path / "run")  # not finished: the file has changed
    assert load_trained(tmp_path / "run").vocabulary.words == (*words, "one")


def test_vocabulary_and_preparation_come_from_the_runs_own_training_images(inputs, spec_of, tmp_path):
    spec = spec_of(fraction=0.25, min_word_count=2)
    train_run(spec, *inputs, tmp_path)
    trained = load_trained(tmp_path)
    part = take_fraction(Corpus.read(inputs.corpus).split("train"), 0.25)
    rows = FeatureTable.open(inputs.features).rows(part.images["image_id"].tolist())
    np.testing.assert_allclose(trained.preparation.mean, rows.mean(axis=0), atol=1e-5)
    words = " ".join(part.captions).lower().replace(".", "").split()
    assert set(trained.vocabulary.words[4:]) == {word for word in words if words.count(word) >= 2}


def test_epochs_may_be_scored_on_the_first_dev_images_alone(inputs, spec_of, tmp_path):
    train_run(spec_of(selection_images=4), *inputs, tmp_path)
    history, dev = pd.read_csv(tmp_path / "history.csv"), np.load(tmp_path / "similarity_dev.npy")
    assert dev.shape == (8, 24)
    assert rsum(dev[:4, :12]) == pytest.approx(history["dev_Rsum"].max(), abs=1e-9)


def test_run_yaml_trains_the_same_run_again(inputs, spec_of, tmp_path, outputs_of):
    train_run(spec_of(), *inputs, tmp_path / "one")
    spec, corpus, features = read_run(tmp_path / "one/run.yaml")
    assert spec == spec_of()
    train_run(spec, corpus, features, tmp_path / "two")
    assert outputs_of(tmp_path / "one") == outputs_of(tmp_path / "two")


def test_starting_a_run_does_not_import_torchs_compiler(inputs, spec_of, tmp_path):
    # It costs seconds at the start of every run: see fivesentences.training.adam.
    train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    program = (
        "import sys; from fivesentences.training import read_run, train_run; "
        "train_run(*read_run(sys.argv[1]), sys.argv[2]); sys.exit('torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", program, tmp_path / "run/run.yaml", tmp_path / "again"]
    assert subprocess.run(command, capture_output=True).returncode == 0


# --- bad input ----------------------------------------------------------------------------------------------


def test_nan_features_end_in_one_sentence_and_leave_finished_outputs_alone(inputs_in, spec_of, tmp_path, outputs_of):
    inputs = inputs_in(tmp_path / "inputs")
    train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    before = outputs_of(tmp_path / "run")
    features = np.load(inputs.features)
    features[3, 5] = np.nan
    np.save(inputs.features, features)
    with pytest.raises(InputError, match="train3") as error:
        train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    assert "\n" not in str(error.value)
    assert outputs_of(tmp_path / "run") == before


@pytest.mark.parametrize("missing", ["train", "dev", "test"])
def test_a_split_without_images_ends_in_one_sentence(inputs, spec_of, tmp_path, missing):
    table = Corpus.read(inputs.corpus).table
    Corpus("tiny", table[table["split"] != missing]).write(tmp_path / "corpus.parquet")
    with pytest.raises(InputError, match=f"'{missing}'"):
        train_run(spec_of(), tmp_path / "corpus.parquet", inputs.features, tmp_path / "run")


@pytest.mark.parametrize("device", ["tpu", "cuda"])
def test_a_device_that_is_not_there_ends_in_one_sentence(inputs, spec_of, tmp_path, monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=f"device is '{device}'"):
        train_run(spec_of(), *inputs, tmp_path, device=device)


def test_weights_that_are_damaged_or_foreign_are_refused(inputs, spec_of, tmp_path):
    train_run(spec_of(epochs=1), *inputs, tmp_path)
    weights = tmp_path / "weights.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="not a whole safetensors file"):
        load_trained(tmp_path)
    other = model_spec("vsepp", embedding=4, word=8)
    train_run(spec_of(epochs=1, model=other), *inputs, tmp_path / "other")
    weights.write_bytes((tmp_path / "other/weights.safetensors").read_bytes())
    with pytest.raises(InputError, match=r"its embedding is 12, but weights\.safetensors beside it was trained as 4"):
        load_trained(tmp_path)
    for name in ("run.yaml", "finished.json"):
        (tmp_path / name).unlink()
    load_trained(tmp_path)  # the settings travel with the weights
    weights.unlink()
    with pytest.raises(InputError, match="no such file"):
        load_trained(tmp_path)


def test_dev_is_scored_every_so_many_epochs_and_after_the_last_and_the_best_of_those_is_kept(inputs, spec_of, tmp_path):
    train_run(spec_of(epochs=7, score_every=3), *inputs, tmp_path / "some")
    train_run(spec_of(epochs=7), *inputs, tmp_path / "all")
    some, every = (pd.read_csv(tmp_path / f"{name}/history.csv") for name in ("some", "all"))
    scored = some["dev_Rsum"].notna()
    assert some.loc[scored, "epoch"].tolist() == [3, 6, 7]
    # Training itself is the same, so that the scores are those of a run that scores every epoch.
    pd.testing.assert_frame_equal(some.loc[scored].drop(columns="best"), every.loc[scored].drop(columns="best"))
    assert some["loss"].tolist() == every["loss"].tolist()
    assert some.loc[some["best"] == 1, "dev_Rsum"].item() == every.loc[scored, "dev_Rsum"].max()


def test_fast_arithmetic_gives_the_numbers_of_the_reference_within_rounding(inputs, spec_of, tmp_path):
    for arithmetic in ("reference", "fast"):
        train_run(spec_of(epochs=1, arithmetic=arithmetic), *inputs, tmp_path / arithmetic)
    reference, fast = (np.load(tmp_path / f"{name}/similarity_test.npy") for name in ("reference", "fast"))
    np.testing.assert_allclose(fast, reference, atol=2e-5)  # cosines, after 5 steps


def test_a_run_of_batches_without_two_captions_of_an_image_sees_every_caption(inputs, spec_of, tmp_path, outputs_of):
    train_run(spec_of(), *inputs, tmp_path / "any")
    train_run(spec_of(one_caption_per_image=True), *inputs, tmp_path / "one")
    any_of_them, one = (outputs_of(tmp_path / name) for name in ("any", "one"))
    assert one["weights.safetensors"] != any_of_them["weights.safetensors"]
