"""The runs of a scale: what its tables and figures show, resolved to runs, and the jobs that make them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from fivesentences.choices import BANKED
from fivesentences.reproduction.config.scales import OtherMatrix, Scale, TrainingScale
from fivesentences.reproduction.plan.jobs import Job, shared_out
from fivesentences.reproduction.plan.places import Places, as_text
from fivesentences.reproduction.study import expand
from fivesentences.reproduction.study.checks import check_scale
from fivesentences.reproduction.study.exhibits import Exhibit, FigureSpec, TableSpec
from fivesentences.reproduction.study.expand import Row, SubspaceRow
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import (
    EnsembleRun,
    GivenRun,
    RunSpec,
    Scored,
    members_of,
    method_and_folds,
    recorded_run,
)

# What a process is given for all of its runs.
OF_JOBS = ("runs_per_job", "runs_at_once", "minutes", "threads", "gpu", "scratch", "tensorboard")


class Runs:
    """Everything that a scale and its complete form show, and the runs and jobs that make it.

    The complete form is the same scale without ``keep``. What only the target ``complete`` needs has jobs of its own,
    so that the default target never waits for them.

    Args:
        scale: The scale to be made.
        studies: Studies by the names of their files.
        places: Where files are kept.

    Attributes:
        scales: The scale and its complete form, by name.
        tables, figures, exhibits: Tables and figures that the scale makes, by ``study/name``, in the order of the page.
        rows, subspace_rows: Rows by scale, and table or figure.
        phis: Every phi with which runs of any study are evaluated.
        pools: Studies whose runs are collected in one table, by its name: those with the settings of the scale, by its
            name, and each with a ``setup`` alone, as ``scale/study``; of the complete form too.
        made: Everything in the rows of a scale, by scale.
        runs, all_runs: Settings of each training run, by name: of the scale, and of its complete form.
        ensembles, all_ensembles: Ensembles of these runs.
        given: Matrices of others, evaluated as runs are.
        inferences: How each run or ensemble is read; see ``reading_of``.
        jobs: Training jobs, by name; every run of ``all_runs`` is in one.
        evaluations: Evaluation jobs: one for each training job, and some for ensembles and matrices of others.

    Raises:
        InputError: If studies and scale do not fit together, or two different runs would have one name.
    """

    def __init__(self, scale: Scale, studies: Mapping[str, Study], places: Places):
        self.scale, self.studies, self.places = scale, dict(studies), places
        self.scales = {one.scale: one for one in (scale, scale.complete)}
        self._at = {(scale.scale, name): scale.under(study.setup) for name, study in studies.items()}
        self._at |= {(scale.complete.scale, name): self._at[scale.scale, name].complete for name in studies}
        alike = [name for name, study in studies.items() if study.setup is None]
        self.pools: dict[str, list[str]] = {}
        for at in self.scales:
            self.pools |= {at: alike} if alike else {}
            self.pools |= {f"{at}/{name}": [name] for name in studies if name not in alike}
        self._made_in: dict[str, expand.Made] = {}  # as far as asked for
        self.phis = list(dict.fromkeys([*scale.phis, *(phi for at in self._at.values() for phi in at.phis)]))
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
        self._studies_of = self._studies_by_run()
        self.jobs = shared_out(
            self.runs,
            self.all_runs,
            lambda run: (run.dataset, run.model.name, run.features.stem, *self._made_alike(run)),
            lambda run: self._home(run.name).training.runs_per_job,
        )
        self.evaluations = self.jobs | shared_out(
            self.ensembles, self.all_ensembles, lambda run: (run.dataset, "ensembles", *self._phis_of(run.name))
        )
        self.evaluations |= shared_out(
            self.given, self.given, lambda run: (run.dataset, "matrices_of_others", *self._phis_of(run.name))
        )
        self._job_of = {run: job for job in self.evaluations.values() for run in job.runs}

    def _made_at(self, scale: Scale, exhibits: Mapping[str, Exhibit]) -> expand.Made:
        check_scale(self.studies, scale)
        gallery = expand.gallery_spec_of(self.studies, scale)
        shown = dict(exhibits) | ({} if gallery is None else {f"{gallery[0]}/{gallery[1].name}": gallery[1]})
        for name, exhibit in shown.items():
            at, study, of_study = (scale.scale, name), self.study_of(name), self.at(scale.scale, name)
            self.rows[at] = expand.rows_of(name, exhibit, study, of_study)
            self.subspace_rows[at] = expand.subspace_rows(exhibit.every_subspace_row(), study, of_study)
        return self._made_of(scale.scale, shown)

    def _made_of(self, scale: str, names: Collection[str]) -> expand.Made:
        rows = [row for name in names for row in self.rows[scale, name]]
        return expand.made_of(rows, [row for name in names for row in self.subspace_rows[scale, name]])

    def pools_of(self, scale: str) -> list[str]:
        """Return the names of the scale's pools, or of its complete form's."""
        return [pool for pool in self.pools if pool.partition("/")[0] == scale]

    def pool_of(self, scale: str, study: str) -> str:
        """Return the pool of a study, by its name or that of a table or figure."""
        name = study.partition("/")[0]
        return scale if self.studies[name].setup is None else f"{scale}/{name}"

    def made_in(self, pool: str) -> expand.Made:
        """Return everything in the rows of the studies of a pool."""
        if pool not in self._made_in:
            scale, studies = pool.partition("/")[0], self.pools[pool]
            names = [name for at, name in self.rows if at == scale and name.partition("/")[0] in studies]
            self._made_in[pool] = self._made_of(scale, names)
        return self._made_in[pool]

    def trained_in(self, pool: str) -> list[str]:
        """Return names of the runs of a pool."""
        return list(self.made_in(pool).runs)

    def evaluated_in(self, pool: str) -> list[str]:
        """Return names of the runs, ensembles and matrices of others of a pool."""
        made = self.made_in(pool)
        return [*made.runs, *made.ensembles, *made.given]

    def _studies_by_run(self) -> dict[str, list[str]]:
        """Return the studies that show each run, ensemble or matrix of others, the first one first."""
        found: dict[str, list[str]] = {}
        for (_, name), rows in self.rows.items():
            study = name.partition("/")[0]
            shown = [one.name for row in rows for scored in row.runs for one in (scored, *members_of(scored))]
            for run in dict.fromkeys(shown):
                of_run = found.setdefault(run, [])
                of_run += [] if study in of_run else [study]
        return found

    def _home(self, run: str) -> Scale:
        """Return the scale as the first study that shows a run has it."""
        return self.at(self.scale.scale, self._studies_of[run][0])

    def _phis_of(self, run: str) -> tuple[str, ...]:
        """Return every phi with which some study shows a run."""
        named = {phi for study in self._studies_of[run] for phi in self.at(self.scale.scale, study).phis}
        return tuple(phi for phi in self.phis if phi in named)

    def _made_alike(self, run: RunSpec) -> tuple[Any, ...]:
        """Return what the runs of a job have in common besides their model and features."""
        training = self._home(run.name).training
        return (*(getattr(training, key) for key in OF_JOBS), *self._phis_of(run.name))

    def at(self, scale: str, study: str) -> Scale:
        """Return the scale, or its complete form, as a study has it, by its name or that of a table or figure."""
        return self._at[scale, study.partition("/")[0]]

    def training_of(self, job: str) -> TrainingScale:
        """Return how the runs of a training job are trained and scheduled."""
        return self._home(self.jobs[job].runs[0]).training

    def phis_of_job(self, job: str) -> list[str]:
        """Return every phi with which the runs of an evaluation job are evaluated."""
        return list(self._phis_of(self.evaluations[job].runs[0]))

    def study_of(self, exhibit: str) -> Study:
        """Return the study of a table or figure."""
        return self.studies[exhibit.partition("/")[0]]

    def digests(self, *names: str, finding: bool = False) -> list[str]:
        """Return the digest of studies, by their names or those of their tables and figures; see ``Study.digest``."""
        return [self.study_of(name).digest(finding) for name in names]

    def of_study(self, exhibits: Iterable[str], study: str) -> list[str]:
        """Return the tables or figures of one study."""
        return [name for name in exhibits if name.partition("/")[0] == study]

    def settings(self, scale: str, study: str | None = None, finding: bool = False) -> dict[str, Any]:
        """Return the scale, or its complete form, as plain data.

        Args:
            scale: Its name.
            study: A study, or one of its tables or figures: the scale as that study has it.
            finding: Whether its finding is included. Only pages show it: nothing else is made again when it changes.
        """
        without, of = None if finding else {"finding"}, self.scales[scale] if study is None else self.at(scale, study)
        return of.model_dump(mode="json", exclude_unset=True, exclude=without)

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

    def vocabularies_of(self, job: str) -> list[Path]:
        """Return word lists that the runs of a training job read instead of counting words."""
        return sorted({words for run in self.runs_of_job(job) if (words := run.training.vocabulary) is not None})

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
