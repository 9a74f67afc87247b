"""Places for texts beside points, so that they hide neither points nor each other."""

from __future__ import annotations

import numpy as np

DIRECTIONS, RINGS, STEP, GAP = 16, 5, 0.09, 0.03  # tried around a point; inches: between rings, from a mark to its text
OUTSIDE, DISTANCE = 10.0, 0.002  # what square inches outside the panel, and inches away from a point, cost


def places_beside(points: np.ndarray, radii: np.ndarray, sizes: np.ndarray, panel: tuple[float, float]) -> np.ndarray:
    """Centres of texts, each close to its point, where they hide as little as possible.

    Texts are placed one by one, those of crowded points first, where the fewest square inches of marks and earlier
    texts are covered, and the nearest of such places.

    Args:
        points: ``[points, 2]`` centres of marks in inches from the lower left corner of the panel.
        radii: ``[points]`` half the width of each mark.
        sizes: ``[points, 2]`` width and height of each text; without one, zeros.
        panel: Width and height of the panel.

    Returns:
        ``[points, 2]`` in inches.
    """
    apart = np.abs(points[:, None] - points[None]).max(axis=2) + np.diag(np.full(len(points), np.inf))
    order = np.argsort(apart.min(axis=1, initial=np.inf), kind="stable")
    boxes = [(point - radius, point + radius) for point, radius in zip(points, radii, strict=True)]
    angles = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = points.copy()
    for index in order:
        half = sizes[index] / 2
        if not half.any():
            continue
        # The text touches the mark's box, enlarged by the gap and by each ring, in each direction.
        reach = np.array([half + radii[index] + GAP + STEP * ring for ring in range(RINGS)])  # [rings, 2]
        scale = 1 / np.abs(ways).max(axis=1, keepdims=True)  # from a circle to a square
        offsets = (reach[:, None] * (ways * scale)[None]).reshape(-1, 2)
        centres = points[index] + offsets
        low, high = centres - half, centres + half
        cost = DISTANCE * np.repeat(np.arange(RINGS), DIRECTIONS).astype(float)
        # The right-hand side and the places straight above and below read best.
        cost += DISTANCE / 10 * np.tile(np.arange(DIRECTIONS) % 4 != 0, RINGS)
        for lower, upper in boxes:
            cost += np.clip(np.minimum(high, upper) - np.maximum(low, lower), 0, None).prod(axis=1)
        cost += OUTSIDE * (np.clip(-low, 0, None) + np.clip(high - np.array(panel), 0, None)).sum(axis=1)
        best = int(np.argmin(cost))
        places[index] = centres[best]
        boxes.append((low[best], high[best]))
    return places
