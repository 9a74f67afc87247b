"""Whether a number of ours may be held against a number in print."""

from __future__ import annotations

from fivesentences.config import PublishedSetting, as_list
from fivesentences.paper.results import Measure, Results
from fivesentences.paper.rows import Row


def unlike_print(row: Row, setting: PublishedSetting | None, results: Results, measure: Measure | None) -> list[str]:
    """In what a row differs from print: dataset, features, gallery and, for a semantic measure, phi.

    Without a measure phi is not looked at. An empty list means that a difference may be taken.
    """
    if setting is None:
        return ["dataset"]  # the study does not tell, so nothing may be compared
    differs = []
    if row.dataset != setting.of_role("dataset", row.role):
        differs.append("dataset")
    if any(run.features.stem != setting.of_role("features", row.role) for run in row.runs):
        differs.append("features")
    images = setting.of_role("images", row.role)
    if images is not None and any(results.gallery(run.name).images != images for run in row.runs):
        differs.append("gallery size")
    if measure is not None and measure.phi and measure.phi not in as_list(setting.phi):
        differs.append("phi")
    return differs
