"""The plan of a scale: its runs, the jobs that make them, and what the rules of the workflow ask about them.

``workflow/rules`` says which files each rule reads and writes. Where that depends on the configuration, a rule asks a
method here.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.config.datasets import Catalogue, PrecompData, ReleasedRegions
from fivesentences.config.documents import AnyDocuments
from fivesentences.config.features import ENDINGS, FeatureSpec
from fivesentences.config.files import CATALOGUE, claims_files, config_file, study_file
from fivesentences.config.reading import check, extended, read
from fivesentences.config.scales import JUDGEMENTS, RIGHT, Scale
from fivesentences.config.types import Judge
from fivesentences.corpus.catalogue import at_hand, files_to_read
from fivesentences.corpus.photograph_digests import Identity, identify
from fivesentences.errors import InputError, did_you_mean
from fivesentences.losses import LossSpec
from fivesentences.plan.claimed import MethodCell, RunCell, candidates_of, cells_of
from fivesentences.plan.jobs import Job, shared_out
from fivesentences.plan.places import Places, captions_of, part_of
from fivesentences.semantics.registry import PACKAGED, is_drawn, model_of, needs_tuples
from fivesentences.study import expand
from fivesentences.study.checks import check_scale, inheriting
from fivesentences.study.exhibits import Exhibit, FigureSpec, TableSpec
from fivesentences.study.expand import Row, SubspaceContrast, SubspaceRow
from fivesentences.study.runs import EnsembleRun, RunSpec, Scored, members_of, recorded_run
from fivesentences.study.study import PaperClaims, Study, read_claims, read_study
from fivesentences.study.subspace_runs import PlacedRun, SubspaceRun

GALLERY = "gallery/index.html"
PAPERS_PHIS = ("cider", "spice")
FOR_CATEGORIES = ("pascal_sentences", "wikipedia_articles")  # loaders of images that are documents alone
SCAN_FEATURES = dict.fromkeys(
    ("f30k_precomp", "coco_precomp"), "unpack it there from kaggle.com/datasets/kuanghueilee/scan-features"
)
WITHOUT_DOWNLOADS = ("grid_descriptors", "bottom_up")  # an extractor without weights, and one that no library offers


def one_of(names: Iterable[str]) -> str:
    """A regular expression that accepts these names and, if there are none, nothing."""
    return "|".join(re.escape(name) for name in names) or "nothing(?!)"


@dataclass(frozen=True)
class Retrievals:
    """Models whose retrievals are shown side by side on one dataset.

    Attributes:
        study: The study that shows them.
        dataset: The dataset whose test split is searched.
        runs: Names of the runs or ensembles.
        phis: Matrices by which what is retrieved is judged.
        options: Settings of the search.
    """

    study: str
    dataset: str
    runs: list[str]
    phis: list[str]
    options: dict[str, Any]


class Subspaces:
    """Runs of category retrieval of a scale.

    Attributes:
        runs: Settings of each run of the scale, by name.
        all_runs: These, and those that only ``complete`` makes.
        jobs: Jobs by name; every run of ``all_runs`` is in one.
    """

    def __init__(self, scale: Scale, runs: dict[str, SubspaceRun], all_runs: dict[str, SubspaceRun], places: Places):
        self.runs, self.all_runs, self.places = runs, all_runs, places
        most = 1 if scale.categories is None else scale.categories.runs_per_job
        # Every seed has the same methods, so that jobs take about the same time.
        self.jobs = shared_out(runs, all_runs, lambda run: (run.documents, run.division), most, by_seed=True)
        self._job_of = {run: job.name for job in self.jobs.values() for run in job.runs}

    @property
    def documents(self) -> list[str]:
        """Documents of all runs, each once."""
        return list(dict.fromkeys(run.documents for run in self.all_runs.values()))

    def jobs_of(self, runs: Iterable[str]) -> list[str]:
        """Names of the jobs that make these runs, each once."""
        return list(dict.fromkeys(self._job_of[run] for run in runs))

    def numbers_of(self, runs: Iterable[str], part: str = "") -> list[Path]:
        """The numbers of these runs, or a part of them; see ``Places.subspace_numbers``."""
        return [self.places.subspace_numbers(job, part) for job in self.jobs_of(runs)]

    def placed(self, run: str) -> PlacedRun:
        """A run and where its files are."""
        spec = self.all_runs[run]
        division = self.places.division(spec.documents, spec.division, spec.seed)
        return PlacedRun(spec, self.places.subspace_run(run), division)


class Plan:
    """What is to be made, and of what.

    A plan covers a scale and its complete form, the same scale without ``keep``. What only the target ``complete``
    needs has jobs of its own, so that the default target never waits for them. It needs neither Snakemake nor torch.

    Args:
        scale: What is made, and how.
        studies: Studies by the names of their files.
        catalogue: Every file to download.
        places: Where files are kept.
        config: The folder of the scale's file, whose ``studies/``, ``published/`` and ``datasets.yaml`` go before the
            project's; see ``config_file``.
        claims: What the papers state, which the scale's runs test.

    Attributes:
        scales: The scale and its complete form, by name.
        runs, all_runs: Settings of each training run, by name: of the scale, and of its complete form.
        ensembles, all_ensembles: Ensembles of these runs.
        inferences: How each run or ensemble is read; see ``reading_of``.
        subspaces: Runs of category retrieval and their jobs.
        jobs: Training jobs, by name; every run of ``all_runs`` is in one.
        evaluations: Evaluation jobs: one for each training job, and some for ensembles.
        tables, figures, exhibits: Tables and figures that the scale makes, by ``study/name``, in the order of the page.
        own, drawn, precomp: Datasets of a user's own photographs, which change without a rule that makes them; of drawn
            scenes; and of a precomp folder.
        with_parts, with_training_captions: Datasets whose parts are matched, not only divided for category retrieval;
            those whose training captions the scale reads.
        downloads: Dataset and name in the catalogue of each file, by its path.
        extracted_features, reduced_features: Features before and after they are made smaller, by the name of the file.
        released_regions, described: Datasets of photographs whose regions are in a precomp folder, and all features
            that stay in such a folder.
        extracted: Each (dataset, name of the file) of features that are made of photographs for runs.
        single_phis: Matrices that runs are evaluated with, by themselves or as a part of a mean.
        shown_phis, matrices: Every phi whose whole matrix a figure shows, or that the scale makes for any reason.
        judged: Every (phi, references) whose agreement with judges is shown.

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
        self.scale, self.studies, self.catalogue = scale, dict(studies), catalogue
        self.places, self.config, self.claims = places or Places(), config, tuple(claims)
        mirror = os.environ.get("FIVESENTENCES_MIRROR")
        self.mirror = Path(mirror) if mirror else None  # a folder that holds downloads already
        self.scales = {one.scale: one for one in (scale, scale.complete)}
        made = {f"{name}/{one.name}": one for name, study in studies.items() for one in study.made_at(scale)}
        self.tables = {name: one for name, one in made.items() if isinstance(one, TableSpec)}
        self.figures = {name: one for name, one in made.items() if isinstance(one, FigureSpec)}
        self.exhibits: dict[str, Exhibit] = {**self.tables, **self.figures}
        self._identities: dict[str, Identity] = {}  # of own photographs, as far as asked for
        self._settings: dict[str, dict[str, Any]] = {}  # of runs as plain data, as far as asked for
        self._rows: dict[tuple[str, str], list[Row]] = {}  # by scale, and table or figure
        self._subspace_rows: dict[tuple[str, str], list[SubspaceRow]] = {}
        self._cells: dict[str, dict[tuple[str, str], list[RunCell] | list[MethodCell]]] = {}  # as far as asked for
        self._made = {name: self._made_at(at, made) for name, at in self.scales.items()}
        own, whole = self._made.values()
        self.runs, self.ensembles = own.runs, own.ensembles
        self.all_runs, self.all_ensembles = whole.runs, whole.ensembles
        self.inferences = whole.readings
        self.subspaces = Subspaces(scale, own.subspaces, whole.subspaces, self.places)
        self.jobs = shared_out(
            self.runs,
            self.all_runs,
            lambda run: (run.dataset, run.model.name, run.features.stem),
            scale.training.runs_per_job,
        )
        self.evaluations = self.jobs | shared_out(
            self.ensembles, self.all_ensembles, lambda run: (run.dataset, "ensembles")
        )
        self._job_of = {run: job for job in self.evaluations.values() for run in job.runs}
        self._read_datasets()
        self._read_features()
        self._read_phis()

    def _read_datasets(self) -> None:
        scale, config = self.scale, self.config
        loaders = {name: data.loader for name, data in scale.datasets.items()}
        self.own = [name for name, loader in loaders.items() if loader == "folder"]
        self.drawn = [name for name, loader in loaders.items() if loader == "scenes"]
        self.precomp = [name for name, loader in loaders.items() if loader == "precomp"]
        self.with_parts = [name for name, loader in loaders.items() if loader not in FOR_CATEGORIES]
        splits = {name: getattr(scale.datasets[name], "splits", None) for name in self.with_parts}
        self.with_training_captions = [name for name, read in splits.items() if read is None or "train" in read]
        self.datasets_of_runs = sorted({spec.dataset for spec in self.all_runs.values()})
        self.pictured_datasets = self.datasets_of_runs if scale.photographs else []
        self.documents: dict[str, AnyDocuments] = {} if scale.categories is None else scale.categories.documents
        self.catalogue_file = config_file(CATALOGUE, config)
        self.download_folders = [self.places.data, *([] if self.mirror is None else [self.mirror])]
        entries = self.catalogue.datasets.items()
        self.downloads = {file.path: (name, key) for name, entry in entries for key, file in entry.files.items()}
        self.study_files = [self.study_file(study) for study in self.studies]
        claims = claims_files(config)
        self.claims_files = [claims[paper.name] for paper in self.claims]
        of_claims = [self.study_file(paper.claims.study) for paper in self.claims]
        self.study_files_of_claims = list(dict.fromkeys([*of_claims, *self.study_files]))

    def _read_features(self) -> None:
        scale, grid = self.scale, self.scale.grid_features
        asked = [scale.features, grid, *scale.further_features.values()]
        # Before reduction, by the name of their file; what differs in preparation alone is one of them.
        self.extracted_features = {spec.source: spec.extraction for spec in asked if spec is not None}
        self.released_regions = [name for name, data in scale.datasets.items() if getattr(data, "regions", None)]
        released = [grid.source] if grid is not None and self.released_regions else []
        self.described = list(self.extracted_features) if self.precomp else released
        runs = self.all_runs.values()
        self.extracted = sorted(
            {(run.dataset, run.features.source) for run in runs if not self.is_described(run.dataset, run.features)}
        )
        self.pictured_features = self.extracted if scale.photographs else []
        specs = [run.features for run in runs]
        if scale.features is not None and scale.categories is not None:
            specs.append(scale.features)  # of documents that are images of a corpus
        self.reduced_features = {spec.stem: spec for spec in specs if spec.stem != spec.source}

    def _read_phis(self) -> None:
        scale = self.scale
        self.single_phis = list(dict.fromkeys(one for phi in scale.phis for one in phi.split("+")))
        self.shown_phis = self.phis_read()
        evaluation = self.single_phis if scale.roles else []
        self.matrices = list(dict.fromkeys([*evaluation, *self.shown_phis, *scale.matrices]))
        asked = dict.fromkeys(pair for exhibit in self.exhibits.values() for pair in exhibit.judged())
        self.judged = [(phi, references) for phi, references in asked if scale.shows(phi)]
        of_losses = {phi for run in self.all_runs.values() for phi in run.loss.phis}
        for phi in (*self.matrices, *(phi for phi, _ in self.judged), *of_losses):
            if (model := model_of(phi)) is not None:
                self.sentence_encoder(model)

    def _made_at(self, scale: Scale, exhibits: Mapping[str, Exhibit]) -> expand.Made:
        check_scale(self.studies, scale)
        gallery = expand.gallery_spec_of(self.studies, scale)
        shown = dict(exhibits) | ({} if gallery is None else {f"{gallery[0]}/{gallery[1].name}": gallery[1]})
        for name, exhibit in shown.items():
            at, study = (scale.scale, name), self.study_of(name)
            self._rows[at] = expand.expand_rows(exhibit.row_specs(), study, scale)
            self._subspace_rows[at] = expand.subspace_rows(exhibit.every_subspace_row(), study, scale)
        rows = [row for name in shown for row in self._rows[scale.scale, name]]
        return expand.made_of(rows, [row for name in shown for row in self._subspace_rows[scale.scale, name]])

    def check(self) -> None:
        """Check that a user's own photographs are there, and that the catalogue has every file that is to be fetched.

        Raises:
            InputError: If not: which setting names what.
        """
        for name in self.own:
            for key in ("photographs", "captions"):
                path = Path(getattr(self.scale.datasets[name], key))
                if not path.exists():
                    begins = "" if path.is_absolute() else f", seen from {Path.cwd()}"
                    where, cure = f"datasets.{name}.{key}", "name yours"
                    raise InputError(f"is '{path}', which does not exist{begins}", where=where, cure=cure)
        for scale in self.scales:
            self.sources(scale)

    # --- configuration --------------------------------------------------------------------------------------

    def study_of(self, exhibit: str) -> Study:
        """The study of a table or figure."""
        return self.studies[exhibit.partition("/")[0]]

    def study_file(self, exhibit: str) -> Path:
        """The file of a study, by its name or that of one of its tables and figures."""
        return config_file(f"studies/{exhibit.partition('/')[0]}.yaml", self.config)

    def settings(self, scale: str) -> dict[str, Any]:
        """The scale, or its complete form, as plain data."""
        return self.scales[scale].model_dump(mode="json", exclude_unset=True)

    # --- datasets -------------------------------------------------------------------------------------------

    def except_for(self, datasets: Iterable[str]) -> list[str]:
        """The datasets of the scale without some."""
        return [name for name in self.scale.datasets if name not in datasets]

    def downloaded(self, dataset: str, kind: str, splits: Sequence[str] | None = None) -> list[Path]:
        """Files of a dataset whose name in the catalogue begins with ``kind``."""
        files = files_to_read(self.catalogue, dataset, kind, splits, self.download_folders)
        return [self.places.data / file for file in files]

    def captions_of(self, dataset: str) -> list[Path]:
        """The files that a corpus is read from."""
        data = self.scale.datasets[dataset]
        match data.loader:
            case "folder":
                return [data.captions]
            case "precomp":
                return [data.folder]
            case "scenes":
                return []
        found = self.downloaded(dataset, "text") + self.downloaded(dataset, "captions", data.splits)
        return found or self.downloaded(dataset, "photographs")  # one archive of both

    def photographs_of(self, dataset: str) -> list[Path]:
        """The archives or the folder that hold a dataset's photographs."""
        data = self.scale.datasets[dataset]
        match data.loader:
            case "scenes":
                return [self.places.beside_corpus(dataset, "photographs.zip")]
            case "folder":
                return [data.photographs]
        return self.downloaded(dataset, "photographs")

    def has_photographs(self, dataset: str) -> bool:
        """Whether there are photographs of a dataset: drawn, a user's own, or files of the catalogue."""
        known = dataset in self.catalogue.datasets or dataset in [*self.drawn, *self.own]
        return known and dataset not in self.precomp and bool(self.photographs_of(dataset))

    def identity(self, dataset: str | None) -> Identity | None:
        """What identifies a user's own photographs; None for others, which a rule makes or fetches.

        Raises:
            InputError: If they are missing or cannot be read.
        """
        if dataset is None or dataset not in self.own:
            return None
        if dataset not in self._identities:
            memory = self.places.beside_corpus(dataset, "photographs.sha256.json")
            self._identities[dataset] = identify(self.photographs_of(dataset)[0], memory)
        return self._identities[dataset]

    def labels_of(self, dataset: str) -> list[Path]:
        """Which objects are in a dataset's images, if that is known and a table shows PMRP."""
        entry = self.catalogue.datasets.get(dataset)
        known = dataset in self.drawn or (entry is not None and "instances" in entry.files)
        asked = any(column.metric == "PMRP" for exhibit in self.exhibits.values() for column in exhibit.metrics())
        return [self.places.beside_corpus(dataset, "labels.parquet")] if known and asked else []

    def judgements_of(self, dataset: str, judge: Judge) -> list[Path]:
        """The file that holds a judge's scores."""
        if judge == "scenes_truth":
            return [self.places.beside_corpus(dataset, "truth.npy")]
        return [self._catalogued(*JUDGEMENTS[judge])]

    def _catalogued(self, dataset: str, name: str) -> Path:
        entry = self.catalogue.datasets.get(dataset)
        if entry is None or name not in entry.files:
            raise InputError(f"datasets.{dataset}.files.{name} is not in config/datasets.yaml; add it there.")
        return self.places.data / entry.files[name].path

    # --- features -------------------------------------------------------------------------------------------

    def extracted_here(self, *, parts: bool, regions: bool | None = None) -> list[str]:
        """Features that are extracted from photographs: in several jobs or one, regions or not (None: either)."""
        grid = self.scale.grid_features
        released = grid.source if grid is not None and self.released_regions else None
        return [
            name
            for name, spec in self.extracted_features.items()
            if name != released and (spec.parts > 1) == parts and regions in (None, spec.layout == "regions")
        ]

    def is_described(self, dataset: str, features: FeatureSpec) -> bool:
        """Whether features are in a precomp folder, of which only a description is made."""
        grid = self.scale.grid_features
        of_folder = dataset in self.released_regions and grid is not None and features.source == grid.source
        return of_folder or dataset in self.precomp

    def folder_of_features(self, dataset: str) -> PrecompData | ReleasedRegions:
        """The precomp folder of a dataset, or of its regions."""
        data = self.scale.datasets[dataset]
        regions = data.regions if data.loader == "karpathy" else None
        found = data if data.loader == "precomp" else regions
        assert found is not None  # the rule's constraints
        return found

    def weights_of(self, extracted: str) -> list[Path]:
        """The file of an extractor's weights; none if a library fetches its own, whatever a mirror has.

        Raises:
            InputError: If the catalogue lacks it.
        """
        spec = self.extracted_features[extracted]
        if spec.weights is None:
            return []
        if not spec.from_catalogue:
            return [spec.weights]
        known = self.catalogue.datasets.get("weights")
        files, name = {} if known is None else known.files, str(spec.weights)
        if name not in files:
            hint = did_you_mean(name, sorted(files)) or f"there are: {', '.join(files) or 'none'}."
            raise InputError(
                f"weights is '{name}', which is not a name under weights in config/datasets.yaml (a file would end in "
                f"{ENDINGS[0]}, for example); {hint}"
            )
        return [self.places.data / files[name].path]

    def network_of(self, extracted: str) -> list[str]:
        """The record that a library has fetched the weights of an extractor, where one does."""
        extractor = self.extracted_features[extracted].extractor
        fetches = not self.weights_of(extracted) and extractor not in WITHOUT_DOWNLOADS
        return [str(self.places.fetched(f"networks/{extractor}"))] if fetches else []

    def features_of(self, spec: RunSpec) -> Path:
        """The features that a run reads."""
        return self.places.features(spec.dataset, spec.features, self.is_described(spec.dataset, spec.features))

    # --- phi ------------------------------------------------------------------------------------------------

    def phis_read(self, *sources: str) -> list[str]:
        """Every phi whose whole matrix is read for figures made from some ``sources``; default: from any."""
        reading = [exhibit for exhibit in self.exhibits.values() if not sources or exhibit.reads in sources]
        if not any(one.judge in RIGHT for one in self.scale.judges):  # nobody says which pairs are right
            reading = [exhibit for exhibit in reading if exhibit.reads != "found_positives"]
        asked = dict.fromkeys(phi for exhibit in reading for phi in exhibit.matrices())
        return [phi for phi in asked if self.scale.shows(phi)]

    def tuples_of(self, dataset: str, phis: Iterable[str], split: str, captions: str = "") -> list[Path]:
        """Scene-graph tuples where a phi needs them; those of drawn scenes come from the program that drew them.

        Args:
            dataset: The dataset.
            phis: Names of phi.
            split: The split of a dataset of photographs.
            captions: Some of its captions, as ``places.captions_of`` names them.
        """
        if not any(needs_tuples(phi) for phi in phis):
            return []
        if dataset in self.drawn:
            return [self.places.beside_corpus(dataset, "tuples.jsonl.gz")]
        return [self.places.parsed_tuples(dataset, split, captions)]

    def vectors_of(self, dataset: str, phis: Iterable[str]) -> list[Path]:
        """Vectors of a dataset's captions by the models that some phi compare."""
        models = dict.fromkeys(model for phi in phis if (model := model_of(phi)) is not None)
        return [self.places.caption_vectors(dataset, model) for model in models]

    def truth_of(self, dataset: str, phis: Iterable[str]) -> list[Path]:
        """The truth of drawn scenes where a phi is that truth.

        Raises:
            InputError: If the dataset was not drawn.
        """
        if not any(is_drawn(phi) for phi in phis):
            return []
        if dataset not in self.drawn:
            raise InputError(f"phi 'truth' is asked of {dataset}, and only drawn scenes have it; choose another phi.")
        return [self.places.beside_corpus(dataset, "truth.npy")]

    def sentence_encoder(self, model: str) -> dict[str, Any]:
        """What encodes captions for ``embedding:<model>``, as plain data.

        Raises:
            InputError: If neither the scale nor a package has a model of that name.
        """
        known = self.scale.sentence_encoders
        if model in known:
            return known[model].model_dump(mode="json")
        if model in PACKAGED:
            return {"model": model}
        hint = did_you_mean(model, [*known, *PACKAGED])
        raise InputError(f"'{model}' is no model of captions", where="sentence_encoders", cure=hint or "add it there")

    def training_part(self, dataset: str, captions: str) -> tuple[float, int | None]:
        """Return what ``corpus.training_part`` needs to take the captions that ``places.captions_of`` calls so.

        Raises:
            InputError: If no run of the dataset trains on them.
        """
        for spec in self.all_runs.values():
            if spec.dataset == dataset and captions_of(spec) == captions:
                return spec.fraction, spec.captions_per_image
        raise InputError(f"no run of this scale is trained on {captions} of '{dataset}'; name captions that one is.")

    # --- training and evaluation ----------------------------------------------------------------------------

    def trained_at(self, scale: str) -> list[str]:
        """Names of the runs of the scale, or of its complete form."""
        return list(self._made[scale].runs)

    def subspaces_at(self, scale: str) -> list[str]:
        """Names of the runs of category retrieval of the scale, or of its complete form."""
        return list(self._made[scale].subspaces)

    def evaluated_at(self, scale: str) -> list[str]:
        """Return names of the runs and ensembles of the scale, or of its complete form."""
        made = self._made[scale]
        return [*made.runs, *made.ensembles]

    def job_of(self, run: str) -> Job:
        """The job that evaluates, and for a run trains, a run or ensemble."""
        return self._job_of[run]

    def runs_of_job(self, job: str) -> list[RunSpec]:
        """The runs of a training job."""
        return [self.all_runs[name] for name in self.jobs[job].runs]

    def read_by(self, runs: Iterable[RunSpec]) -> list[Path]:
        """Every file that training the runs reads; ``fivesentences train`` needs no others."""
        runs = list(runs)
        inputs = {path for spec in runs for path in (self.places.corpus(spec.dataset), self.features_of(spec))}
        return sorted(inputs) + self.phi_read_by(runs)

    def phi_read_by(self, runs: Iterable[RunSpec]) -> list[Path]:
        """Every file of phi of training captions that the losses of the runs read."""
        return sorted({path for spec in runs for path in self.places.phi_files(spec).values()})

    def settings_to_train(self, job: str) -> list[dict[str, Any]]:
        """Settings, folder and files of phi of each run of a training job."""
        return [
            {
                "spec": self._settings_of(spec),
                "folder": str(self.places.run(spec.name)),
                "phi_files": _as_text(self.places.phi_files(spec)),
            }
            for spec in self.runs_of_job(job)
        ]

    def settings_to_evaluate(self, job: str) -> list[dict[str, Any]]:
        """Settings, similarity and inference methods of what an evaluation job evaluates."""
        known: dict[str, Scored] = {**self.all_runs, **self.all_ensembles}
        return [
            {
                "spec": self._settings_of(known[name]),
                "similarity": str(self.places.similarity(name)),
                "inferences": self.inferences[name],
            }
            for name in self.evaluations[job].runs
        ]

    def _settings_of(self, spec: Scored) -> dict[str, Any]:
        """Return the settings of a run or ensemble as plain data; those of runs as their folders record them."""
        if isinstance(spec, EnsembleRun):
            return spec.model_dump(mode="json") | {"members": [self._settings_of(one) for one in spec.members]}
        if spec.name not in self._settings:
            self._settings[spec.name] = spec.as_recorded(recorded_run(self.places.run(spec.name)))
        return self._settings[spec.name]

    def members_of(self, ensemble: str) -> list[str]:
        """The runs whose similarities an ensemble averages."""
        return [member.name for member in members_of(self.all_ensembles[ensemble])]

    def similarities_of(self, runs: Iterable[str]) -> dict[str, str]:
        """Return the similarity of each run or ensemble."""
        return {run: str(self.places.similarity(run)) for run in runs}

    def records_of(self, runs: Iterable[str]) -> list[Path]:
        """Records of the jobs that train these runs, each once."""
        return list(dict.fromkeys(self.places.record(self.job_of(run).name) for run in runs))

    def made_of(self, runs: Iterable[str]) -> list[Path]:
        """What Snakemake knows of the similarities of runs, each file once.

        Of runs that is the record of the job that trained them, of ensembles the similarity itself.
        """
        place, known = self.places, self.all_runs
        made = (place.record(self.job_of(run).name) if run in known else place.similarity(run) for run in runs)
        return list(dict.fromkeys(made))

    def metrics_of(self, runs: Iterable[str]) -> list[Path]:
        """Numbers of the jobs that evaluate these runs and ensembles, each once."""
        return list(dict.fromkeys(self.places.metrics(self.job_of(run).name) for run in runs))

    def per_image_of(self, runs: Iterable[str]) -> list[Path]:
        """Values per image of the jobs that evaluate these runs and ensembles, each once."""
        return list(dict.fromkeys(self.places.per_image(self.job_of(run).name) for run in runs))

    def reading(self, source: str) -> list[str]:
        """Tables and figures that are made from a source; see ``Exhibit.reads``."""
        return [name for name, exhibit in self.exhibits.items() if exhibit.reads == source]

    def compared(self, scale: str, figure: str) -> Retrievals | None:
        """The first two rows of a figure that are trained on one dataset, whose retrievals it compares."""
        rows = [row for row in self._rows[scale, figure] if row.runs]
        pair = [row for row in rows if row.dataset == rows[0].dataset][:2]
        if len(pair) < 2 or pair[0].dataset is None:
            return None
        options = self.figures[figure].model_dump(include={"k", "queries"})
        runs, phis = [row.runs[0].name for row in pair], [self.scale.evaluation_phi]
        return Retrievals(figure.partition("/")[0], pair[0].dataset, runs, phis, options)

    def gallery(self, scale: str) -> Retrievals | None:
        """The gallery of a scale; None if no study has one, or none of its rows is trained on photographs.

        It shows one run of each row on the first dataset that has photographs, and judges by the phi of NCS and by
        those of the paper whose matrix the scale makes.
        """
        at = self.scales[scale]
        found = expand.gallery_spec_of(self.studies, at)
        if found is None:
            return None
        study, spec = found
        made = [row for row in self._rows[scale, f"{study}/{spec.name}"] if row.dataset and row.runs]
        dataset = next((row.dataset for row in made if row.dataset and self.has_photographs(row.dataset)), None)
        if dataset is None:
            return None
        runs = dict.fromkeys(row.runs[0].name for row in made if row.dataset == dataset)
        pairs = [
            (one.a.runs[0].name, one.b.runs[0].name)
            for one in expand.contrasts_of(spec.contrasts, self.studies[study], at)
            if one.a.dataset == dataset and one.is_made
        ]
        phis = dict.fromkeys([self.scale.evaluation_phi, *(phi for phi in PAPERS_PHIS if phi in self.matrices)])
        options = {"contrasts": [list(pair) for pair in dict.fromkeys(pairs)]}
        return Retrievals(study, dataset, list(runs), list(phis), options)

    def paired_runs(self, scale: str, exhibit: str) -> list[dict[str, Any]]:
        """Both sides of each contrast of a table or figure that the scale makes, paired by seed."""
        specs, study = self.exhibits[exhibit].contrast_specs(), self.study_of(exhibit)
        return [
            {"dataset": one.a.dataset, "a": one.runs[0], "b": one.runs[1], "seeds": one.seeds}
            for one in expand.contrasts_of(specs, study, self.scales[scale])
            if one.is_made
        ]

    # --- adaptive margins -----------------------------------------------------------------------------------

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
                if drawn and made.issuperset(self._matrices_of_margins(dataset, fraction, loss).values()):
                    found.setdefault((fraction, loss.folder), (fraction, loss))
        return list(found.values())

    def _matrices_of_margins(self, dataset: str, fraction: float, loss: LossSpec) -> dict[str, Path]:
        """Return the matrices of phi that margins of captions alone are made from."""
        return self.places.phi_matrices(dataset, loss, part_of(fraction))

    def runs_with_margins(self, scale: str, dataset: str | None = None) -> list[RunSpec]:
        """Runs of a scale, or of its complete form, whose adaptive margins a table or figure shows, each once."""
        rows = [row for name in self.reading("margins") for row in self._rows[scale, name]]
        runs = {run.name: run for row in rows for run in row.runs if isinstance(run, RunSpec)}
        return [run for run in runs.values() if dataset in (None, run.dataset)]

    def captions_with_margins(self, dataset: str) -> list[dict[str, Any]]:
        """Fraction, loss and files of phi of each set of captions whose margins are measured."""
        return [
            {
                "fraction": fraction,
                "loss": loss.model_dump(mode="json", exclude_defaults=True),
                "phi_files": _as_text(self._matrices_of_margins(dataset, fraction, loss)),
            }
            for fraction, loss in self.margins_of_captions(dataset)
        ]

    def settings_of_margins(self, scale: str, dataset: str) -> list[dict[str, Any]]:
        """Folder, features and files of phi of each run whose margins are measured."""
        return [
            {
                "folder": str(self.places.run(run.name)),
                "features": str(self.features_of(run)),
                "phi_files": _as_text(self.places.phi_files(run)),
            }
            for run in self.runs_with_margins(scale, dataset)
        ]

    # --- category retrieval ---------------------------------------------------------------------------------

    def documents_with(self, texts: str) -> list[str]:
        """Documents whose texts are ``words``, of which a bag is made, or ``vectors``."""

        def has_words(spec: AnyDocuments) -> bool:
            return spec.loader in ("nus_wide", "corpus") or (spec.loader == "descriptors" and spec.texts is None)

        return [name for name, spec in self.documents.items() if has_words(spec) == (texts == "words")]

    def read_for_documents(self, documents: str) -> dict[str, Path]:
        """What a loader reads, by name; folders in an original layout are not inputs, since files in them may vary."""
        spec = self.documents[documents]
        match spec.loader:
            case "wikipedia":
                named = ("features", "train_list", "test_list", "categories")
                return {name: self._catalogued("wikipedia", name) for name in named}
            case "corpus":
                assert self.scale.features is not None  # the scale's check
                described = self.is_described(spec.corpus, self.scale.features)
                features = self.places.features(spec.corpus, self.scale.features, described)
                return {"corpus": self.places.corpus(spec.corpus), "features": features}
            case "descriptors":
                given = {"table": spec.table, "images": spec.images, "texts": spec.texts}
                return {name: path for name, path in given.items() if path is not None}
        return {}

    def vectors_of_texts(self, documents: str) -> list[Path]:
        """Vectors of the texts of documents; none where texts are words."""
        vectors = documents in self.documents_with("vectors")
        return [self.places.document_vectors(documents, "text")] if vectors else []

    def subspaces_of_job(self, job: str) -> list[PlacedRun]:
        """The runs of a job of category retrieval."""
        return [self.subspaces.placed(run) for run in self.subspaces.jobs[job].runs]

    def divisions_of(self, job: str) -> list[Path]:
        """The divisions that the runs of a job of category retrieval read."""
        return list(dict.fromkeys(run.division for run in self.subspaces_of_job(job)))

    def paired_subspaces(self, scale: str, exhibit: str) -> list[dict[str, Any]]:
        """Both sides of each contrast of category retrieval of a table that the scale makes, paired by seed."""
        return [
            {
                "role": one.a.role,
                "documents": one.a.documents,
                "division": one.a.division,
                "a": one.runs[0],
                "b": one.runs[1],
                "a_selection": one.a.selection,
                "b_selection": one.b.selection,
                "seeds": one.seeds,
            }
            for one in self._subspace_contrasts(scale, exhibit)
        ]

    def _subspace_contrasts(self, scale: str, exhibit: str) -> list[SubspaceContrast]:
        specs, study = self.exhibits[exhibit].subspace_contrasts(), self.study_of(exhibit)
        return [one for one in expand.subspace_contrasts(specs, study, self.scales[scale]) if one.is_made]

    def projected(self, scale: str, exhibit: str) -> tuple[PlacedRun, str] | None:
        """The run whose subspace a figure shows, and which epoch's: the first that the scale makes."""
        row = next((row for row in self._subspace_rows[scale, exhibit] if row.runs), None)
        return None if row is None else (self.subspaces.placed(row.runs[0].name), row.selection)

    # --- tables, figures and claims -------------------------------------------------------------------------

    def numbers_of(self, scale: str, name: str) -> list[Path]:
        """The files of numbers that a table or figure is made from: making it trains no more than it shows."""
        places, exhibit = self.places, self.exhibits[name]
        methods = [run.name for row in self._subspace_rows[scale, name] for run in row.runs]
        match exhibit.reads:
            case "runs":
                return self.metrics_of(run.name for row in self._rows[scale, name] for run in row.runs)
            case "every_run":
                return self.metrics_of(self.trained_at(scale))
            case "retrievals":
                return [places.retrievals(scale, name)] if self.compared(scale, name) else []
            case "contrasts":
                return [places.contrasts(scale, name)] if self.paired_runs(scale, name) else []
            case "correlations":
                return self._agreements("json")
            case "judged_pairs":
                return self._agreements("parquet")
            case "phi_statistics":
                shown = set(exhibit.matrices()) & set(self.shown_phis)
                return [places.phi_statistics(dataset) for dataset in self.with_parts if shown]
            case "found_positives":
                return self._found_positives()
            case "margins":
                return [places.margins(scale, dataset) for dataset in self.with_training_captions]
            case "corpora":
                played = self.scales[scale].roles
                return [places.corpus(one) for one in dict.fromkeys(played[r] for r in exhibit.roles() if r in played)]
            case "subspaces":
                return self.subspaces.numbers_of(methods)
            case "subspace_histories":
                parts = ("histories", "category_margins")
                return [path for part in parts for path in self.subspaces.numbers_of(methods, part)]
            case "subspace_contrasts":
                return [places.subspace_contrasts(scale, name)] if self._subspace_contrasts(scale, name) else []
            case "subspace_projection" if methods:
                margins = self.subspaces.numbers_of(methods[:1], "category_margins")
                return [places.subspace_projection(scale, name), *margins]
        return []

    def shown_by(self, scale: str, exhibit: str) -> list[str]:
        """Names of the runs, of matching or category retrieval, that a table or figure is made from."""
        match self.exhibits[exhibit].reads:
            case "every_run":
                return self.trained_at(scale)
            case "retrievals":
                compared = self.compared(scale, exhibit)
                return [] if compared is None else compared.runs
            case "subspace_projection":
                projected = self.projected(scale, exhibit)
                return [] if projected is None else [projected[0].run.name]
        found = [run.name for row in self._rows[scale, exhibit] for one in row.runs for run in members_of(one)]
        found += [run.name for row in self._subspace_rows[scale, exhibit] for run in row.runs]
        return list(dict.fromkeys(found))

    def _found_positives(self) -> list[Path]:
        judges = [one for one in self.scale.judges if one.judge in RIGHT]
        return [self.places.found_positives(self.scale.scale, one.dataset, one.judge) for one in judges]

    def _agreements(self, suffix: str) -> list[Path]:
        """What the judges say; of the scale, for each has its own phis, and its complete form has the same."""
        scale = self.scale
        return [self.places.agreement(scale.scale, one.dataset, one.judge, suffix) for one in scale.judges]

    def published_of(self, exhibit: str) -> list[Path]:
        """The published table that a table or figure is compared with; empty if there is none."""
        name = self.exhibits[exhibit].published_table()
        return [] if name is None else [config_file(f"published/{name}.csv", self.config)]

    def folder_of_published(self, exhibit: str) -> str:
        """The folder of published tables."""
        published = self.published_of(exhibit)
        return str(published[0].parent if published else self.config / "published")

    def pictured(self, scale: str, figure: str) -> str | None:
        """The dataset whose photographs a figure shows, if any: that of its runs, or the scale's first."""
        exhibit = self.figures[figure]
        if not exhibit.shows_photographs:
            return None
        if exhibit.reads == "retrievals":
            compared = self.compared(scale, figure)
            return None if compared is None else compared.dataset
        return next(iter(self.scale.datasets), None)

    def cells_of_claims(self, scale: str) -> dict[tuple[str, str], list[RunCell] | list[MethodCell]]:
        """The tests of each claim that runs of the scale, or of its complete form, allow, by paper and claim."""
        if scale not in self._cells:
            made, at = self._made[scale], self.scales[scale]
            candidates, methods = candidates_of(made.runs.values(), at), list(made.subspaces.values())
            self._cells[scale] = {
                (paper.name, one.name): cells_of(one.test, paper.study, at, candidates, self.inferences, methods)
                for paper in self.claims
                for one in paper.claims.claims
            }
        return self._cells[scale]

    def numbers_of_claims(self, scale: str) -> dict[str, list[Path]]:
        """What the verdicts are made from: values per image and all numbers of runs; of category retrieval, values
        per query; pairs that judges judged; right pairs among the first by phi.
        """
        cells = [cell for found in self.cells_of_claims(scale).values() for cell in found]
        by_image = [one for one in cells if isinstance(one, RunCell) and one.per_image(self.scale.evaluation_phi)]
        methods = [run for cell in cells if isinstance(cell, MethodCell) for run in cell.runs]
        return {
            "per_image": self.per_image_of(run for cell in by_image for run in cell.runs),
            "tidy": [self.places.tidy(scale)] if self.trained_at(scale) else [],
            "queries": self.subspaces.numbers_of(methods, "queries"),
            "judged": self._agreements("parquet") if self.judged else [],
            "found": self._found_positives() if self.phis_read("found_positives") else [],
        }

    # --- pages ----------------------------------------------------------------------------------------------

    def site(self, scale: str) -> dict[str, Any]:
        """The navigation of a scale's site as plain data: ``{"title": ..., "pages": [{part, label, path}, ...]}``.

        Paths begin at the folder of the site. A page is named here if, and only if, a rule makes it at this scale.
        """
        claimed, pages = {paper.name for paper in self.claims}, [("", "Overview", "index.html")]
        for part, of_paper in (("Papers", True), ("Our own questions", False)):
            shown = [(name, self.studies[name]) for name in self.shown_at(scale) if (name in claimed) == of_paper]
            pages += [(part, study.short or study.paper, f"{name}/index.html") for name, study in shown]
        pages.append(("Evidence", "Claims", "claims/claims.html"))
        pages += [("Evidence", "Gallery of queries", GALLERY)] if self.gallery(scale) else []
        pages += [("Evidence", "Runs", "runs/index.html")] if self.shows_runs(scale) else []
        fields = ("part", "label", "path")
        return {"title": self.scales[scale].title, "pages": [dict(zip(fields, page, strict=True)) for page in pages]}

    def shown_at(self, scale: str) -> list[str]:
        """Studies of which the scale, or its complete form, makes a table or figure."""
        return [name for name, study in self.studies.items() if study.made_at(self.scales[scale])]

    def shows_runs(self, scale: str) -> bool:
        """Whether the scale, or its complete form, has a run of any sort."""
        return bool(self.evaluated_at(scale) or self.subspaces_at(scale))

    def numbers_of_runs(self, scale: str) -> dict[str, list[Path]]:
        """What the page of every run of a scale is made from."""
        return {
            "tidy": [self.places.tidy(scale)] if self.evaluated_at(scale) else [],
            "subspaces": self.subspaces.numbers_of(self.subspaces_at(scale)),
        }

    def every_number(self, scale: str) -> list[Path]:
        """Every file of numbers from which a table, figure, claim or page of the scale is made."""
        methods = self.subspaces_at(scale)
        found = [path for exhibit in self.exhibits for path in self.numbers_of(scale, exhibit)]
        of_pages = [*self.numbers_of_claims(scale).values(), *self.numbers_of_runs(scale).values()]
        found += [path for paths in of_pages for path in paths]
        found += [self.places.disagreements(scale)] if self.gallery(scale) else []
        found += [self.places.histories(scale)] if self.trained_at(scale) else []
        return sorted({*found, *self.subspaces.numbers_of(methods, "histories")})

    def values_apart(self, scale: str) -> list[Path]:
        """Values per image, query, category or judged pair, which are large, and files with captions, which are not
        ours to give: what was made of them may be passed on without.
        """
        claims, methods = self.numbers_of_claims(scale), self.subspaces_at(scale)
        of_methods = [self.subspaces.numbers_of(methods, part) for part in ("queries", "category_margins")]
        worded = [name for name, one in self.exhibits.items() if one.reads in ("corpora", "phi_statistics")]
        of_captions = [self.numbers_of(scale, name) for name in worded]
        found = [path for paths in (claims["per_image"], claims["judged"], *of_methods, *of_captions) for path in paths]
        return list(dict.fromkeys(found))

    def sources(self, scale: str) -> list[Path]:
        """Every file that a scale reads and no rule makes, or that is downloaded: data, studies and published tables.

        Raises:
            InputError: If the catalogue lacks one.
        """
        made = self._made[scale]
        read = {(run.dataset, run.features.source): run.features for run in made.runs.values()}
        described = {dataset for (dataset, _), features in read.items() if self.is_described(dataset, features)}
        extracted = {one for one, features in read.items() if not self.is_described(one[0], features)}
        extracted.update(self.pictured_features)
        shown = {*self.pictured_datasets, *(dataset for dataset, _ in extracted)}
        shown |= {one for figure in self.figures if (one := self.pictured(scale, figure))}
        shown |= {spec.corpus for spec in self.documents.values() if spec.loader == "corpus"}
        found = [path for dataset in self.scale.datasets for path in self.captions_of(dataset)]
        found += [path for dataset in sorted(shown - {*self.precomp}) for path in self.photographs_of(dataset)]
        found += [path for _, source in sorted(extracted) for path in self.weights_of(source)]
        found += [self.folder_of_features(dataset).folder for dataset in sorted(described)]
        for dataset in self.except_for(self.drawn):
            found += self.downloaded(dataset, "instances") if self.labels_of(dataset) else []
        found += [path for one in self.scale.judges for path in self.judgements_of(one.dataset, one.judge)]
        found += [path for name in self.subspaces.documents for path in self.read_for_documents(name).values()]
        found += [words for run in self.all_runs.values() if (words := run.training.vocabulary) is not None]
        found += [*self.study_files_of_claims, *self.claims_files]
        found += [path for exhibit in self.exhibits for path in self.published_of(exhibit)]
        return sorted({path for path in found if not path.is_relative_to(self.places.results)})

    def fetched_by_hand(self, file: str) -> str | None:
        """How a person gets a download that is not here; None if it is, or a program fetches it."""
        dataset, name = self.downloads[file]
        about = self.catalogue.datasets[dataset].files[name]
        if about.url or at_hand(file, self.download_folders):
            return None
        how = about.fetch_by_hand or "no address is known."
        return f"{self.places.data / file} must be put there by a person: {how}"

    def absent(self, scale: str) -> list[str]:
        """What a person must still put in place before a scale can be made, one sentence for each file or folder."""
        downloads = {self.places.data / file: file for file in self.downloads}
        folders = [spec.folder for spec in self.documents.values() if spec.loader == "nus_wide"]
        found = list[str | None]()
        for path in dict.fromkeys([*self.sources(scale), *folders]):
            if path in downloads:
                found.append(self.fetched_by_hand(downloads[path]))
            elif not path.exists():
                how = SCAN_FEATURES.get(path.name, "docs/paper_scale.md says where that of the papers is from")
                found.append(f"{path} is not here, and no rule makes it; {how}.")
        return [one for one in found if one]

    # --- targets --------------------------------------------------------------------------------------------

    @property
    def exhibit_files(self) -> dict[str, Path]:
        """The file of each table and figure that stands for all of its files, by ``study/name``."""
        places, scale = self.places, self.scale.scale
        tables = {table: places.exhibit(scale, table, "html") for table in self.tables}
        return tables | {figure: places.exhibit(scale, figure, "png") for figure in self.figures}

    def pages_of(self, scale: str) -> list[Path]:
        """The pages of the site of the scale, or of its complete form, and its manifest."""
        places = self.places
        runs = [places.page(scale, "runs/index.html")] if self.shows_runs(scale) else []
        return [places.page(scale, "index.html"), places.manifest(scale), *runs]

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
            "claims": [places.page(name, "claims/claims.html")],
            "page": self.pages_of(name),
            "complete": self.pages_of(self.scale.complete.scale),
        }


def short_names(exhibits: Iterable[str]) -> dict[str, str]:
    """What may be asked for on the command line: ``study_name`` for each, and ``name`` where that is unique."""
    exhibits = list(exhibits)
    count = Counter(exhibit.split("/")[1] for exhibit in exhibits)
    long = {exhibit.replace("/", "_"): exhibit for exhibit in exhibits}
    return long | {name: exhibit for exhibit in exhibits if count[name := exhibit.split("/")[1]] == 1}


def _as_text(paths: Mapping[str, Path]) -> dict[str, str]:
    return {name: str(path) for name, path in paths.items()}


def scale_of(content: Any, path: Path) -> Scale:
    """A scale from the plain data of its file, merged into the scale that it extends.

    Inherited entries that name nothing in the studies of the scale are left out, see ``inheriting``, and so are
    inherited weights of networks whose features it replaces.

    Args:
        content: The content of the file, perhaps changed by the caller.
        path: The file.

    Raises:
        InputError: If the content, or a file that it extends, or a study is missing or wrong.
    """
    merged = extended(content, path)
    if merged is content:  # it extends nothing
        return check(Scale, merged, str(path))
    merged = _without_replaced_networks(merged, content)
    scale = check(Scale, merged, str(path))
    return inheriting(merged, content, _studies_of(scale, path.parent), str(path))


def _without_replaced_networks(merged: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    weights, stated = merged.get("weights"), own.get("weights")
    if not isinstance(weights, dict):
        return merged
    further = merged.get("further_features")
    blocks = [
        merged.get("features"),
        merged.get("grid_features"),
        *(further.values() if isinstance(further, dict) else ()),
    ]
    read = [block.get("extractor") for block in blocks if isinstance(block, dict)]
    kept = {name: file for name, file in weights.items() if name in read or name in (stated or {})}
    return merged | {"weights": kept}


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
