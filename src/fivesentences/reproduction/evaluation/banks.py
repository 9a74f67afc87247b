"""The bank of a finished run: training queries, scored with the test split's images and captions by its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from fivesentences.choices import Direction
from fivesentences.corpus import Corpus, training_part
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.models import Matcher
from fivesentences.models.matching import Encoded, concatenate
from fivesentences.reproduction.evaluation.bank_files import write_banks
from fivesentences.retrieval.query_banks import GALLERY_BETA, Bank
from fivesentences.training.batches import batches_by_length
from fivesentences.training.checkpoint import load_trained
from fivesentences.training.data import Split, check_layout
from fivesentences.training.loop import reproducible
from fivesentences.training.scoring import CAPTIONS_AT_ONCE, IMAGES_AT_ONCE, autocast, similarity_of

MOST = 6000  # images of a bank: all training images of Flickr8k
STREAM = 2022  # of random numbers, beside those that train the run of the same seed


@dataclass(frozen=True)
class BankedRun:
    """A finished run whose bank is to be scored.

    Attributes:
        name: Name of the run.
        folder: Folder of its outputs.
        dual: Whether to score a bank of items too, which dual banks read.
    """

    name: str
    folder: Path
    dual: bool = False


def score_banks(runs: Sequence[BankedRun], corpus: Path, features: Path, out: Path) -> None:
    """Score the banks of some runs that were trained on the same features, and write them as one table.

    Args:
        runs: The runs.
        corpus: The corpus that they were trained on.
        features: Its features.
        out: The parquet file; see ``read_banks``.

    Raises:
        InputError: If weights or features are missing, damaged or do not fit, or a model cannot compare images with
            images or captions with captions.
    """
    whole, table = Corpus.read(corpus), FeatureTable.open(features)
    write_banks({run.name: banks_of_run(run, whole, table) for run in runs}, out)


def drawn_bank(train: Corpus, seed: int, most: int = MOST) -> Corpus:
    """Draw the bank from what a run was trained on: each image with one of its captions, at most ``most`` images.

    Args:
        train: The training captions of the run.
        seed: Seed of the run.
        most: Largest number of images.
    """
    rng = np.random.default_rng([seed, STREAM])
    images = np.sort(rng.permutation(train.n_images)[:most])
    first, behind = (np.searchsorted(train.image_of_caption, images, side) for side in ("left", "right"))
    return Corpus(train.name, train.table.iloc[rng.integers(first, behind)])


def banks_of_run(run: BankedRun, corpus: Corpus, features: FeatureTable) -> dict[Direction, dict[str, Bank]]:
    """Return the banks of a run by direction and by the argument of the inference methods.

    The bank of queries is of training images for "i2t", and of training captions for "t2i"; that of items the reverse.

    Args:
        run: The run.
        corpus: The corpus that it was trained on.
        features: Its features.

    Raises:
        InputError: As ``score_banks``.
    """
    trained = load_trained(run.folder)
    spec, model = trained.spec, trained.model
    check_layout(model.layout, features, str(run.folder), "name the features that it was trained with")
    train = training_part(corpus.split("train"), spec.fraction, spec.captions_per_image)

    def split_of(part: Corpus) -> Split:
        extras = trained.extras(part.captions, part.image_of_caption)
        return Split.of(part, features, trained.preparation, trained.vocabulary, extras)

    bank, test = split_of(drawn_bank(train, spec.seed)), split_of(corpus.split("test"))
    precision = spec.training.precision
    with reproducible(spec.training.threads, torch.device("cpu"), precision=precision):
        found: dict[Direction, dict[str, Bank]] = {
            "i2t": {"bank": Bank.of(similarity_of(model, replace(test, images=bank.images), precision=precision))},
            "t2i": {"bank": Bank.of(similarity_of(model, replace(bank, images=test.images), precision=precision).T)},
        }
        if run.dual:
            with torch.inference_mode(), autocast(torch.device("cpu"), precision):
                (images, captions), (of_test, texts) = (_vectors(model, part, run.name) for part in (bank, test))
                found["i2t"]["gallery_bank"] = Bank.of(model.similarity(captions, texts).numpy(), GALLERY_BETA)
                found["t2i"]["gallery_bank"] = Bank.of(model.similarity(images, of_test).numpy(), GALLERY_BETA)
    return found


def _vectors(model: Matcher, part: Split, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return one vector per image, and one per caption."""

    def checked(encoded: Encoded) -> torch.Tensor:
        if not isinstance(encoded, torch.Tensor) or encoded.ndim != 2 or getattr(model.spec, "measure", "") == "order":
            what = f"its model '{model.spec.name}' does not compare images with images, which dual_bank needs"
            raise InputError(what, where=name, cure="leave dual_bank out of the rows of this model, or take qb_norm")
        return encoded

    starts = range(0, len(part.images), IMAGES_AT_ONCE)
    images = checked(concatenate([model.encode_images(part.images[at : at + IMAGES_AT_ONCE]) for at in starts]))
    captions = torch.empty(len(part.captions), images.shape[1])
    for rows in batches_by_length(part.captions.lengths, CAPTIONS_AT_ONCE):
        columns = torch.from_numpy(rows)
        extras = {key: values[columns] for key, values in part.extras.items()}
        captions[columns] = checked(model.encode_captions(*part.captions.batch(rows), **extras)).float()
    return images.float(), captions
