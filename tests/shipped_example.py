"""The files of `fivesentences example`, and the ways in which lines of such files get out of order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from fivesentences.commands.example import SHIPPED as FOLDER

N_IMAGES, PER_IMAGE = 200, 5
OWNER = np.repeat(np.arange(N_IMAGES), PER_IMAGE)


@cache
def captions() -> list[str]:
    return (FOLDER / "captions.txt").read_text(encoding="utf-8").splitlines()


@cache
def generated() -> list[str]:
    return (FOLDER / "generated.txt").read_text(encoding="utf-8").splitlines()


@cache
def similarity(model: str = "") -> np.ndarray:
    """``[images, captions]`` of the first model, or of the one called hardest."""
    before = f"{model}_" if model else ""
    images, texts = (np.load(FOLDER / f"{before}{name}.npy").astype(np.float64) for name in ("images", "texts"))
    images, texts = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (images, texts))
    return images @ texts.T


def moved(n: int, source: int, target: int) -> np.ndarray:
    """Order in which one of n is lost and appears elsewhere."""
    return np.insert(np.delete(np.arange(n), source), target, source)


def mixed(n: int, share: float, seed: int = 0) -> np.ndarray:
    """Order in which a share of n, anywhere, is shuffled."""
    rng = np.random.default_rng(seed)
    order, chosen = np.arange(n), rng.permutation(n)[: int(share * n)]
    order[chosen] = rng.permutation(order[chosen])
    return order


def block(n: int, start: int, length: int, seed: int = 0) -> np.ndarray:
    """Order in which consecutive ones are shuffled."""
    order = np.arange(n)
    order[start : start + length] = start + np.random.default_rng(seed).permutation(length)
    return order


def doubled(n: int, at: int) -> np.ndarray:
    """Order in which one occurs twice, and the last is lost."""
    return np.insert(np.arange(n - 1), at, at)


#: Orders of n images, and the first image that is out of place; None if it is random.
ORDERS: dict[str, tuple[Callable[[int], np.ndarray], int | None]] = {
    "an image lost in the middle": (lambda n: moved(n, 100, n - 1), 100),
    "an image lost near the top": (lambda n: moved(n, 3, n - 1), 3),
    "an image moved by 50": (lambda n: moved(n, 100, 150), 100),
    "an image doubled": (lambda n: doubled(n, 60), 61),
    "shifted by one": (lambda n: np.roll(np.arange(n), 1), 0),
    "reversed": (lambda n: np.arange(n)[::-1], 0),
    "halves swapped": (lambda n: np.roll(np.arange(n), n // 2), 0),
    "neighbours swapped": (lambda n: np.arange(n) ^ 1, 0),
    "a block shuffled": (lambda n: block(n, 60, 40), 60),
    "a short block shuffled": (lambda n: block(n, 60, 20), 60),
    "40% swapped": (lambda n: mixed(n, 0.4), None),
    "20% swapped": (lambda n: mixed(n, 0.2, seed=1), None),
    "60% swapped": (lambda n: mixed(n, 0.6, seed=2), None),
}


def of_captions(order: np.ndarray) -> np.ndarray:
    """Order of the captions whose images come in an order."""
    return (order[:, None] * PER_IMAGE + np.arange(PER_IMAGE)).ravel()
