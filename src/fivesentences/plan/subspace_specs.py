"""How a study writes rows and contrasts of category retrieval; ``plan.subspaces`` resolves them at a scale."""

from __future__ import annotations

import itertools

from pydantic import Field, model_validator

from fivesentences.config.documents import Selection
from fivesentences.config.types import Name, Strict, as_list


class SubspaceRowSpec(Strict):
    """One row of a table or figure of category retrieval, or several: lists are multiplied out, the last key fastest.

    The order of the keys is division, method, selection.
    """

    role: Name
    division: Name | list[Name] = Field(default="printed", description="of the documents, as a scale names them")
    method: Name | list[Name] = Field(description="a method of the study")
    selection: Selection | list[Selection] = Field(
        default="map", description="which epoch's weights; a method without epochs has only the last"
    )
    published: str | None = Field(default=None, description="value of the column `row` in the published CSV")

    @model_validator(mode="after")
    def _one_published_row(self) -> SubspaceRowSpec:
        many = [key for key in ("division", "method", "selection") if isinstance(getattr(self, key), list)]
        if self.published is not None and many:
            raise ValueError(f"published names one published row, but {many[0]} is a list; write the rows one by one")
        return self


class SubspaceContrastSpec(Strict):
    """Runs of two methods, paired by seed, or several such pairs: lists are multiplied out, the last key fastest.

    The order of the keys is division, a, selection.
    """

    role: Name
    division: Name | list[Name] = "printed"
    a: Name | list[Name] = Field(description="the method of the first side; the difference is a - b")
    b: Name = Field(description="the method of the second side")
    selection: Selection | list[Selection] = "map"
    against: Selection | None = Field(default=None, description="the selection of the second side; null: the same")
    question: str = Field(default="", description="short words on what the difference tells")

    def pairs(self) -> list[tuple[SubspaceRowSpec, SubspaceRowSpec]]:
        """Both sides of each contrast, each a single row."""
        return [
            (
                SubspaceRowSpec(role=self.role, division=division, method=method, selection=selection),
                SubspaceRowSpec(role=self.role, division=division, method=self.b, selection=self.against or selection),
            )
            for division, method, selection in itertools.product(
                as_list(self.division), as_list(self.a), as_list(self.selection)
            )
        ]

    @model_validator(mode="after")
    def _sides_differ(self) -> SubspaceContrastSpec:
        for first, second in self.pairs():
            if first == second:
                raise ValueError(f"the method '{first.method}' is contrasted with itself; give another b, or against")
        return self
