"""Several runs in one process: the bits that each has alone, and nothing finished is trained again."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from unittest import mock

import h5py
import numpy as np
import pytest

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError, install
from fivesentences.features import FeatureTable, describe_precomp
from fivesentences.losses import LossSpec
from fivesentences.semantics import write_phi
from fivesentences.training import Run, train_run, train_runs
from fivesentences.training import fingerprint as fingerprint_module
from fivesentences.training import run as run_module
from fivesentences.training import runs as runs_module
from fivesentences.training.checkpoint import ResumeFolder
from fivesentences.training.fingerprint import SETTINGS
from fivesentences.training.finished import OUTPUTS, RECORD
from fivesentences.training.loop import Training
from kill import Killed, killed, killed_after


def bytes_in(folder):
    return {name: (folder / name).read_bytes() for name in OUTPUTS}


@pytest.fixture
def trained(monkeypatch):
    """Names of the runs whose training began."""
    began, original = [], runs_module.train_run

    def recorded(spec, *arguments, **named):
        began.append(spec.name)
        return original(spec, *arguments, **named)

    monkeypatch.setattr(runs_module, "train_run", recorded)
    return began


@pytest.fixture
def three(inputs, spec_of, tmp_path):
    specs = [spec_of(epochs=2), spec_of(epochs=2, loss=LossSpec(triplet=3)), spec_of(epochs=2, seed=1)]
    return [Run(spec, tmp_path / "job" / str(number), *inputs) for number, spec in enumerate(specs)]


def test_runs_of_one_process_have_the_bits_of_each_alone(inputs, three, tmp_path):
    train_runs(three)
    for run in three:
        train_run(run.spec, *inputs, tmp_path / "alone" / run.folder.name)
        assert bytes_in(run.folder) == bytes_in(tmp_path / "alone" / run.folder.name)


def test_a_job_notes_every_output_of_its_runs_also_of_those_finished_before(inputs, three, tmp_path):
    noted = []
    for name, runs in (("all.json", three), ("again.json", three[::-1])):
        train_runs(runs, record=tmp_path / name)
        noted.append((tmp_path / name).read_bytes())
    assert noted[0] == noted[1]
    hashes = {
        run.spec.name: {name: sha256(data).hexdigest() for name, data in bytes_in(run.folder).items()} for run in three
    }
    assert json.loads(noted[0]) == {"runs": hashes}


def test_after_a_kill_the_finished_runs_are_kept_and_the_others_trained(inputs, three, tmp_path, trained, capsys):
    with killed_after(16, Training, "_train_batch"):  # runs of ten batches; the second stops in its second epoch
        train_runs(three)
    before = len(trained)
    train_runs(three)
    said = capsys.readouterr().err
    assert "run 1 of 3 was finished before" in said
    assert "Continuing from" in said
    assert len(trained) - before == 2
    for run in three:
        train_run(run.spec, *inputs, tmp_path / "alone" / run.folder.name)
        assert bytes_in(run.folder) == bytes_in(tmp_path / "alone" / run.folder.name)


def test_a_changed_setting_of_one_run_trains_that_run_alone_again(inputs, three, spec_of, trained):
    train_runs(three)
    changed = [*three[:2], replace(three[2], spec=spec_of(epochs=3, seed=1))]
    del trained[:]
    train_runs(changed)
    assert trained == [changed[2].spec.name]
    assert "epochs: 3" in (three[2].folder / "run.yaml").read_text()


def test_changed_features_or_code_train_every_run_again(inputs_in, three, tmp_path, trained, monkeypatch):
    inputs = inputs_in(tmp_path / "inputs")
    three = [replace(run, corpus=inputs.corpus, features=inputs.features) for run in three]
    train_runs(three[:2])
    np.save(inputs.features, np.load(inputs.features) * 2)
    train_runs(three[:2])
    assert len(trained) == 4
    monkeypatch.setattr(fingerprint_module, "code_of", lambda rooms, modules: "another")
    train_runs(three[:2])
    assert len(trained) == 6
    train_runs(three[:2])
    assert len(trained) == 6


def test_a_setting_that_a_record_lacks_has_its_default_and_any_other_difference_trains_again(three, trained):
    run, record = three[0], three[0].folder / RECORD
    train_runs([run])
    content = json.loads(record.read_text())
    settings = json.loads(content["made_from"][SETTINGS])

    def recorded_as(changed):
        made_from = content["made_from"] | {SETTINGS: json.dumps(changed)}
        record.write_text(json.dumps(content | {"made_from": made_from}))
        before = len(trained)
        train_runs([run])
        return len(trained) > before

    earlier = {key: value for key, value in settings["loss"].items() if key != "smooth_ap"}
    assert not recorded_as(settings | {"loss": earlier})
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


@pytest.mark.parametrize("layout", ["npy", "folder", "hdf5"])
def test_other_features_of_equal_shape_in_a_precomp_folder_train_again(inputs, spec_of, tmp_path, trained, layout):
    corpus, table = Corpus.read(inputs.corpus), FeatureTable.open(inputs.features)
    folder, described = tmp_path / "precomp", tmp_path / "features.json"
    (folder / "train").mkdir(parents=True)

    for split in ("train", "dev", "test"):
        part = corpus.split(split)
        of_images = part.table.groupby("image_id", sort=False)["caption"].agg(list)
        five = [(captions * 5)[:5] for captions in of_images]
        (folder / f"{split}_caps.txt").write_text("".join(f"{caption}\n" for one in five for caption in one))
        (folder / f"{split}_ids.txt").write_text("".join(f"{image}\n" for image in part.images["image_id"]))

    def write(split, scale):
        rows = scale * table.rows(corpus.split(split).images["image_id"].tolist())
        if split != "train" or layout == "npy":
            np.save(folder / f"{split}_ims.npy", rows)
        elif layout == "hdf5":
            with h5py.File(folder / "train.h5", "w") as file:
                file["feat"] = rows
        else:
            np.save(folder / "train" / "0.npy", table.rows(corpus.split("train").images["image_id"].tolist())[0])
            for image in range(1, len(rows)):  # the first file, which is looked at when it is described, stays
                np.save(folder / "train" / f"{image}.npy", rows[image])

    for split in ("train", "dev", "test"):
        write(split, 1)
    describe_precomp(folder, corpus, described)
    run = Run(spec_of(epochs=1), tmp_path / "run", inputs.corpus, described)
    for _ in range(2):
        train_runs([run])
    assert len(trained) == 1
    write("train", 2)
    train_runs([run])
    assert len(trained) == 2


def test_one_run_that_fails_does_not_keep_the_others_from_finishing(inputs, three, spec_of, tmp_path, trained):
    runs = [three[0], replace(three[1], spec=spec_of(learning_rate=1e38)), three[2]]
    with pytest.raises(InputError, match="lower the rate"):
        train_runs(runs, record=tmp_path / "job.json")
    assert not (tmp_path / "job.json").exists()
    bytes_in(three[2].folder)
    del trained[:]
    train_runs(three)
    assert trained == [three[1].spec.name]


def test_mistakes_of_several_runs_keep_their_words_for_the_shell(three, monkeypatch):
    def refuse(spec, *arguments, **named):
        raise InputError(f"seed {spec.seed} lacks torch", cure=install("train"))

    monkeypatch.setattr(runs_module, "train_run", refuse)
    with pytest.raises(InputError) as error:
        train_runs([three[0], three[2]])
    cure = 'seed {} lacks torch; install it with pip install "fivesentences[train]".'
    assert str(error.value).splitlines() == [cure.format(seed) for seed in (0, 1)]
    assert [line.startswith(f"seed {seed} lacks") for seed, line in enumerate(str(error.value).splitlines())] == [
        True
    ] * 2


@pytest.mark.parametrize("name", [RECORD, "history.csv", "similarity_test.npy"])
def test_a_folder_without_its_record_or_a_whole_output_is_not_finished(inputs, three, trained, name):
    train_runs(three[:1])
    whole = bytes_in(three[0].folder)
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-20])):
        damage(three[0].folder / name)
        train_runs(three[:1])
        assert bytes_in(three[0].folder) == whole
    assert len(trained) == 3


def test_a_run_finished_on_another_device_is_not_trained_again(inputs, three, trained):
    train_runs(three[:1])
    record = three[0].folder / RECORD
    record.write_text(record.read_text().replace('"cpu ', '"cuda '))
    train_runs(three[:1])
    assert len(trained) == 1


def test_a_kill_among_the_outputs_of_another_run_does_not_leave_the_first_one_finished(inputs, three, spec_of, trained):
    (first, _, _), changed = three, replace(three[0], spec=spec_of(epochs=3))
    train_runs([first])
    whole = bytes_in(first.folder)
    with mock.patch.object(run_module, "write_weights", killed), pytest.raises(Killed):
        train_runs([changed])
    assert bytes_in(first.folder)["similarity_test.npy"] != whole["similarity_test.npy"]
    train_runs([first])
    assert bytes_in(first.folder) == whole and len(trained) == 3


def test_a_run_killed_behind_its_last_output_is_finished_and_leaves_no_state(inputs, three, trained):
    with mock.patch.object(ResumeFolder, "remove", killed), pytest.raises(Killed):
        train_runs(three[:1])
    assert (three[0].folder / "resume").exists()
    train_runs(three[:1])
    assert len(trained) == 1 and not (three[0].folder / "resume").exists()
