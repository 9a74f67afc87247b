"""The plan of a scale: what is made of its studies, and of which files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fivesentences.config.datasets import Catalogue
from fivesentences.config.files import CATALOGUE, config_file, study_file
from fivesentences.config.reading import check, extended, read
from fivesentences.config.scales import Scale
from fivesentences.errors import InputError
from fivesentences.plan.pages import PageRules, every_output
from fivesentences.plan.places import Places
from fivesentences.plan.resolved import Resolved
from fivesentences.plan.rules import SETTINGS_OF_CONTENT
from fivesentences.plan.steps import Files
from fivesentences.study.inherited import inheriting
from fivesentences.study.study import Study, read_claims, read_study


class Plan(Resolved):
    """What is to be made, and of what: the one place where the workflow and the command line look it up.

    ``Plan(scale, studies, catalogue)`` needs neither Snakemake nor torch. Arguments and attributes are those of
    ``Resolved``; here is what the rules of the workflow ask.
    """

    def inputs_of(self, rule: str, **wildcards: str) -> Files:
        """The files that a job of a rule reads, by the names under which its script knows them.

        Raises:
            InputError: If the catalogue lacks a file.
        """
        return PageRules(self).step(rule, **wildcards).inputs

    def params_of(self, rule: str, **wildcards: str) -> dict[str, Any]:
        """The settings of a job of a rule, as plain data, by name."""
        return PageRules(self).step(rule, **wildcards).params

    def by_content(self, rule: str, **wildcards: str) -> frozenset[str]:
        """Names of the inputs of a job whose times say nothing, since one of its settings tells their content."""
        return PageRules(self).step(rule, **wildcards).by_content

    def check_own(self) -> None:
        """Check that a user's own photographs and captions are there, before any file is planned.

        Raises:
            InputError: If not; which setting names the path, and where it begins if it is relative.
        """
        for name in self.own:
            data = self.scale.datasets[name]
            for key in ("photographs", "captions"):
                path = Path(getattr(data, key))
                if not path.exists():
                    begins = "" if path.is_absolute() else f", seen from {Path.cwd()}"
                    raise InputError(
                        f"is '{path}', which does not exist{begins}", where=f"datasets.{name}.{key}", cure="name yours"
                    )

    def settings_of_content(self, rule: str) -> list[str]:
        """Settings that a rule has only at a scale with a user's own photographs, which may change at any time."""
        return SETTINGS_OF_CONTENT.get(rule, []) if self.own else []

    def outputs_of(self, rule: str) -> dict[str, Path]:
        """The files that a rule writes, by name; wildcards are in braces."""
        return every_output(self.places)[rule]

    @property
    def rules(self) -> list[str]:
        """Names of all rules that write files."""
        return list(every_output(self.places))

    @property
    def constraints(self) -> dict[str, str]:
        """Regular expressions of the wildcards of all rules."""
        return PageRules(self).constraints()

    def constraints_of(self, rule: str) -> dict[str, str]:
        """Stricter ones of one rule."""
        return PageRules(self).constraints_of(rule)

    @property
    def exhibit_files(self) -> dict[str, Path]:
        """The file of each table and figure that stands for all of its files, by ``study/name``."""
        places, scale = self.places, self.scale.scale
        tables = {table: places.exhibit(scale, table, "html") for table in self.tables}
        return tables | {figure: places.exhibit(scale, figure, "png") for figure in self.figures}

    def pages_of(self, scale: str) -> list[Path]:
        """The pages of the site of the scale, or of its complete form, and its manifest."""
        places = self.places
        runs = [places.runs_page(scale)] if self.shows_runs(scale) else []
        return [places.page(scale), places.manifest(scale), *runs]

    @property
    def targets(self) -> dict[str, list[Path]]:
        """Named targets: stages, and every table and figure by ``study_name``, and by ``name`` where that is unique."""
        places, name, exhibits = self.places, self.scale.scale, self.exhibit_files
        return {short: [exhibits[exhibit]] for short, exhibit in short_names(exhibits).items()} | {
            "corpora": [places.corpus(dataset) for dataset in self.scale.datasets],
            "features": [self.features_of(spec) for spec in self.runs.values()],
            "training_inputs": self.read_by(self.runs.values()),
            "semantics": [
                places.phi(dataset, "test", f"{phi}.npy") for dataset in self.with_parts for phi in self.matrices
            ],
            "documents": [places.documents(documents) for documents in self.subspaces.documents],
            "runs": [
                *self.records_of(self.runs),
                *(places.subspace_record(job) for job in self.subspaces.jobs_of(self.subspaces.runs)),
            ],
            "tables": [exhibits[table] for table in self.tables],
            "figures": [exhibits[figure] for figure in self.figures],
            "latex": [places.document(name)],
            "claims": [places.claims(name, "html")],
            "page": self.pages_of(name),
            "complete": self.pages_of(self.scale.complete.scale),
        }


def short_names(exhibits: Iterable[str]) -> dict[str, str]:
    """What may be asked for on the command line: ``study_name`` for each, and ``name`` where that is unique."""
    exhibits = list(exhibits)
    count = Counter(exhibit.split("/")[1] for exhibit in exhibits)
    long = {exhibit.replace("/", "_"): exhibit for exhibit in exhibits}
    return long | {name: exhibit for exhibit in exhibits if count[name := exhibit.split("/")[1]] == 1}


def scale_of(content: Any, path: Path) -> Scale:
    """A scale from the plain data of its file, merged into the scale that it extends.

    Inherited entries that name nothing in the studies of the scale are left out; see ``inheriting``.

    Args:
        content: Of the file, perhaps changed by the caller.
        path: Of the file.

    Raises:
        InputError: If the content, or a file that it extends, or a study is missing or wrong.
    """
    merged = extended(content, path)
    scale = check(Scale, merged, str(path))
    if merged is content:  # it extends nothing
        return scale
    return inheriting(merged, content, _studies_of(scale, path.parent), str(path))


def _studies_of(scale: Scale, config: Path) -> dict[str, Study]:
    return {name: read_study(study_file(name, config, scale.scale)) for name in scale.studies}


def plan_of(
    scale: Scale, config: Path = Path("config"), catalogue: Catalogue | None = None, places: Places | None = None
) -> Plan:
    """The plan of a scale, with the studies that it names.

    The workflow and ``fivesentences train`` both ask here, so that they find the same studies from any folder.

    Args:
        scale: What is made.
        config: The folder of the scale's file, whose ``studies/``, ``published/`` and ``datasets.yaml`` go before the
            project's, file by file; see ``config_file``.
        catalogue: Every file to download; default the ``datasets.yaml`` that is found so.
        places: Where files are kept.

    Raises:
        InputError: If a file is missing or wrong, or does not fit the scale.
    """
    known = read(Catalogue, config_file(CATALOGUE, config)) if catalogue is None else catalogue
    studies = _studies_of(scale, config)
    claims = read_claims(config, studies, scale.scale)
    return Plan(scale, studies, known, places=places, config=config, claims=claims)
