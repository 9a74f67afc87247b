"""Comparisons of a plan: retrievals of several models, paired runs, margins, and the subspace that a figure shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fivesentences.reproduction.categories.plan import Subspaces
from fivesentences.reproduction.categories.runs import PlacedRun
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.reproduction.plan.features import Features
from fivesentences.reproduction.plan.phi import Phi
from fivesentences.reproduction.plan.places import as_text
from fivesentences.reproduction.plan.runs import Runs
from fivesentences.reproduction.study import expand
from fivesentences.reproduction.study.exhibits import inferences_of
from fivesentences.training.spec import RunSpec

PAPERS_PHIS = ("cider", "spice")


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


@dataclass(frozen=True)
class Comparisons:
    """Comparisons that tables, figures and the gallery of a plan show.

    Attributes:
        shown: What the scale shows.
        datasets, features, phi, subspaces: What it is made from.
    """

    shown: Runs
    datasets: Datasets
    features: Features
    phi: Phi
    subspaces: Subspaces
    _paired: dict[tuple[str, str], list[dict[str, Any]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def exhibits_made_from(self, source: str) -> list[str]:
        """Return tables and figures that are made from a source; see ``Exhibit.reads``."""
        return [name for name, exhibit in self.shown.exhibits.items() if exhibit.reads == source]

    def retrievals_of_figure(self, scale: str, figure: str) -> Retrievals | None:
        """Return the first two rows of a figure that are trained on one dataset, whose retrievals it compares."""
        rows = [row for row in self.shown.rows[scale, figure] if row.runs]
        pair = [row for row in rows if row.dataset == rows[0].dataset][:2]
        if len(pair) < 2 or pair[0].dataset is None:
            return None
        options = self.shown.figures[figure].model_dump(include={"k", "queries"})
        runs, phis = [row.runs[0].name for row in pair], [self.shown.scale.evaluation_phi]
        return Retrievals(figure.partition("/")[0], pair[0].dataset, runs, phis, options)

    def gallery(self, scale: str) -> Retrievals | None:
        """Return the gallery of a scale; None if no study has one, or none of its rows is trained on photographs.

        It shows one run of each row on the first dataset that has photographs, and judges by the phi of NCS and by
        those of the paper whose matrix the scale makes.
        """
        found = expand.gallery_spec_of(self.shown.studies, self.shown.scales[scale])
        if found is None:
            return None
        study, spec = found
        at = self.shown.at(scale, study)
        made = [row for row in self.shown.rows[scale, f"{study}/{spec.name}"] if row.dataset and row.runs]
        dataset = next(
            (row.dataset for row in made if row.dataset and self.datasets.has_photographs(row.dataset)), None
        )
        if dataset is None:
            return None
        runs = dict.fromkeys(row.runs[0].name for row in made if row.dataset == dataset)
        pairs = [
            (one.a.runs[0].name, one.b.runs[0].name)
            for one in expand.contrasts_of(spec.contrasts, self.shown.studies[study], at)
            if one.a.dataset == dataset and one.is_made
        ]
        phis = dict.fromkeys(
            [self.shown.scale.evaluation_phi, *(phi for phi in PAPERS_PHIS if phi in self.phi.matrices)]
        )
        options = {"contrasts": [list(pair) for pair in dict.fromkeys(pairs)], "queries": spec.queries}
        return Retrievals(study, dataset, list(runs), list(phis), options)

    def matrices_of(self, shown: Retrievals) -> dict[str, str]:
        """Return the matrices that judge retrievals, by phi."""
        return {phi: str(self.shown.places.phi(shown.dataset, "test", f"{phi}.npy")) for phi in shown.phis}

    def paired_runs(self, scale: str, exhibit: str) -> list[dict[str, Any]]:
        """Return both sides of each contrast of a table or figure that the scale makes, paired by seed."""
        if (scale, exhibit) not in self._paired:  # each exhibit's are compared with those of all others
            specs, study = self.shown.exhibits[exhibit].contrast_specs(), self.shown.study_of(exhibit)
            phi = self.phi_of(exhibit)
            by = {} if phi == self.shown.scale.evaluation_phi else {"phi": phi}
            self._paired[scale, exhibit] = [
                {"dataset": one.a.dataset, "a": one.runs[0], "b": one.runs[1], "seeds": one.seeds, **one.read, **by}
                for one in expand.contrasts_of(specs, study, self.shown.at(scale, exhibit))
                if one.is_made
            ]
        return self._paired[scale, exhibit]

    def first_with_pairs(self, scale: str, exhibit: str) -> str:
        """Return the first exhibit that has all of its pairs: a forest and its table are drawn from one file."""
        source = self.shown.exhibits[exhibit].reads
        pairs_of = self.paired_runs if source == "contrasts" else self.paired_subspaces
        pairs, others = pairs_of(scale, exhibit), self.exhibits_made_from(source)

        def has_all(name: str) -> bool:
            known = pairs_of(scale, name)
            return all(pair in known for pair in pairs)

        return next(name for name in others if name == exhibit or has_all(name))

    def phi_of(self, exhibit: str) -> str:
        """Return the phi of a table or figure of contrasts."""
        own: str | None = getattr(self.shown.exhibits[exhibit], "phi", None)
        return own or self.shown.scale.evaluation_phi

    def further_phis(self, job: str) -> list[str]:
        """Further phis of contrasts, and of rows that are re-scored: re-scored similarities are scored by them too."""
        main, found = self.shown.scale.evaluation_phi, set[str]()
        for name, exhibit in self.shown.exhibits.items():
            if exhibit.reads == "contrasts":
                found.add(self.phi_of(name))
            elif set(inferences_of(exhibit.row_specs())) - {"naive"}:
                found.update(one.phi for one in exhibit.metrics() if one.phi is not None)
        return [phi for phi in self.shown.phis_of_job(job) if phi in found and phi != main]

    def runs_with_margins(self, scale: str, dataset: str | None = None) -> list[RunSpec]:
        """Return runs of a scale, or of its complete form, whose adaptive margins are shown, each once."""
        rows = [row for name in self.exhibits_made_from("margins") for row in self.shown.rows[scale, name]]
        runs = {run.name: run for row in rows for run in row.runs if isinstance(run, RunSpec)}
        return [run for run in runs.values() if dataset in (None, run.dataset)]

    def phi_of_margins(self, scale: str, dataset: str) -> list[str]:
        """Return files of phi that the margins of a dataset's captions, and of its runs, are made from."""
        of_captions = [file for one in self.phi.captions_with_margins(dataset) for file in one["phi_files"].values()]
        of_runs = self.phi.files_read_by(self.runs_with_margins(scale, dataset))
        return sorted({*of_captions, *map(str, of_runs)})

    def settings_of_margins(self, scale: str, dataset: str) -> list[dict[str, Any]]:
        """Return folder, features and files of phi of each run whose margins are measured."""
        return [
            {
                "folder": str(self.shown.places.run(run.name)),
                "features": str(self.features.of_run(run)),
                "phi_files": as_text(self.shown.places.phi_files(run)),
            }
            for run in self.runs_with_margins(scale, dataset)
        ]

    def paired_subspaces(self, scale: str, exhibit: str) -> list[dict[str, Any]]:
        """Return both sides of each contrast of category retrieval of a table that the scale makes, paired by seed."""
        specs, study = self.shown.exhibits[exhibit].subspace_contrasts(), self.shown.study_of(exhibit)
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
            for one in expand.subspace_contrasts(specs, study, self.shown.at(scale, exhibit))
            if one.is_made
        ]

    def run_of_projection(self, scale: str, exhibit: str) -> tuple[PlacedRun, str] | None:
        """Return the run whose subspace a figure shows, and which epoch's: the first that the scale makes."""
        row = next((row for row in self.shown.subspace_rows[scale, exhibit] if row.runs), None)
        return None if row is None else (self.subspaces.with_files(row.runs[0].name), row.selection)
