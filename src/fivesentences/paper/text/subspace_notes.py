"""What rows and contrasts of category retrieval are called, and the sentences below tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fivesentences.config.documents import Prepare, Selection
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.numbers.subspaces import MeasuredSubspaces, SubspaceResults
from fivesentences.paper.text.contrast_notes import FEW, notes_on_paired_seeds
from fivesentences.paper.text.names import listed, unique
from fivesentences.paper.text.numbers import MINUS, number
from fivesentences.study.exhibits import PublishedSubspaces, SubspaceMeasure
from fivesentences.study.expand import SubspaceContrast, SubspaceRow
from fivesentences.study.study import Study

EPOCHS: dict[Selection, str] = {"map": "best validation mAP", "loss": "lowest validation loss", "last": "last epoch"}
PREPARED: dict[Prepare, str] = {
    "as_stored": "as stored",
    "standardise": "standardised",
    "sqrt_standardise": "square roots, standardised",
}
DIVISORS = {
    "mAP": "mAP: over the whole ranking; each precision at a relevant item counts, divided by how many there are.",
    "mAP@100": "mAP@100: over the first 100 items, divided by how many relevant ones are among them.",
    "mAP@100 possible": "mAP@100 of possible: over the first 100 items, divided by how many relevant ones could be "
    "among them, min(R, 100).",
    "mAP@R": "mAP@R: over the first R items, divided by R, which is how many items are relevant.",
}


def epoch_of(row: SubspaceRow) -> str:
    """Which epoch's weights a row reads; empty for a method without epochs."""
    return EPOCHS[row.selection] if row.spec.iterative else ""


def place_of(row: SubspaceRow, study: Study) -> str:
    """Documents and division of a row, such as ``Scenes in the role of Wikipedia, split as in the paper``."""
    documents, role = study.label_of(row.documents or row.role), study.label_of(row.role)
    played = "" if documents.startswith(role) else f" in the role of {role}"
    return f"{documents}{played}, {study.label_of(row.division)}"


def same_epoch(rows: Iterable[SubspaceRow]) -> str | None:
    """The epoch that all rows with epochs read; empty if none has epochs, None if they differ."""
    found = unique(epoch for row in rows if (epoch := epoch_of(row)))
    return None if len(found) > 1 else "".join(found)


def notes_on_divisions(rows: Sequence[SubspaceRow], results: SubspaceResults, study: Study) -> list[str]:
    """Sizes of the parts of each division, and what a random ranking would reach there."""
    notes = []
    for where, some in _by_place(rows, study).items():
        sizes = dict.fromkeys(results.sizes(run.name) for row in some for run in row.runs)
        parts = " or ".join(
            f"{one.train:,} training, {one.validation:,} validation and {one.test:,} test documents of "
            f"{one.categories} categories"
            for one in sizes
        )
        chance = number(results.by_chance(some), 3)
        notes.append(f"{where}: {parts}; a random ranking is expected to reach an mAP of {chance}.")
    return notes


def notes_on_inputs(rows: Sequence[SubspaceRow], study: Study) -> list[str]:
    """How vectors of images and texts become inputs, where methods do not say it themselves."""
    said = {}
    for row in rows:
        if row.spec.inputs is None:
            run = row.runs[0]
            images, texts = PREPARED[run.image], PREPARED[run.text]
            said[study.label_of(run.documents)] = f"images {images}, texts {texts}"
    if not said:
        return []
    return [
        f"Inputs: {'; '.join(f'{documents}: {how}' for documents, how in said.items())}. Means and deviations are "
        "those of training documents."
    ]


def notes_on_measures(measures: Sequence[SubspaceMeasure]) -> list[str]:
    """How mAP is defined and divided."""
    notes = [
        "Average precision as a fraction, by cosine similarity; every item of the query’s category is relevant, and "
        "equal similarities are ordered by index, lower first."
    ]
    return notes + [DIVISORS[metric] for metric in unique(measure.metric for measure in measures)]


def notes_on_subspace_seeds(rows: Sequence[SubspaceRow]) -> list[str]:
    """How many seeds stand behind means, and which."""
    counts: dict[tuple[int, ...], list[str]] = {}
    for row in rows:
        counts.setdefault(tuple(run.seed for run in row.runs), []).append(row.label)
    notes = []
    most = max(counts, key=lambda seeds: len(counts[seeds]))
    for seeds, labels in counts.items():
        names = unique(labels)
        where = f": {', '.join(names)}" if len(names) <= FEW else f": {len(names)} methods"
        where = "" if len(counts) == 1 else ": all other rows" if seeds == most else where
        named = ", ".join(str(seed) for seed in seeds)
        notes.append(
            f"Mean ± sample standard deviation over {len(seeds)} seeds ({named}){where}."
            if len(seeds) > 1
            else f"One seed ({named}), so no spread is known{where}."
        )
    return notes


def note_on_seeds(made: Sequence[SubspaceRow], shown: str, alone: str) -> str:
    """Which seeds stand behind what is shown.

    Args:
        made: Rows with runs.
        shown: What is shown of several seeds, such as ``Lines: mean``.
        alone: What one run is called, such as ``One run of each method``.
    """
    seeds = list(dict.fromkeys(run.seed for row in made for run in row.runs))
    named = listed([str(seed) for seed in seeds])
    if len(seeds) == 1:
        return f"{alone} (seed {named}), so no spread is known."
    same = all(len(row.runs) == len(seeds) for row in made)
    return f"{shown} over {'' if same else 'up to '}{len(seeds)} seeds ({named})."


def notes_on_published(
    beside: Sequence[tuple[SubspaceRow, PublishedRow]],
    alone: Sequence[PublishedRow],
    setting: PublishedSubspaces | None,
    study: Study,
) -> list[str]:
    """Which published values are shown, and whether they may be compared.

    Args:
        beside: Rows of ours with the published rows beside them.
        alone: Published rows without a row of ours.
        setting: How the published numbers were measured.
        study: The study.
    """
    notes = []
    for same in (True, False):
        some = [
            one
            for one in beside
            if (setting is not None and setting.is_that_of(one[0].role, one[0].documents, one[0].division)) == same
        ]
        if not some:
            continue
        theirs = []
        for role in unique(row.role for row, _ in some):
            features = setting.features_of(role) if setting is not None else ""
            dataset = next(published.dataset for row, published in some if row.role == role)
            theirs.append(dataset + (f" with {features}" if features else ""))
        notes.append(
            f"Published: {listed(unique(theirs))}, as here; differences are ours minus published."
            if same
            else f"Published: {listed(unique(theirs))}. Not comparable: other data or features, so no difference is "
            "shown."
        )
    if alone:
        names = unique(row.label for row in alone)
        notes.append(
            f"Rows marked “published” ({', '.join(names)}) are the paper’s and have no row of ours here: for "
            "orientation, not for comparison."
        )
    return notes


def notes_on_left_out(rows: Sequence[SubspaceRow], scale: str, study: Study) -> list[str]:
    """The roles that nobody plays, divisions that documents do not have, and methods that the scale does not make."""
    notes = []
    for role in unique(row.role for row in rows if row.left_out == "role"):
        count = len([row for row in rows if row.role == role])
        notes.append(
            f"No documents play the role of {study.label_of(role)} at the scale {scale}: "
            f"its {count} row{'s are' if count != 1 else ' is'} left out."
        )
    divisions = unique(place_of(row, study) for row in rows if row.left_out == "division")
    if divisions:
        notes.append(f"Left out at the scale {scale}, which does not have these divisions: {'; '.join(divisions)}.")
    methods = unique(row.label for row in rows if row.left_out == "method")
    if methods:
        notes.append(f"Left out at the scale {scale} to save time: {'; '.join(methods)}.")
    return notes


def sides_in_words(contrast: SubspaceContrast) -> tuple[str, str]:
    """What both sides are called: by their methods, and by their epochs where these differ."""
    a, b = contrast.a, contrast.b
    if same_epoch((a, b)) is not None:
        return a.label, b.label
    if a.method == b.method:
        return f"{a.label}: {epoch_of(a)}", epoch_of(b)
    return f"{a.label}, {epoch_of(a)}", f"{b.label}, {epoch_of(b)}"


def setting_in_words(contrast: SubspaceContrast, study: Study) -> str:
    """What both sides have in common: documents, division, and the epoch if it is the same."""
    epoch = same_epoch((contrast.a, contrast.b))
    return ", ".join(filter(None, [place_of(contrast.a, study), epoch]))


def notes_on_pairs(found: Sequence[MeasuredSubspaces], study: Study) -> list[str]:
    """What was measured, and how intervals regard seeds and test documents; nothing if no contrast is made."""
    if not found:
        return []
    notes = [
        f"A {MINUS} B of runs with the same seed, which have the same division. A document is one unit: its image and "
        "its text are two queries."
    ]
    several = [one for one in found if len(one.contrast.seeds) > 1]
    for same in (True, False):
        places: Mapping[str, MeasuredSubspaces] = {
            place_of(one.contrast.a, study): one for one in several if one.same_queries == same
        }
        if not places:
            continue
        if same:
            where = "; ".join(f"{place} ({one.pool:,})" for place, one in places.items())
            notes.append(
                f"All seeds have the same test documents: {where}. Intervals at 95% regard seeds and documents as "
                "crossed random samples (Hillis 2007)."
            )
        else:
            where = "; ".join(
                f"{place} ({' or '.join(f'{size:,}' for size in dict.fromkeys(one.per_seed))} of {one.pool:,})"
                for place, one in places.items()
            )
            notes.append(
                f"Each seed draws its own test documents from one pool: {where}. Intervals at 95% regard seeds and "
                "documents of the pool as partly crossed random samples, with variance components by moments (Gao and "
                "Owen 2017); both runs of a seed have the same documents."
            )
    if several:
        notes.append(
            "Intervals say what other trainings and other queries would give, in the same gallery with the same "
            "categories; they are not corrected for the number of contrasts."
        )
    return notes + notes_on_paired_seeds([one.contrast for one in found])


def notes_on_pairs_left_out(contrasts: Sequence[SubspaceContrast], scale: str, study: Study) -> list[str]:
    """Which contrasts the scale does not make."""
    left_out = [one for one in contrasts if not one.is_made]
    if not left_out:
        return []
    names = unique(f"{f' {MINUS} '.join(sides_in_words(one))} ({setting_in_words(one, study)})" for one in left_out)
    many = f"{len(left_out)} of {len(contrasts)} contrasts {'are' if len(left_out) > 1 else 'is'}"
    if len(contrasts) == 1:
        many = "The contrast is"
    which = f": {'; '.join(names)}" if len(names) <= FEW else ""
    return [f"{many} left out at the scale {scale}{which}."]


def _by_place(rows: Sequence[SubspaceRow], study: Study) -> dict[str, list[SubspaceRow]]:
    found: dict[str, list[SubspaceRow]] = {}
    for row in rows:
        found.setdefault(place_of(row, study), []).append(row)
    return found
