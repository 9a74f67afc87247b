"""The plan of a scale: its runs, the jobs that make them, and what the rules of the workflow ask about them.

``workflow/rules`` says which files each rule reads and writes. Where that depends on the configuration, a rule asks a
method here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences.config.datasets import Catalogue
from fivesentences.config.files import CATALOGUE, check_inputs, claims_files, config_file, study_file
from fivesentences.config.reading import NOT_INHERITED, check, extended, merged, read, stated_over
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.plan import Subspaces
from fivesentences.reproduction.config.scales import AbsentData, Scale, Setup
from fivesentences.reproduction.plan.absent import absent_data, without, without_labels
from fivesentences.reproduction.plan.comparisons import Comparisons
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.reproduction.plan.features import Features, with_regions_at_hand
from fivesentences.reproduction.plan.phi import Phi
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.plan.report import Report
from fivesentences.reproduction.plan.runs import Runs
from fivesentences.reproduction.study.checks import inheriting, without_replaced_networks
from fivesentences.reproduction.study.study import PaperClaims, Study, read_claims, read_study


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that accepts these names and, if there are none, nothing."""
    return "|".join(re.escape(name) for name in names) or "nothing(?!)"


class Plan(Runs):
    """What is to be made, and of what: the runs of a scale and its complete form, and what each job reads.

    It needs neither Snakemake nor torch.

    Args:
        scale: The scale to be made.
        studies: Studies by the names of their files.
        catalogue: Every file to download.
        places: Where files are kept.
        config: The folder of the scale's file, whose ``studies/``, ``published/`` and ``datasets.yaml`` go before the
            project's; see ``config_file``.
        claims: Claims of the papers that the scale's runs test.

    Attributes:
        datasets, features, phi: What each of them is read or made from.
        subspaces: Runs of category retrieval and their jobs.
        comparisons, report: What is compared, and what tables, figures, claims and pages are made from.

    Raises:
        InputError: If studies and scale do not fit together, a phi names an unknown model, or two different runs would
            have one name.
    """

    def __init__(
        self,
        scale: Scale,
        studies: Mapping[str, Study],
        catalogue: Catalogue,
        *,
        places: Places | None = None,
        config: Path = Path("config"),
        claims: Sequence[PaperClaims] = (),
    ):
        super().__init__(with_regions_at_hand(scale), studies, places or Places())
        self.catalogue, self.config, self.claims = catalogue, config, tuple(claims)
        # Each reads those before it.
        self.datasets = Datasets(self.scale, catalogue, self.places, self.exhibits)
        own = [self.at(scale.scale, study).features for study in self.studies]
        self.features = Features(self.datasets, self.all_runs.values(), own)
        self.phi, self.subspaces = Phi(self, self.datasets), Subspaces(self, self.datasets, self.features)
        self.comparisons = Comparisons(self, self.datasets, self.features, self.phi, self.subspaces)
        parts = (self.datasets, self.features, self.phi, self.subspaces, self.comparisons)
        self.report = Report(self, *parts, config, self.claims)
        files = claims_files(config)
        self.claims_files = [files[paper.name] for paper in self.claims]
        self.catalogue_file = config_file(CATALOGUE, config)
        self.study_files = [self.study_file(study) for study in self.studies]
        of_claims = [self.study_file(paper.claims.study) for paper in self.claims]
        self.study_files_of_claims = list(dict.fromkeys([*of_claims, *self.study_files]))

    def check(self) -> None:
        """Check that a user's own photographs are there, and that the catalogue has every file that is to be fetched.

        Raises:
            InputError: If not: which setting names what. If the path of a file would not pass through Snakemake.
        """
        named = [
            (f"datasets.{name}.{key}", "is '{}', which does not exist", Path(getattr(self.scale.datasets[name], key)))
            for name in self.datasets.own
            for key in ("photographs", "captions")
        ]
        for run in self.given:
            where = f"matrices_of_others, {self.matrix_of(run).name}"
            named += [(where, "'{}' does not exist", path) for path in self.files_of_matrix(run)]
        for where, what, path in named:
            if not path.exists():
                begins = "" if path.is_absolute() else f", seen from {Path.cwd()}"
                raise InputError(f"{what.format(path)}{begins}", where=where, cure="name yours")
        for scale in self.scales:
            check_inputs(self.files_no_rule_makes(scale))

    def study_file(self, exhibit: str) -> Path:
        """Return the file of a study, by its name or that of one of its tables and figures."""
        return config_file(f"studies/{exhibit.partition('/')[0]}.yaml", self.config)

    def files_no_rule_makes(self, scale: str) -> list[Path]:
        """Return every file that a scale reads and no rule makes, or that is downloaded: data, studies, tables.

        Raises:
            InputError: If the catalogue lacks one.
        """
        datasets, features, documents = self.datasets, self.features, self.subspaces
        read = {(run.dataset, run.features.source): run.features for run in self.made[scale].runs.values()}
        in_folders = {dataset for (dataset, _), spec in read.items() if features.is_described(dataset, spec)}
        extracted = {one for one, spec in read.items() if not features.is_described(one[0], spec)}
        extracted.update(features.pictured_features)
        shown = {*features.pictured_datasets, *(dataset for dataset, _ in extracted)}
        shown |= {one for figure in self.figures if (one := self.report.dataset_of_photographs(scale, figure))}
        asked = [documents.document_specs[run.documents] for run in self.made[scale].subspaces.values()]
        corpora = {spec.corpus for spec in asked if spec.loader == "corpus"}
        shown |= corpora
        found = [path for name in {*datasets.with_parts, *corpora} for path in datasets.captions_of(name)]
        found += [path for dataset in shown.difference(datasets.precomp) for path in datasets.photographs_of(dataset)]
        found += [path for _, source in extracted for path in features.weights_of(source)]
        if any(source in features.checked for _, source in extracted):
            found += [path for paths in features.sample_files.values() for path in paths]
        found += [features.folder_of_features(dataset).folder for dataset in in_folders]
        found += [spec.folder for spec in asked if spec.loader == "nus_wide"]
        for dataset in datasets.except_for(datasets.scenes):
            found += datasets.downloaded(dataset, "instances") if datasets.labels_of(dataset) else []
        found += [path for one in self.scale.judges for path in datasets.judgements_of(one.dataset, one.judge)]
        found += [path for name in documents.documents for path in documents.read_for_documents(name).values()]
        found += [words for run in self.all_runs.values() if (words := run.training.vocabulary) is not None]
        found += [path for given in self.given for path in self.files_of_matrix(given)]
        found += [path for files in self.scale.judged_phis.values() for path in files.values()]
        found += [*self.study_files_of_claims, *self.claims_files]
        found += [path for exhibit in self.exhibits for path in self.report.published_of(exhibit)]
        found = [
            one for path in found for one in (datasets.archives_of(path) if datasets.makes_folder(path) else [path])
        ]
        downloads = {datasets.places.data / file: file for file in datasets.downloads}
        found += [page for path in found if path in downloads for page in datasets.page_of(downloads[path])]
        return sorted({path for path in found if not path.is_relative_to(self.places.results)})

    def missing_downloads(self, scale: str) -> list[str]:
        """Return what a person must still do for a scale, each sentence once; see ``absent_files``."""
        return list(dict.fromkeys(self.absent_files(scale).values()))

    def absent_files(self, scale: str) -> dict[Path, str]:
        """Return files and folders that a scale reads and no program brings now, with what a person must do."""
        return {path: how for path in self.files_no_rule_makes(scale) if (how := self.absence_of(path))}

    def absent_data(self) -> list[AbsentData]:
        """Return what files that are missing are for; see ``absent.absent_data``."""
        absent = {path: how for one in self.scales for path, how in self.absent_files(one).items()}
        return absent_data(absent, self.datasets, self.features, self.subspaces, self.all_runs.values())

    def makes_anything(self) -> bool:
        """Tell whether anything is left to be made."""
        judged = self.scale.judges and self.phi.judged
        return bool(self.all_runs or self.given or self.subspaces.all_runs or judged)

    def absence_of(self, path: Path) -> str | None:
        """Return what a person must do for a file or folder; None if it is here, or a program brings or makes it."""
        if path.is_relative_to(self.places.data):
            file = path.relative_to(self.places.data).as_posix()
            if file in self.datasets.downloads:
                return self.datasets.fetched_by_hand(file)
        if path.exists() or self.datasets.makes_folder(path):
            return None
        return f"{path} is not here, and no rule makes it; docs/paper_scale.md says where that of the papers is from."


def scale_of(content: Any, path: Path, where: str | None = None, stated: Mapping[str, Any] | None = None) -> Scale:
    """Read a scale from the plain data of its file, merged into the scale that it extends.

    Inherited entries that name nothing in the studies of the scale are left out, see ``inheriting``, and so are
    inherited weights of networks whose features it replaces or leaves out.

    A study's ``setup`` goes before what the file says that names the study; what a file says that extends that one, or
    the command line, goes before both.

    Args:
        content: The content of the file, perhaps changed by the caller.
        path: The file.
        where: Place for errors; by default the file.
        stated: What the command line states; where that names other ``studies``, all else counts as inherited.

    Raises:
        InputError: If the content, or a file that it extends, or a study is missing or wrong.
    """
    settings, where, told = extended(content, path), where or str(path), dict(stated or {})
    if "studies" in told:
        settings, own = {key: value for key, value in settings.items() if key not in NOT_INHERITED or key in told}, told
    elif settings is content and not told:  # it extends nothing
        return check(Scale, settings, where)
    else:
        own = content
    settings = without_replaced_networks(settings, own)
    scale = check(Scale, settings, where)
    studies = _studies_of(scale, path.parent)
    if any(study.setup is not None for study in studies.values()):
        settings["over_studies"] = _over_studies(content, path, told)
    if "extends" not in content and "studies" not in told:
        return check(Scale, settings, where)
    return inheriting(settings, own, studies, where)


def _over_studies(content: Any, path: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what goes before the setup of studies: that of --config, or of a file that extends the one naming them."""
    named_here = "studies" in content and ("studies" not in told or "studies" in (read_yaml(path) or {}))
    of_files = {} if named_here else {key: value for key, value in content.items() if key != "studies"}
    over = merged(stated_over(of_files, path, "studies"), dict(told), as_stated=True)
    return {key: value for key, value in over.items() if key.removesuffix("+") in Setup.model_fields}


def _studies_of(scale: Scale, config: Path) -> dict[str, Study]:
    return {name: read_study(study_file(name, config, scale.scale)) for name in scale.studies}


def plan_of(
    scale: Scale, config: Path = Path("config"), catalogue: Catalogue | None = None, places: Places | None = None
) -> Plan:
    """Return the plan of a scale, with the studies that it names.

    The workflow and ``fivesentences train`` both ask here, so that they find the same studies from any folder.

    Args:
        scale: The scale to be made.
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

    def plan(scale: Scale) -> Plan:
        return Plan(scale, studies, known, places=places, config=config, claims=claims)

    planned = plan(scale)
    if scale.labels == "here" and (left := without_labels(planned.datasets)) is not planned.scale:
        planned = plan(left)
    # Without a list of downloads nobody knows what is missing.
    while scale.absent == "leave_out" and known.datasets and (found := planned.absent_data()):
        planned = plan(without(planned.scale, found))
        if not planned.makes_anything():
            how = dict.fromkeys(sentence for one in planned.scale.absent_data for sentence in one.how)
            raise InputError(f"scale {scale.scale}: absent is leave_out, and nothing is left: {' '.join(how)}")
    return planned
