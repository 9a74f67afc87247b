"""A corpus and features small enough to train on in a second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.config.features import FeatureSpec
from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.corpus import Corpus
from fivesentences.losses import LossSpec, SemanticAdaptiveMargin
from fivesentences.models import ModelSpec, model_spec
from fivesentences.storage import RECORD
from fivesentences.training import train_run
from fivesentences.training.loop import Training
from fivesentences.training.run import OUTPUTS
from fivesentences.training.spec import RunSpec
from kill import Starter, killed_after

NOUNS = ["dog", "cat", "boat", "tree", "house", "ball", "river", "girl", "boy", "horse"]
WORDS = [*NOUNS, "red", "blue", "small", "large", "runs", "sits", "jumps", "sleeps", "near", "under"]


@dataclass(frozen=True)
class Inputs:
    corpus: Path
    features: Path

    def __iter__(self):
        return iter((self.corpus, self.features))


def write_inputs(folder: Path, sizes=(24, 8, 8), seed: int = 0, regions: int | None = None) -> Inputs:
    """Images with four words each; their features are noisy counts of the words, their captions name some of them.

    With ``regions``, each region sees some of the words.
    """
    rng = np.random.default_rng(seed)
    rows, features = [], []
    for split, count in zip(("train", "dev", "test"), sizes, strict=True):
        for image in range(count):
            words = rng.choice(len(WORDS), size=4, replace=False)
            seen = [words] if regions is None else [rng.permutation(words)[:2] for _ in range(regions)]
            described = [3 * np.isin(np.arange(len(WORDS)), some) + rng.normal(size=len(WORDS)) for some in seen]
            features.append(described[0] if regions is None else np.stack(described))
            for number in range(3):
                said = rng.permutation(words)[: int(rng.integers(2, 5))]
                caption = "A " + " ".join(WORDS[w] for w in said) + "."
                rows.append(
                    (f"{split}{image}", f"{split}{image}.jpg", f"{split}{image}-{number}", caption, split, None)
                )
    columns = ["image_id", "filename", "caption_id", "caption", "split", "category"]
    corpus = Corpus("tiny", pd.DataFrame(rows, columns=columns))
    folder.mkdir(parents=True, exist_ok=True)
    corpus.write(folder / "corpus.parquet")
    np.save(folder / "features.npy", np.array(features, dtype=np.float32))
    corpus.images[["image_id", "filename"]].to_parquet(folder / "features.images.parquet")
    return Inputs(folder / "corpus.parquet", folder / "features.npy")


def make_spec(**changes) -> RunSpec:
    """Settings of a run; hyperparameters are given beside the others."""
    settings = {
        "dataset": "tiny",
        "features": FeatureSpec(extractor="counts"),
        "model": model_spec("vsepp", embedding=12, word=8),
        "loss": LossSpec(triplet="hardest", sam=SemanticAdaptiveMargin(negatives="random")),
    }
    training = {"epochs": 4, "batch_size": 16, "learning_rate": 0.01, "min_word_count": 1}
    of_training = {key: value for key, value in changes.items() if key in Hyperparameters.model_fields}
    others = {key: value for key, value in changes.items() if key not in of_training}
    return RunSpec(**settings | others, training=training | of_training)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory) -> Inputs:
    return write_inputs(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def grid_inputs(tmp_path_factory) -> Inputs:
    return write_inputs(tmp_path_factory.mktemp("grid"), regions=4)


# What makes models of the registry small, beside their widths.
SMALL = {
    "scan": {"direction": "i2t"},
    "vsrn": {"caption_hidden": 8, "caption_word": 6},
    "cvse": {"most_concepts": 12},
    "sgr": {"similarity_dim": 8, "steps": 2},
    "saf": {"similarity_dim": 8},
}


def small_model(name: str, **options) -> ModelSpec:
    return model_spec(name, **SMALL.get(name, {}) | options).with_widths({"embedding": 12, "word": 8})


@pytest.fixture(scope="session")
def small():
    """A model of the registry, small, with some options."""
    return small_model


@pytest.fixture
def model_spec_of():
    """A run's settings for a model of the registry, and what it reads."""

    def spec(name: str, **changes) -> RunSpec:
        model = changes.pop("model", small_model(name))
        features = FeatureSpec(extractor="counts", layout=model.layout)
        return make_spec(model=model, features=features, **changes)

    return spec


@pytest.fixture
def inputs_of(inputs, grid_inputs):
    """The corpus and features for a model of the registry."""
    return lambda name: inputs if small_model(name).layout == "global" else grid_inputs


@pytest.fixture(scope="session")
def spec_of():
    return make_spec


@pytest.fixture
def inputs_in():
    return write_inputs


@pytest.fixture
def outputs_of():
    """Bytes of everything in a run folder, in which no more than its outputs and their record may lie."""

    def read(folder: Path) -> dict[str, bytes]:
        assert sorted(path.name for path in folder.iterdir()) == sorted([*OUTPUTS, RECORD])
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    return read


@pytest.fixture
def assert_a_kill_changes_no_bit(tmp_path, outputs_of):
    """Train a run undisturbed, and again killed after some batches and resumed, and compare their bytes."""

    def check(spec: RunSpec, inputs: Inputs, batches: int, seconds_between_saves: float = 0) -> None:
        train_run(spec, *inputs, tmp_path / "undisturbed")
        with killed_after(batches, Training, "_train_batch"):
            train_run(spec, *inputs, tmp_path / "run", seconds_between_saves=seconds_between_saves)
        train_run(spec, *inputs, tmp_path / "run")
        assert outputs_of(tmp_path / "run") == outputs_of(tmp_path / "undisturbed")

    return check


@pytest.fixture(scope="session")
def starter():
    """Trains the run of a ``run.yaml`` into a folder, its state saved after each batch."""
    setup = "from pathlib import Path; from fivesentences.training import read_run, train_run"
    code = "train_run(*read_run(arguments[0]), Path(arguments[1]), seconds_between_saves=0.0)"
    starter = Starter(setup, code)
    yield starter
    starter.close()


@pytest.fixture
def assert_kills_change_no_bit(tmp_path, outputs_of, starter):
    """Train a run undisturbed, and again killed at random moments, and compare their bytes."""

    def check(spec: RunSpec, inputs: Inputs, times: int, seconds: float) -> None:
        train_run(spec, *inputs, tmp_path / "undisturbed")
        folder = tmp_path / "run"

        def progress():
            state = folder / "resume/state.pt"
            return state.stat().st_mtime_ns if state.exists() else (folder / RECORD).exists()

        arguments = (tmp_path / "undisturbed/run.yaml", folder)
        assert starter.kill_often(times, arguments, progress, seconds, seed=20)
        assert outputs_of(folder) == outputs_of(tmp_path / "undisturbed")

    return check
