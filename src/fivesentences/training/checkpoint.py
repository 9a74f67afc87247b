"""Weights that travel (safetensors, no pickle), and the state from which a killed run goes on."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from fivesentences.config import RunSpec, check
from fivesentences.errors import InputError
from fivesentences.features import Preparation
from fivesentences.models import Matcher, build_model
from fivesentences.storage import replacing
from fivesentences.training.vocabulary import Vocabulary

FORMAT = 1
KEY = "fivesentences"  # one metadata entry: safetensors writes several in no fixed order
MODEL, PREPARATION = "model.", "preparation."


@dataclass(frozen=True)
class TrainedModel:
    """A finished run, ready to score images and captions of one's own.

    Attributes:
        spec: The run's settings.
        model: The network, in eval mode.
        vocabulary: ``vocabulary.encode(caption)`` gives the model's word numbers.
        preparation: ``preparation.apply(rows)`` turns stored features into what the model reads.
    """

    spec: RunSpec
    model: Matcher
    vocabulary: Vocabulary
    preparation: Preparation


def write_weights(
    path: Path, weights: dict[str, torch.Tensor], preparation: Preparation, spec: RunSpec, image_dim: int
) -> None:
    """Write weights, the feature preparation and the settings as one safetensors file; equal content, equal bytes."""
    tensors = {MODEL + name: value.detach().cpu().contiguous() for name, value in weights.items()}
    for name, array in preparation.to_arrays().items():
        tensors[PREPARATION + name] = torch.from_numpy(array.copy())
    label = {"format": FORMAT, "image_dim": image_dim, "spec": spec.model_dump(mode="json")}
    with replacing(path) as temporary:
        # Not save_file: it makes files that only their owner may read.
        temporary.write_bytes(save(tensors, {KEY: json.dumps(label, sort_keys=True)}))


def load_trained(folder: Path | str) -> TrainedModel:
    """Load a finished run from its folder (``weights.safetensors`` and ``vocabulary.json``).

    Raises:
        InputError: If a file is missing, damaged or of another format, or the weights do not fit the settings.
    """
    path = Path(folder) / "weights.safetensors"
    vocabulary = Vocabulary.read(Path(folder) / "vocabulary.json")
    try:
        with safe_open(path, framework="pt") as file:
            label = json.loads((file.metadata() or {}).get(KEY, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is not a whole safetensors file ({error}); train the run again.") from None
    if label.get("format") != FORMAT:
        raise InputError(f"{path} is not a run of format {FORMAT}; train it again.")
    spec = check(RunSpec, label["spec"], str(path))
    weights = {name.removeprefix(MODEL): value for name, value in tensors.items() if name.startswith(MODEL)}
    preparation = Preparation.from_arrays(
        {name.removeprefix(PREPARATION): value.numpy() for name, value in tensors.items() if PREPARATION in name}
    )
    model = build_model(
        spec.model.name,
        image_dim=label["image_dim"],
        vocabulary_size=len(vocabulary),
        **spec.model.model_dump(exclude={"name"}),
    )
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{path}: the weights do not fit the run's settings ({error}).") from None
    return TrainedModel(spec, model.eval(), vocabulary, preparation)


# --- the state of an unfinished run -------------------------------------------------------------------------


class ResumeFolder:
    """``resume/`` beside the outputs: one file, replaced as a whole, so that a kill leaves the old or the new one."""

    def __init__(self, folder: Path, fingerprint: dict[str, str]):
        self.folder, self.path, self.fingerprint = folder, folder / "state.pt", fingerprint

    def save(self, state: dict[str, Any]) -> None:
        """Save a state of tensors, numbers and text."""
        with replacing(self.path) as temporary:
            torch.save({"fingerprint": self.fingerprint, **state}, temporary)

    def load(self) -> tuple[dict[str, Any] | None, str]:
        """The saved state or None, and a sentence for the log: what is resumed, or why nothing is."""
        if not self.path.exists():
            return None, ""
        try:
            state: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
            saved = dict(state["fingerprint"])
        except Exception as error:  # a state that cannot be read is no reason to fail: training starts over
            reason = f"it cannot be read ({type(error).__name__})"
            return None, f"{self.path} is not used, since {reason}; training starts over."
        changed = [key for key, value in self.fingerprint.items() if saved.get(key) != value]
        if changed:
            return None, f"{self.path} is not used, since {', '.join(changed)} changed; training starts over."
        return state, f"Going on from {self.path}: epoch {state['epoch'] + 1}, batch {state['step']}."

    def remove(self) -> None:
        """Forget the state."""
        shutil.rmtree(self.folder, ignore_errors=True)
