"""Whether a number of ours may be compared with a published one."""

from __future__ import annotations

from fivesentences.config.types import as_list
from fivesentences.paper.numbers.results import Measure, Results
from fivesentences.study.exhibits import PublishedSetting
from fivesentences.study.expand import Row
from fivesentences.study.runs import galleries_of, members_of


def differing_settings(
    row: Row, setting: PublishedSetting | None, results: Results, measure: Measure | None = None
) -> list[str]:
    """In what a row differs from the paper: dataset, features, gallery size and, for a semantic measure, phi.

    Without a measure phi is not considered. An empty list means that a difference may be taken.
    """
    if setting is None:
        return ["dataset"]  # the study does not say, so nothing may be compared
    differs = []
    if row.dataset != setting.of_role("dataset", row.role):
        differs.append("dataset")
    read = {member.features.stem for run in row.runs for member in members_of(run)}
    if read - {setting.features_of(row.role, row.features)}:
        differs.append("features")
    images = setting.images_of(row.role, row.folds)
    galleries = galleries_of(row.folds)
    if images is not None and any(results.gallery(run.name).images // galleries != images for run in row.runs):
        differs.append("gallery size")
    if measure is not None and measure.phi and measure.phi not in as_list(setting.phi):
        differs.append("phi")
    return differs
