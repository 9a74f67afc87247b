"""The sentences below a table that say which published values stand beside ours, and whether they may be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fivesentences.paper.numbers.comparability import differing_settings
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.numbers.results import Results
from fivesentences.paper.text.names import listed, unique
from fivesentences.paper.text.run_notes import FEW
from fivesentences.study.exhibits import PublishedSetting
from fivesentences.study.expand import Row


def notes_on_beside(
    rows: Sequence[Row],
    setting: PublishedSetting | None,
    results: Results,
    published: Mapping[str, PublishedRow],
) -> list[str]:
    """Which published values stand below rows of ours, and whether differences are taken.

    Args:
        rows: The rows that are made.
        setting: How the published numbers were measured.
        results: Numbers of the runs.
        published: The published table.
    """
    notes = []
    beside = [row for row in rows if row.published is not None]
    for differs, some in _by_comparability(beside, setting, results).items():
        galleries = ", ".join(unique(published[str(row.published)].gallery for row in some))
        features = _features(setting, [(row.role, row.features) for row in some])
        theirs = galleries + (f" with {features}" if features else "")
        if differs:
            notes.append(f"Published: {theirs}. Not comparable: other {listed(differs)}, so no difference is shown.")
        else:
            notes.append(f"Published: {theirs}, as here; differences are ours minus published.")
    return notes


def note_on_published_only(rows: Sequence[PublishedRow], setting: PublishedSetting | None) -> list[str]:
    """Which published rows stand in a table without a row of ours."""
    if not rows:
        return []
    galleries = ", ".join(unique(row.gallery for row in rows))
    features = _features(setting, [(row.role, None) for row in rows])
    theirs = galleries + (f", {features}" if features else "")
    labels = unique(row.label for row in rows)
    named = labels if len(labels) <= FEW else unique(row.method for row in rows)
    return [
        f"Rows marked “published” ({', '.join(named)}) are the paper’s ({theirs}) and have no row of ours here: "
        "for orientation, not for comparison."
    ]


def _by_comparability(
    rows: Sequence[Row], setting: PublishedSetting | None, results: Results
) -> dict[tuple[str, ...], list[Row]]:
    """Rows with a published value by what differs there; rows that differ in anything are taken together."""
    differs = [differing_settings(row, setting, results) for row in rows]
    unlike = [row for row, parts in zip(rows, differs, strict=True) if parts]
    alike = [row for row, parts in zip(rows, differs, strict=True) if not parts]
    found = {tuple(unique(part for parts in differs for part in parts)): unlike} if unlike else {}
    return found | ({(): alike} if alike else {})


def _features(setting: PublishedSetting | None, read: Sequence[tuple[str, str | None]]) -> str:
    """The features that the paper's models read, for some (role, features of the row)."""
    if setting is None:
        return ""
    return listed(unique(str(setting.features_of(*one)) for one in read)) + " features"
