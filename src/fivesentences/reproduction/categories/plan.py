"""Category retrieval of a plan: its runs and jobs, and what documents are read from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fivesentences.reproduction.categories.config import AnyDocuments
from fivesentences.reproduction.categories.runs import PlacedRun
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.reproduction.plan.features import Features
from fivesentences.reproduction.plan.jobs import shared_out
from fivesentences.reproduction.plan.runs import Runs


class Subspaces:
    """Runs of category retrieval of a scale.

    Attributes:
        runs: Settings of each run of the scale, by name.
        all_runs: These, and those that only ``complete`` makes.
        jobs: Jobs by name; every run of ``all_runs`` is in one.
        document_specs: How documents are read and divided, by name.
    """

    def __init__(self, shown: Runs, datasets: Datasets, features: Features):
        self.scale, self.places, self.datasets, self.features = shown.scale, shown.places, datasets, features
        self.runs, self.all_runs = (made.subspaces for made in shown.made.values())
        scale = shown.scale
        self.document_specs: dict[str, AnyDocuments] = {} if scale.categories is None else scale.categories.documents
        most = 1 if scale.categories is None else scale.categories.runs_per_job
        # Every seed has the same methods, so that jobs take about the same time.
        self.jobs = shared_out(self.runs, self.all_runs, lambda run: (run.documents, run.division), most, by_seed=True)
        self._job_of = {run: job.name for job in self.jobs.values() for run in job.runs}

    @property
    def documents(self) -> list[str]:
        """Documents of all runs, each once."""
        return list(dict.fromkeys(run.documents for run in self.all_runs.values()))

    def jobs_of(self, runs: Iterable[str]) -> list[str]:
        """Return names of the jobs that make these runs, each once."""
        return list(dict.fromkeys(self._job_of[run] for run in runs))

    def numbers_of(self, runs: Iterable[str], part: str = "") -> list[Path]:
        """Return the numbers of these runs, or a part of them; see ``Places.subspace_numbers``."""
        return [self.places.subspace_numbers(job, part) for job in self.jobs_of(runs)]

    def with_files(self, run: str) -> PlacedRun:
        """Return a run with the places of its files."""
        spec = self.all_runs[run]
        division = self.places.division(spec.documents, spec.division, spec.seed)
        return PlacedRun(spec, self.places.subspace_run(run), division)

    def documents_with(self, texts: str) -> list[str]:
        """Return documents whose texts are ``words``, of which a bag is made, or ``vectors``."""

        def has_words(spec: AnyDocuments) -> bool:
            return spec.loader in ("nus_wide", "corpus") or (spec.loader == "descriptors" and spec.texts is None)

        return [name for name, spec in self.document_specs.items() if has_words(spec) == (texts == "words")]

    def read_for_documents(self, documents: str) -> dict[str, Path]:
        """Return what a loader reads, by name.

        Folders in an original layout that a person put in place are not inputs, since files in them may vary.
        """
        spec = self.document_specs[documents]
        match spec.loader:
            case "wikipedia":
                named = ("features", "train_list", "test_list", "categories")
                files = {name: self.datasets.catalogued("wikipedia", name) for name in named}
                # A person or a mirror may have taken them out of the archive.
                return (
                    files
                    if self.datasets.is_here(files["features"])
                    else {"archive": self.datasets.catalogued("wikipedia", "photographs")}
                )
            case "corpus":
                assert self.scale.features is not None  # the scale's check
                described = self.features.is_described(spec.corpus, self.scale.features)
                features = self.places.features(spec.corpus, self.scale.features, described)
                return {"corpus": self.places.corpus(spec.corpus), "features": features}
            case "descriptors":
                given = {"table": spec.table, "images": spec.images, "texts": spec.texts}
                return {name: path for name, path in given.items() if path is not None}
            case "nus_wide" if self.datasets.makes_folder(spec.folder):
                return {"folder": spec.folder}
        return {}

    def given_for(self, documents: str) -> list[Path]:
        """Return what documents are read from that no rule makes, folders in an original layout too."""
        spec = self.document_specs[documents]
        if spec.loader == "nus_wide":
            return [spec.folder]
        return [] if spec.loader == "corpus" else list(self.read_for_documents(documents).values())

    def vectors_of_texts(self, documents: str) -> list[Path]:
        """Return vectors of the texts of documents; none where texts are words."""
        vectors = documents in self.documents_with("vectors")
        return [self.places.document_vectors(documents, "text")] if vectors else []

    def runs_of_job(self, job: str) -> list[PlacedRun]:
        """Return the runs of a job of category retrieval."""
        return [self.with_files(run) for run in self.jobs[job].runs]

    def divisions_of(self, job: str) -> list[Path]:
        """Return the divisions that the runs of a job of category retrieval read."""
        return list(dict.fromkeys(run.division for run in self.runs_of_job(job)))
