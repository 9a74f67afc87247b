"""What the specification of every loss states, without torch: settings, names, inputs, and how to build its module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fivesentences.config.named import class_named
from fivesentences.config.types import Strict

if TYPE_CHECKING:
    from torch import nn


class LossTerm(Strict):
    """One loss of the sum that a run minimises.

    It is the one place for the loss's settings, their defaults and their ranges: studies are checked against it,
    folders of runs are named by it, tables take their labels from it, and the module is built from it.

    Attributes:
        implementation: The loss's class, as module and name; text, since importing it takes torch.
        reads: ``"ranked"``: ``loss(similarity)`` is summed over all similarities that a model wants ranked.
            ``"similarity"``: ``loss(similarity, phi)`` reads the one similarity that evaluation reads.
    """

    implementation: ClassVar[str]
    reads: ClassVar[Literal["ranked", "similarity"]]

    @property
    def suffix(self) -> str:
        """What follows the model's name in a folder, such as ``+sam``; empty for the triplet loss."""
        raise NotImplementedError

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        raise NotImplementedError

    @property
    def phi_read(self) -> str | None:
        """Name of the phi of the training captions that it reads, perhaps a mean (``a+b``); None: it reads none."""
        return None

    @property
    def phi_keys(self) -> list[str]:
        """The parts of ``phi_read`` as training opens them: ``cider``, or ``cider|own_left_out``."""
        return [] if self.phi_read is None else self.phi_read.split("+")

    def words(self, phis: Mapping[str, str]) -> tuple[str, list[str]]:
        """The loss's name in tables, and those of its settings that tables show.

        Args:
            phis: What tables call a phi, by its name.
        """
        raise NotImplementedError

    def label(self, phis: Mapping[str, str], alone: bool = False) -> str:
        """What tables call it: ``SAM τ = 3, closest, released``, or ``SAM alone, τ = 3, closest, released``."""
        title, settings = self.words(phis)
        if not alone:
            return f"{title} {', '.join(settings)}".strip()
        return ", ".join([f"{title} alone", *settings] if title else [*settings, "alone"])

    def build(self, seed: int = 0) -> nn.Module:
        """The loss as a module; calling this imports torch.

        Args:
            seed: Of what it draws from a generator of its own.
        """
        module: nn.Module = class_named(self.implementation)(**self.arguments(seed))
        return module

    def arguments(self, seed: int) -> dict[str, Any]:
        """Keyword arguments of its class; those of every setting, where the class takes them under the same names."""
        return {name: getattr(self, name) for name in type(self).model_fields}
