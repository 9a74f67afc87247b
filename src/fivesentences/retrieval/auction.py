"""An auction in which captions bid for places at images: nearly the best assignment, with a bound on the distance.

Bertsekas and Castañón (1989), the auction algorithm for transportation problems, with epsilon scaling: each image has
one price and sells as many places as it may have captions, and all captions without a place bid at once. A caption
chooses among a short list of images and remembers what the best image off its list was worth when the list was made;
prices only rise, so the list serves until its best image is worth less than that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fivesentences.retrieval.blocks import blocks_of_columns, blocks_of_rows

LISTED = 48  # images on a caption's list
STEP = 5.0  # epsilon of a round over that of the next
CAPTIONS_AT_A_TIME = 256


class Auction:
    """Captions bid for places at images.

    Args:
        matrix: ``[images, captions]`` similarity, finite.
        places: ``[images]`` how many captions each image may have, at least 1 each and ``captions`` or more in all.
    """

    def __init__(self, matrix: NDArray, places: NDArray[np.int64]):
        self.matrix, self.places = matrix, places
        self.n_images, self.n_captions = matrix.shape
        # Places that stay free go to dummy bidders, to whom all images are worth the same.
        self.n_bidders = int(places.sum())
        self.prices = np.zeros(self.n_images)
        self.listed = min(LISTED, self.n_images)
        self.images = np.empty((self.n_bidders, self.listed), dtype=np.int32)
        self.scores = np.empty((self.n_bidders, self.listed))
        self.unlisted = np.full(self.n_bidders, -np.inf)  # worth of the best image off the list, at most
        self.place_of = np.full(self.n_bidders, -1, dtype=np.int64)
        self.bids = np.full((self.n_images, int(places.max())), -np.inf)
        self.owners = np.full(self.bids.shape, -1, dtype=np.int64)
        self.base = self.prices.copy()
        noise = np.random.default_rng(0).random(2 * self.n_images)
        self.taste = np.lib.stride_tricks.sliding_window_view(noise, self.n_images)  # a view: row r begins at r

    def run(self, first: float, last: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Sell every place.

        Args:
            first: The first epsilon, the least by which a bid rises.
            last: The last one: the assignment is within ``last`` per caption of the best one.

        Returns:
            ``[captions]`` image that each caption got, and ``[images]`` prices.
        """
        for part, block in blocks_of_columns(self.matrix):
            self._list(np.arange(part.start, part.stop), block.astype(np.float64))
        if self.n_bidders > self.n_captions:
            self._refresh(np.arange(self.n_captions, self.n_bidders))
        epsilon = max(first, last)
        waiting = np.arange(self.n_bidders)
        while True:
            while len(waiting):
                waiting = self._bid(waiting, epsilon)
            if epsilon <= last:
                return self.place_of[: self.n_captions], self.prices
            epsilon = max(last, epsilon / STEP)
            waiting = self._release(epsilon)

    def _list(self, bidders: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Make new lists for ``bidders`` at the current prices; ``scores`` ``[bidders, images]``."""
        worth = scores - self.prices
        if self.listed == self.n_images:
            self.images[bidders] = np.arange(self.n_images)
            self.scores[bidders] = scores
            return
        # Equal worth is made unequal, differently for each bidder: the selection would be slow otherwise, and bidders
        # to whom many images are worth the same would all bid for the same one.
        blur = np.abs(worth).max() * 1e-9
        worth_and_taste = worth + blur * self.taste[bidders % self.n_images]
        order = np.argpartition(worth_and_taste, self.n_images - self.listed, axis=1)
        chosen = order[:, self.n_images - self.listed :]
        self.images[bidders] = chosen
        self.scores[bidders] = np.take_along_axis(scores, chosen, axis=1)
        np.put_along_axis(worth, chosen, -np.inf, axis=1)
        self.unlisted[bidders] = worth.max(axis=1)

    def _refresh(self, bidders: NDArray[np.int64]) -> None:
        for start in range(0, len(bidders), CAPTIONS_AT_A_TIME):
            some = bidders[start : start + CAPTIONS_AT_A_TIME]
            real = some < self.n_captions
            scores = np.zeros((len(some), self.n_images))
            scores[real] = self.matrix[:, some[real]].T
            self._list(some, scores)

    def _two_best(self, bidders: NDArray[np.int64]) -> tuple[NDArray, NDArray, NDArray]:
        """Each bidder's best image, its worth, and what the second best image is worth at most."""
        worth = self.scores[bidders] - self.prices[self.images[bidders]]
        rows = np.arange(len(bidders))
        best = worth.argmax(axis=1)
        most = worth[rows, best]
        stale = most < self.unlisted[bidders]
        if stale.any():
            self._refresh(bidders[stale])
            worth[stale] = self.scores[bidders[stale]] - self.prices[self.images[bidders[stale]]]
            best = worth.argmax(axis=1)
            most = worth[rows, best]
        worth[rows, best] = -np.inf
        second = np.maximum(worth.max(axis=1), self.unlisted[bidders])
        return self.images[bidders, best].astype(np.int64), most, second

    def _bid(self, bidders: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
        """One round; returns the bidders without a place after it."""
        wanted, most, second = self._two_best(bidders)
        second = np.where(np.isfinite(second), second, most)  # if there is no second image
        bid = self.prices[wanted] + (most - second) + epsilon

        affected = np.unique(wanted)
        old_owner = self.owners[affected]
        taken = old_owner >= 0
        image = np.concatenate([np.broadcast_to(affected[:, None], taken.shape)[taken], wanted])
        offer = np.concatenate([self.bids[affected][taken], bid])
        owner = np.concatenate([old_owner[taken], bidders])
        order = np.lexsort((-offer, image))
        image, offer, owner = image[order], offer[order], owner[order]
        start = np.searchsorted(image, affected)
        place = np.arange(len(image)) - np.repeat(start, np.diff(np.append(start, len(image))))
        sold = place < self.places[image]
        self.owners[affected] = -1
        self.bids[affected] = -np.inf
        self.owners[image[sold], place[sold]] = owner[sold]
        self.bids[image[sold], place[sold]] = offer[sold]
        self.place_of[owner[sold]] = image[sold]
        out = owner[~sold]
        self.place_of[out] = -1
        lowest = self.bids[affected, self.places[affected] - 1]  # minus infinity while a place is free
        self.prices[affected] = np.where(np.isfinite(lowest), lowest, self.base[affected])
        return np.asarray(out)

    def _release(self, epsilon: float) -> NDArray[np.int64]:
        """Begin with a smaller epsilon: bidders who are too far from their best image give their place back."""
        self.base = self.prices.copy()
        everybody = np.arange(self.n_bidders)
        _, most, _ = self._two_best(everybody)
        worth = self.scores - self.prices[self.images]
        listed = self.images == self.place_of[:, None]
        own = np.where(listed, worth, -np.inf).max(axis=1)
        keeps = own >= most - epsilon
        self.owners[:] = -1
        self.bids[:] = -np.inf
        kept = everybody[keeps]
        order = kept[np.argsort(self.place_of[kept], kind="stable")]
        image = self.place_of[order]
        place = np.arange(len(image)) - np.searchsorted(image, image)
        self.owners[image, place] = order
        self.bids[image, place] = self.prices[image]
        self.place_of[~keeps] = -1
        return np.asarray(everybody[~keeps])


def best_possible(matrix: NDArray, places: NDArray[np.int64], prices: NDArray[np.float64]) -> float:
    """A total that no assignment exceeds, by linear programming duality; any ``prices`` give such a bound.

    Args:
        matrix: ``[images, captions]``.
        places: ``[images]`` how many captions each image may have.
        prices: ``[images]``.
    """
    best = np.full(matrix.shape[1], -np.inf)
    for part, block in blocks_of_rows(matrix):
        block -= prices[part, None]
        np.maximum(best, block.max(axis=0), out=best)
    # To the dummy bidders, who take the places that stay free, every image is worth 0.
    free = int(places.sum()) - matrix.shape[1]
    return float(best.sum() + (places * prices).sum() - free * prices.min())
