"""Runs that nothing can come of are refused before they are trained, and how much of dev a model can read is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.training import train_run

CHINESE = [
    "一只狗在草地上跑",
    "两只猫睡在红色的椅子上",
    "男孩踢球",
    "女孩在海边吃冰淇淋",
    "一辆蓝色的车",
    "狗和猫",
    "白色的房子",
]


def copy_of(inputs, folder, captions=None, features=None):
    """The inputs with other captions, ``(split, row, text) -> text``, or features, ``(array, splits) -> None``."""
    corpus, splits = Corpus.read(inputs.corpus), Corpus.read(inputs.corpus).images["split"].to_numpy()
    table = corpus.table.copy()
    if captions is not None:
        table["caption"] = [
            captions(split, row, text)
            for row, (split, text) in enumerate(zip(table["split"], table["caption"], strict=True))
        ]
    Corpus(corpus.name, table).write(folder / "corpus.parquet")
    values = np.load(inputs.features)
    if features is not None:
        features(values, splits)
    np.save(folder / "features.npy", values)
    pd.read_parquet(inputs.features.with_suffix(".images.parquet")).to_parquet(folder / "features.images.parquet")
    return folder / "corpus.parquet", folder / "features.npy"


def of(split, text):
    return lambda where, row, given: text if where == split else given


def chinese(split, row, text):
    return f"{CHINESE[row % 7]}{CHINESE[row // 7 % 7]}{'。' * (row // 49)}"


def alike(which, noise=0.0):
    def change(values, splits):
        some = np.isin(splits, which)
        values[some] = values[0] * (1 + noise * np.random.default_rng(0).normal(size=(some.sum(), 1)))

    return change


# Captions or features, settings, which file is named, and what of it.
NOTHING = {
    "no frequent word": ({"captions": chinese}, {"min_word_count": 9}, "corpus.parquet", "min_word_count"),
    "no words at all": ({"captions": lambda *_: "..."}, {}, "corpus.parquet", "min_word_count"),
    "no caption of dev is read": ({"captions": of("dev", "Хлопчик біжить")}, {}, "corpus.parquet", "Хлопчик біжить"),
    "nor of test": ({"captions": of("test", "ein Kind läuft")}, {}, "corpus.parquet", "ein Kind läuft"),
    "dev without words": ({"captions": of("dev", "🐕")}, {}, "corpus.parquet", "dev"),
    "one caption for all": ({"captions": lambda *_: "A photo."}, {}, "corpus.parquet", "A photo."),
    "one caption in dev": ({"captions": of("dev", "A dog.")}, {}, "corpus.parquet", "dev"),
    "features all zero": ({"features": lambda values, _: values.fill(0)}, {}, "features.npy", "train"),
    "images alike": ({"features": alike(["train", "dev", "test"])}, {}, "features.npy", "24"),
    "alike but for rounding": ({"features": alike(["train"], noise=1e-8)}, {}, "features.npy", "24"),
    "dev images alike": ({"features": alike(["dev"])}, {}, "features.npy", "8 dev"),
    "alike once scaled": (
        {"features": lambda values, _: np.copyto(values, np.arange(1, len(values) + 1, dtype=np.float32)[:, None])},
        {"prepare": "normalise"}, "features.npy", "train",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
def test_a_run_that_cannot_learn_is_refused(inputs, spec_of, tmp_path, name):
    changes, settings, file, shown = NOTHING[name]
    how = {key: settings[key] for key in settings if key == "prepare"}
    spec = spec_of(epochs=1, **{key: value for key, value in settings.items() if key != "prepare"})
    spec = spec.model_copy(update={"features": spec.features.model_copy(update=how)})
    with pytest.raises(InputError, match=shown) as error:
        train_run(spec, *copy_of(inputs, tmp_path, **changes), tmp_path / "run")
    assert error.value.where == tmp_path / file and error.value.cure
    assert not (tmp_path / "run/weights.safetensors").exists()


def share_of_unknown(corpus, least=1):
    """By counting: words of dev that the training captions have too rarely."""
    train, dev = (
        " ".join(Corpus.read(corpus).split(name).captions).lower().replace(".", "") for name in ("train", "dev")
    )
    return np.mean([train.split().count(word) < least for word in dev.split()])


@pytest.mark.parametrize("least", [1, 12, 20])
def test_the_share_of_dev_that_is_unknown_is_said_and_recorded(inputs, spec_of, tmp_path, capfd, least):
    corpus, features = copy_of(
        inputs, tmp_path, lambda split, row, text: text + " Zebra." * (split == "dev" and row % 2)
    )
    train_run(spec_of(epochs=1, min_word_count=least), corpus, features, tmp_path / "run")
    share = share_of_unknown(corpus, least)
    assert 0 < share < 1
    assert yaml.safe_load((tmp_path / "run/run.yaml").read_text())["unknown_dev_words"] == pytest.approx(
        share, abs=1e-4
    )
    said = capfd.readouterr().err
    assert f"{share:.1%}" in said and ("min_word_count" in said) == (share >= 0.5)


def test_captions_without_spaces_are_learned_by_characters(inputs, spec_of, tmp_path):
    corpus, features = copy_of(inputs, tmp_path, chinese)
    with pytest.raises(InputError, match="characters"):
        train_run(spec_of(epochs=1, min_word_count=4), corpus, features, tmp_path / "spaced")
    train_run(spec_of(epochs=1, min_word_count=4, words="characters"), corpus, features, tmp_path / "run")
    run = yaml.safe_load((tmp_path / "run/run.yaml").read_text())
    assert run["unknown_dev_words"] == 0 and run["run"]["training"]["words"] == "characters"


def test_a_model_is_not_asked_for_captions_none_of_which_it_can_read(run, inputs, spec_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    corpus, features = copy_of(inputs, tmp_path, of("test", "Хлопчик біжить"))
    said = run("similarity", "run", "--corpus", corpus, "--features", features, "-o", "s.npy")
    assert said.code == 1 and "corpus.parquet" in said.err and "Хлопчик" in said.err
    assert not (tmp_path / "s.npy").exists()
