"""Which files the rules of category retrieval read and write, and with which settings; see ``rules``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fivesentences.config.documents import AnyDocuments, CategoryScale
from fivesentences.errors import InputError
from fivesentences.plan.places import Places
from fivesentences.plan.resolved import Resolved
from fivesentences.plan.steps import Files, Step, one_of
from fivesentences.study.exhibits import Exhibit
from fivesentences.study.expand import SubspaceContrast, SubspaceRow, rows_shown, subspace_contrasts, subspace_rows

PARTS = ("queries", "histories", "category_margins")


def subspace_outputs(places: Places) -> dict[str, dict[str, Path]]:
    """The files that each rule writes, by name; wildcards are in braces."""
    documents, job = "{documents}", "{subspace_job}"
    image = {"documents": places.documents(documents), "image": places.document_vectors(documents, "image")}
    return {
        "keep_documents": image | {"text": places.document_vectors(documents, "text")},
        "keep_documents_of_words": image,
        "divide_documents": {"division": places.division(documents, "{division}", "{seed}")},
        "train_subspaces": {"record": places.subspace_record(job)},
        "evaluate_subspaces": {"metrics": places.subspace_numbers(job)}
        | {part: places.subspace_numbers(job, part) for part in PARTS},
        "contrast_subspaces": {"contrasts": places.subspace_contrasts("{scale}", "{exhibit}")},
        "project_subspace": {"projection": places.subspace_projection("{scale}", "{exhibit}")},
    }


class SubspaceRules:
    """The rules of category retrieval of a plan: each takes the wildcards of a job and returns the job."""

    def __init__(self, plan: Resolved):
        self.plan, self.places = plan, plan.places

    def subspace_constraints(self) -> dict[str, str]:
        """Regular expressions of the wildcards."""
        divisions = {division for one in self._all_documents.values() for division in one.divisions}
        return {
            "documents": one_of(self._all_documents),
            "division": one_of(sorted(divisions)),
            "seed": "[0-9]+",
            "subspace_job": one_of(self.plan.subspaces.jobs),
        }

    def subspace_constraints_of(self, rule: str) -> dict[str, str]:
        """Stricter ones of one rule."""
        match rule:
            case "keep_documents" | "keep_documents_of_words":
                words = rule == "keep_documents_of_words"
                return {
                    "documents": one_of(name for name, one in self._all_documents.items() if has_words(one) == words)
                }
            case "contrast_subspaces" | "project_subspace":
                reads = {"contrast_subspaces": "subspace_contrasts", "project_subspace": "subspace_projection"}[rule]
                return {
                    "exhibit": one_of(name for name, one in self.plan.exhibits.items() if one.reads == reads),
                }
        return {}

    def keep_documents(self, documents: str) -> Step:
        """Documents whose texts are vectors."""
        spec = self._all_documents[documents]
        return Step(self._read(spec), {"spec": spec.model_dump(mode="json")})

    def keep_documents_of_words(self, documents: str) -> Step:
        """Documents whose texts are words."""
        return self.keep_documents(documents)

    def divide_documents(self, documents: str, division: str, seed: str) -> Step:
        """Which documents are for training, validation and test."""
        spec = self._all_documents[documents].divisions[division]
        return Step({"documents": self.places.documents(documents)}, {"spec": spec.model_dump(mode="json")})

    def train_subspaces(self, subspace_job: str) -> Step:
        """Some runs, one after the other."""
        places, job = self.places, self.plan.subspaces.jobs[subspace_job]
        placed = [self.plan.subspaces.placed(run) for run in job.runs]
        words = has_words(self._all_documents[job.documents])
        return Step(
            {
                "documents": places.documents(job.documents),
                "image": places.document_vectors(job.documents, "image"),
                "text": [] if words else [places.document_vectors(job.documents, "text")],
                "divisions": list(dict.fromkeys(one.division for one in placed)),
            },
            {"runs": [one.plain for one in placed]},
        )

    def evaluate_subspaces(self, subspace_job: str) -> Step:
        """Every number of some runs."""
        job = self.plan.subspaces.jobs[subspace_job]
        placed = [self.plan.subspaces.placed(run) for run in job.runs]
        return Step(
            {
                "documents": self.places.documents(job.documents),
                "record": self.places.subspace_record(subspace_job),
                "divisions": list(dict.fromkeys(one.division for one in placed)),
            },
            {"runs": [one.plain for one in placed]},
        )

    def contrast_subspaces(self, scale: str, exhibit: str) -> Step:
        """Paired differences of the runs of a table or figure."""
        contrasts = self._subspace_contrasts(scale, exhibit)
        jobs = self.plan.subspaces.jobs_of(run for one in contrasts for side in one.runs for run in side)
        return Step(
            {"queries": [self.places.subspace_numbers(job, "queries") for job in jobs]},
            {
                "pairs": [
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
                    for one in contrasts
                ]
            },
        )

    def project_subspace(self, scale: str, exhibit: str) -> Step:
        """The subspace of one run, on a plane."""
        row = self._projected(scale, exhibit)
        assert row is not None  # otherwise nothing asks for the file
        run = self.plan.subspaces.placed(row.runs[0].name)
        (job,) = self.plan.subspaces.jobs_of([run.run.name])
        documents = self.places.documents(run.run.documents)
        inputs: Files = {"documents": documents, "record": self.places.subspace_record(job), "division": run.division}
        return Step(inputs, {"run": run.plain, "selection": row.selection})

    def subspace_files(self, scale: str, name: str, exhibit: Exhibit) -> list[Path]:
        """The files that ``exhibit.reads`` names, of an exhibit that shows category retrieval."""
        places = self.places
        rows = rows_shown(exhibit, self.plan.study_of(name), self.plan.scales[scale])
        jobs = self.plan.subspaces.jobs_of(run.name for row in rows for run in row.runs)
        match exhibit.reads:
            case "subspaces":
                return [places.subspace_numbers(job) for job in jobs]
            case "subspace_histories":
                return [
                    places.subspace_numbers(job, part) for part in ("histories", "category_margins") for job in jobs
                ]
            case "subspace_contrasts":
                return [places.subspace_contrasts(scale, name)] if self._subspace_contrasts(scale, name) else []
            case "subspace_projection":
                row = self._projected(scale, name)
                if row is None:
                    return []
                (job,) = self.plan.subspaces.jobs_of([row.runs[0].name])
                return [places.subspace_projection(scale, name), places.subspace_numbers(job, "category_margins")]
        return []

    @property
    def _all_documents(self) -> dict[str, AnyDocuments]:
        categories: CategoryScale | None = self.plan.scale.categories
        return {} if categories is None else categories.documents

    def _read(self, spec: AnyDocuments) -> Files:
        """What a loader reads, by name; folders in an original layout are no inputs, since files in them may vary."""
        plan = self.plan
        match spec.loader:
            case "wikipedia":
                named = ("features", "train_list", "test_list", "categories")
                return {name: self._downloaded_file("wikipedia", name) for name in named}
            case "corpus":
                assert plan.scale.features is not None  # the scale's check
                features = self.places.features(
                    spec.corpus, plan.scale.features, plan.is_described(spec.corpus, plan.scale.features)
                )
                return {"corpus": self.places.corpus(spec.corpus), "features": features}
            case "descriptors":
                given: dict[str, Any] = {"table": spec.table, "images": spec.images, "texts": spec.texts}
                return {name: path for name, path in given.items() if path is not None}
        return {}

    def _downloaded_file(self, dataset: str, name: str) -> Path:
        entry = self.plan.catalogue.datasets.get(dataset)
        if entry is None or name not in entry.files:
            raise InputError(f"datasets.{dataset}.files.{name} is not in config/datasets.yaml; add it there.")
        return self.places.data / entry.files[name].path

    def _subspace_contrasts(self, scale: str, exhibit: str) -> list[SubspaceContrast]:
        """The contrasts of a table or figure of which the scale makes both sides."""
        specs, study = self.plan.exhibits[exhibit].subspace_contrasts(), self.plan.study_of(exhibit)
        return [one for one in subspace_contrasts(specs, study, self.plan.scales[scale]) if one.is_made]

    def _projected(self, scale: str, exhibit: str) -> SubspaceRow | None:
        """The row whose first run a figure shows: its first that the scale makes."""
        specs, study = self.plan.exhibits[exhibit].subspace_rows(), self.plan.study_of(exhibit)
        return next((row for row in subspace_rows(specs, study, self.plan.scales[scale]) if row.runs), None)


def has_words(spec: AnyDocuments) -> bool:
    """Whether the texts of some documents are words, of which a bag is made, rather than vectors."""
    return spec.loader in ("nus_wide", "corpus") or (spec.loader == "descriptors" and spec.texts is None)
