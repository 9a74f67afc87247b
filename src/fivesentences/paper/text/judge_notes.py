"""The sentences below a table or figure of phi: who judged, and what phi was computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fivesentences.config.scales import Scale
from fivesentences.paper.numbers.agreements import Agreements
from fivesentences.paper.text.names import unique
from fivesentences.study.exhibits import OTHER_IMAGES
from fivesentences.study.study import Study


def notes_on_judges(study: Study, scale: Scale, agreements: Agreements, phis: Sequence[str]) -> list[str]:
    """Describe each judge of a scale: its score, and the number of pairs and images."""
    notes = []
    for judge in scale.judges:
        lines = agreements.of(judge.judge, phis)
        every = [one for one in lines if one.pairs == "all"]
        others = [one for one in lines if one.pairs == OTHER_IMAGES]
        pairs, images = max(one.n_pairs for one in every), max(one.n_images for one in every)
        counted = f"{pairs:,} pairs of captions with {images:,} images"
        if others:
            of_others = max(one.n_pairs for one in others)
            counted += f", {of_others:,} of them with an image other than the caption's own"
        where = f"{study.label_of(judge.judge)}, on {study.label_of(judge.dataset)} ({every[0].split} split)"
        notes.append(f"{where}: {every[0].human}; {counted}.")
    return notes


def notes_on_phi(agreements: Sequence[Any]) -> list[str]:
    """Say where idf was counted and where SPICE's tuples came from."""
    idf = unique(one.idf_corpus for one in agreements if one.idf_corpus)
    tuples = unique(one.tuples for one in agreements if one.tuples)
    return [f"Counts behind idf: {corpus}." for corpus in idf] + [f"SPICE’s tuples: {source}." for source in tuples]


def note_without_judges(scale: Scale) -> list[str]:
    """Say so if no judge rates pairs at this scale."""
    return [] if scale.judges else [f"Nobody judges at the scale {scale.scale}."]
