"""Base of every loss: settings that are checked when read, and arithmetic that imports torch when called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from fivesentences.config.types import Strict
from fivesentences.errors import InputError

if TYPE_CHECKING:
    import torch as torch
    from torch import Tensor
    from torch.nn import Parameter
else:

    class _Torch:
        """torch, imported when a loss first computes: planning reads settings only, and the import takes seconds."""

        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module("torch"), name)

    torch = _Torch()

Margin = Annotated[float, Field(ge=0)]
MARGIN = 0.2  # in every release


class Loss(Strict):
    """One loss of the sum that a run minimises: its settings, their ranges and names, and ``loss(similarity)``.

    Studies are checked against it, folders of runs are named by it, and tables take their labels from it. The text
    below a setting is its description in the documentation.

    Attributes:
        reads: ``"ranked"``: the loss is summed over all similarities that a model wants ranked. ``"similarity"``: it
            reads the one that evaluation reads. With a ``phi_read``, either is called as ``loss(similarity, phi)``.
            ``"memory"``: it is called as ``loss(similarity, remembered)``.
        suffix: Text that follows the model's name in a folder, such as ``+sam``; empty for the triplet loss.
        title: Name in tables; empty for the triplet loss.
    """

    reads: ClassVar[Literal["ranked", "similarity", "memory"]] = "ranked"
    title: ClassVar[str] = ""
    suffix: ClassVar[str] = ""

    def __call__(self, similarity: Tensor) -> Tensor:
        """Compute the loss of a batch, a scalar.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.

        Raises:
            InputError: If it is not square.
        """
        raise NotImplementedError

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        raise NotImplementedError

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """Return the settings that tables show, given the names that tables use for each phi."""
        raise NotImplementedError

    def label(self, phis: Mapping[str, str], alone: bool = False) -> str:
        """Return the label in tables: ``SAM τ = 3, closest, released``, or ``SAM alone, τ = 3, closest, released``."""
        title, settings = self.title, self.words(phis)
        if not alone:
            return f"{title} {', '.join(settings)}".strip()
        return ", ".join([f"{title} alone", *settings] if title else [*settings, "alone"])

    @property
    def phi_read(self) -> str | None:
        """Name of the phi of the training captions that it reads, perhaps a mean (``a+b``); None if it reads none."""
        return None

    @property
    def phi_keys(self) -> list[str]:
        """The parts of ``phi_read`` as training opens them: ``cider``, or ``cider|own_left_out``."""
        return [] if self.phi_read is None else self.phi_read.split("+")

    def build(self, seed: int = 0) -> Self:
        """Return a copy for one run, with parameters and random numbers (from ``seed``) of its own."""
        return self.model_validate(self.model_dump(exclude_unset=True))

    def parameters(self) -> Sequence[Parameter]:
        """Parameters that are trained with the model; most losses have none."""
        return ()

    def learned(self) -> dict[str, float]:
        """Values learned so far, for the history of a run."""
        return {}

    def state(self) -> dict[str, Tensor]:
        """Everything that changes while a run trains."""
        return {str(number): parameter.detach() for number, parameter in enumerate(self.parameters())}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""
        for number, parameter in enumerate(self.parameters()):
            parameter.data.copy_(state[str(number)])


class LossOfPhi(Loss):
    """A loss that reads the phi of its batch, which its setting ``phi`` names."""

    if TYPE_CHECKING:
        phi: str

    @property
    def phi_read(self) -> str:
        """The phi that it reads."""
        return self.phi

    def __call__(self, similarity: Tensor, phi: Tensor | None = None) -> Tensor:  # type: ignore[override]
        """Compute the loss of a batch, a scalar.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.
            phi: ``[B captions, B images]`` of the same pairs.

        Raises:
            InputError: If the shapes disagree.
        """
        checked_batch(type(self).__name__, similarity, phi, needs_phi=True)
        assert phi is not None
        return self.computed(similarity, phi)

    def computed(self, similarity: Tensor, phi: Tensor) -> Tensor:
        """Compute the loss of a checked batch."""
        raise NotImplementedError


def unless(default: float, value: float, text: str) -> list[str]:
    """Return the text with the value in place of ``{}``, or nothing if the value is the default."""
    return [] if value == default else [text.format(f"{value:g}")]


def checked_batch(loss: str, similarity: Tensor, phi: Tensor | None = None, *, needs_phi: bool = False) -> int:
    """Return the number of pairs in a batch.

    Args:
        loss: Name of the loss in messages.
        similarity: ``[B images, B captions]``, matched pairs on the diagonal; B is at least 1.
        phi: ``[B captions, B images]`` of the same pairs.
        needs_phi: Whether the loss reads phi.

    Raises:
        InputError: If the similarity is not a square matrix of floating numbers, or phi has another size.
    """
    given = {"similarity": similarity} | ({"phi": phi} if needs_phi or phi is not None else {})
    shapes = [tuple(one.shape) for one in given.values() if isinstance(one, torch.Tensor)]
    if shapes != [(len(similarity),) * 2] * len(given) or not len(similarity) or not similarity.is_floating_point():
        said = ", ".join(f"{name} {_described(one)}" for name, one in given.items())
        raise InputError(f"{loss}: {said}; give square tensors of floating numbers, a row and a column per pair.")
    return len(similarity)


def _described(given: Any) -> str:
    if not isinstance(given, torch.Tensor):
        return "missing" if given is None else f"is {type(given).__name__}"
    return f"{list(given.shape)} of {given.dtype}"
