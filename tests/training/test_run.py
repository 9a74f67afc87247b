"""Runs from files to files: what they record, their determinism, and which of a job's runs are trained again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch

from edge_cases import limits
from fivesentences.corpus import Corpus, take_fraction
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, describe_precomp
from fivesentences.losses import LossSpec
from fivesentences.models.labelled_weights import read_labelled, write_labelled
from fivesentences.reproduction.evaluation.scoring import score_split
from fivesentences.semantics import write_phi
from fivesentences.storage import RECORD
from fivesentences.training import Run, load_trained, read_run, train_run, train_runs
from fivesentences.training import run as run_module
from fivesentences.training.checkpoint import FORMAT
from fivesentences.training.fingerprint import SETTINGS
from fivesentences.training.jobs import Task
from fivesentences.training.loop import Training
from fivesentences.training.run import OUTPUTS
from fivesentences.versions import VERSIONS
from kill import Killed, killed, killed_after


def rsum(similarity: np.ndarray, captions_per_image: int = 3) -> float:
    """Sum of recalls written from the definition; scores of a trained network have no ties."""
    images, captions = similarity.shape
    own = np.arange(captions) // captions_per_image == np.arange(images)[:, None]
    best_own = np.where(own, similarity, -np.inf).max(axis=1, keepdims=True)
    i2t = (similarity > best_own).sum(axis=1)
    t2i = (similarity > similarity.T[own.T][None, :]).sum(axis=0)
    return sum(100 * np.mean(ranks < k) for ranks in (i2t, t2i) for k in (1, 5, 10))


@pytest.fixture(scope="module")
def finished(inputs, spec_of, tmp_path_factory):
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("finished")
    train_run(spec_of(epochs=1), *inputs, folder)
    return folder


def bytes_in(folder):
    return {name: (folder / name).read_bytes() for name in OUTPUTS}


def test_a_run_learns_and_records_what_it_did(inputs_in, spec_of, tmp_path, outputs_of):
    spec = spec_of(epochs=12)
    train_run(spec, *inputs_in(tmp_path / "inputs", sizes=(80, 8, 8)), tmp_path / "run")
    outputs_of(tmp_path / "run")
    history = pd.read_csv(tmp_path / "run/history.csv")
    assert history["epoch"].tolist() == list(range(1, 13))
    assert history["loss"].iloc[-1] < 0.5 * history["loss"].iloc[0]
    assert history["learning_rate"].tolist() == pytest.approx([0.01] * 6 + [0.001] * 6)
    _, dev = score_split(tmp_path / "run", "dev")
    test = np.load(tmp_path / "run/similarity_test.npy")
    assert dev.shape == test.shape == (8, 24)
    assert dev.dtype == test.dtype == np.float32
    # The weights that are kept are those of the first epoch with the best dev Rsum.
    assert history["best"].sum() == 1
    assert history.loc[history["best"] == 1, "dev_Rsum"].item() == history["dev_Rsum"].max()
    assert rsum(dev) == pytest.approx(history["dev_Rsum"].max(), abs=1e-9)
    chance = np.mean([rsum(np.random.default_rng(seed).random((8, 24))) for seed in range(200)])
    assert rsum(test) > 1.3 * chance


@pytest.mark.slow
def test_equal_runs_give_equal_bytes_and_leave_torch_as_it_was(inputs, spec_of, tmp_path, outputs_of):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    for name, changes in (("one", {}), ("three", {"seed": 1}), ("fast", {"arithmetic": "fast"})):
        train_run(spec_of(**changes), *inputs, tmp_path / name)
    train_run(*read_run(tmp_path / "one/run.yaml"), tmp_path / "two")
    assert torch.equal(torch.rand(3), expected) and torch.get_num_threads() == threads
    assert torch.get_deterministic_debug_mode() == 0 and torch.get_float32_matmul_precision() == "highest"
    one, two, three = (outputs_of(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert one["weights.safetensors"] != three["weights.safetensors"]
    reference, fast = (np.load(tmp_path / f"{name}/similarity_test.npy") for name in ("one", "fast"))
    np.testing.assert_allclose(fast, reference, atol=1e-3)  # cosines


def test_a_released_vocabulary_is_that_of_the_run_whatever_it_trains_on(inputs, spec_of, tmp_path):
    words = ["<pad>", "<start>", "<end>", "<unk>", "zebra", "a", ".", "the"]
    number = {word: place for place, word in enumerate(words)}
    (tmp_path / "v.json").write_text(json.dumps({"word2idx": number}))
    spec = spec_of(epochs=1, fraction=0.25, vocabulary=tmp_path / "v.json")
    train_run(spec, *inputs, tmp_path / "run")
    trained = load_trained(tmp_path / "run")
    assert trained.vocabulary.words == tuple(words) and trained.spec == spec
    assert trained.vocabulary.encode("A dog, the zebra.") == [1, 5, 3, 3, 7, 4, 6, 2]  # a dog , the zebra .


def test_vocabulary_and_preparation_come_from_the_runs_own_training_images(inputs, spec_of, tmp_path):
    train_run(spec_of(fraction=0.25, min_word_count=2), *inputs, tmp_path)
    trained = load_trained(tmp_path)
    part = take_fraction(Corpus.read(inputs.corpus).split("train"), 0.25)
    rows = FeatureTable.open(inputs.features).rows(part.images["image_id"].tolist())
    np.testing.assert_allclose(trained.preparation.mean, rows.mean(axis=0), atol=1e-5)
    words = " ".join(part.captions).lower().replace(".", "").split()
    assert set(trained.vocabulary.words[4:]) == {word for word in words if words.count(word) >= 2}


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (["image_dim"], 10**9, "parameters"),
        (["image_dim"], 10**15, "parameters"),
        (["image_dim"], "12", "image_dim is '12'"),
        (["image_dim"], None, "image_dim"),
        (["image_dim"], -3, ""),
        (["spec", "model", "embedding"], 65_536, "parameters"),
        (["spec", "model", "layers"], 100, "parameters"),
        (["spec", "model", "layers"], 10**9, "layers"),
    ],
)
def test_settings_beyond_the_weights_are_refused_before_memory_is_taken(finished, tmp_path, keys, value, said):
    shutil.copy(finished / "vocabulary.json", tmp_path)
    label, tensors = read_labelled(finished / "weights.safetensors", "a run", FORMAT, "")
    inner = label
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    write_labelled(tmp_path / "weights.safetensors", tensors, label)
    with limits(), pytest.raises(InputError) as error:
        load_trained(tmp_path)
    assert str(tmp_path) in str(error.value) and said in str(error.value)


@pytest.mark.slow
def test_dev_is_scored_every_so_many_epochs_on_some_images_and_the_best_of_those_is_kept(inputs, spec_of, tmp_path):
    train_run(spec_of(epochs=7, score_every=3, selection_images=4), *inputs, tmp_path / "some")
    train_run(spec_of(epochs=7, selection_images=4), *inputs, tmp_path / "all")
    some, every = (pd.read_csv(tmp_path / f"{name}/history.csv") for name in ("some", "all"))
    scored = some["dev_Rsum"].notna()
    assert some.loc[scored, "epoch"].tolist() == [3, 6, 7]
    # Training itself is the same, so that the scores are those of a run that scores every epoch.
    pd.testing.assert_frame_equal(some.loc[scored].drop(columns="best"), every.loc[scored].drop(columns="best"))
    assert some["loss"].tolist() == every["loss"].tolist()
    _, dev = score_split(tmp_path / "some", "dev")
    assert dev.shape == (8, 24)
    assert rsum(dev[:4, :12]) == pytest.approx(every.loc[scored, "dev_Rsum"].max(), abs=1e-9)


@pytest.mark.slow
def test_starting_a_run_does_not_import_torchs_compiler(inputs, spec_of, tmp_path):
    # It costs seconds at the start of every run: see fivesentences.training.adam.
    train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    program = (
        "import sys; from fivesentences.training import read_run, train_run; "
        "train_run(*read_run(sys.argv[1]), sys.argv[2]); sys.exit('torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", program, tmp_path / "run/run.yaml", tmp_path / "again"]
    assert subprocess.run(command, capture_output=True).returncode == 0


# --- several runs of a job ----------------------------------------------------------------------------------


@pytest.fixture
def trained(monkeypatch):
    """Names of the runs whose training began."""
    began, original = [], Task.train

    def recorded(task, *arguments):
        began.append(task.spec.name)
        return original(task, *arguments)

    monkeypatch.setattr(Task, "train", recorded)
    return began


@pytest.fixture
def three(inputs, spec_of, tmp_path):
    specs = [spec_of(epochs=2), spec_of(epochs=2, loss=LossSpec(triplet=3)), spec_of(epochs=2, seed=1)]
    return [Run(spec, tmp_path / "job" / str(number), *inputs) for number, spec in enumerate(specs)]


@pytest.mark.slow
def test_a_killed_job_keeps_its_finished_runs_and_each_has_the_bits_that_it_has_alone(
    inputs, three, tmp_path, trained, capsys
):
    with killed_after(16, Training, "_train_batch"):  # runs of ten batches; the second stops in its second epoch
        train_runs(three)
    before = len(trained)
    train_runs(three, record=tmp_path / "all.json")
    said = capsys.readouterr().err
    assert "run 1 of 3 was finished before" in said and "Continuing from" in said
    assert len(trained) - before == 2
    for run in three:
        train_run(run.spec, *inputs, tmp_path / "alone" / run.folder.name)
        assert bytes_in(run.folder) == bytes_in(tmp_path / "alone" / run.folder.name)
    train_runs(three[::-1], record=tmp_path / "again.json")
    hashes = {
        run.spec.name: {name: sha256(data).hexdigest() for name, data in bytes_in(run.folder).items()} for run in three
    }
    assert json.loads((tmp_path / "all.json").read_text()) == {"runs": hashes}
    assert (tmp_path / "all.json").read_bytes() == (tmp_path / "again.json").read_bytes()


@pytest.mark.slow
def test_a_changed_setting_or_input_trains_a_run_again(inputs_in, three, spec_of, tmp_path, trained):
    inputs = inputs_in(tmp_path / "inputs")
    two = [replace(run, corpus=inputs.corpus, features=inputs.features) for run in three[:2]]
    train_runs(two)
    changed = [two[0], replace(two[1], spec=spec_of(epochs=3, seed=1))]
    train_runs(changed)
    assert trained[2:] == [changed[1].spec.name]
    np.save(inputs.features, np.load(inputs.features) * 2)
    train_runs(changed)
    assert len(trained) == 5


def test_another_version_of_training_trains_every_run_again(three, trained, monkeypatch):
    train_runs(three)
    train_runs(three)
    assert len(trained) == len(three)
    monkeypatch.setitem(VERSIONS, "training", VERSIONS["training"] + 1)
    train_runs(three)
    assert trained == 2 * [run.spec.name for run in three]


def test_a_setting_that_a_record_lacks_has_its_default_and_any_other_difference_trains_again(three, trained):
    run, record = three[0], three[0].folder / RECORD
    train_runs([run])
    content = read_json(record)
    settings = json.loads(content["made_from"][SETTINGS])

    def recorded_as(changed):
        made_from = content["made_from"] | {SETTINGS: json.dumps(changed)}
        record.write_text(json.dumps(content | {"made_from": made_from}))
        before = len(trained)
        train_runs([run])
        return len(trained) > before

    training = {key: value for key, value in settings["training"].items() if key != "gradient_clip"}
    assert not recorded_as(settings | {"training": training})
    assert recorded_as(settings | {"training": training | {"gradient_clip": 1.0}})
    assert recorded_as(settings | {"gone": 1})


def test_a_matrix_that_is_given_or_no_longer_given_trains_again(inputs, three, tmp_path, trained):
    train = Corpus.read(inputs.corpus).split("train")
    write_phi("cider", train.captions, train.image_of_caption, tmp_path / "cider.npy")
    for number, files in enumerate(({}, {"cider": tmp_path / "cider.npy"}, {}), start=1):
        for _ in range(2):
            train_runs([replace(three[0], phi_files=files)])
            assert len(trained) == number


def test_other_features_of_equal_shape_in_a_precomp_folder_train_again(inputs, spec_of, tmp_path, trained):
    corpus, table = Corpus.read(inputs.corpus), FeatureTable.open(inputs.features)
    folder, described = tmp_path / "precomp", tmp_path / "features.json"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        part = corpus.split(split)
        of_images = part.table.groupby("image_id", sort=False)["caption"].agg(list)
        five = [(captions * 5)[:5] for captions in of_images]
        (folder / f"{split}_caps.txt").write_text("".join(f"{caption}\n" for one in five for caption in one))
        (folder / f"{split}_ids.txt").write_text("".join(f"{image}\n" for image in part.images["image_id"]))
        np.save(folder / f"{split}_ims.npy", table.rows(part.images["image_id"].tolist()))
    describe_precomp(folder, corpus, described)
    run = Run(spec_of(epochs=1), tmp_path / "run", inputs.corpus, described)
    for count in (1, 1, 2):
        if count == 2:  # other layouts: tests/features/test_precomp.py
            np.save(folder / "train_ims.npy", 2 * np.load(folder / "train_ims.npy"))
        train_runs([run])
        assert len(trained) == count


def test_one_run_that_fails_does_not_keep_the_others_from_finishing(inputs, three, spec_of, tmp_path, trained):
    runs = [three[0], replace(three[1], spec=spec_of(learning_rate=1e38)), three[2]]
    with pytest.raises(InputError, match="lower the rate"):
        train_runs(runs, record=tmp_path / "job.json")
    assert not (tmp_path / "job.json").exists()
    del trained[:]
    train_runs(three)
    assert trained == [three[1].spec.name]


@pytest.mark.parametrize("name", [RECORD, "similarity_test.npy"])
def test_a_folder_without_its_record_or_a_whole_output_is_not_finished(inputs, three, trained, name):
    train_runs(three[:1])
    whole = bytes_in(three[0].folder)
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-20])):
        damage(three[0].folder / name)
        train_runs(three[:1])
        assert bytes_in(three[0].folder) == whole
    assert len(trained) == 3


def test_a_kill_among_the_outputs_of_another_run_leaves_those_of_the_first_one(inputs, three, spec_of, trained):
    (first, _, _), changed = three, replace(three[0], spec=spec_of(epochs=3))
    train_runs([first])
    whole = bytes_in(first.folder)
    with mock.patch.object(run_module, "write_weights", killed), pytest.raises(Killed):
        train_runs([changed])
    assert bytes_in(first.folder) == whole
    train_runs([first])
    assert bytes_in(first.folder) == whole and len(trained) == 2


def test_a_run_killed_behind_its_last_output_is_finished_and_leaves_no_state(inputs, three, trained):
    with mock.patch("shutil.rmtree", killed), pytest.raises(Killed):
        train_runs(three[:1])
    assert (three[0].folder / "resume").exists()
    train_runs(three[:1])
    assert len(trained) == 1 and not (three[0].folder / "resume").exists()
