"""Numbers that released models returned, and how ours are held against them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fivesentences.models import Matcher, from_released


@dataclass
class Released:
    """One file: weights, inputs, outputs in two precisions, and float64 gradients of a released model.

    Attributes:
        arrays: The whole file: ``hparams``, ``param/``, ``in/``, ``out64/``, ``out/``, ``grad64/``.
        compared: Keys that have been held against ours.
    """

    arrays: dict[str, np.ndarray]
    compared: set[str] = field(default_factory=set)

    @property
    def hparams(self) -> dict[str, Any]:
        return json.loads(str(self.arrays["hparams"]))

    def keys(self, folder: str) -> list[str]:
        keys = [key for key in self.arrays if key.startswith(f"{folder}/")]
        assert keys, f"the file has no {folder}"
        return keys

    def weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
        tensors = {key.removeprefix("param/"): torch.as_tensor(self.arrays[key]) for key in self.keys("param")}
        return {key: value.to(dtype) if value.is_floating_point() else value for key, value in tensors.items()}

    def inputs(self, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
        """Images, captions, lengths."""
        images, *others = (torch.as_tensor(self.arrays[f"in/{name}"]) for name in ("images", "captions", "lengths"))
        return images.to(dtype), *others

    def extras(self, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
        """What CVSE reads besides."""
        labels = self.arrays.get("in/concept_labels")
        return {} if labels is None else {"concept_labels": torch.as_tensor(labels).to(dtype)}

    def model(self, name: str, dtype: torch.dtype = torch.float32, train: bool = False, **settings: Any) -> Matcher:
        return from_released(name, self.weights(dtype), **settings).train(train)

    def check_outputs(self, out: str, ours: Mapping[str, Tensor], atol: float) -> None:
        """Compare those of ours that the file holds below ``out``, each at the scale of its own largest entry.

        Rounding of an entry follows the terms that were added, not their sum, which may be near 0.
        """
        for name, value in ours.items():
            key = f"{out}/{name}"
            if key in self.arrays:
                theirs = self.arrays[key]
                limit = atol * max(1.0, float(np.abs(theirs).max(initial=0.0)))
                np.testing.assert_allclose(value.detach().numpy(), theirs, atol=limit, rtol=0, err_msg=key)
                self.compared.add(key)

    def check_gradients(
        self, folder: str, ours: Mapping[str, Tensor], tolerance: float, least_share: float = 0.0, partial: bool = False
    ) -> None:
        """Compare gradients by released name below ``grad64/folder``, each at the scale of its own largest entry.

        A gradient that is 0 in theory (of a bias before a batch norm or a softmax) is rounding, and held against the
        largest gradient of all; any other one against no less than ``least_share`` of it. Unless ``partial``, the file
        holds them all.
        """
        theirs = {name: self.arrays[key] for name in ours if (key := f"grad64/{folder}/{name}") in self.arrays}
        assert partial or set(theirs) == set(ours)
        largest = max(np.abs(gradient).max() for gradient in theirs.values())
        for name, gradient in theirs.items():
            own = np.abs(gradient).max()
            scale = max(own, least_share * largest) if own > 1e-12 * max(1.0, largest) else largest
            assert np.abs(ours[name].numpy().reshape(gradient.shape) - gradient).max() <= tolerance * scale, name
            self.compared.add(f"grad64/{folder}/{name}")

    def assert_all_compared(self, folder: str) -> None:
        assert not {key for key in self.keys(folder) if key not in self.compared}


@pytest.fixture(scope="session")
def released_of(parity: Callable[[str], dict[str, np.ndarray]]) -> Callable[[str], Released]:
    """Read one file of released numbers, by its name without ``.npz``."""
    return lambda name: Released(parity(name))
