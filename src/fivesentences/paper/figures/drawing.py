"""A figure before it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Attributes:
        data: Everything that is drawn, as one tidy table; it becomes the figure's CSV.
        notes: Sentences below it.
        draw: Sets the size of an empty canvas and fills it; None where the scale has nothing to draw.
    """

    data: pd.DataFrame
    notes: Sequence[str]
    draw: Callable[[Canvas], None] | None
