"""The plan of a scale: what the rules of the workflow read, and with which settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from fivesentences.config.documents import AnyDocuments
from fivesentences.config.features import ENDINGS, FeatureSpec
from fivesentences.config.files import CATALOGUE, claims_files, config_file
from fivesentences.config.scales import JUDGEMENTS, RIGHT
from fivesentences.config.types import Judge, Split
from fivesentences.corpus.catalogue import files_to_read
from fivesentences.corpus.photograph_digests import Identity, identify
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.errors import InputError, did_you_mean
from fivesentences.features.recipe import GRID_DESCRIPTORS
from fivesentences.plan.claimed import MethodCell, RunCell
from fivesentences.plan.contrasts import Contrast, contrasts_of
from fivesentences.plan.encoded import Scored, members_of
from fivesentences.plan.ensembles import EnsembleRun
from fivesentences.plan.places import captions_of, part_of_tuples
from fivesentences.plan.resolved import Resolved
from fivesentences.plan.rows import Row, compared_rows, evaluated_of_rows, expand_rows
from fivesentences.plan.runs import RunSpec, recorded_run
from fivesentences.plan.subspaces import SubspaceContrast, SubspaceRow, rows_shown, subspace_contrasts, subspace_rows
from fivesentences.semantics.registry import needs_tuples

TEST = "test"
GALLERY = "gallery/index.html"
WITHOUT_DOWNLOADS = (GRID_DESCRIPTORS, "bottom_up")  # an extractor without weights, and one that no library offers


def one_of(names: Iterable[str]) -> str:
    """A regular expression that accepts these names and, if there are none, nothing."""
    return "|".join(re.escape(name) for name in names) or "nothing(?!)"


@dataclass(frozen=True)
class Shown:
    """What two or more runs on one dataset are shown from.

    Attributes:
        corpus: The corpus of the dataset.
        made: Files that say that the similarities are made.
        similarities: The similarity of each run.
        phis: Matrices of the dataset's test split, by name.
        dataset: Its name.
        study: The study that shows them.
        options: What the study says of how they are shown.
    """

    corpus: Path
    made: list[Path]
    similarities: dict[str, str]
    phis: dict[str, str]
    dataset: str
    study: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Projected:
    """The run of category retrieval whose subspace a figure shows, and what it is read from."""

    documents: Path
    record: Path
    division: Path
    run: dict[str, Any]
    selection: str


class Plan(Resolved):
    """What is to be made, and of what: the rules of the workflow and the command line look it up here.

    ``Plan(scale, studies, catalogue)`` needs neither Snakemake nor torch. Arguments and attributes are those of
    ``Resolved``.
    """

    # --- configuration --------------------------------------------------------------------------------------

    def check(self) -> None:
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

    @property
    def catalogue_file(self) -> Path:
        """The file that lists every download."""
        return config_file(CATALOGUE, self.config)

    def study_file(self, exhibit: str) -> Path:
        """The file of a study, by its name or that of one of its tables and figures."""
        return config_file(f"studies/{exhibit.partition('/')[0]}.yaml", self.config)

    @property
    def study_files(self) -> list[Path]:
        """The files of the scale's studies."""
        return [self.study_file(study) for study in self.studies]

    @property
    def claims_files(self) -> list[Path]:
        """The files of what the papers state."""
        found = claims_files(self.config)
        return [found[paper.name] for paper in self.claims]

    @property
    def study_files_of_claims(self) -> list[Path]:
        """The files of the studies whose words the claims use, then those of the scale."""
        names = [*(paper.claims.study for paper in self.claims), *self.studies]
        return list(dict.fromkeys(self.study_file(name) for name in names))

    def settings(self, scale: str) -> dict[str, Any]:
        """A scale, or its complete form, as plain data."""
        return self.scales[scale].model_dump(mode="json", exclude_unset=True)

    # --- corpus ---------------------------------------------------------------------------------------------

    @property
    def loaded(self) -> list[str]:
        """Datasets that are read from files."""
        return [name for name in self.scale.datasets if name not in self.drawn]

    def downloaded(self, dataset: str, kind: str, splits: Sequence[str] | None = None) -> list[Path]:
        """Files of a dataset whose name in the catalogue begins with ``kind``."""
        files = files_to_read(self.catalogue, dataset, kind, splits, self.download_folders)
        return [self.places.data / file for file in files]

    def captions_of(self, dataset: str) -> list[Path]:
        """The files that a corpus is read from."""
        data = self.scale.datasets[dataset]
        if data.loader == "folder":
            return [data.captions]
        if data.loader == "precomp":
            return [data.folder]
        splits = None if data.loader == "scenes" else data.splits
        found = self.downloaded(dataset, "text") + self.downloaded(dataset, "captions", splits)
        return found or self.downloaded(dataset, "photographs")  # one archive of both

    def photographs_of(self, dataset: str) -> list[Path]:
        """The archives or the folder that hold a dataset's photographs."""
        data = self.scale.datasets[dataset]
        if data.loader == "scenes":
            return [self.places.beside_corpus(dataset, "photographs.zip")]
        if data.loader == "folder":
            return [data.photographs]
        return self.downloaded(dataset, "photographs")

    def own_content(self, dataset: str | None) -> str | None:
        """The digest of a user's own photographs; None for others, which a rule makes or fetches."""
        identity = None if dataset is None else self._identity(dataset)
        return identity and identity.content

    def names_of_own_photographs(self, dataset: str) -> str | None:
        """The digest of the names of a user's own photographs: captions are read again when one comes or goes."""
        identity = self._identity(dataset)
        return identity and identity.names

    def splits_needed(self, dataset: str) -> list[str]:
        """Splits that a user's own images must have: all, if models are trained on them."""
        return list(get_args(Split)) if dataset in self.own and dataset in self.scale.roles.values() else []

    def _identity(self, dataset: str) -> Identity | None:
        """What identifies a user's own photographs; None for others.

        Raises:
            InputError: If they are missing or cannot be read.
        """
        data = self.scale.datasets[dataset]
        if data.loader != "folder":
            return None
        if dataset not in self.identities:
            cache = self.places.beside_corpus(dataset, "photographs.sha256.json")
            self.identities[dataset] = identify(data.photographs, cache)
        return self.identities[dataset]

    def labels_of(self, dataset: str) -> list[Path]:
        """Which objects are in a dataset's images, if that is known and a table asks for it."""
        known = dataset in [*self.annotated, *self.drawn]
        return [self.places.beside_corpus(dataset, "labels.parquet")] if known and self.needs_labels else []

    def judgements_of(self, dataset: str, judge: Judge) -> list[Path]:
        """The file that holds a judge's scores."""
        if judge == "scenes_truth":
            return [self.places.beside_corpus(dataset, "truth.npy")]
        entry, file = JUDGEMENTS[judge]
        return [self.places.data / self.catalogue.datasets[entry].files[file].path]

    # --- features -------------------------------------------------------------------------------------------

    @property
    def with_extracted_features(self) -> list[str]:
        """Datasets whose photographs features are extracted from."""
        return [name for name in self.scale.datasets if name not in self.precomp]

    @property
    def extracted_here(self) -> dict[str, FeatureSpec]:
        """Features that are extracted from photographs, by the name of their file."""
        grid = self.scale.grid_features
        in_folders = grid.source if grid is not None and self.released_regions else None
        return {name: spec for name, spec in self.extracted_features.items() if name != in_folders}

    @property
    def extracted_at_once(self) -> list[str]:
        """Of these, global and grid features that one job extracts."""
        return [name for name, spec in self.extracted_here.items() if spec.parts == 1 and spec.layout != "regions"]

    @property
    def detected(self) -> list[str]:
        """Of these, regions that a detector finds in one job."""
        return [name for name, spec in self.extracted_here.items() if spec.parts == 1 and spec.layout == "regions"]

    @property
    def extracted_in_parts(self) -> list[str]:
        """Of these, features of which each job extracts a part."""
        return [name for name, spec in self.extracted_here.items() if spec.parts > 1]

    @property
    def described(self) -> list[str]:
        """Features that stay in the precomp folder of whoever extracted them."""
        grid = self.scale.grid_features
        released = [grid.source] if grid is not None and self.released_regions else []
        return list(self.extracted_features) if self.precomp else released

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
        files = {} if known is None else known.files
        name = str(spec.weights)
        if name not in files:
            hint = did_you_mean(name, sorted(files)) or f"there are: {', '.join(files) or 'none'}."
            raise InputError(
                f"weights is '{name}', which is not a name under weights in config/datasets.yaml (a file would end in "
                f"{ENDINGS[0]}, for example); {hint}"
            )
        return [self.places.data / files[name].path]

    def network_of(self, extracted: str) -> list[str]:
        """The record that a library has fetched the weights of an extractor, where one does."""
        spec = self.extracted_features[extracted]
        fetches = not self.weights_of(extracted) and spec.extractor not in WITHOUT_DOWNLOADS
        return [str(self.places.fetched(f"networks/{spec.extractor}"))] if fetches else []

    def features_before(self, dataset: str, reduced: str) -> Path:
        """Features that are made smaller."""
        spec = self.reduced_features[reduced]
        return self.places.source_of_features(dataset, spec, self.is_described(dataset, spec))

    def encoder(self, name: str) -> EncoderSpec:
        """An encoder as a study names it; whatever dataset it embeds, it is the same."""
        return next(run.encoder for run in self.all_encoded.values() if run.model == name)

    def fetched_encoder(self, name: str) -> list[str]:
        """The record that a library has fetched an encoder, where one does."""
        return [] if self.encoder(name).is_local else [str(self.places.fetched(f"encoders/{name}"))]

    # --- phi ------------------------------------------------------------------------------------------------

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
        return [self.places.parsed_tuples(dataset, part_of_tuples(split, captions))]

    def training_part(self, dataset: str, captions: str) -> tuple[float, int | None, str, int]:
        """What ``corpus.training_part`` needs to take the training captions that ``places.captions_of`` calls so.

        It is the same at every scale: the seed is that of a drawn fraction, and 0 where runs of all seeds share it.

        Raises:
            InputError: If no run of the dataset trains on them.
        """
        for spec in self.all_runs.values():
            if spec.dataset == dataset and captions_of(spec) == captions:
                drawn = spec.training.draw == "seeded" and spec.fraction < 1
                return spec.fraction, spec.captions_per_image, spec.training.draw, spec.seed if drawn else 0
        raise InputError(f"no run of this scale is trained on {captions} of '{dataset}'; name captions that one is.")

    # --- training and evaluation ----------------------------------------------------------------------------

    def runs_of_job(self, job: str) -> list[RunSpec]:
        """The runs of a training job."""
        return [self.all_runs[name] for name in self.jobs[job].runs]

    def features_of_job(self, job: str) -> Path:
        """The features that the runs of a training job read."""
        return self.features_of(self.runs_of_job(job)[0])

    def vocabularies_of(self, job: str) -> list[Path]:
        """Word lists that the runs of a training job read."""
        return sorted({words for spec in self.runs_of_job(job) if (words := spec.training.vocabulary) is not None})

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

    def members_of(self, ensemble: str) -> list[str]:
        """The runs whose similarities an ensemble averages."""
        return [member.name for member in members_of(self.all_ensembles[ensemble])]

    def similarities_of(self, runs: Iterable[str]) -> list[str]:
        """The similarities of some runs."""
        return [str(self.places.similarity(run)) for run in runs]

    def folders_of(self, runs: Iterable[str]) -> dict[str, str]:
        """The folders of some runs, by name."""
        return {run: str(self.places.run(run)) for run in runs}

    def settings_to_evaluate(self, job: str) -> list[dict[str, Any]]:
        """Settings, similarity and inference methods of what an evaluation job evaluates."""
        known: dict[str, Scored] = {**self.all_runs, **self.all_ensembles, **self.all_encoded}
        return [
            {
                "spec": self._settings_of(known[name]),
                "similarity": str(self.places.similarity(name)),
                "inferences": self.inferences[name],
            }
            for name in self.evaluations[job].runs
        ]

    def _settings_of(self, spec: Scored) -> dict[str, Any]:
        """Settings of a run, an ensemble or an encoder as plain data; those of runs as their folders record them."""
        if isinstance(spec, EnsembleRun):
            return spec.model_dump(mode="json") | {"members": [self._settings_of(one) for one in spec.members]}
        if not isinstance(spec, RunSpec):
            return spec.model_dump(mode="json")
        if spec.name not in self.settings_of_runs:
            recorded = recorded_run(self.places.run(spec.name))
            self.settings_of_runs[spec.name] = spec.as_recorded(recorded)
        return self.settings_of_runs[spec.name]

    def retrieved(self, scale: str, figure: str) -> Shown:
        """The two runs whose retrievals a figure compares."""
        rows = self._compared(scale, figure)
        runs, dataset = [row.runs[0].name for row in rows], str(rows[0].dataset)
        return self._shown(dataset, runs, [self.scale.evaluation_phi], figure.partition("/")[0], {})

    def gallery_of(self, scale: str) -> Shown:
        """The models whose retrievals the gallery of a scale shows.

        Raises:
            InputError: If the scale has no gallery.
        """
        gallery = self.gallery(scale)
        if gallery is None:
            raise InputError(
                f"scale {scale}: no study has a gallery with a row that is trained on photographs; add one to a study."
            )
        options = gallery.spec.model_dump(include={"k", "queries", "at_random", "seed"})
        options["contrasts"] = [list(pair) for pair in gallery.contrasts]
        return self._shown(gallery.dataset, gallery.runs, self.phis_of_gallery, gallery.study, options)

    def _shown(self, dataset: str, runs: list[str], phis: Iterable[str], study: str, options: dict[str, Any]) -> Shown:
        matrices = {phi: self.places.phi(dataset, TEST, f"{phi}.npy") for phi in phis}
        similarities = {run: str(self.places.similarity(run)) for run in runs}
        corpus, made = self.places.corpus(dataset), self.made_of(runs)
        return Shown(corpus, made, similarities, _as_text(matrices), dataset, study, options)

    def reading(self, source: str) -> list[str]:
        """Tables and figures that are made from a source, see ``Exhibit.reads``."""
        return [name for name, exhibit in self.exhibits.items() if exhibit.reads == source]

    def paired_runs(self, scale: str, exhibit: str) -> list[dict[str, Any]]:
        """The two sides of each contrast of a table or figure, paired by seed."""
        return [
            {"dataset": one.a.dataset, "a": one.runs[0], "b": one.runs[1], "seeds": one.seeds}
            for one in self._contrasts(scale, exhibit)
        ]

    def per_image_of_contrasts(self, scale: str, exhibit: str) -> list[Path]:
        """Values per image of the runs that a table or figure contrasts."""
        return self.per_image_of(run for one in self._contrasts(scale, exhibit) for side in one.runs for run in side)

    def _contrasts(self, scale: str, exhibit: str) -> list[Contrast]:
        """The contrasts of a table or figure of which the scale makes both sides."""
        specs, study = self.exhibits[exhibit].contrast_specs(), self.study_of(exhibit)
        return [one for one in contrasts_of(specs, study, self.scales[scale]) if one.is_made]

    def _compared(self, scale: str, figure: str) -> list[Row]:
        """The two rows whose retrievals a figure compares; none if the scale has not both."""
        return compared_rows(self.figures[figure], self.study_of(figure), self.scales[scale])

    # --- what margins are made of ---------------------------------------------------------------------------

    def _runs_with_margins(self, scale: str, dataset: str) -> list[RunSpec]:
        return [run for run in self.runs_with_margins(scale) if run.dataset == dataset]

    def phi_of_margins(self, scale: str, dataset: str) -> list[Path]:
        """Files of phi that the margins of a dataset's captions and of its runs are made from."""
        matrices = (self.matrices_of_margins(dataset, *one).values() for one in self.margins_of_captions(dataset))
        of_runs = self.phi_read_by(self._runs_with_margins(scale, dataset))
        return sorted({*of_runs, *(path for paths in matrices for path in paths)})

    def features_of_margins(self, scale: str, dataset: str) -> list[Path]:
        """Features of the runs whose margins are measured."""
        return sorted({self.features_of(run) for run in self._runs_with_margins(scale, dataset)})

    def records_of_margins(self, scale: str, dataset: str) -> list[Path]:
        """Records of the runs whose margins are measured."""
        return self.records_of(run.name for run in self._runs_with_margins(scale, dataset))

    def captions_with_margins(self, dataset: str) -> list[dict[str, Any]]:
        """Fraction, loss and files of phi of each set of captions whose margins are measured."""
        return [
            {
                "fraction": fraction,
                "loss": loss.model_dump(mode="json", exclude_defaults=True),
                "phi_files": _as_text(self.matrices_of_margins(dataset, fraction, loss)),
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
            for run in self._runs_with_margins(scale, dataset)
        ]

    # --- category retrieval ---------------------------------------------------------------------------------

    @property
    def documents(self) -> dict[str, AnyDocuments]:
        """Every set of documents of the scale."""
        return {} if self.scale.categories is None else self.scale.categories.documents

    @property
    def documents_of_words(self) -> list[str]:
        """Documents whose texts are words, of which a bag is made."""
        return [name for name, spec in self.documents.items() if has_words(spec)]

    @property
    def documents_of_vectors(self) -> list[str]:
        """Documents whose texts are vectors."""
        return [name for name, spec in self.documents.items() if not has_words(spec)]

    def read_for_documents(self, documents: str) -> dict[str, Path]:
        """What a loader reads, by name; folders in an original layout are not inputs, since files in them may vary."""
        spec = self.documents[documents]
        match spec.loader:
            case "wikipedia":
                named = ("features", "train_list", "test_list", "categories")
                return {name: self._downloaded_file("wikipedia", name) for name in named}
            case "corpus":
                assert self.scale.features is not None  # the scale's check
                described = self.is_described(spec.corpus, self.scale.features)
                features = self.places.features(spec.corpus, self.scale.features, described)
                return {"corpus": self.places.corpus(spec.corpus), "features": features}
            case "descriptors":
                given = {"table": spec.table, "images": spec.images, "texts": spec.texts}
                return {name: path for name, path in given.items() if path is not None}
        return {}

    def _downloaded_file(self, dataset: str, name: str) -> Path:
        entry = self.catalogue.datasets.get(dataset)
        if entry is None or name not in entry.files:
            raise InputError(f"datasets.{dataset}.files.{name} is not in config/datasets.yaml; add it there.")
        return self.places.data / entry.files[name].path

    def vectors_of_texts(self, documents: str) -> list[Path]:
        """Vectors of the texts of documents; none where texts are words."""
        words = has_words(self.documents[documents])
        return [] if words else [self.places.document_vectors(documents, "text")]

    def divisions_of(self, job: str) -> list[Path]:
        """The divisions that the runs of a job of category retrieval read."""
        placed = (self.subspaces.placed(run) for run in self.subspaces.jobs[job].runs)
        return list(dict.fromkeys(one.division for one in placed))

    def settings_of_subspaces(self, job: str) -> list[dict[str, Any]]:
        """Settings, folder and division of each run of a job of category retrieval."""
        return [self.subspaces.placed(run).plain for run in self.subspaces.jobs[job].runs]

    def paired_subspaces(self, scale: str, exhibit: str) -> list[dict[str, Any]]:
        """The two sides of each contrast of category retrieval of a table or figure, paired by seed."""
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

    def queries_of_contrasts(self, scale: str, exhibit: str) -> list[Path]:
        """Values per query of the runs of category retrieval that a table or figure contrasts."""
        contrasts = self._subspace_contrasts(scale, exhibit)
        return self._queries_of(run for one in contrasts for side in one.runs for run in side)

    def _queries_of(self, runs: Iterable[str]) -> list[Path]:
        return [self.places.subspace_numbers(job, "queries") for job in self.subspaces.jobs_of(runs)]

    def projected(self, scale: str, exhibit: str) -> Projected:
        """The run whose subspace a figure shows on a plane."""
        row = self._projected_row(scale, exhibit)
        assert row is not None  # otherwise nothing asks for the file
        placed = self.subspaces.placed(row.runs[0].name)
        (job,) = self.subspaces.jobs_of([placed.run.name])
        documents, record = self.places.documents(placed.run.documents), self.places.subspace_record(job)
        return Projected(documents, record, placed.division, placed.plain, row.selection)

    def _projected_row(self, scale: str, exhibit: str) -> SubspaceRow | None:
        """The row whose first run a figure shows: its first that the scale makes."""
        specs, study = self.exhibits[exhibit].subspace_rows(), self.study_of(exhibit)
        return next((row for row in subspace_rows(specs, study, self.scales[scale]) if row.runs), None)

    def _subspace_contrasts(self, scale: str, exhibit: str) -> list[SubspaceContrast]:
        """The contrasts of a table or figure of which the scale makes both sides."""
        specs, study = self.exhibits[exhibit].subspace_contrasts(), self.study_of(exhibit)
        return [one for one in subspace_contrasts(specs, study, self.scales[scale]) if one.is_made]

    # --- tables and figures ---------------------------------------------------------------------------------

    def numbers_of(self, scale: str, name: str) -> list[Path]:
        """The files of numbers that a table or figure is made from, and no others: it trains no more than it shows."""
        places, exhibit = self.places, self.exhibits[name]
        match exhibit.reads:
            case "runs":
                rows = expand_rows(exhibit.row_specs(), self.study_of(name), self.scales[scale])
                return self.metrics_of(evaluated_of_rows(rows))
            case "every_run":
                return self.metrics_of(self.trained_at(scale))
            case "retrievals":
                return [places.retrievals(scale, name)] if self._compared(scale, name) else []
            case "contrasts":
                return [places.contrasts(scale, name)] if self._contrasts(scale, name) else []
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
                datasets = dict.fromkeys(played[role] for role in exhibit.roles() if role in played)
                return [places.corpus(dataset) for dataset in datasets]
        return self._numbers_of_categories(scale, name)

    def _numbers_of_categories(self, scale: str, name: str) -> list[Path]:
        places, exhibit = self.places, self.exhibits[name]
        rows = rows_shown(exhibit, self.study_of(name), self.scales[scale])
        jobs = self.subspaces.jobs_of(run.name for row in rows for run in row.runs)
        match exhibit.reads:
            case "subspaces":
                return [places.subspace_numbers(job) for job in jobs]
            case "subspace_histories":
                parts = ("histories", "category_margins")
                return [places.subspace_numbers(job, part) for part in parts for job in jobs]
            case "subspace_contrasts":
                return [places.subspace_contrasts(scale, name)] if self._subspace_contrasts(scale, name) else []
            case "subspace_projection":
                row = self._projected_row(scale, name)
                if row is None:
                    return []
                (job,) = self.subspaces.jobs_of([row.runs[0].name])
                return [places.subspace_projection(scale, name), places.subspace_numbers(job, "category_margins")]
        return []

    def _found_positives(self) -> list[Path]:
        judges = [one for one in self.scale.judges if one.judge in RIGHT]
        return [self.places.found_positives(self.scale.scale, one.dataset, one.judge) for one in judges]

    def _agreements(self, suffix: str) -> list[Path]:
        """What the judges say; of the scale, for each has its own phis, and its complete form has the same."""
        judges, scale = self.scale.judges, self.scale.scale
        return [self.places.agreement(scale, one.dataset, one.judge, suffix) for one in judges]

    def published_of(self, exhibit: str) -> list[Path]:
        """The published table that a table or figure is compared with; empty if there is none."""
        name = self.exhibits[exhibit].published_table()
        return [] if name is None else [config_file(f"published/{name}.csv", self.config)]

    @property
    def every_published(self) -> list[Path]:
        """Every published table that one of the scale is compared with."""
        return sorted({path for exhibit in self.exhibits for path in self.published_of(exhibit)})

    def folder_of_published(self, exhibit: str) -> str:
        """The folder of published tables."""
        published = self.published_of(exhibit)
        return str(published[0].parent if published else self.config / "published")

    def texts_of(self, exhibit: str) -> dict[str, str]:
        """What a report says of a table or figure."""
        spec = self.exhibits[exhibit]
        paper = self.study_of(exhibit).paper
        return {"paper": paper, "name": spec.name, "title": spec.title, "caption": spec.caption}

    def pictured(self, scale: str, figure: str) -> str | None:
        """The dataset whose photographs a figure shows, if any: that of its runs, or the scale's first."""
        exhibit = self.figures[figure]
        if not exhibit.shows_photographs():
            return None
        if exhibit.reads == "retrievals":
            return next((row.dataset for row in self._compared(scale, figure)), None)
        return next(iter(self.scale.datasets))

    # --- claims ---------------------------------------------------------------------------------------------

    def _tested(self, scale: str) -> list[RunCell | MethodCell]:
        return [cell for found in self.cells_of_claims(scale).values() for cell in found]

    def per_image_of_claims(self, scale: str) -> list[Path]:
        """Values per image of the runs that claims compare so."""
        phi = self.scale.evaluation_phi
        cells = [cell for cell in self._tested(scale) if isinstance(cell, RunCell) and cell.per_image(phi)]
        return self.per_image_of(dict.fromkeys(run for cell in cells for run in cell.runs))

    def queries_of_claims(self, scale: str) -> list[Path]:
        """Values per query of the methods that claims compare."""
        cells = [cell for cell in self._tested(scale) if isinstance(cell, MethodCell)]
        return self._queries_of(dict.fromkeys(run for cell in cells for run in cell.runs))

    def tidy_of_claims(self, scale: str) -> list[Path]:
        """The table of every number of the scale's runs, if it trains any."""
        return [self.places.tidy(scale)] if self.trained_at(scale) else []

    @property
    def judged_pairs(self) -> list[Path]:
        """The judged pairs that claims are tested by."""
        return self._agreements("parquet") if self.judged else []

    @property
    def found_positives(self) -> list[Path]:
        """Where the right pairs of the judges that know such pairs are found, if a figure shows that."""
        return self._found_positives() if self.phis_read("found_positives") else []

    def numbers_of_claims(self, scale: str) -> list[Path]:
        """What the verdicts are made from."""
        of_runs = self.per_image_of_claims(scale) + self.tidy_of_claims(scale) + self.queries_of_claims(scale)
        return of_runs + self.judged_pairs + self.found_positives

    # --- pages ----------------------------------------------------------------------------------------------

    def site(self, scale: str) -> dict[str, Any]:
        """The navigation of a scale's site as plain data: ``{"title": ..., "pages": [{part, label, path}, ...]}``.

        Paths begin at the folder of the site. A page is named here if, and only if, a rule makes it at this scale.
        """
        claimed = {paper.name for paper in self.claims}
        shown = [(name, self.studies[name]) for name in self.shown_at(scale)]
        papers, ours = (
            [
                (part, study.short or study.paper, f"{name}/index.html")
                for name, study in shown
                if (name in claimed) == of_paper
            ]
            for part, of_paper in (("Papers", True), ("Our own questions", False))
        )
        pages = [
            ("", "Overview", "index.html"),
            *papers,
            *ours,
            ("Evidence", "Claims", "claims/claims.html"),
            *([("Evidence", "Gallery of queries", GALLERY)] if self.gallery(scale) else []),
        ]
        return {
            "title": self.scales[scale].title,
            "pages": [{"part": part, "label": label, "path": path} for part, label, path in pages],
        }

    def shown_at(self, scale: str) -> list[str]:
        """Studies of which the scale, or its complete form, makes a table or figure."""
        return [name for name, study in self.studies.items() if study.made_at(self.scales[scale])]

    def exhibits_of(self, scale: str, study: str, kind: str, suffix: str) -> list[Path]:
        """One file of each table or figure of a study."""
        names = self.tables if kind == "tables" else self.figures
        return [self.places.exhibit(scale, name, suffix) for name in names if name.partition("/")[0] == study]

    @cached_property
    def datasets_of_runs(self) -> list[str]:
        """Datasets that models are trained on."""
        return sorted({spec.dataset for spec in self.all_runs.values()})

    def pictured_features(self, scale: str) -> list[Path]:
        """What the overview shows of features that were extracted."""
        shown = [pair for pair in self.extracted if pair[0] in self.datasets_of_runs]
        return [self.places.exhibit(scale, f"features/{dataset}/{source}", "json") for dataset, source in shown]

    def gallery_page(self, scale: str) -> list[Path]:
        """The page of the gallery of a scale that has one."""
        return [self.places.page(scale, GALLERY)] if self.gallery(scale) else []

    def trained(self, scale: str) -> dict[str, int]:
        """How many runs of matching and of category retrieval a scale has."""
        return {"matching": len(self.trained_at(scale)), "categories": len(self.subspaces_at(scale))}

    def every_number(self, scale: str) -> list[Path]:
        """Every file of numbers that a table, a figure, a claim or the gallery of the scale is made from."""
        of_exhibits = {path for exhibit in self.exhibits for path in self.numbers_of(scale, exhibit)}
        shown = {self.places.disagreements(scale)} if self.gallery(scale) else set()
        return sorted(of_exhibits | shown | set(self.numbers_of_claims(scale)))

    # --- targets --------------------------------------------------------------------------------------------

    @property
    def exhibit_files(self) -> dict[str, Path]:
        """The file of each table and figure that stands for all of its files, by ``study/name``."""
        places, scale = self.places, self.scale.scale
        tables = {table: places.exhibit(scale, table, "html") for table in self.tables}
        return tables | {figure: places.exhibit(scale, figure, "png") for figure in self.figures}

    def pages_of(self, scale: str) -> list[Path]:
        """The pages of the site of the scale, or of its complete form, and its manifest."""
        return [self.places.page(scale), self.places.manifest(scale)]

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


def has_words(spec: AnyDocuments) -> bool:
    """Whether the texts of some documents are words, of which a bag is made, rather than vectors."""
    return spec.loader in ("nus_wide", "corpus") or (spec.loader == "descriptors" and spec.texts is None)


def short_names(exhibits: Iterable[str]) -> dict[str, str]:
    """What may be asked for on the command line: ``study_name`` for each, and ``name`` where that is unique."""
    exhibits = list(exhibits)
    count = Counter(exhibit.split("/")[1] for exhibit in exhibits)
    long = {exhibit.replace("/", "_"): exhibit for exhibit in exhibits}
    return long | {name: exhibit for exhibit in exhibits if count[name := exhibit.split("/")[1]] == 1}


def _as_text(paths: dict[str, Path]) -> dict[str, str]:
    return {name: str(path) for name, path in paths.items()}
