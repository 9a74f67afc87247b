"""Adam as torch computes it, without torch's optimiser class.

The first ``torch.optim.Adam`` of a process imports torch's compiler: 4.6 s of CPU time and 913 modules (torch 2.15),
in each of the dozen training processes of the demo. The arithmetic is torch's own function; a test compares the bits
with the class's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """Adam without weight decay, with torch's default settings, which every released code keeps.

    Args:
        parameters: Weights to train.
    """

    def __init__(self, parameters: Iterable[Tensor]):
        self.parameters = list(parameters)
        self.state = {
            "steps": [torch.zeros((), device=p.device) for p in self.parameters],
            "means": [torch.zeros_like(p) for p in self.parameters],
            "squares": [torch.zeros_like(p) for p in self.parameters],
        }

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, learning_rate: float, chosen: Iterable[Tensor] | None = None) -> None:
        """Move the chosen parameters (None: all) against their gradients, if they have one."""
        ids = {id(parameter) for parameter in (self.parameters if chosen is None else chosen)}
        rows = [row for row, p in enumerate(self.parameters) if p.grad is not None and id(p) in ids]
        means, squares, steps = ([self.state[name][row] for row in rows] for name in ("means", "squares", "steps"))
        adam(
            [self.parameters[row] for row in rows],
            [p.grad for row in rows if (p := self.parameters[row]).grad is not None],
            *(means, squares, [], steps),
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=learning_rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    @torch.no_grad()
    def restore(self, state: Mapping[str, list[Tensor]]) -> None:
        """Go back to a state."""
        for name, ours in self.state.items():
            for mine, saved in zip(ours, state[name], strict=True):
                mine.copy_(saved)
