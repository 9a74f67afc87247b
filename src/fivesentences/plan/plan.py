"""The plan of a scale: its runs, the jobs that make them, and what the rules of the workflow ask about them.

``workflow/rules`` says which files each rule reads and writes. Where that depends on the configuration, a rule asks a
method here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences.choices import BANKED
from fivesentences.config.datasets import Catalogue
from fivesentences.config.files import CATALOGUE, check_inputs, claims_files, config_file, study_file
from fivesentences.config.reading import NOT_INHERITED, check, extended, read
from fivesentences.config.scales import OtherMatrix, Scale
from fivesentences.errors import InputError
from fivesentences.plan.absent import without_absent, without_labels
from fivesentences.plan.comparisons import Comparisons
from fivesentences.plan.datasets import Datasets
from fivesentences.plan.features import Features, with_regions_at_hand
from fivesentences.plan.jobs import Job, shared_out
from fivesentences.plan.phi import Phi
from fivesentences.plan.places import Places, as_text
from fivesentences.plan.report import Report
from fivesentences.plan.subspaces import Subspaces
from fivesentences.study import expand
from fivesentences.study.checks import check_scale, inheriting, without_replaced_networks
from fivesentences.study.exhibits import Exhibit, FigureSpec, TableSpec
from fivesentences.study.expand import Row, SubspaceRow
from fivesentences.study.runs import (
    EnsembleRun,
    GivenRun,
    RunSpec,
    Scored,
    members_of,
    method_and_folds,
    recorded_run,
)
from fivesentences.study.study import PaperClaims, Study, read_claims, read_study


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that accepts these names and, if there are none, nothing."""
    return "|".join(re.escape(name) for name in names) or "nothing(?!)"


class Plan:
    """What is to be made, and of what.

    A plan covers a scale and its complete form, the same scale without ``keep``. What only the target ``complete``
    needs has jobs of its own, so that the default target never waits for them. It needs neither Snakemake nor torch.

    Args:
        scale: The scale to be made.
        studies: Studies by the names of their files.
        catalogue: Every file to download.
        places: Where files are kept.
        config: The folder of the scale's file, whose ``studies/``, ``published/`` and ``datasets.yaml`` go before the
            project's; see ``config_file``.
        claims: Claims of the papers that the scale's runs test.

    Attributes:
        scales: The scale and its complete form, by name.
        runs, all_runs: Settings of each training run, by name: of the scale, and of its complete form.
        ensembles, all_ensembles: Ensembles of these runs.
        given: Matrices of others, evaluated as runs are.
        inferences: How each run or ensemble is read; see ``reading_of``.
        jobs: Training jobs, by name; every run of ``all_runs`` is in one.
        evaluations: Evaluation jobs: one for each training job, and some for ensembles and matrices of others.
        tables, figures, exhibits: Tables and figures that the scale makes, by ``study/name``, in the order of the page.
        rows, subspace_rows: Rows by scale, and table or figure.
        made: Everything in the rows of a scale, by scale.
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
        scale = with_regions_at_hand(scale)
        self.scale, self.studies, self.catalogue = scale, dict(studies), catalogue
        self.places, self.config, self.claims = places or Places(), config, tuple(claims)
        self.scales = {one.scale: one for one in (scale, scale.complete)}
        made = {f"{name}/{one.name}": one for name, study in studies.items() for one in study.made_at(scale)}
        self.tables = {name: one for name, one in made.items() if isinstance(one, TableSpec)}
        self.figures = {name: one for name, one in made.items() if isinstance(one, FigureSpec)}
        self.exhibits: dict[str, Exhibit] = {**self.tables, **self.figures}
        self._settings: dict[str, dict[str, Any]] = {}  # of runs as plain data, as far as asked for
        self.rows: dict[tuple[str, str], list[Row]] = {}
        self.subspace_rows: dict[tuple[str, str], list[SubspaceRow]] = {}
        self.made = {name: self._made_at(at, made) for name, at in self.scales.items()}
        own, whole = self.made.values()
        self.runs, self.ensembles = own.runs, own.ensembles
        self.all_runs, self.all_ensembles = whole.runs, whole.ensembles
        self.given = whole.given  # of the scale and its complete form alike
        self.inferences = whole.readings
        self.jobs = shared_out(
            self.runs,
            self.all_runs,
            lambda run: (run.dataset, run.model.name, run.features.stem),
            scale.training.runs_per_job,
        )
        self.evaluations = self.jobs | shared_out(
            self.ensembles, self.all_ensembles, lambda run: (run.dataset, "ensembles")
        )
        self.evaluations |= shared_out(self.given, self.given, lambda run: (run.dataset, "matrices_of_others"))
        self._job_of = {run: job for job in self.evaluations.values() for run in job.runs}
        # Each reads those before it.
        self.datasets, self.comparisons, self.report = Datasets(self), Comparisons(self), Report(self)
        self.features, self.phi = Features(self), Phi(self)
        self.subspaces = Subspaces(self)
        files = claims_files(config)
        self.claims_files = [files[paper.name] for paper in self.claims]
        self.catalogue_file = config_file(CATALOGUE, config)
        self.study_files = [self.study_file(study) for study in self.studies]
        of_claims = [self.study_file(paper.claims.study) for paper in self.claims]
        self.study_files_of_claims = list(dict.fromkeys([*of_claims, *self.study_files]))

    def _made_at(self, scale: Scale, exhibits: Mapping[str, Exhibit]) -> expand.Made:
        check_scale(self.studies, scale)
        gallery = expand.gallery_spec_of(self.studies, scale)
        shown = dict(exhibits) | ({} if gallery is None else {f"{gallery[0]}/{gallery[1].name}": gallery[1]})
        for name, exhibit in shown.items():
            at, study = (scale.scale, name), self.study_of(name)
            self.rows[at] = expand.rows_of(name, exhibit, study, scale)
            self.subspace_rows[at] = expand.subspace_rows(exhibit.every_subspace_row(), study, scale)
        rows = [row for name in shown for row in self.rows[scale.scale, name]]
        return expand.made_of(rows, [row for name in shown for row in self.subspace_rows[scale.scale, name]])

    def check(self) -> None:
        """Check that a user's own photographs are there, and that the catalogue has every file that is to be fetched.

        Raises:
            InputError: If not: which setting names what. If the path of a file would not pass through Snakemake.
        """
        for name in self.datasets.own:
            for key in ("photographs", "captions"):
                path = Path(getattr(self.scale.datasets[name], key))
                if not path.exists():
                    begins = "" if path.is_absolute() else f", seen from {Path.cwd()}"
                    where, cure = f"datasets.{name}.{key}", "name yours"
                    raise InputError(f"is '{path}', which does not exist{begins}", where=where, cure=cure)
        for run in self.given:
            for path in self.files_of_matrix(run):
                if not path.exists():
                    begins = "" if path.is_absolute() else f", seen from {Path.cwd()}"
                    where = f"matrices_of_others, {self.matrix_of(run).name}"
                    raise InputError(f"'{path}' does not exist{begins}", where=where, cure="name yours")
        for scale in self.scales:
            check_inputs(self.files_no_rule_makes(scale))

    def study_of(self, exhibit: str) -> Study:
        """Return the study of a table or figure."""
        return self.studies[exhibit.partition("/")[0]]

    def study_file(self, exhibit: str) -> Path:
        """Return the file of a study, by its name or that of one of its tables and figures."""
        return config_file(f"studies/{exhibit.partition('/')[0]}.yaml", self.config)

    def settings(self, scale: str, finding: bool = False) -> dict[str, Any]:
        """Return the scale, or its complete form, as plain data.

        Args:
            scale: Its name.
            finding: Whether its finding is included. Only pages show it: nothing else is made again when it changes.
        """
        without = None if finding else {"finding"}
        return self.scales[scale].model_dump(mode="json", exclude_unset=True, exclude=without)

    def trained_at(self, scale: str) -> list[str]:
        """Return names of the runs of the scale, or of its complete form."""
        return list(self.made[scale].runs)

    def subspaces_at(self, scale: str) -> list[str]:
        """Return names of the runs of category retrieval of the scale, or of its complete form."""
        return list(self.made[scale].subspaces)

    def evaluated_at(self, scale: str) -> list[str]:
        """Return names of the runs, ensembles and matrices of others of the scale, or of its complete form."""
        made = self.made[scale]
        return [*made.runs, *made.ensembles, *made.given]

    def job_of(self, run: str) -> Job:
        """Return the job that evaluates, and for a run trains, a run or ensemble."""
        return self._job_of[run]

    def runs_of_job(self, job: str) -> list[RunSpec]:
        """Return the runs of a training job."""
        return [self.all_runs[name] for name in self.jobs[job].runs]

    def inputs_of_training(self, runs: Iterable[RunSpec]) -> list[Path]:
        """Return every file that training the runs reads; ``fivesentences train`` needs no others."""
        runs = list(runs)
        inputs = {path for spec in runs for path in (self.places.corpus(spec.dataset), self.features.of_run(spec))}
        return sorted(inputs) + self.phi.files_read_by(runs)

    def settings_to_train(self, job: str) -> list[dict[str, Any]]:
        """Return settings, folder and files of phi of each run of a training job."""
        return [
            {
                "spec": self._settings_of(spec),
                "folder": str(self.places.run(spec.name)),
                "phi_files": as_text(self.places.phi_files(spec)),
            }
            for spec in self.runs_of_job(job)
        ]

    def settings_to_evaluate(self, job: str) -> list[dict[str, Any]]:
        """Return settings, similarity and inference methods of what an evaluation job evaluates."""
        known: dict[str, Scored] = {**self.all_runs, **self.all_ensembles, **self.given}
        return [
            {
                "spec": self._settings_of(known[name]),
                "similarity": str(self.places.similarity(name)),
                "inferences": self.inferences[name],
            }
            for name in self.evaluations[job].runs
        ]

    def banked_runs(self, job: str) -> list[str]:
        """Return the runs of an evaluation job that are read by an inference method with a bank of training queries."""
        return [name for name in self.evaluations[job].runs if self._banked(name)]

    def _banked(self, run: str) -> set[str]:
        return {method for reading in self.inferences[run] if (method := method_and_folds(reading)[0]) in BANKED}

    def banks_of(self, job: str) -> list[Path]:
        """Return the file of the banks that an evaluation job reads, if it reads any."""
        return [self.places.banks(job)] if self.banked_runs(job) else []

    def settings_of_banks(self, job: str) -> list[dict[str, Any]]:
        """Return name and folder of each run with a bank, and whether dual banks are read of it."""
        return [
            {"name": run, "folder": str(self.places.run(run)), "dual": "dual_bank" in self._banked(run)}
            for run in self.banked_runs(job)
        ]

    def _settings_of(self, spec: Scored) -> dict[str, Any]:
        """Return the settings of a run or ensemble as plain data; those of runs as their folders record them."""
        if isinstance(spec, GivenRun):
            return spec.model_dump(mode="json")
        if isinstance(spec, EnsembleRun):
            return spec.model_dump(mode="json") | {"members": [self._settings_of(one) for one in spec.members]}
        if spec.name not in self._settings:
            self._settings[spec.name] = spec.as_recorded(recorded_run(self.places.run(spec.name)))
        return self._settings[spec.name]

    def matrix_of(self, given: str) -> OtherMatrix:
        """Return what the scale says of a matrix of others."""
        name = self.given[given].given
        return next(matrix for matrix in self.scale.matrices_of_others if matrix.name == name)

    def files_of_matrix(self, given: str) -> list[Path]:
        """Return the files that a matrix of others is taken from."""
        matrix = self.matrix_of(given)
        return [matrix.similarity, *([] if matrix.captions is None else [matrix.captions])]

    def members_of(self, ensemble: str) -> list[str]:
        """Return the runs whose similarities an ensemble averages."""
        return [member.name for member in members_of(self.all_ensembles[ensemble])]

    def similarities_of(self, runs: Iterable[str]) -> dict[str, str]:
        """Return the similarity of each run or ensemble."""
        return {run: str(self.places.similarity(run)) for run in runs}

    def records_of(self, runs: Iterable[str]) -> list[Path]:
        """Return records of the jobs that train these runs, each once."""
        return list(dict.fromkeys(self.places.record(self.job_of(run).name) for run in runs))

    def records_or_similarities(self, runs: Iterable[str]) -> list[Path]:
        """Return what Snakemake knows of the similarities of runs, each file once.

        Of runs that is the record of the job that trained them, of ensembles the similarity itself.
        """
        place, known = self.places, self.all_runs
        made = (place.record(self.job_of(run).name) if run in known else place.similarity(run) for run in runs)
        return list(dict.fromkeys(made))

    def metrics_of(self, runs: Iterable[str]) -> list[Path]:
        """Return numbers of the jobs that evaluate these runs and ensembles, each once."""
        return list(dict.fromkeys(self.places.metrics(self.job_of(run).name) for run in runs))

    def per_image_of(self, runs: Iterable[str]) -> list[Path]:
        """Return values per image of the jobs that evaluate these runs and ensembles, each once."""
        return list(dict.fromkeys(self.places.per_image(self.job_of(run).name) for run in runs))

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
        if (sample := self.scale.released_sample) and any(source in features.checked for _, source in extracted):
            found += [sample.photographs, sample.regions]
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

    Args:
        content: The content of the file, perhaps changed by the caller.
        path: The file.
        where: Place for errors; by default the file.
        stated: What the command line states; where that names other ``studies``, all else counts as inherited.

    Raises:
        InputError: If the content, or a file that it extends, or a study is missing or wrong.
    """
    merged, where = extended(content, path), where or str(path)
    if "studies" in (stated or {}):
        own = dict(stated or {})
        merged = {key: value for key, value in merged.items() if key not in NOT_INHERITED or key in own}
    elif merged is content:  # it extends nothing
        return check(Scale, merged, where)
    else:
        own = content
    merged = without_replaced_networks(merged, own)
    scale = check(Scale, merged, where)
    return inheriting(merged, own, _studies_of(scale, path.parent), where)


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
    if scale.labels == "here":
        planned = without_labels(planned, plan)
    # Without a list of downloads nobody knows what is missing.
    return without_absent(planned, plan) if scale.absent == "leave_out" and known.datasets else planned
