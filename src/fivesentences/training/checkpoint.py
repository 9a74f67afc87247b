"""Weights of finished runs (safetensors, no pickle), and the state from which a killed run continues."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fivesentences.config.reading import check
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.features import Preparation
from fivesentences.models import Matcher
from fivesentences.models.concepts import ConceptGraph
from fivesentences.models.labelled_weights import read_labelled, write_labelled
from fivesentences.storage import replacing
from fivesentences.study.runs import RunFile, RunSpec
from fivesentences.training.data import extras_of
from fivesentences.training.fingerprint import check_record, differences
from fivesentences.training.vocabulary import Vocabulary

FORMAT = 2
WEIGHTS, VOCABULARY = "weights.safetensors", "vocabulary.json"
MODEL, PREPARATION, CONCEPTS = "model.", "preparation.", "concepts."
GRAPH = ("vectors", "together", "totals")  # parts of a concept graph that are stored as tensors


@dataclass(frozen=True)
class TrainedModel:
    """A finished run, ready to score your own images and captions.

    Attributes:
        spec: The run's settings.
        model: Network in eval mode.
        vocabulary: ``vocabulary.encode(caption)`` gives the model's word numbers.
        preparation: ``preparation.apply(rows)`` turns stored features into the model's input.
        concepts: Concepts of a model that needs some.
    """

    spec: RunSpec
    model: Matcher
    vocabulary: Vocabulary
    preparation: Preparation
    concepts: ConceptGraph | None = None

    def extras(self, captions: Sequence[str], image_of_caption: np.ndarray) -> dict[str, torch.Tensor]:
        """Compute keyword arguments of ``model.encode_captions``: inputs beside the words of captions."""
        return extras_of(self.spec.model, self.concepts, captions, image_of_caption, "test")


def write_weights(
    path: Path,
    weights: dict[str, torch.Tensor],
    preparation: Preparation,
    spec: RunSpec,
    image_shape: Sequence[int],
    concepts: ConceptGraph | None = None,
) -> None:
    """Write everything that scoring needs, except the vocabulary, as one safetensors file; equal content, equal bytes.

    Args:
        path: The file.
        weights: Weights of the model.
        preparation: Preparation of its features.
        spec: The run's settings.
        image_shape: Shape of one image's features, ``[dim]`` or ``[regions, dim]``.
        concepts: Concepts of a model that needs some.
    """
    tensors = {MODEL + name: value.detach().cpu().contiguous() for name, value in weights.items()}
    for name, array in preparation.to_arrays().items():
        tensors[PREPARATION + name] = torch.from_numpy(array.copy())
    label: dict[str, Any] = {"format": FORMAT, "image_dim": image_shape[-1], "spec": spec.model_dump(mode="json")}
    if len(image_shape) == 2:
        label["regions"] = image_shape[0]
    if concepts is not None:
        label["concepts"] = concepts.words
        tensors |= {CONCEPTS + name: torch.from_numpy(np.ascontiguousarray(getattr(concepts, name))) for name in GRAPH}
    write_labelled(path, tensors, label)


def load_trained(folder: Path | str) -> TrainedModel:
    """Load a finished run from its folder (``weights.safetensors`` and ``vocabulary.json``).

    Where the folder also has ``run.yaml`` and ``finished.json``, they must be of the same run.

    Raises:
        InputError: If a file is missing, damaged, of another format or of another run, or the weights are not finite
            or do not fit the settings.
    """
    folder = Path(folder)
    path = folder / WEIGHTS
    vocabulary = Vocabulary.read(folder / VOCABULARY)
    label, tensors = read_labelled(path, "a run", FORMAT, "train the run again")
    if not isinstance(label.get("spec"), dict) or not isinstance(label.get("image_dim"), int):
        raise InputError("it does not say with which settings it was trained", where=path, cure="train the run again")
    spec = check(RunSpec, label["spec"], str(path))
    _check_settings(folder / "run.yaml", spec)
    check_record(folder, (WEIGHTS, VOCABULARY))

    def beginning(prefix: str) -> dict[str, torch.Tensor]:
        return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

    weights = beginning(MODEL)
    preparation = Preparation.from_arrays({name: value.numpy() for name, value in beginning(PREPARATION).items()})
    concepts = None
    if "concepts" in label:
        concepts = ConceptGraph(
            tuple(label["concepts"]), **{name: value.numpy() for name, value in beginning(CONCEPTS).items()}
        )
    model = spec.model.build(
        image_dim=label["image_dim"],
        vocabulary_size=len(vocabulary),
        regions=label.get("regions"),
        concepts=concepts,
    )
    _check_shapes(weights, model, path)
    model.load_state_dict(weights)
    return TrainedModel(spec, model.eval(), vocabulary, preparation, concepts)


def _check_settings(path: Path, spec: RunSpec) -> None:
    """Check that a ``run.yaml``, if there is one, has the settings that the weights were trained with.

    Raises:
        InputError: The first setting that differs.
    """
    if not path.is_file():
        return
    theirs, ours = (one.model_dump(mode="json") for one in (check(RunFile, read_yaml(path), str(path)).run, spec))
    for key in ours:
        if theirs[key] != ours[key]:
            raise InputError(
                f"its {key} is {theirs[key]}, but {WEIGHTS} beside it was trained with {ours[key]}",
                where=path,
                cure="copy the whole folder of the run again: its files are of two runs",
            )


def _check_shapes(weights: Mapping[str, torch.Tensor], model: Matcher, path: Path) -> None:
    """Check that weights are those of a model, by name and shape.

    Raises:
        InputError: The first that is missing, superfluous or of another shape.
    """
    wanted = {name: list(value.shape) for name, value in model.state_dict().items()}
    found = {name: list(value.shape) for name, value in weights.items()}
    for name in {**wanted, **found}:
        if wanted.get(name) != found.get(name):
            raise InputError(
                f"the weight {name} is {found.get(name, 'missing')}; the run's settings and {VOCABULARY} ask for "
                f"{wanted.get(name, 'none')}",
                where=path,
                cure="copy the whole folder of the run again, or train the run again",
            )


# --- the state of an unfinished run -------------------------------------------------------------------------


class ResumeFolder:
    """``resume/`` beside the outputs: one file, replaced as a whole, so that a kill leaves the old or the new state."""

    def __init__(self, folder: Path, fingerprint: dict[str, str]):
        self.folder, self.path, self.fingerprint = folder, folder / "state.pt", fingerprint

    def save(self, state: dict[str, Any]) -> None:
        """Save a state that consists of tensors, numbers and text."""
        with replacing(self.path) as temporary:
            torch.save({"fingerprint": self.fingerprint, **state}, temporary)

    def load(self) -> tuple[dict[str, Any] | None, str]:
        """Return the saved state or None, and a sentence for the log: where training continues, or why not."""
        if not self.path.exists():
            return None, ""
        try:
            state: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
            saved = dict(state["fingerprint"])
        except Exception as error:  # an unreadable state is no reason to fail: training starts over
            reason = f"it cannot be read ({type(error).__name__})"
            return None, f"{self.path} is not used, because {reason}; training starts over."
        if changed := differences(saved, self.fingerprint):
            return None, f"{self.path} is not used, because {', '.join(changed)} changed; training starts over."
        return state, f"Continuing from {self.path}: epoch {state['epoch'] + 1}, batch {state['step']}."

    def remove(self) -> None:
        """Remove the state."""
        shutil.rmtree(self.folder, ignore_errors=True)
