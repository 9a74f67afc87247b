"""One run: which features, model and loss, and how it is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from fivesentences.config.features import FeatureSpec
from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.config.types import CaptionsPerImage, Fraction, Name, RunSeed, Strict
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.models import AnyModelSpec
from fivesentences.study.phis import check_phi

FORMAT = 2  # of run.yaml


class RunSpec(Strict):
    """One training run, complete: what ``fivesentences train`` and the workflow's training jobs are given."""

    dataset: Name
    features: FeatureSpec
    model: AnyModelSpec
    loss: LossSpec = LossSpec()
    fraction: Fraction = Field(default=1.0, description="of the training captions")
    captions_per_image: CaptionsPerImage | None = Field(
        default=None, description="only so many first captions of each training image; null: all"
    )
    seed: RunSeed = 0
    training: Hyperparameters = Hyperparameters()
    epochs_named: bool = Field(default=False, description="the name of the run's folder says how many epochs it has")
    features_named: bool = Field(default=False, description="the name of the run's folder says which features it reads")

    @property
    def name(self) -> str:
        """Folder of the run below ``results/training``; equal names mean equal runs within a scale."""
        return self.named(self.model.folder)

    def named(self, model: str) -> str:
        """Such a folder, with another word for the model."""
        features = f"@{self.features.stem}" if self.features_named else ""
        captions = "" if self.captions_per_image is None else f",captions_per_image={self.captions_per_image}"
        epochs = f",epochs={self.training.epochs}" if self.epochs_named else ""
        batches = ",one_caption_per_image" if self.training.one_caption_per_image else ""
        part = f"fraction={self.fraction:g}{captions}{epochs}{batches}"
        return f"{self.dataset}/{model}{self.loss.suffix}{features}/{self.loss.folder}/{part}/seed={self.seed}"

    def as_recorded(self, recorded: Any) -> dict[str, Any]:
        """Plain data of the run: as recorded, if that means the same today.

        Snakemake trains again when the text of a run's settings changes. A setting that the package has gained since is
        missing in the record, where it has its default, so the run stays the same; a default that has changed since
        differs from the record, which states the old one.

        Args:
            recorded: ``run`` of an earlier ``run.yaml``, or anything else.
        """
        now = self.model_dump(mode="json")
        try:
            same = RunSpec.model_validate(recorded).model_dump(mode="json") == now
        except (ValidationError, InputError):
            same = False
        return dict(recorded) if same else now

    @model_validator(mode="after")
    def _phis_are_known(self) -> RunSpec:
        for phi in self.loss.phis:
            check_phi(phi, "loss: phi")
        return self


class RunFile(Strict):
    """``run.yaml``: a run's settings and the files that it read."""

    format: int = Field(description="changes with the layout of a run's settings")
    corpus: str
    features: str
    run: RunSpec

    @model_validator(mode="before")
    @classmethod
    def _of_this_format(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("format") != FORMAT:
            found = f"of format {given['format']}" if "format" in given else "of an earlier version"
            raise ValueError(f"this run is {found}, and format {FORMAT} is read here; train the run again")
        return given


def recorded_run(folder: Path) -> Any:
    """What the ``run.yaml`` in the folder of a run says of its settings; None if it has none that can be read."""
    try:
        content = read_yaml(folder / "run.yaml")
    except InputError:
        return None
    return content.get("run") if isinstance(content, dict) else None
