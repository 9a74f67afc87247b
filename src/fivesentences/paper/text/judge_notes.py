"""The sentences below a table or figure that say who judged, and what phi was computed from."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config.scales import JudgeSpec, Scale
from fivesentences.paper.numbers.agreements import Agreement, Agreements
from fivesentences.paper.text.names import unique
from fivesentences.study.exhibits import OTHER_IMAGES
from fivesentences.study.study import Study


def note_on_judge(study: Study, judge: JudgeSpec, agreements: Sequence[Agreement]) -> str:
    """Who judged, what the score is, and how many pairs and images there are."""
    every = [one for one in agreements if one.pairs == "all"]
    others = [one for one in agreements if one.pairs == OTHER_IMAGES]
    counted = (
        f"{max(one.n_pairs for one in every):,} pairs of captions with {max(one.n_images for one in every):,} images"
    )
    if others:
        counted += f", {max(one.n_pairs for one in others):,} of them with an image other than the caption's own"
    dataset = study.label_of(judge.dataset)
    who = study.label_of(judge.judge)
    return f"{who}, on {dataset} ({every[0].split} split): {every[0].human}; {counted}."


def notes_on_judges(study: Study, scale: Scale, agreements: Agreements, phis: Sequence[str]) -> list[str]:
    """A note on each judge of a scale."""
    return [note_on_judge(study, judge, agreements.of(judge.judge, phis)) for judge in scale.judges]


def notes_on_phi(agreements: Sequence[Agreement]) -> list[str]:
    """Where idf was counted and where SPICE's tuples came from."""
    idf = unique(one.idf_corpus for one in agreements if one.idf_corpus)
    tuples = unique(one.tuples for one in agreements if one.tuples)
    return [f"Counts behind idf: {corpus}." for corpus in idf] + [f"SPICE’s tuples: {source}." for source in tuples]


def note_without_judges(scale: Scale) -> list[str]:
    """That nobody judges, where that is so."""
    return [] if scale.judges else [f"Nobody judges at the scale {scale.scale}."]
