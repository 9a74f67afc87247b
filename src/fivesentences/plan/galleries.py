"""The gallery of a scale: which runs it shows on which dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fivesentences.config.scales import Scale
from fivesentences.study.exhibits import GallerySpec
from fivesentences.study.expand import Row, contrasts_of, expand_rows, gallery_spec_of
from fivesentences.study.study import Study


@dataclass(frozen=True)
class PlannedGallery:
    """A gallery, resolved at a scale.

    Attributes:
        study: The name of its study.
        spec: What the study says of it.
        dataset: Whose queries it shows.
        rows: Its models, in the order of the page; the first run of each is shown.
        contrasts: The names of the two runs of each contrast.
    """

    study: str
    spec: GallerySpec
    dataset: str
    rows: tuple[Row, ...]
    contrasts: tuple[tuple[str, str], ...]

    @property
    def runs(self) -> list[str]:
        """The names of the runs that it shows, one for each of ``rows``."""
        return [row.runs[0].name for row in self.rows]


def gallery_of(
    studies: Mapping[str, Study], scale: Scale, has_photographs: Callable[[str], bool]
) -> PlannedGallery | None:
    """The gallery of a scale; None if no study has one, or none of its rows is trained on a dataset with photographs.

    Args:
        studies: Of the scale.
        scale: The scale, or its complete form.
        has_photographs: Whether a dataset has photographs to show.
    """
    found = gallery_spec_of(studies, scale)
    if found is None:
        return None
    name, spec = found
    study = studies[name]
    made = [row for row in expand_rows(spec.row_specs(), study, scale) if row.dataset and row.runs]
    dataset = next((row.dataset for row in made if row.dataset and has_photographs(row.dataset)), None)
    if dataset is None:
        return None
    rows: dict[str, Row] = {}
    for row in made:
        if row.dataset == dataset:
            rows.setdefault(row.runs[0].name, row)
    pairs = [
        (one.a.runs[0].name, one.b.runs[0].name)
        for one in contrasts_of(spec.contrasts, study, scale)
        if one.a.dataset == dataset and one.is_made
    ]
    return PlannedGallery(name, spec, dataset, tuple(rows.values()), tuple(dict.fromkeys(pairs)))
