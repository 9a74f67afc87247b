"""Whether a number of ours may be compared with a published one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from fivesentences.config import EvaluationPhi, Name, Strict, as_list
from fivesentences.paper.numbers.results import Measure, Results
from fivesentences.plan.encoded import members_of
from fivesentences.plan.readings import galleries_of
from fivesentences.plan.rows import Row


class PublishedSetting(Strict):
    """How the published numbers were measured; a difference is shown only where a run was measured in the same way."""

    dataset: Name | dict[Name, Name] = Field(description="or one dataset for each role")
    features: str | dict[Name, str] = Field(description="or one for each role, or for what rows name as features")
    phi: EvaluationPhi | list[EvaluationPhi] | None = Field(
        default=None, description="null if no published metric is semantic; a list if its columns have several"
    )
    images: int | dict[Name, int] | None = Field(
        default=None,
        description="images of the test gallery, or one number for each role; of its folds as `coco_folds`",
    )

    def of_role(self, key: Literal["dataset", "images"], role: str) -> Any:
        """The dataset or the number of images of a role; None if the paper has none."""
        value = getattr(self, key)
        return value.get(role) if isinstance(value, dict) else value

    def images_of(self, role: str, folds: int | str | None) -> int | None:
        """The images of a gallery of a role, or of one of its folds: ``{coco: 5000, coco_folds: 1000}``."""
        of_folds = self.of_role("images", f"{role}_folds") if folds is not None else None
        found: int | None = of_folds or self.of_role("images", role)
        return found

    def features_of(self, role: str, features: str | None = None) -> str | None:
        """The features that the paper's models read; None where the study does not say.

        Args:
            role: The role of a row.
            features: What the row names as its features.
        """
        if isinstance(self.features, str):
            return self.features
        return self.features.get(features or role) or self.features.get(role)


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
