"""Whether a number of ours may be held against a number in print."""

from __future__ import annotations

from fivesentences.config import PublishedSetting
from fivesentences.paper.results import Measure, Results
from fivesentences.paper.rows import Row


def unlike_print(row: Row, setting: PublishedSetting | None, results: Results, measure: Measure | None) -> list[str]:
    """In what a row differs from print: dataset, features, gallery and, for a semantic measure, phi.

    Without a measure phi is not looked at. An empty list means that a difference may be taken.
    """
    if setting is None:
        return ["dataset"]  # the study does not tell, so nothing may be compared
    differs = []
    if row.dataset != dataset_in_print(setting, row.role):
        differs.append("dataset")
    if any(run.features.stem != setting.features for run in row.runs):
        differs.append("features")
    if setting.images is not None and any(results.gallery(run.name).images != setting.images for run in row.runs):
        differs.append("gallery size")
    if measure is not None and measure.phi and measure.phi != setting.phi:
        differs.append("phi")
    return differs


def dataset_in_print(setting: PublishedSetting, role: str) -> str | None:
    """The dataset that print used in a role, as configuration names it."""
    return setting.dataset if isinstance(setting.dataset, str) else setting.dataset.get(role)
