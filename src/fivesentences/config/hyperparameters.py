"""How a run is trained: one block that a run holds, a scale gives, and the exceptions of a scale change."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from fivesentences.config.types import Count, DevSelection, Fraction, Noise, Strict, TrainingPrecision

Epochs = Count


class Hyperparameters(Strict):
    """How a run is trained."""

    epochs: Epochs = 30
    """Passes over the training captions."""
    batch_size: int = Field(default=128, strict=True, ge=2, le=1_000_000)
    """Pairs of a batch."""
    learning_rate: float = Field(default=2e-4, gt=0)
    """Learning rate of Adam, until it falls tenfold."""
    drop_every: Epochs | None = None
    """The rate falls tenfold after every so many epochs, as released; null: once, after half the epochs."""
    gradient_clip: float = Field(default=2.0, gt=0)
    """Largest norm of the gradient."""
    min_word_count: Count = 4
    """Words seen less often in training captions are `<unk>`."""
    noise: Noise = 0.0
    """Share of the training captions that are permuted among the images, by seed: wrong pairs, as the literature on
    noisy correspondence makes them. dev and test stay clean."""
    words: Literal["spaced", "characters"] = "spaced"
    """How captions are cut: at spaces and punctuation, or every letter is a word, with its marks, for languages that
    are written without spaces, such as Chinese, Japanese and Thai."""
    vocabulary: Path | None = None
    """Word list of a release (`*_vocab.json`); nltk then cuts captions, and min_word_count and words are not used.
    null: words of the run's training captions, without punctuation."""
    selection: DevSelection = "rsum"
    """Dev score by which an epoch's weights are kept: the sum of recalls, of NCS by CIDEr, or of NCS by CIDEr whose
    ranks are discounted."""
    selection_images: Count | None = None
    """Only so many first dev images are scored after each epoch; null: all."""
    score_every: Count = 1
    """Dev is scored after every so many epochs, and after the last; only those can be kept."""
    arithmetic: Literal["reference", "fast"] = "reference"
    """`fast`, on a CPU: the same numbers within rounding in about two thirds of the time."""
    precision: TrainingPrecision = "float32"
    """`tf32`: products on CUDA by TF32, nothing on a CPU. `bf16`: the model's scores by bfloat16 (autocast); losses,
    metrics and weights stay float32."""
    threads: int = Field(default=1, strict=True, ge=1, le=1024)
    """CPU threads; they affect the result, since sums depend on them."""

    @model_serializer(mode="wrap")
    def _without_usual_values(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out some settings where they are as usual, as settings were recorded before these were there."""
        usual = {"noise": 0.0, "words": "spaced", "vocabulary": None, "precision": "float32"}
        return {key: value for key, value in serialise(self).items() if key not in usual or value != usual[key]}


class HyperparametersOfScale(Hyperparameters):
    """The same, for runs of several fractions of the training captions."""

    epochs: Epochs | dict[Fraction, Epochs] = 30  # type: ignore[assignment]
    """Passes over the training captions; one number, or one for each fraction."""
