"""What contrasts of runs are called, and the sentences below a table or figure of them."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.paper.numbers.contrasts import Contrasts, Measured
from fivesentences.paper.text.labels import loss_in_words, phi_label
from fivesentences.paper.text.names import listed, unique
from fivesentences.paper.text.numbers import MINUS
from fivesentences.paper.text.run_notes import training_in_words
from fivesentences.study.exhibits import Summed
from fivesentences.study.expand import AnyLine, Contrast, Paired, Row
from fivesentences.study.study import Study

FEW = 4  # up to so many things are listed; more are counted
METRICS: dict[Summed, str] = {
    "Rsum": "Rsum",
    "Nsum": "Nsum",
    "Nsum_own_removed": "Nsum, own removed",
    "ASP_i2t": "ASP image-to-text",
    "ASP_t2i": "ASP text-to-image",
}


def setting_in_words(contrast: Contrast, study: Study) -> str:
    """What both sides have in common: model, dataset, training captions, epochs and batches."""
    a, b = contrast.a, contrast.b
    dataset = study.label_of(a.role if a.dataset is None else a.dataset)
    played = "" if a.dataset in (None, a.role) else f" in the role of {study.label_of(a.role)}"
    words = [study.label_of(a.model)] if a.model == b.model else []
    words.append(f"{dataset}{played}")
    if a.features == b.features and a.features is not None:
        words.append(study.label_of(a.features))
    if _part(a) == _part(b):
        words += _captions(a)
    if a.epochs == b.epochs:
        words += training_in_words(a.epochs, None)
    if a.one_caption_per_image == b.one_caption_per_image:
        words += training_in_words(None, a.one_caption_per_image)
    return ", ".join(words)


def _part(row: Row) -> tuple[float, int | None]:
    """Which training captions a row has."""
    return row.fraction, row.captions_per_image


def _captions(row: Row) -> list[str]:
    words = [f"{100 * row.fraction:g}% of the training captions" if row.fraction < 1 else "all training captions"]
    if row.captions_per_image is not None:
        words.append(f"{row.captions_per_image} caption{'s' if row.captions_per_image > 1 else ''} per training image")
    return words


def sides_in_words(contrast: Contrast, study: Study) -> tuple[str, str]:
    """What both sides are called: by their loss if that tells them apart, and by what else the second has."""
    a, b = contrast.a, contrast.b
    first, second = ([loss_in_words(study, row.loss)] for row in (a, b))
    if a.loss == b.loss:
        first, second = [], []
    for words, row in ((first, a), (second, b)):
        if a.model != b.model:
            words.append(study.label_of(row.model))
        if a.features != b.features:
            words.append("the scale’s features" if row.features is None else study.label_of(row.features))
        if _part(a) != _part(b):
            words += _captions(row)
        if a.epochs != b.epochs:
            words += training_in_words(row.epochs, None) or ["the scale’s epochs"]
        if a.one_caption_per_image != b.one_caption_per_image:
            words += training_in_words(None, row.one_caption_per_image) or ["batches as the scale says"]
    if a.loss == b.loss:
        first[0] = f"{loss_in_words(study, a.loss)}: {first[0]}"
    return ", ".join(first), ", ".join(second)


def contrast_in_words(contrast: Contrast, study: Study) -> str:
    """Both sides in one, such as ``SAM − hardest``."""
    return f" {MINUS} ".join(sides_in_words(contrast, study))


def groups_of(measured: Sequence[Measured], study: Study) -> dict[str, list[Measured]]:
    """Contrasts by what their sides have in common, in words."""
    groups: dict[str, list[Measured]] = {}
    for one in measured:
        groups.setdefault(setting_in_words(one.contrast, study), []).append(one)
    return groups


def notes_on_contrasts(contrasts: Contrasts, metrics: Sequence[Summed], study: Study) -> list[str]:
    """What was measured, on what, and with which seeds; nothing if no contrast is made."""
    if not contrasts.of:
        return []
    images = {study.label_of(str(one.contrast.a.dataset)): one.metrics["Rsum"].images for one in contrasts.of}
    galleries = listed([f"{count:,} test images of {dataset}" for dataset, count in images.items()])
    phi = phi_label(study, contrasts.phi)
    nsum = f"; Nsum: {phi}, released formula" if any(metric.startswith("Nsum") for metric in metrics) else ""
    nsum += f"; ASP: {phi}, ties by index" if any(metric.startswith("ASP") for metric in metrics) else ""
    notes = [f"A {MINUS} B of runs with the same seed, on {galleries}{nsum}. An image and its captions are one unit."]
    several = [one.contrast for one in contrasts.of if len(one.contrast.seeds) > 1]
    if several:
        notes.append(
            "Intervals at 95% regard both seeds and test images as random samples, crossed with each other: from mean "
            "squares of the analysis of variance with Satterthwaite’s degrees of freedom, as in multi-reader "
            "multi-case studies (Hillis 2007)."
        )
    return notes + notes_on_paired_seeds([one.contrast for one in contrasts.of])


def notes_on_statistics(resamples: int, units: str) -> list[str]:
    """What the columns of a table of differences mean.

    Args:
        resamples: Draws of the bootstrap.
        units: What is drawn beside seeds, such as ``test images``.
    """
    return [
        f"From, to: 95% percentile interval of {resamples:,} bootstrap resamples of seeds and, "
        f"independently, {units}; with fewer than some ten seeds it is too narrow, unlike that of A − B.",
        "sd: of the differences of single seeds.",
        "Within ±: the smallest bound within which two one-sided tests at 5% call both sides equivalent.",
        "Detectable: the smallest true difference that a two-sided test at 5% would have found with a power of 80%.",
    ]


def notes_on_paired_seeds(contrasts: Sequence[Paired[AnyLine]]) -> list[str]:
    """Which contrasts have no interval, and which seeds are compared where sides have different ones."""
    notes = []
    counts = {len(one.seeds) for one in contrasts}
    if counts == {1}:
        seeds = listed(unique(str(one.seeds[0]) for one in contrasts))
        notes.append(
            f"One pair of runs each (seed {seeds}): no interval, since one seed says nothing of other trainings."
        )
    elif 1 in counts:
        notes.append("Contrasts with one pair of runs have no interval: one seed says nothing of other trainings.")
    if any(len(row.runs) > len(one.seeds) for one in contrasts for row in (one.a, one.b)):
        notes.append("Where the two sides have different seeds, those that both have are compared.")
    return notes


def notes_on_contrasts_left_out(contrasts: Sequence[Contrast], scale: str, study: Study) -> list[str]:
    """Which contrasts the scale does not make."""
    notes = []
    one_sided = [one for one in contrasts if (one.a.left_out is None) != (one.b.left_out is None)]
    apart = [one for one in contrasts if one.a.runs and one.b.runs and not one.seeds]
    left_out = [one for one in contrasts if not one.is_made and one not in apart]
    if left_out:
        which = "; ".join(
            unique(f"{contrast_in_words(one, study)} ({setting_in_words(one, study)})" for one in left_out)
        )
        why = ", of which only one side is made" if left_out == one_sided else ""
        many = f"{len(left_out)} of {len(contrasts)} contrasts {'are' if len(left_out) > 1 else 'is'}"
        notes.append(
            f"{many if len(contrasts) > 1 else 'The contrast is'} left out at the scale {scale}{why}: {which}."
            if len(left_out) <= FEW
            else f"{many} left out at the scale {scale}{why}."
        )
    if apart:
        which = "; ".join(unique(contrast_in_words(one, study) for one in apart))
        notes.append(f"Left out, since their sides have no seed in common: {which}.")
    return notes
