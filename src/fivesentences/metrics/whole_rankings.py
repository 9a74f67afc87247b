"""Complete rankings, block by block, for metrics that read them to the end: one ordering, any number of readers."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import NDArray

from fivesentences.metrics.ranking import QueryBlock, block_of_queries, in_threads, parts_of_queries
from fivesentences.retrieval.matrices import Direction

Reader = Callable[[QueryBlock], None]


def read_rankings(matrix: NDArray, direction: Direction, *readers: Reader) -> None:
    """Show every block of queries to every reader; from several threads, each block once.

    Args:
        matrix: ``[images, captions]`` scores.
        direction: Which side the queries are.
        readers: Called with each block; what one of them has had ordered is not ordered again for the next.

    Raises:
        InputError: If a value is not finite.
    """

    def work(part: slice) -> None:
        block = QueryBlock(direction, part, block_of_queries(matrix, direction, "similarity", part))
        for read in readers:
            read(block)

    in_threads(work, parts_of_queries(*(matrix.shape if direction == "i2t" else matrix.shape[::-1])))
