"""`fivesentences train`: one run or a scale's, into the folders where the workflow looks for them."""

from __future__ import annotations

import shutil

import pytest
import yaml

from fivesentences.corpus import Corpus, take_fraction
from fivesentences.losses import LossSpec, SemanticAdaptiveMargin
from fivesentences.reproduction.plan.places import Places
from fivesentences.semantics import Tuples, write_phi
from fivesentences.training import train_run
from fivesentences.training.run import OUTPUTS


@pytest.fixture
def command(run, monkeypatch, tmp_path):
    """Run `fivesentences train` and return its exit code and what it said."""
    monkeypatch.chdir(tmp_path)

    def train(*arguments):
        said = run("train", *arguments)
        return said.code, said.out + said.err

    return train


def bytes_in(folder):
    return {name: (folder / name).read_bytes() for name in OUTPUTS if name != "run.yaml"}


def test_a_runs_settings_and_its_inputs_give_the_folder_that_the_workflow_expects(command, inputs, spec_of, tmp_path):
    spec = spec_of(epochs=1)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(spec.model_dump(mode="json")))
    code, _ = command("mine.yaml", "--corpus", inputs.corpus, "--features", inputs.features)
    assert code == 0
    folder = tmp_path / "results/training" / spec.name
    train_run(spec, *inputs, tmp_path / "alone")
    assert bytes_in(folder) == bytes_in(tmp_path / "alone")
    # Its own run.yaml trains it again, elsewhere; in its folder there is nothing left to do.
    assert command(folder / "run.yaml", "--out", "again")[0] == 0
    assert bytes_in(tmp_path / "again") == bytes_in(folder)
    code, said = command(folder / "run.yaml")
    assert code == 0 and "was finished before" in said


def write_scale(folder, inputs, grid_inputs):
    places = Places(folder / "results")
    (folder / "config/studies").mkdir(parents=True)
    (places.results / "corpus").mkdir(parents=True)
    (places.results / "features/d").mkdir(parents=True)
    shutil.copy(inputs.corpus, places.corpus("d"))
    for layout, given in (("global", inputs), ("grid", grid_inputs)):
        for suffix in (".npy", ".images.parquet"):
            shutil.copy(given.features.with_suffix(suffix), places.results / f"features/d/counts-{layout}{suffix}")
    scale = {
        "scale": "s",
        "title": "S",
        "roles": {"r": "d"},
        "datasets": {"d": {"loader": "flickr8k"}},
        "features": {"extractor": "counts"},
        "grid_features": {"extractor": "counts", "layout": "grid"},
        "training": {"widths": {"embedding": 8, "word": 6}, "epochs": 1, "batch_size": 16, "min_word_count": 1},
        "studies": ["p"],
    }
    rows = [{"role": "r", "model": ["vsepp", "scan"], "loss": ["all", "sam"]}]
    study = {
        "paper": "P",
        "losses": {"all": {"triplet": "all"}, "sam": {"sam": {}}},
        "tables": [
            {"name": "t", "kind": "runs", "title": "T", "caption": "C", "rows": rows, "columns": [{"metric": "Rsum"}]}
        ],
    }
    (folder / "config/s.yaml").write_text(yaml.safe_dump(scale))
    (folder / "config/studies/p.yaml").write_text(yaml.safe_dump(study))


def test_the_runs_of_a_scale_that_fit_a_pattern_are_trained(command, inputs, grid_inputs, tmp_path):
    write_scale(tmp_path, inputs, grid_inputs)
    code, said = command("config/s.yaml", "--list")
    assert code == 0 and len(said.splitlines()) == 4
    assert command("config/s.yaml", "--only", "d/scan*", "--only", "*/vsepp/*")[0] == 0
    trained = (path.parent.relative_to(tmp_path / "results/training") for path in tmp_path.rglob("history.csv"))
    names = {str(path) for path in trained}
    assert names == {name for name in said.splitlines() if "vsepp+sam" not in name}


def change(path, **changes):
    content = yaml.safe_load(path.read_text())
    for key, value in changes.items():
        content[key] |= value
    path.write_text(yaml.safe_dump(content))


def test_a_matrix_that_a_loss_of_a_scale_needs_is_missed_before_a_run_is_trained(
    command, inputs, grid_inputs, tmp_path
):
    write_scale(tmp_path, inputs, grid_inputs)
    losses = {"all": {"triplet": "all"}, "sam": {"sam": {"phi": "spice_object"}}}
    change(tmp_path / "config/studies/p.yaml", losses=losses)
    code, said = command("config/s.yaml")
    matrix = "results/semantics/d/train/spice_object.npy"
    assert code == 1 and "Traceback" not in said
    assert f"{matrix}: there is no such file" in said.replace("\n", " ")
    assert f"uv run snakemake {matrix} --configfile config/s.yaml" in said.replace("\n", " ")
    assert not (tmp_path / "results/training").exists()
    assert command("config/s.yaml", "--only", "d/vsepp/*")[0] == 0  # a run that does not read it
    train = Corpus.read(inputs.corpus).split("train")
    tuples = Tuples([[(word,) for word in text.split()] for text in train.captions], "a test", "")
    write_phi("spice_object", train.captions, train.image_of_caption, tmp_path / matrix, tuples)
    assert command("config/s.yaml", "--only", "d/vsepp+*")[0] == 0


def test_a_run_of_a_fraction_finds_its_own_matrix_or_that_of_the_whole_split(command, inputs, spec_of, tmp_path):
    train = Corpus.read(inputs.corpus).split("train")
    folder = tmp_path / "results/semantics/tiny/train"
    spec = spec_of(epochs=1, fraction=0.5, loss=LossSpec(sam=SemanticAdaptiveMargin(phi="bleu1")))
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(spec.model_dump(mode="json")))
    weights = []
    for corpus, name in ((train, "bleu1.npy"), (take_fraction(train, 0.5), "bleu1,fraction=0.5.npy")):
        write_phi("bleu1", corpus.captions, corpus.image_of_caption, folder / name)
        assert command("mine.yaml", "--corpus", inputs.corpus, "--features", inputs.features, "--out", name)[0] == 0
        weights.append((tmp_path / name / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("config/s.yaml", "--only", "nothing*"), "which no run of config/s.yaml fits"),
        (("config/s.yaml", "--out", "x"), "--out is for a single run"),
        (("run.yaml", "--only", "*"), "--only picks runs of a scale"),
        (("run.yaml", "--phi", "cider"), "give NAME=FILE"),
        (("run.yaml",), "results/corpus/tiny.parquet: there is no such file"),
    ],
)
def test_what_cannot_be_done_ends_in_one_sentence(command, inputs, grid_inputs, spec_of, tmp_path, arguments, said):
    write_scale(tmp_path, inputs, grid_inputs)
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(spec_of().model_dump(mode="json")))
    code, output = command(*arguments)
    assert code == 1 and said in output and "Traceback" not in output


def test_the_history_as_tensorboard_events(command, inputs, spec_of, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    spec = spec_of(epochs=2)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(spec.model_dump(mode="json")))
    given = ("mine.yaml", "--corpus", inputs.corpus, "--features", inputs.features, "--out", "run")
    assert command(*given, "--tensorboard")[0] == 0
    events = EventAccumulator(str(tmp_path / "run/tensorboard")).Reload()
    rows = (tmp_path / "run/history.csv").read_text().splitlines()
    losses = [float(row.split(",")[rows[0].split(",").index("loss")]) for row in rows[1:]]
    assert [event.step for event in events.Scalars("loss")] == [1, 2]
    assert [event.value for event in events.Scalars("loss")] == pytest.approx(losses)


def test_a_scale_says_how_many_runs_train_at_once(command, inputs, grid_inputs, tmp_path, monkeypatch):
    write_scale(tmp_path, inputs, grid_inputs)
    settings = {"precision": "bf16", "runs_at_once": 2, "runs_per_job": 2}
    change(tmp_path / "config/s.yaml", training=settings)
    given = []
    monkeypatch.setattr("fivesentences.training.train_runs", lambda runs, **further: given.append((runs, further)))
    assert command("config/s.yaml", "--only", "*vsepp/*")[0] == 0
    ((run,), further) = given[0]
    assert further == {"device": "cpu", "tensorboard": False, "at_once": 2}
    assert run.spec.training.precision == "bf16"
