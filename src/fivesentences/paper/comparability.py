"""Whether a number of ours may be held against a number in print."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from fivesentences.config import EvaluationPhi, Name, Strict, as_list
from fivesentences.paper.results import Measure, Results
from fivesentences.plan.ensembles import members_of
from fivesentences.plan.rows import Row


class PublishedSetting(Strict):
    """What the published numbers were measured with; a difference is shown only where a run used the same."""

    dataset: Name | dict[Name, Name] = Field(description="or one dataset for each role")
    features: str | dict[Name, str] = Field(description="or one for each role, or for what rows name as features")
    phi: EvaluationPhi | list[EvaluationPhi] | None = Field(
        default=None, description="null if no published metric is semantic; a list if its columns have several"
    )
    images: int | dict[Name, int] | None = Field(
        default=None, description="images of the test gallery, or one number for each role"
    )

    def of_role(self, key: Literal["dataset", "features", "images"], role: str) -> Any:
        """The setting of a role; None if the paper has none."""
        value = getattr(self, key)
        return value.get(role) if isinstance(value, dict) else value


def unlike_print(row: Row, setting: PublishedSetting | None, results: Results, measure: Measure | None) -> list[str]:
    """In what a row differs from print: dataset, features, gallery and, for a semantic measure, phi.

    Without a measure phi is not looked at. An empty list means that a difference may be taken.
    """
    if setting is None:
        return ["dataset"]  # the study does not tell, so nothing may be compared
    differs = []
    if row.dataset != setting.of_role("dataset", row.role):
        differs.append("dataset")
    read = {member.features.stem for run in row.runs for member in members_of(run)}
    if read - {features_in_print(setting, row.role, row.features)}:
        differs.append("features")
    images = setting.of_role("images", row.role)
    if images is not None and any(results.gallery(run.name).images != images for run in row.runs):
        differs.append("gallery size")
    if measure is not None and measure.phi and measure.phi not in as_list(setting.phi):
        differs.append("phi")
    return differs


def features_in_print(setting: PublishedSetting, role: str, features: str | None = None) -> str | None:
    """What print's models read; None where the study does not say.

    Args:
        setting: What print was made with.
        role: The role of a row.
        features: What the row names as its features.
    """
    if isinstance(setting.features, str):
        return setting.features
    return setting.features.get(features or role) or setting.features.get(role)
