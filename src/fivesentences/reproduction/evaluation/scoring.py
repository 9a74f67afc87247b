"""The similarity that a trained run or an imported checkpoint gives to a split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fivesentences.config.types import TrainingPrecision
from fivesentences.corpus import Corpus
from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, Preparation
from fivesentences.features.files import images_beside
from fivesentences.machine import device_named
from fivesentences.models import Matcher
from fivesentences.models.released_checkpoints import load_imported, words_of
from fivesentences.training.checkpoint import load_trained
from fivesentences.training.data import Split, check_known, check_layout
from fivesentences.training.loop import reproducible
from fivesentences.training.run import read_run
from fivesentences.training.scoring import similarity_of
from fivesentences.training.vocabulary import Vocabulary


def score_split(
    run: Path | str,
    split: str = "test",
    corpus: Path | str | None = None,
    features: Path | str | None = None,
    device: str = "cpu",
    *,
    label: str = "",
) -> tuple[Corpus, NDArray[np.float32]]:
    """Score every image of a split with every caption of it, by the weights of a finished run.

    Args:
        run: The run's folder: ``weights.safetensors``, ``vocabulary.json`` and ``run.yaml``, which must be of one
            run; ``finished.json`` is compared with them where it is present.
        split: "train", "dev" or "test"; all of it is scored.
        corpus: A corpus as parquet; default the one that ``run.yaml`` names.
        features: Its features; default those that ``run.yaml`` names.
        device: "cpu", "cuda" or "auto".
        label: Text before a progress bar; if empty, there is no bar.

    Returns:
        The split and ``[images, captions]`` float32 in its order; on the CPU the same numbers that training wrote.

    Raises:
        InputError: If a file is missing, damaged or of another run, or the features are not of the run's kind.
    """
    folder = Path(run)
    for name in ("weights.safetensors", "vocabulary.json", "run.yaml"):
        if not (folder / name).exists():
            raise InputError(
                f"there is no {name} in it, which its weights are compared with",
                where=folder,
                cure="copy the whole folder of the run; run.yaml is needed even where corpus and features are named",
            )
    _, noted_corpus, noted_features = read_run(folder / "run.yaml")
    corpus, features = corpus or noted_corpus, features or noted_features
    _check_files("run.yaml is read from where you are: ", corpus=corpus, features=features)
    trained = load_trained(folder)
    gallery, table = Corpus.read(corpus).split(split), FeatureTable.open(features)
    cure = f"name the features that it was trained with ({trained.spec.features.stem})"
    check_layout(trained.model.layout, table, str(folder), cure)
    extras = trained.extras(gallery.captions, gallery.image_of_caption)
    part = Split.of(gallery, table, trained.preparation, trained.vocabulary, extras)
    check_known(part, trained.vocabulary, corpus, f"of the {split} captions")
    return gallery, _scored(
        trained.model, part, trained.spec.training.threads, device, features, label, trained.spec.training.precision
    )


def files_of_run(folder: Path) -> list[Path]:
    """Return every file that scoring by a run or an imported checkpoint reads, as far as it is known in advance."""
    found = sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".json", ".yaml"))
    try:
        _, corpus, features = read_run(folder / "run.yaml")
    except InputError:  # an imported checkpoint has none, and of another the score says what is wrong
        return found
    return [*found, corpus, features, images_beside(features)]


def score_imported(
    checkpoint: Path | str,
    split: str,
    corpus: Path | str,
    features: Path | str,
    vocabulary: Path | str,
    device: str = "cpu",
    *,
    label: str = "",
) -> tuple[Corpus, NDArray[np.float32]]:
    """Score a split as ``score_split`` does, by an authors' checkpoint that was imported.

    Args:
        checkpoint: The checkpoint's folder: ``released.safetensors``.
        split: "train", "dev" or "test"; all of it is scored.
        corpus: A corpus as parquet.
        features: Features of the kind that the authors trained with; they are read as they are stored.
        vocabulary: The authors' own vocabulary, ``*_vocab.json``.
        device: "cpu", "cuda" or "auto".
        label: Text before a progress bar; if empty, there is no bar.

    Returns:
        The split and ``[images, captions]`` float32 in its order.

    Raises:
        InputError: If a file is missing or damaged, vocabulary or features do not fit the weights, or the model needs
            more than images and captions (CVSE: labels over concepts, whose words no checkpoint contains).
    """
    _check_files("", corpus=corpus, features=features, vocabulary=vocabulary)
    model, words = load_imported(checkpoint), Vocabulary.read_released(vocabulary)
    if model.needs:
        raise InputError(
            f"{checkpoint} also needs {', '.join(sorted(model.needs))}, which no checkpoint contains; in Python, "
            "load_imported returns the model, to which you pass them."
        )
    if len(words) != words_of(checkpoint):
        what = f"{vocabulary} has {len(words)} words, but {checkpoint} was trained with {words_of(checkpoint)}"
        raise InputError(what, cure="name the vocabulary that came with the checkpoint")
    gallery, table = Corpus.read(corpus).split(split), FeatureTable.open(features)
    check_layout(model.layout, table, str(checkpoint), "name features of the kind that its authors trained with")
    part = Split.of(gallery, table, Preparation("as_stored"), words)
    check_known(part, words, corpus, f"of the {split} captions")
    return gallery, _scored(model, part, torch.get_num_threads(), device, features, label)


def _check_files(why: str, **files: Path | str) -> None:
    for what, path in files.items():
        check_file(path, f"{why}name the {what}")


def _scored(
    model: Matcher,
    part: Split,
    threads: int,
    device: str,
    features: Path | str,
    label: str,
    precision: TrainingPrecision = "float32",
) -> NDArray[np.float32]:
    place = torch.device(device_named(device))
    with reproducible(threads, place, precision=precision):
        try:
            return similarity_of(model.to(place), part, label, precision)
        except RuntimeError as error:
            if not any(cause in str(error) for cause in ("shape", "running_mean")):  # a number of regions: batch norm
                raise
            what = f"{features} does not fit the weights ({error})"
            raise InputError(what, cure="name the features that they were trained with") from None
