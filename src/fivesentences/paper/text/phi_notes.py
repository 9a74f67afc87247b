"""The sentences below a table or figure of phi: who judged, what phi was computed from, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fivesentences.config.scales import Scale
from fivesentences.paper.numbers.agreements import of_judge
from fivesentences.paper.text.names import note_naming, phi_in_words, unique
from fivesentences.study.exhibits import OTHER_IMAGES
from fivesentences.study.study import Study


def notes_on_judges(study: Study, scale: Scale, agreements: Sequence[Any], phis: Sequence[str]) -> list[str]:
    """Describe each judge of a scale: its score, and the number of pairs and images."""
    notes = []
    for judge in scale.judges:
        lines = of_judge(agreements, judge.judge, phis)
        every = [one for one in lines if one.pairs == "all"]
        pairs, images = max(one.n_pairs for one in every), max(one.n_images for one in every)
        counted = f"{pairs:,} pairs of captions with {images:,} images"
        if others := [one.n_pairs for one in lines if one.pairs == OTHER_IMAGES]:
            counted += f", {max(others):,} of them with an image other than the caption's own"
        where = f"{study.label_of(judge.judge)}, on {study.label_of(judge.dataset)} ({every[0].split} split)"
        notes.append(f"{where}: {every[0].human}; {counted}.")
    return notes


def notes_on_phi(agreements: Sequence[Any]) -> list[str]:
    """Say where idf was counted and where SPICE's tuples came from."""
    idf = unique(one.idf_corpus for one in agreements if one.idf_corpus)
    tuples = unique(one.tuples for one in agreements if one.tuples)
    return [f"Counts behind idf: {corpus}." for corpus in idf] + [f"SPICE’s tuples: {source}." for source in tuples]


def notes_without_judges(scale: Scale, phis: Iterable[str]) -> list[str]:
    """Say so if no judge rates pairs at this scale, and name the phi that it leaves out."""
    nobody = [] if scale.judges else [f"Nobody judges at the scale {scale.scale}."]
    return nobody + note_on_left_out(phis, scale)


def note_on_left_out(phis: Iterable[str], scale: Scale) -> list[str]:
    """Name the phi of a table or figure that a scale leaves out."""
    left_out = (phi_in_words(phi) for phi in phis if not scale.shows(phi))
    return note_naming(f"Left out at the scale {scale.scale}", left_out)
