"""A scale and its studies, resolved: runs and their jobs, tables and figures, and the phi that they need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences.config.datasets import Catalogue, PrecompData, ReleasedRegions
from fivesentences.config.features import FeatureSpec
from fivesentences.config.scales import RIGHT, Scale
from fivesentences.config.types import References
from fivesentences.corpus.photograph_digests import Identity
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.plan.claimed import MethodCell, RunCell, cells_of
from fivesentences.plan.galleries import PlannedGallery, gallery_of
from fivesentences.plan.jobs import COMPLETE, Job, encoder_jobs, ensemble_jobs, training_jobs
from fivesentences.plan.places import Places, part_of
from fivesentences.plan.subspace_jobs import ResolvedSubspaces
from fivesentences.study.exhibits import Exhibit
from fivesentences.study.expand import (
    encoded_of_rows,
    ensembles_of_rows,
    expand_rows,
    inferences_of_rows,
    rows_of_scale,
    runs_of_rows,
)
from fivesentences.study.runs import EncodedRun, EnsembleRun, RunSpec
from fivesentences.study.study import PaperClaims, Study

PAPERS_PHIS = ("cider", "spice")
FOR_CATEGORIES = ("pascal_sentences", "wikipedia_articles")  # loaders of images that are documents alone


class Resolved:
    """What is to be made.

    It covers a scale and the same scale without ``keep``, which the target ``complete`` makes: what only that
    needs has jobs of its own, so that the default target never waits for them.

    Args:
        scale: What is made, and how.
        studies: The tables and figures, by the names of their files.
        catalogue: Every file to download.
        places: Where files are kept.
        config: The folder of the scale's file, whose ``studies/``, ``published/`` and ``datasets.yaml`` go before the
            project's; see ``config_file``.
        mirror: A folder that holds downloads already; default the scale's, else FIVESENTENCES_MIRROR.
        claims: What the papers state, which the scale's runs test.

    Attributes:
        scales: The scale and its complete form, by name.
        runs: Settings of each run that the scale trains, by name.
        all_runs: These, and those that only ``complete`` trains.
        ensembles: Ensembles of the scale's runs, by name.
        all_ensembles: These, and those that only ``complete`` evaluates.
        encoded: Encoders in the scale's rows and their datasets, by name.
        all_encoded: These, and those that only ``complete`` evaluates.
        jobs: Training jobs, by name; every run of ``all_runs`` is in one.
        evaluations: Evaluation jobs, by name: one for each training job, and some for ensembles and encoders.
        subspaces: Runs of category retrieval and their jobs.
        inferences: How each run or ensemble is read, see ``readings``.
        tables: Every table that the scale makes, by ``study/name``, in the order of the page.
        figures: Every figure, likewise.

    Raises:
        InputError: If studies and scale do not fit together; see ``rows_of_scale`` and ``runs_of_rows``.
    """

    def __init__(
        self,
        scale: Scale,
        studies: Mapping[str, Study],
        catalogue: Catalogue,
        *,
        places: Places | None = None,
        config: Path = Path("config"),
        mirror: Path | None = None,
        claims: Sequence[PaperClaims] = (),
    ):
        self.scale, self.studies, self.catalogue = scale, dict(studies), catalogue
        self.places, self.config, self.claims = places or Places(), config, tuple(claims)
        self.mirror = mirror or scale.mirror or _environment_mirror()
        self.identities: dict[str, Identity] = {}  # of the photographs of `own` datasets, as far as asked for
        self.settings: dict[str, dict[str, Any]] = {}  # of runs as plain data, by name, as far as asked for
        self.scales = {one.scale: one for one in (scale, scale.complete)}
        rows, all_rows = rows_of_scale(studies, scale), rows_of_scale(studies, scale.complete)
        self.runs: dict[str, RunSpec] = runs_of_rows(rows)
        self.all_runs: dict[str, RunSpec] = runs_of_rows(all_rows)
        self.ensembles: dict[str, EnsembleRun] = ensembles_of_rows(rows)
        self.all_ensembles: dict[str, EnsembleRun] = ensembles_of_rows(all_rows)
        self.encoded: dict[str, EncodedRun] = encoded_of_rows(rows)
        self.all_encoded: dict[str, EncodedRun] = encoded_of_rows(all_rows)
        self.inferences: dict[str, list[str]] = inferences_of_rows(all_rows)
        further = {name: spec for name, spec in self.all_runs.items() if name not in self.runs}
        per_job = scale.training.runs_per_job
        self.jobs: dict[str, Job] = training_jobs(self.runs, per_job) | training_jobs(further, per_job, COMPLETE)
        others = (spec for name, spec in self.all_ensembles.items() if name not in self.ensembles)
        of_ensembles = ensemble_jobs(self.ensembles.values()) | ensemble_jobs(others, COMPLETE)
        later = (run for name, run in self.all_encoded.items() if name not in self.encoded)
        of_encoders = encoder_jobs(self.encoded.values()) | encoder_jobs(later, COMPLETE)
        self.evaluations: dict[str, Job] = self.jobs | of_ensembles | of_encoders
        self.subspaces = ResolvedSubspaces(scale, self.studies, self.places)
        self.tables: dict[str, Exhibit] = self._made("tables")
        self.figures: dict[str, Exhibit] = self._made("figures")
        self._job_of = {run: job for job in self.evaluations.values() for run in job.runs}

    # --- runs -----------------------------------------------------------------------------------------------

    def job_of(self, run: str) -> Job:
        """The job that evaluates, and for a run trains, a run or ensemble."""
        return self._job_of[run]

    def records_of(self, runs: Iterable[str]) -> list[Path]:
        """Records of the jobs that train these runs, each once."""
        return list(dict.fromkeys(self.places.record(self.job_of(run).name) for run in runs))

    def made_of(self, runs: Sequence[str]) -> list[Path]:
        """What Snakemake knows of the similarities of runs, each file once.

        Of runs that is the record of the job that trained them, of ensembles and encoders the similarity itself.
        """
        places = self.places
        known = (self.job_of(run).name for run in runs)
        return list(
            dict.fromkeys(
                places.record(job) if job in self.jobs else places.similarity(run)
                for run, job in zip(runs, known, strict=True)
            )
        )

    def metrics_of(self, runs: Iterable[str]) -> list[Path]:
        """Numbers of the jobs that evaluate these runs and ensembles, each once."""
        return list(dict.fromkeys(self.places.metrics(self.job_of(run).name) for run in runs))

    def per_image_of(self, runs: Iterable[str]) -> list[Path]:
        """Values per image of the jobs that evaluate these runs and ensembles, each once."""
        return list(dict.fromkeys(self.places.per_image(self.job_of(run).name) for run in runs))

    def features_of(self, spec: RunSpec) -> Path:
        """The features that a run reads."""
        return self.places.features(spec.dataset, spec.features, self.is_described(spec.dataset, spec.features))

    def read_by(self, runs: Iterable[RunSpec]) -> list[Path]:
        """Every file that training the runs reads; ``fivesentences train`` needs no others."""
        runs = list(runs)
        inputs = {path for spec in runs for path in (self.places.corpus(spec.dataset), self.features_of(spec))}
        return sorted(inputs) + self.phi_read_by(runs)

    def phi_read_by(self, runs: Iterable[RunSpec]) -> list[Path]:
        """Every file of phi of training captions that the losses of the runs read."""
        return sorted({path for spec in runs for path in self.places.phi_files(spec).values()})

    def trained_at(self, scale: str) -> list[str]:
        """Names of the runs of the scale, or of its complete form."""
        return list(self.runs if scale == self.scale.scale else self.all_runs)

    def subspaces_at(self, scale: str) -> list[str]:
        """Names of the runs of category retrieval of the scale, or of its complete form."""
        return list(self.subspaces.runs if scale == self.scale.scale else self.subspaces.all_runs)

    def shows_runs(self, scale: str) -> bool:
        """Whether the scale, or its complete form, has a run of any sort, an encoder among them."""
        return bool(self.evaluated_at(scale) or self.subspaces_at(scale))

    def cells_of_claims(self, scale: str) -> dict[tuple[str, str], list[RunCell] | list[MethodCell]]:
        """The tests of each claim that runs of the scale, or of its complete form, allow, by paper and claim."""
        runs = [self.all_runs[name] for name in self.trained_at(scale)]
        whole = scale != self.scale.scale
        methods = list((self.subspaces.all_runs if whole else self.subspaces.runs).values())
        return {
            (paper.name, one.name): cells_of(one.test, paper.study, self.scales[scale], runs, self.inferences, methods)
            for paper in self.claims
            for one in paper.claims.claims
        }

    def evaluated_at(self, scale: str) -> list[str]:
        """Names of the runs, ensembles and encoders of the scale, or of its complete form."""
        whole = scale != self.scale.scale
        ensembles = self.all_ensembles if whole else self.ensembles
        return [*self.trained_at(scale), *ensembles, *(self.all_encoded if whole else self.encoded)]

    @property
    def reduced_features(self) -> dict[str, FeatureSpec]:
        """Features that are made smaller before training, by the name of their file."""
        specs = [spec.features for spec in self.all_runs.values()]
        if self.scale.features is not None and self.scale.categories is not None:
            specs.append(self.scale.features)  # of documents that are images of a corpus
        return {spec.stem: spec for spec in specs if spec.stem != spec.source}

    @property
    def extracted(self) -> list[tuple[str, str]]:
        """Each (dataset, name of the file) of features that are made of photographs for runs, before reduction."""
        return sorted(
            {
                (spec.dataset, spec.features.source)
                for spec in self.all_runs.values()
                if not self.is_described(spec.dataset, spec.features)
            }
        )

    @property
    def extracted_features(self) -> dict[str, FeatureSpec]:
        """Features before reduction, by the name of their file; what differs in preparation alone is one of them."""
        scale = self.scale
        asked = [scale.features, scale.grid_features, *scale.further_features.values()]
        return {spec.source: spec.extraction for spec in asked if spec is not None}

    @property
    def download_folders(self) -> list[Path]:
        """Folders that may hold downloads."""
        return [self.places.data, *([] if self.mirror is None else [self.mirror])]

    @property
    def downloads(self) -> dict[str, tuple[str, str]]:
        """Dataset and name in the catalogue of each file, by its path."""
        entries = self.catalogue.datasets.items()
        return {file.path: (dataset, name) for dataset, entry in entries for name, file in entry.files.items()}

    # --- datasets and phi -----------------------------------------------------------------------------------

    @property
    def own(self) -> list[str]:
        """Datasets of a user's own photographs, which change without a rule that makes them."""
        return [name for name, data in self.scale.datasets.items() if data.loader == "folder"]

    @property
    def drawn(self) -> list[str]:
        """Datasets of drawn scenes."""
        return [name for name, data in self.scale.datasets.items() if data.loader == "scenes"]

    @property
    def precomp(self) -> list[str]:
        """Datasets whose features are in a precomp folder."""
        return [name for name, data in self.scale.datasets.items() if data.loader == "precomp"]

    @property
    def with_parts(self) -> list[str]:
        """Datasets whose parts are matched: images of the others are divided for category retrieval alone."""
        return [name for name, data in self.scale.datasets.items() if data.loader not in FOR_CATEGORIES]

    @property
    def released_regions(self) -> list[str]:
        """Datasets of photographs whose regions are in a precomp folder."""
        datasets = self.scale.datasets.items()
        return [name for name, data in datasets if data.loader == "karpathy" and data.regions is not None]

    def has_photographs(self, dataset: str) -> bool:
        """Whether there are photographs of a dataset: drawn, a user's own, or files of the catalogue."""
        if dataset in self.precomp:
            return False
        if dataset in [*self.drawn, *self.own]:
            return True
        known = self.catalogue.datasets.get(dataset)
        return known is not None and any(name.startswith("photographs") for name in known.files)

    def folder_of_features(self, dataset: str) -> PrecompData | ReleasedRegions:
        """The precomp folder of a dataset of ``precomp`` or ``released_regions``."""
        data = self.scale.datasets[dataset]
        if data.loader == "precomp":
            return data
        regions = data.regions if data.loader == "karpathy" else None
        if regions is None:
            raise InputError(f"datasets.{dataset} has no precomp folder; name one as its regions.")
        return regions

    def is_described(self, dataset: str, features: FeatureSpec) -> bool:
        """Whether features are in a precomp folder, of which only a description is made."""
        grid = self.scale.grid_features
        of_folder = dataset in self.released_regions and grid is not None and features.source == grid.source
        return of_folder or dataset in self.precomp

    @property
    def annotated(self) -> list[str]:
        """Datasets for which the catalogue has object annotations."""
        known = self.catalogue.datasets
        return [name for name in self.scale.datasets if name in known and "instances" in known[name].files]

    @property
    def single_phis(self) -> list[str]:
        """Every matrix that runs are evaluated with, by itself or as a part of a mean, each once."""
        return list(dict.fromkeys(one for phi in self.scale.phis for one in phi.split("+")))

    @property
    def shown_phis(self) -> list[str]:
        """Every phi whose whole matrix a figure shows, each once."""
        return self.phis_read()

    def phis_read(self, *sources: str) -> list[str]:
        """Every phi whose whole matrix is read for figures made from some ``sources``; default: from any."""
        reading = [exhibit for exhibit in self.exhibits.values() if not sources or exhibit.reads in sources]
        if not any(one.judge in RIGHT for one in self.scale.judges):  # nobody says which pairs are right
            reading = [exhibit for exhibit in reading if exhibit.reads != "found_positives"]
        asked = dict.fromkeys(phi for exhibit in reading for phi in exhibit.matrices())
        return [phi for phi in asked if self.scale.shows(phi)]

    @property
    def phis_of_gallery(self) -> list[str]:
        """Every phi that the gallery shows: that of NCS, then those of the paper whose matrix the scale makes."""
        return list(dict.fromkeys([self.scale.evaluation_phi, *(phi for phi in PAPERS_PHIS if phi in self.matrices)]))

    @property
    def matrices(self) -> list[str]:
        """Every phi whose matrix the scale makes of each dataset's test split, each once."""
        evaluation = self.single_phis if self.scale.roles else []
        return list(dict.fromkeys([*evaluation, *self.shown_phis, *self.scale.matrices]))

    @property
    def judged(self) -> list[tuple[str, References]]:
        """Every (phi, references) whose agreement with judges is shown, each once."""
        asked = dict.fromkeys(pair for exhibit in self.exhibits.values() for pair in exhibit.judged())
        return [(phi, references) for phi, references in asked if self.scale.shows(phi)]

    @property
    def with_training_captions(self) -> list[str]:
        """Datasets whose training captions the scale reads, among them those that no model is trained on."""
        splits = {name: getattr(self.scale.datasets[name], "splits", None) for name in self.with_parts}
        return [name for name, read in splits.items() if read is None or "train" in read]

    def margins_of_captions(self, dataset: str) -> list[tuple[float, LossSpec]]:
        """Each (fraction, loss) whose margins are measured on captions alone, each once.

        These have random negatives: others are chosen by the similarity of a model. A phi that takes long is read from
        a matrix; this alone is no reason to make one, so that the dataset needs a run that reads it too.
        """
        left_out = self.scale.leave_out
        made = set(self.phi_read_by(self.all_runs.values()))
        found: dict[tuple[float, str], tuple[float, LossSpec]] = {}
        for name, exhibit in self.exhibits.items():
            for fraction, named in exhibit.adaptive_margins():
                loss = self.study_of(name).losses[named]
                shown = all(map(self.scale.shows, loss.phis))
                if named in left_out.losses or fraction in left_out.fractions or not shown:
                    continue
                drawn = loss.sam is not None and loss.sam.negatives == "random"
                if drawn and made.issuperset(self.matrices_of_margins(dataset, fraction, loss).values()):
                    found.setdefault((fraction, loss.folder), (fraction, loss))
        return list(found.values())

    def matrices_of_margins(self, dataset: str, fraction: float, loss: LossSpec) -> dict[str, Path]:
        """Matrices of phi that margins of captions alone are made from; of a drawn fraction those of the seed 0."""
        return self.places.phi_matrices(dataset, loss, part_of(fraction, draw=self.scale.training.draw))

    def runs_with_margins(self, scale: str) -> list[RunSpec]:
        """Runs of the scale, or of its complete form, whose adaptive margins a table or figure shows, each once."""
        shown = [name for name, exhibit in self.exhibits.items() if exhibit.reads == "margins"]
        rows = [
            row
            for name in shown
            for row in expand_rows(self.exhibits[name].row_specs(), self.study_of(name), self.scales[scale])
        ]
        return list({run.name: run for row in rows for run in row.runs if isinstance(run, RunSpec)}.values())

    @property
    def needs_labels(self) -> bool:
        """Whether a table or figure shows PMRP, for which images need labels."""
        return any(column.metric == "PMRP" for exhibit in self.exhibits.values() for column in exhibit.metrics())

    # --- tables and figures ---------------------------------------------------------------------------------

    @property
    def exhibits(self) -> dict[str, Exhibit]:
        """Every table and figure that the scale makes, by ``study/name``."""
        return self.tables | self.figures

    def study_of(self, exhibit: str) -> Study:
        """The study of a table or figure."""
        return self.studies[exhibit.partition("/")[0]]

    def gallery(self, scale: str) -> PlannedGallery | None:
        """The gallery of the scale, or of its complete form; None if it has none."""
        return gallery_of(self.studies, self.scales[scale], self.has_photographs)

    def _made(self, kind: str) -> dict[str, Exhibit]:
        return {
            f"{name}/{exhibit.name}": exhibit
            for name, study in self.studies.items()
            for exhibit in getattr(study, kind)
            if self.scale.makes(exhibit.name)
        }


def _environment_mirror() -> Path | None:
    named = os.environ.get("FIVESENTENCES_MIRROR")
    return Path(named) if named else None
