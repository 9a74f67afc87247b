"""A study, one paper: ``config/studies/<name>.yaml``, and the claims of a paper: ``config/claims/<name>.yaml``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, PrivateAttr, model_validator

from fivesentences.config.files import claims_files, study_file
from fivesentences.config.reading import read
from fivesentences.config.types import EvaluationPhi, Name, Strict, as_list
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.models import MODELS, ModelVariant
from fivesentences.reproduction.categories.models.specs import AnyMethod
from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.config.scales import Scale, Setup
from fivesentences.reproduction.study.claims import Claims, LevelTest, MethodsTest, RunsTest
from fivesentences.reproduction.study.exhibits import AnyFigure, AnyTable, Exhibit, GallerySpec
from fivesentences.semantics.names import check_phi
from fivesentences.semantics.registry import IN_WORDS


class Study(Strict):
    """One paper, or questions of our own, with its tables and figures."""

    paper: str
    short: str = ""
    """What navigation calls the paper; default: `paper`."""
    losses: dict[Name, LossSpec] = Field(default={})
    models: dict[Name, ModelVariant] = Field(default={})
    """Variants, such as scan_i2t; a row may also name a known model as it is."""
    ensembles: dict[Name, list[Name]] = Field(default={})
    """Models whose similarities are averaged; a model that is listed twice has two seeds."""
    methods: dict[Name, AnyMethod] = Field(default={})
    """Methods of category retrieval."""
    labels: dict[Name | EvaluationPhi, str] = Field(default={})
    """What tables call a role, dataset, judge, phi or ensemble; of losses, models and methods only those that shall not
    be called by their settings."""
    tables: list[AnyTable] = Field(default=[])
    """In the order of the page."""
    figures: list[AnyFigure] = Field(default=[])
    """In the order of the page, after the tables."""
    gallery: GallerySpec | None = None
    """Queries with what models retrieve; null: none."""
    setup: Setup | None = None
    """Seeds, epochs, phi and more of its own, instead of the scale's; null: those of the scale."""
    finding: Finding | None = None
    """What it found at the scale that it names, with which its page opens there; null: nothing is stated."""

    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The name of its file without the suffix, which scales call it by; empty if it was read from none."""
        return self._name

    def digest(self, finding: bool = False) -> str:
        """Return the SHA-256 of what it says, whatever files it extends.

        Args:
            finding: Whether its finding counts, which only pages show.
        """
        said = self.model_dump(mode="json", exclude_unset=True, exclude=None if finding else {"finding"})
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def label_of(self, name: str, otherwise: str | None = None) -> str:
        """Name something for tables: as ``labels`` says; a loss by its settings, a model by its title.

        A method of category retrieval is called by its title and what was stated of it.

        Args:
            name: Name of a loss, model, ensemble, method, role, dataset, judge, phi or inference method.
            otherwise: For what has no label; None: its name.
        """
        if name in self.labels:
            return self.labels[name]
        if name in self.losses:
            return self.losses[name].label(IN_WORDS | self.labels)
        if name in self.methods:
            return self.methods[name].label()
        model = self.models.get(name) or MODELS.get(name)
        return model.title if model is not None else otherwise or name

    @property
    def exhibits(self) -> Iterator[Exhibit]:
        """All tables and figures, in the order of the page."""
        yield from self.tables
        yield from self.figures

    @property
    def declared(self) -> Iterator[Exhibit]:
        """All tables and figures, and the gallery."""
        yield from self.exhibits
        if self.gallery is not None:
            yield self.gallery

    def exhibit(self, name: str) -> Exhibit:
        """Return the table or figure of that name."""
        return next(one for one in self.exhibits if one.name == name)

    def finding_at(self, scale: Scale) -> Finding | None:
        """Return its finding at a scale; None elsewhere, where its rows are not all made, or settings were changed."""
        made = {f"{self._name}/{one.name}" for one in self.made_at(scale)}
        asked = self.finding
        if asked is None or asked.scale != scale.scale or scale.over_studies or not asked.shown <= made:
            return None
        return asked

    def made_at(self, scale: Scale) -> list[Exhibit]:
        """Return the tables and figures that a scale makes, in the order of the page."""
        return [one for one in self.exhibits if scale.makes(self._name, one.name, one.shows_photographs)]

    @model_validator(mode="after")
    def _ensembles_have_members(self) -> Study:
        for name, members in self.ensembles.items():
            if name in self.models:
                raise ValueError(f"'{name}' is the name of a model and of an ensemble; rename one")
            if len(members) < 2:
                raise ValueError(f"ensembles.{name} has {len(members)} members; an ensemble has at least two")
            for member in (one for one in members if one in self.ensembles):
                raise ValueError(f"ensembles.{name} names the ensemble '{member}'; its members are single models")
        return self

    @model_validator(mode="after")
    def _names_are_declared(self) -> Study:
        """Check that names of tables and figures are unique, and that losses, methods and phi they name are there."""
        if self.finding is not None and self.finding.scale is None:
            raise ValueError("finding.scale is missing; name the scale whose numbers it is about")
        names = [one.name for one in self.declared]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two tables or figures are named '{name}'; rename one")
        for name, loss in self.losses.items():
            for phi in loss.phis:
                check_phi(phi, f"losses.{name}: phi")
        for exhibit in self.declared:
            of_columns = [(column.phi, f"phi of the column {column.metric}", True) for column in exhibit.metrics()]
            of_matrices = [(phi, "phi", True) for phi in exhibit.matrices()]
            of_judges = [(phi, "phi", False) for phi, _ in exhibit.judged()]
            for asked, where, whole in (*of_columns, *of_matrices, *of_judges):
                if asked is not None:
                    check_phi(asked, f"{exhibit.name}: {where}", whole=whole)
            margins = [name for _, name in exhibit.adaptive_margins()]
            of_rows = [loss for row in exhibit.row_specs() for loss in as_list(row.loss)]
            losses = [*margins, *of_rows]
            methods = [method for row in exhibit.every_subspace_row() for method in as_list(row.method)]
            for kind, names_asked, known in (("loss", losses, self.losses), ("method", methods, self.methods)):
                for name in (one for one in names_asked if one not in known):
                    has = f"{kind}{'es' if kind == 'loss' else 's'} has only: {', '.join(known)}"
                    raise ValueError(f"{exhibit.name} names the {kind} '{name}', but {has}")
            for name in margins:
                sam = self.losses[name].sam
                if sam is None or sam.margins != "adaptive":
                    raise ValueError(
                        f"{exhibit.name} shows the margins of the loss '{name}', which has no adaptive margins; name a "
                        "loss with sam, whose margins are adaptive"
                    )
        return self


@dataclass(frozen=True)
class PaperClaims:
    """The claims of a paper and its study, whose names of losses and methods they use.

    Raises:
        InputError: If a claim names a loss or method that the study does not have.
    """

    name: str
    claims: Claims
    study: Study

    def __post_init__(self) -> None:
        for kind, asked, known in (
            ("loss", self.claims.names(RunsTest, LevelTest), self.study.losses),
            ("method", self.claims.names(MethodsTest), self.study.methods),
        ):
            for one in sorted(asked - set(known)):
                raise InputError(f"claims/{self.name}.yaml names the {kind} '{one}', which its study does not have.")


def read_study(path: Path) -> Study:
    """Read the study of a file; it takes the file's name.

    Raises:
        InputError: If the file is missing or wrong.
    """
    study = read(Study, path)
    study._name = path.stem
    return study


def read_claims(config: Path, known: Mapping[str, Study], scale: str) -> list[PaperClaims]:
    """Read every file of ``claims/``, each with the study whose names it uses, the longest first.

    Args:
        config: The folder of the scale's file; see ``config_file``.
        known: Studies that were read already.
        scale: The name of the scale, for an error.

    Raises:
        InputError: If a file is missing or wrong, or names a loss or method that its study lacks.
    """
    found = []
    for name, path in claims_files(config).items():
        claims = read(Claims, path)
        study = known.get(claims.study) or read_study(study_file(claims.study, config, scale))
        found.append(PaperClaims(name, claims, study))
    return sorted(found, key=lambda paper: -len(paper.claims.claims))
