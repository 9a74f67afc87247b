"""Names of contrasts, and the sentences below a table or figure of them."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.metrics import holm
from fivesentences.reproduction.categories.paper.notes import epoch_of, place_of, same_epoch
from fivesentences.reproduction.paper.numbers.contrasts import AnyContrast, Contrasts, Difference, Measured
from fivesentences.reproduction.paper.text.labels import label_of, loss_in_words, phi_label
from fivesentences.reproduction.paper.text.names import MINUS, grouped, listed, unique
from fivesentences.reproduction.paper.text.run_notes import FEW, training_in_words
from fivesentences.reproduction.study.exhibits import Summed
from fivesentences.reproduction.study.expand import Contrast, Row, SubspaceContrast, SubspaceRow
from fivesentences.reproduction.study.study import Study

ALPHA = 0.05
METRICS: dict[Summed, str] = {
    "Rsum": "Rsum",
    "Nsum": "Nsum",
    "Nsum_own_removed": "Nsum, own removed",
    "ASP_i2t": "ASP image-to-text",
    "ASP_t2i": "ASP text-to-image",
}


def _parts(row: Row, study: Study) -> list[tuple[object, str, str]]:
    """List what may tell rows of runs apart beside their losses: value, words, and words for what the scale decides."""
    captions = [f"{100 * row.fraction:g}% of the training captions" if row.fraction < 1 else "all training captions"]
    if (count := row.captions_per_image) is not None:
        captions.append(f"{count} caption{'s' if count > 1 else ''} per training image")
    return [
        (row.model, study.label_of(row.model), ""),
        (row.features, study.label_of(row.features) if row.features else "", "the scale’s features"),
        ((row.fraction, row.captions_per_image), ", ".join(captions), ""),
        ((row.noise, row.epochs), ", ".join(training_in_words(row)), "the scale’s epochs"),
        (row.inference, "" if row.inference == "naive" else label_of(study, "inference", row.inference), "naive"),
    ]


def setting_in_words(contrast: Contrast | SubspaceContrast, study: Study) -> str:
    """Word what both sides share: model, data and length of training; or documents, division and epoch."""
    a, b = contrast.a, contrast.b
    if isinstance(a, SubspaceRow) and isinstance(b, SubspaceRow):
        return ", ".join(filter(None, [place_of(a, study), same_epoch((a, b))]))
    assert isinstance(a, Row) and isinstance(b, Row)  # both sides are of one kind
    dataset = study.label_of(a.role if a.dataset is None else a.dataset)
    parts = zip(_parts(a, study), _parts(b, study), strict=True)
    model, *others = (words if value == other else "" for (value, words, _), (other, _, _) in parts)
    return ", ".join(filter(None, [model, dataset, *others]))


def sides_in_words(contrast: Contrast | SubspaceContrast, study: Study) -> tuple[str, str]:
    """Name both sides by their loss or method, and by what else tells them apart."""
    a, b = contrast.a, contrast.b
    if isinstance(a, SubspaceRow) and isinstance(b, SubspaceRow):
        if same_epoch((a, b)) is not None:
            return a.label, b.label
        alike = a.method == b.method
        return f"{a.label}{':' if alike else ','} {epoch_of(a)}", f"{'' if alike else f'{b.label}, '}{epoch_of(b)}"
    assert isinstance(a, Row) and isinstance(b, Row)  # both sides are of one kind
    parts = zip(_parts(a, study), _parts(b, study), strict=True)
    first, second = ([] if a.loss == b.loss else [loss_in_words(study, row.loss)] for row in (a, b))
    for ours, theirs in parts:
        if ours[0] != theirs[0]:
            first.append(ours[1] or ours[2])
            second.append(theirs[1] or theirs[2])
    shared = f"{loss_in_words(study, a.loss)}: " if a.loss == b.loss else ""
    return shared + ", ".join(first), ", ".join(second)


def contrast_in_words(contrast: Contrast | SubspaceContrast, study: Study) -> str:
    """Name both sides, such as ``SAM − hardest``."""
    return f" {MINUS} ".join(sides_in_words(contrast, study))


def groups_of(measured: Sequence[Measured[AnyContrast]], study: Study) -> dict[str, list[Measured[AnyContrast]]]:
    """Group contrasts by what their sides share, in words."""
    return grouped(measured, lambda one: setting_in_words(one.contrast, study))


def notes_on_contrasts(contrasts: Contrasts[Contrast], metrics: Sequence[Summed], study: Study) -> list[str]:
    """Word what was measured, on what, and with which seeds; nothing if no contrast is made."""
    if not contrasts.of:
        return []
    images = {study.label_of(str(one.contrast.a.dataset)): one.images for one in contrasts.of}
    galleries = listed([f"{count:,} test images of {dataset}" for dataset, count in images.items()])
    phi = phi_label(study, contrasts.phi)
    nsum = f"; Nsum: {phi}, released formula" if any(metric.startswith("Nsum") for metric in metrics) else ""
    nsum += f"; ASP: {phi}, ties by index" if any(metric.startswith("ASP") for metric in metrics) else ""
    notes = [f"A {MINUS} B of runs with the same seed, on {galleries}{nsum}. An image and its captions are one unit."]
    if any(len(one.contrast.seeds) > 1 for one in contrasts.of):
        notes.append(
            "Intervals at 95% regard both seeds and test images as random samples, crossed with each other: from mean "
            "squares of the analysis of variance with Satterthwaite’s degrees of freedom, as in multi-reader "
            "multi-case studies (Hillis 2007)."
        )
    return notes + _on_paired_seeds(contrasts)


def notes_on_pairs(contrasts: Contrasts[SubspaceContrast], study: Study) -> list[str]:
    """Word what was measured in category retrieval, and how intervals treat seeds and test documents."""
    if not contrasts.of:
        return []
    notes = [
        f"A {MINUS} B of runs with the same seed, which have the same division. A document is one unit: its image and "
        "its text are two queries."
    ]
    several = [one for one in contrasts.of if len(one.contrast.seeds) > 1]
    same = {place_of(one.contrast.a, study): f"{one.images:,}" for one in several if one.same_queries}
    own = {}
    for one in (one for one in several if not one.same_queries):
        sizes = " or ".join(f"{size:,}" for size in unique(one.per_seed))
        own[place_of(one.contrast.a, study)] = f"{sizes} of {one.images:,}"
    if same:
        notes.append(
            f"All seeds have the same test documents: {'; '.join(f'{at} ({count})' for at, count in same.items())}. "
            "Intervals at 95% regard seeds and documents as crossed random samples (Hillis 2007)."
        )
    if own:
        notes.append(
            "Each seed draws its own test documents from one pool: "
            f"{'; '.join(f'{at} ({counts})' for at, counts in own.items())}. Intervals at 95% regard seeds and "
            "documents of the pool as partly crossed random samples, with variance components by moments (Gao and "
            "Owen 2017); both runs of a seed have the same documents."
        )
    if several:
        notes.append(
            "Intervals say what other trainings and other queries would give, in the same gallery with the same "
            "categories; they are not corrected for the number of contrasts."
        )
    return notes + _on_paired_seeds(contrasts)


def adjusted_p(differences: Sequence[Difference]) -> list[float | None]:
    """Adjust the p of some differences by Holm's method for their number; None for one without an interval."""
    known = [one.p for one in differences if one.p is not None]
    adjusted = iter(holm(known).tolist())
    return [None if one.p is None else next(adjusted) for one in differences]


def note_on_many(differences: Sequence[Difference], where: str) -> list[str]:
    """Say how many differences of a table or figure stand after a correction for their number.

    Args:
        differences: All that it shows.
        where: "table" or "figure".
    """
    pairs = [(one.p, p) for one, p in zip(differences, adjusted_p(differences), strict=True) if one.p is not None]
    if len(pairs) < 2:
        return []
    alone, together = (sum(side < ALPHA for side in sides) for sides in zip(*pairs, strict=True))
    return [
        f"{alone} of the {len(pairs)} intervals of this {where} exclude 0, each by itself; after Holm's correction for "
        f"all {len(pairs)}, {together} differences differ from 0 (p < {ALPHA:g})."
    ]


def notes_on_statistics(contrasts: Contrasts[AnyContrast], units: str) -> list[str]:
    """Explain the columns of a table of differences; nothing if every contrast has a single seed.

    Args:
        contrasts: Measured contrasts.
        units: Units that are drawn beside seeds, such as ``test images``.
    """
    if all(len(one.contrast.seeds) == 1 for one in contrasts.of):
        return []
    return [
        f"From, to: 95% percentile interval of {contrasts.resamples:,} bootstrap resamples of seeds and, "
        f"independently, {units}; with fewer than some ten seeds it is too narrow, unlike that of A − B.",
        "sd: of the differences of single seeds.",
        "Within ±: the smallest bound within which two one-sided tests at 5% call both sides equivalent.",
        "Detectable: the smallest true difference that a two-sided test at 5% would have found with a power of 80%.",
    ]


def _on_paired_seeds(contrasts: Contrasts[AnyContrast]) -> list[str]:
    """Name contrasts without an interval, and say which seeds are compared if the sides have different ones."""
    notes, made = [], [one.contrast for one in contrasts.of]
    counts = {len(one.seeds) for one in made}
    if counts == {1}:
        seeds = listed(unique(str(one.seeds[0]) for one in made))
        notes.append(
            f"One pair of runs each (seed {seeds}): no interval, since one seed says nothing of other trainings."
        )
    elif 1 in counts:
        notes.append("Contrasts with one pair of runs have no interval: one seed says nothing of other trainings.")
    if any(len(row.runs) > len(one.seeds) for one in made for row in (one.a, one.b)):
        notes.append("Where the two sides have different seeds, those that both have are compared.")
    return notes


def notes_on_contrasts_left_out(contrasts: Sequence[AnyContrast], scale: str, study: Study) -> list[str]:
    """Name the contrasts that the scale does not make."""
    notes = []
    apart = [one for one in contrasts if one.a.runs and one.b.runs and not one.seeds]
    left_out = [one for one in contrasts if not one.is_made and one not in apart]
    if left_out:
        one_sided = all((one.a.left_out is None) != (one.b.left_out is None) for one in left_out)
        why = ", of which only one side is made" if one_sided else ""
        many = f"{len(left_out)} of {len(contrasts)} contrasts {'are' if len(left_out) > 1 else 'is'}"
        names = unique(f"{contrast_in_words(one, study)} ({setting_in_words(one, study)})" for one in left_out)
        which = f": {'; '.join(names)}" if len(left_out) <= FEW else ""
        notes.append(f"{many if len(contrasts) > 1 else 'The contrast is'} left out at the scale {scale}{why}{which}.")
    if apart:
        which = "; ".join(unique(contrast_in_words(one, study) for one in apart))
        notes.append(f"Left out, since their sides have no seed in common: {which}.")
    return notes
