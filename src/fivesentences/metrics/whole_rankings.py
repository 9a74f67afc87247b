"""Complete rankings, block by block, for metrics that read them to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy.typing import NDArray

from fivesentences.metrics.ranking import QueryBlock, block_of_queries, in_threads, parts_of_queries

if TYPE_CHECKING:
    from fivesentences.config.types import Direction

Reader = Callable[[QueryBlock], None]


def read_rankings(matrix: NDArray, direction: Direction, read: Reader) -> None:
    """Show every block of queries to a reader, from several threads, each block once.

    Args:
        matrix: ``[images, captions]`` scores.
        direction: Which side the queries are.
        read: Called with each block.
    """

    def work(part: slice) -> None:
        read(QueryBlock(part, block_of_queries(matrix, direction, part)))

    in_threads(work, parts_of_queries(*(matrix.shape if direction == "i2t" else matrix.shape[::-1])))
