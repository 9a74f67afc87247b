"""A trained run scores a split: the similarity that evaluation reads. PyTorch is imported when it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError

if TYPE_CHECKING:
    from fivesentences.corpus import Corpus


def score_split(
    run: Path | str,
    split: str = "test",
    corpus: Path | str | None = None,
    features: Path | str | None = None,
    device: str = "cpu",
) -> tuple[Corpus, NDArray[np.float32]]:
    """Similarities of every image of a split with every caption of it, by the weights of a finished run.

    Args:
        run: Its folder: ``weights.safetensors``, ``vocabulary.json`` and, unless both files are named, ``run.yaml``.
        split: "train", "dev" or "test"; all of it.
        corpus: A corpus as parquet; default the one that ``run.yaml`` names.
        features: Its features; default those that ``run.yaml`` names.
        device: "cpu", "cuda" or "auto".

    Returns:
        The split and ``[images, captions]`` float32 in its order; on the CPU the same numbers that training wrote.

    Raises:
        InputError: If a file is missing or damaged, the features are not of the run's kind, or PyTorch is missing.
    """
    folder = Path(run)
    if not (folder / "weights.safetensors").is_file():
        raise InputError(f"{folder}: there is no weights.safetensors in it; name the folder of a finished run.")
    try:
        import torch
    except ImportError:
        raise InputError(
            'scoring by a trained run needs PyTorch; install it with pip install "fivesentences[train]".'
        ) from None
    from fivesentences.corpus import Corpus
    from fivesentences.features import FeatureTable
    from fivesentences.training.batches import EncodedCaptions
    from fivesentences.training.checkpoint import load_trained
    from fivesentences.training.data import Split
    from fivesentences.training.loop import reproducible
    from fivesentences.training.run import device_of, read_run
    from fivesentences.training.scoring import similarity_of

    if corpus is None or features is None:
        _, noted_corpus, noted_features = read_run(folder / "run.yaml")
        corpus, features = corpus or noted_corpus, features or noted_features
    for what, path in (("corpus", Path(corpus)), ("features", Path(features))):
        if not path.is_file():
            raise InputError(f"{path}: there is no such file; run.yaml is read from where you are: name the {what}.")
    trained = load_trained(folder)
    gallery = Corpus.read(corpus).split(split)
    stored = FeatureTable.open(features).rows(gallery.images["image_id"].tolist())
    if stored.ndim != (2 if trained.model.layout == "global" else 3):
        raise InputError(
            f"{features} holds {list(stored.shape)} for {split}, but the run reads {trained.spec.features.stem}; name "
            "the features that it was trained with."
        )
    part = Split(
        gallery,
        torch.from_numpy(trained.preparation.apply(stored)),
        EncodedCaptions.of(gallery.captions, trained.vocabulary),
        torch.from_numpy(gallery.image_of_caption),
    )
    place = device_of(device)
    with reproducible(trained.spec.threads, place):
        try:
            return gallery, similarity_of(trained.model.to(place), part)
        except RuntimeError as error:
            if "shape" not in str(error):
                raise
            raise InputError(
                f"{features} does not fit the run's weights ({error}); name the features that it was trained with."
            ) from None
