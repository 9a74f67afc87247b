"""Weights of finished runs (safetensors, no pickle), and the state from which a killed run continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
from fivesentences.models.matching import load_weights
from fivesentences.seals import check_record, check_zip
from fivesentences.storage import replacing
from fivesentences.training.data import extras_of
from fivesentences.training.fingerprint import CURE, differences
from fivesentences.training.spec import RunFile, RunSpec
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
    path, vocabulary = folder / WEIGHTS, Vocabulary.read(folder / VOCABULARY)
    label, tensors = read_labelled(path, "a run", FORMAT, "train the run again")
    spec = check(RunSpec, label.get("spec"), str(path))
    if (folder / "run.yaml").is_file():
        stated = check(RunFile, read_yaml(folder / "run.yaml"), str(folder / "run.yaml")).run
        theirs, ours = stated.model_dump(mode="json"), spec.model_dump(mode="json")
        for key in (key for key in ours if theirs[key] != ours[key]):
            what = f"its {key} is {theirs[key]}, but {WEIGHTS} beside it was trained with {ours[key]}"
            raise InputError(what, where=folder / "run.yaml", cure=f"{CURE}: its files are of two runs")
    check_record(folder, (WEIGHTS, VOCABULARY), CURE)

    def beginning(prefix: str) -> dict[str, torch.Tensor]:
        return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

    preparation = Preparation.from_arrays({name: value.numpy() for name, value in beginning(PREPARATION).items()})
    concepts = None
    if "concepts" in label:
        graph = {name: value.numpy() for name, value in beginning(CONCEPTS).items()}
        concepts = ConceptGraph(tuple(label["concepts"]), **graph)
    sizes: dict[str, Any] = {name: label.get(name) for name in ("image_dim", "regions")}
    for name, size in sizes.items():
        if (type(size) is not int or size < 1) and (size, name) != (None, "regions"):
            raise InputError(f"its {name} is {size!r:.40}, not a number of inputs", where=path, cure=CURE)
    build = partial(spec.model.build, vocabulary_size=len(vocabulary), concepts=concepts, **sizes)
    weights = beginning(MODEL)
    with torch.device("meta"):  # sizes are compared before memory is taken for them
        needed = sum(one.numel() for one in build().parameters())
    if needed > (held := sum(one.numel() for one in weights.values())):
        what = f"its settings are of a model of {needed:,} parameters, but it holds {held:,}"
        raise InputError(what, where=path, cure=CURE)
    model = build()
    load_weights(model, weights, str(path), CURE)
    return TrainedModel(spec, model.eval(), vocabulary, preparation, concepts)


# --- the state of an unfinished run -------------------------------------------------------------------------


class ResumeFolder:
    """``resume/`` beside the outputs: one file, replaced as a whole, so that a kill leaves the old or the new state."""

    def __init__(self, folder: Path, fingerprint: dict[str, str]):
        self.path, self.fingerprint = folder / "state.pt", fingerprint

    def save(self, state: dict[str, Any]) -> None:
        """Save a state that consists of tensors, numbers and text."""
        with replacing(self.path) as temporary:
            torch.save({"fingerprint": self.fingerprint, **state}, temporary)

    def load(self) -> tuple[dict[str, Any] | None, str]:
        """Return the saved state or None, and a sentence for the log: where training continues, or why not."""
        if not self.path.exists():
            return None, ""
        try:
            check_zip(self.path)
            state: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
            changed = differences(dict(state["fingerprint"]), self.fingerprint)
            why = f"{', '.join(changed)} changed"
        except Exception as error:  # an unreadable state is no reason to fail: training starts over
            changed, why = ["all"], f"it cannot be read ({type(error).__name__})"
        if changed:
            return None, f"{self.path} is not used, because {why}; training starts over."
        return state, f"Continuing from {self.path}: epoch {state['epoch'] + 1}, batch {state['step']}."
