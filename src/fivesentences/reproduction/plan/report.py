"""The report of a plan: what tables, figures, claims and pages are made from, and where they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fivesentences.config.files import config_file
from fivesentences.reproduction.categories.plan import Subspaces
from fivesentences.reproduction.config.scales import RIGHT, Scale
from fivesentences.reproduction.plan.comparisons import Comparisons
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.reproduction.plan.features import Features
from fivesentences.reproduction.plan.phi import Phi
from fivesentences.reproduction.plan.runs import Runs
from fivesentences.reproduction.plan.runs_of_claims import (
    MethodCell,
    RunCell,
    candidates_of,
    method_cells,
    run_cells,
    without_repeats,
)
from fivesentences.reproduction.study.claims import LevelTest, MethodsTest, RunsTest
from fivesentences.reproduction.study.expand import Made
from fivesentences.reproduction.study.study import PaperClaims
from fivesentences.training.spec import RunSpec, members_of

GALLERY = "gallery/index.html"
# Files of each table and figure that results are kept with: PDFs, LaTeX and pages of tables are written again.
KEPT_OF_TABLE, KEPT_OF_FIGURE = ("json", "csv", "md"), ("json", "csv", "svg", "narrow.svg")


@dataclass(frozen=True)
class Report:
    """Tables, figures, claims and pages of a plan.

    Attributes:
        shown: What the scale shows, with its runs and their jobs.
        datasets, features, phi, subspaces, comparisons: What it is made from.
        config: The folder of the scale's file; see ``config_file``.
        claims: Claims of the papers that the runs test.
    """

    shown: Runs
    datasets: Datasets
    features: Features
    phi: Phi
    subspaces: Subspaces
    comparisons: Comparisons
    config: Path
    claims: Sequence[PaperClaims]
    # Tests of claims by scale, as far as asked for.
    _cells: dict[str, dict[tuple[str, str], list[RunCell] | list[MethodCell]]] = field(default_factory=dict, init=False)

    def numbers_of(self, scale: str, name: str) -> list[Path]:
        """Return the files of numbers that a table or figure is made from: making it trains no more than it shows."""
        places, exhibit, compared = self.shown.places, self.shown.exhibits[name], self.comparisons
        methods = [run.name for row in self.shown.subspace_rows[scale, name] for run in row.runs]
        match exhibit.reads:
            case "runs":
                return self.shown.metrics_of(run.name for row in self.shown.rows[scale, name] for run in row.runs)
            case "every_run":
                return self.shown.metrics_of(self.shown.trained_in(self.shown.pool_of(scale, name)))
            case "retrievals":
                return [places.retrievals(scale, name)] if compared.retrievals_of_figure(scale, name) else []
            case "contrasts" if compared.paired_runs(scale, name):
                return [places.contrasts(scale, compared.first_with_pairs(scale, name))]
            case "correlations":
                return self._agreements("json")
            case "judged_pairs":
                return self._agreements("parquet")
            case "phi_statistics":
                shown = set(exhibit.matrices()) & set(self.phi.shown_phis)
                return [places.phi_statistics(dataset) for dataset in self.datasets.with_parts if shown]
            case "found_positives":
                return self._found_positives()
            case "margins":
                return [places.margins(scale, dataset) for dataset in self.datasets.with_training_captions]
            case "corpora":
                played, named = self.shown.scales[scale].roles, exhibit.roles()
                counted = [played[role] for role in named if role in played] if named else self.datasets.with_parts
                return [places.corpus(dataset) for dataset in dict.fromkeys(counted)]
            case "subspaces":
                return self.subspaces.numbers_of(methods)
            case "subspace_histories":
                parts = ("histories", "category_margins")
                return [path for part in parts for path in self.subspaces.numbers_of(methods, part)]
            case "subspace_contrasts":
                made = compared.paired_subspaces(scale, name)
                return [places.subspace_contrasts(scale, compared.first_with_pairs(scale, name))] if made else []
            case "subspace_projection" if methods:
                margins = self.subspaces.numbers_of(methods[:1], "category_margins")
                return [places.subspace_projection(scale, name), *margins]
        return []

    def texts_of(self, exhibit: str) -> dict[str, str]:
        """Return the text of ``snakemake --report`` on a table or figure."""
        spec, paper = self.shown.exhibits[exhibit], self.shown.study_of(exhibit).paper
        return {"paper": paper, "name": spec.name, "title": spec.title, "caption": spec.caption}

    def shown_by(self, scale: str, exhibit: str) -> list[str]:
        """Return names of the runs, of matching or category retrieval, that a table or figure is made from."""
        match self.shown.exhibits[exhibit].reads:
            case "every_run":
                return self.shown.trained_in(self.shown.pool_of(scale, exhibit))
            case "retrievals":
                compared = self.comparisons.retrievals_of_figure(scale, exhibit)
                return [] if compared is None else compared.runs
            case "subspace_projection":
                projected = self.comparisons.run_of_projection(scale, exhibit)
                return [] if projected is None else [projected[0].run.name]
        found = [run.name for row in self.shown.rows[scale, exhibit] for one in row.runs for run in members_of(one)]
        found += [run.name for row in self.shown.subspace_rows[scale, exhibit] for run in row.runs]
        return list(dict.fromkeys(found))

    def shown_by_study(self, scale: str, study: str) -> list[str]:
        """Return names of the runs that the tables and figures of a study are made from, each once."""
        exhibits = self.shown.of_study(self.shown.exhibits, study)
        return list(dict.fromkeys(run for exhibit in exhibits for run in self.shown_by(scale, exhibit)))

    def _found_positives(self) -> list[Path]:
        judges = [one for one in self.shown.scale.judges if one.judge in RIGHT]
        return [self.shown.places.found_positives(self.shown.scale.scale, one.dataset, one.judge) for one in judges]

    def _agreements(self, suffix: str) -> list[Path]:
        """Return what the judges say; of the scale, for each has its own phis, and its complete form has the same."""
        scale = self.shown.scale
        return [self.shown.places.agreement(scale.scale, one.dataset, one.judge, suffix) for one in scale.judges]

    def published_of(self, exhibit: str) -> list[Path]:
        """Return the published table that a table or figure is compared with; empty if there is none."""
        name = self.shown.exhibits[exhibit].published_table()
        return [] if name is None else [config_file(f"published/{name}.csv", self.config)]

    def folder_of_published(self, exhibit: str) -> str:
        """Return the folder of published tables."""
        published = self.published_of(exhibit)
        return str(published[0].parent if published else self.config / "published")

    def dataset_of_photographs(self, scale: str, figure: str) -> str | None:
        """Return the dataset whose photographs a figure shows, if any: that of its runs, or the scale's first."""
        exhibit = self.shown.figures[figure]
        if not exhibit.shows_photographs:
            return None
        if exhibit.reads == "retrievals":
            compared = self.comparisons.retrievals_of_figure(scale, figure)
            return None if compared is None else compared.dataset
        return next(iter(self.shown.scale.datasets), None)

    def pools(self, scale: str) -> Iterator[tuple[str, Scale, Made]]:
        """Yield the runs by which claims are tested together, with their scale; see ``Runs.pools``.

        With the name of the study of a pool; empty for that of the scale.
        """
        for pool in self.shown.pools_of(scale):
            study = pool.partition("/")[2]
            yield study, self.shown.at(scale, study) if study else self.shown.scales[scale], self.shown.made_in(pool)

    def cells_of_claims(self, scale: str) -> dict[tuple[str, str], list[RunCell] | list[MethodCell]]:
        """Return the tests of each claim that runs of the scale, or of its complete form, allow, by paper and claim."""
        if scale not in self._cells:
            tested = [(paper.name, one, paper.study) for paper in self.claims for one in paper.claims.claims]
            found: dict[tuple[str, str], list[Any]] = {(paper, one.name): [] for paper, one, _ in tested}
            for asked_by, at, made in self.pools(scale):
                candidates, methods = candidates_of(made.runs.values(), at), list(made.subspaces.values())
                for paper, one, study in tested:
                    match one.test:
                        case MethodsTest():
                            found[paper, one.name] += method_cells(one.test, study, methods, at)
                        case RunsTest() | LevelTest():
                            cells = run_cells(one.test, study, at, candidates, made.readings)
                            found[paper, one.name] += [replace(cell, asked_by=asked_by) for cell in cells]
                        case _:
                            pass  # its numbers are not those of runs in pairs
            self._cells[scale] = {claim: without_repeats(cells) for claim, cells in found.items()}
        return self._cells[scale]

    def tidy(self, scale: str) -> list[Path]:
        """Return the tables of every number of every run: one for each pool that has any."""
        return [self.shown.places.tidy(pool) for pool in self.shown.pools_of(scale) if self.shown.evaluated_in(pool)]

    def numbers_of_claims(self, scale: str) -> dict[str, list[Path]]:
        """Return what the verdicts are made from.

        Values per image and all numbers of runs; of category retrieval, values per query; pairs that judges judged;
        right pairs among the first by phi.
        """
        cells = [cell for found in self.cells_of_claims(scale).values() for cell in found]
        by_image = [one for one in cells if isinstance(one, RunCell) and one.per_image(self.shown.scale.evaluation_phi)]
        methods = [run for cell in cells if isinstance(cell, MethodCell) for run in cell.runs]
        return {
            "per_image": self.shown.per_image_of(run for cell in by_image for run in cell.runs),
            "tidy": self.tidy(scale),
            "queries": self.subspaces.numbers_of(methods, "queries"),
            "judged": self._agreements("parquet") if self.phi.judged else [],
            "found": self._found_positives() if self.phi.phis_read("found_positives") else [],
        }

    def site(self, scale: str) -> dict[str, Any]:
        """Return the navigation of a scale's site.

        ``title``, ``pages``, each ``{part, label, path}``, and ``variants``, see ``Datasets.variants``.

        Paths begin at the folder of the site. A page is named here if, and only if, a rule makes it at this scale.
        """
        pages = [("", "Overview", "index.html")]
        for part, of_paper in (("Papers", True), ("Our own questions", False)):
            here = [name for name in self.shown_at(scale) if self.is_claimed(name) == of_paper]
            shown = [(name, self.shown.studies[name]) for name in here]
            pages += [(part, study.short or study.paper, f"{name}/index.html") for name, study in shown]
        pages.append(("Evidence", "Claims", "claims/claims.html"))
        pages += [("Evidence", "Gallery of queries", GALLERY)] if self.comparisons.gallery(scale) else []
        pages += [("Evidence", "Runs", "runs/index.html")] if self.shows_runs(scale) else []
        named = [{"part": part, "label": label, "path": path} for part, label, path in pages]
        return {"title": self.shown.scales[scale].title, "pages": named, "variants": self.datasets.variants()}

    def is_claimed(self, study: str) -> bool:
        """Tell whether a study is that of a paper whose claims are tested; others are questions of our own."""
        return any(paper.name == study for paper in self.claims)

    def shown_at(self, scale: str) -> list[str]:
        """Return studies of which the scale, or its complete form, makes a table or figure."""
        return [name for name, study in self.shown.studies.items() if study.made_at(self.shown.scales[scale])]

    def shows_runs(self, scale: str) -> bool:
        """Tell whether the scale, or its complete form, has a run of any sort."""
        return bool(self.shown.evaluated_at(scale) or self.shown.subspaces_at(scale))

    def trained(self, scale: str) -> dict[str, int]:
        """Count the runs of the scale, or of its complete form, by kind."""
        return {"matching": len(self.shown.trained_at(scale)), "categories": len(self.shown.subspaces_at(scale))}

    def numbers_of_runs(self, scale: str) -> dict[str, list[Path]]:
        """Return what the page of every run of a scale is made from."""
        return {
            "tidy": self.tidy(scale),
            "subspaces": self.subspaces.numbers_of(self.shown.subspaces_at(scale)),
        }

    def every_number(self, scale: str) -> list[Path]:
        """Return every file of numbers from which a table, figure, claim or page of the scale is made."""
        methods = self.shown.subspaces_at(scale)
        found = [path for exhibit in self.shown.exhibits for path in self.numbers_of(scale, exhibit)]
        of_pages = [*self.numbers_of_claims(scale).values(), *self.numbers_of_runs(scale).values()]
        found += [path for paths in of_pages for path in paths]
        found += [self.shown.places.disagreements(scale)] if self.comparisons.gallery(scale) else []
        pools = [pool for pool in self.shown.pools_of(scale) if self.shown.trained_in(pool)]
        found += [self.shown.places.histories(pool) for pool in pools]
        return sorted({*found, *self.subspaces.numbers_of(methods, "histories")})

    def large_or_worded_values(self, scale: str) -> list[Path]:
        """Return what results may be passed on without.

        Values per image, query, category or judged pair are large, and files with captions are not ours to give.
        """
        claims, methods = self.numbers_of_claims(scale), self.shown.subspaces_at(scale)
        of_methods = [self.subspaces.numbers_of(methods, part) for part in ("queries", "category_margins")]
        worded = [name for name, one in self.shown.exhibits.items() if one.reads in ("corpora", "phi_statistics")]
        of_captions = [self.numbers_of(scale, name) for name in worded]
        found = [path for paths in (claims["per_image"], claims["judged"], *of_methods, *of_captions) for path in paths]
        return list(dict.fromkeys(found))

    def kept_files(self, scale: str, name: str) -> list[Path]:
        """Return the files of a table or figure that results are kept with."""
        suffixes = KEPT_OF_TABLE if name in self.shown.tables else KEPT_OF_FIGURE
        return [self.shown.places.exhibit(scale, name, suffix) for suffix in suffixes]

    def read_by_pages(self, scale: str) -> list[Path]:
        """Return what pages are made from besides tables, figures and numbers: claims, and what shows the data."""
        features = [f"features/{one[0]}/{one[1]}" for one in self.features.pictured_features]
        shown = [*(f"examples/{name}" for name in self.features.pictured_datasets), *features]
        return [self.shown.places.page(scale, f"{name}.json") for name in ("claims/claims", "about", *shown)]

    def kept_site(self, scale: str) -> list[Path]:
        """Return every file of a site that results are kept with, apart from pictures."""
        exhibits = [path for name in (*self.shown.tables, *self.shown.figures) for path in self.kept_files(scale, name)]
        pages = [page["path"] for page in self.site(scale)["pages"]]
        more = ["claims/claims.csv", *(["runs/runs.csv"] if self.shows_runs(scale) else [])]
        more += ["gallery/gallery.json", "gallery/gallery.csv"] if GALLERY in pages else []
        return [*exhibits, *self.read_by_pages(scale), *(self.shown.places.page(scale, one) for one in (*pages, *more))]

    @property
    def exhibit_files(self) -> dict[str, Path]:
        """Return the file of each table and figure that stands for all of its files, by ``study/name``."""
        places, scale = self.shown.places, self.shown.scale.scale
        tables = {table: places.exhibit(scale, table, "html") for table in self.shown.tables}
        return tables | {figure: places.exhibit(scale, figure, "svg") for figure in self.shown.figures}

    def pages_of(self, scale: str) -> list[Path]:
        """Return the pages of the site of the scale, or of its complete form, and its manifest."""
        places = self.shown.places
        runs = [places.page(scale, "runs/index.html")] if self.shows_runs(scale) else []
        return [places.page(scale, "index.html"), places.manifest(scale), *runs]

    def inputs_of_training(self, runs: Collection[RunSpec]) -> list[Path]:
        """Return every file that training the runs reads; ``fivesentences train`` needs no others."""
        inputs = {
            path for spec in runs for path in (self.shown.places.corpus(spec.dataset), self.features.of_run(spec))
        }
        return sorted(inputs) + self.phi.files_read_by(runs)

    @property
    def targets(self) -> dict[str, list[Path]]:
        """Named targets: stages, studies, and every table and figure by ``study_name``, or ``name`` where it is unique.

        A study has the page of its tables and figures as target, by its name, without ``evidence_`` too.
        """
        places, name, exhibits = self.shown.places, self.shown.scale.scale, self.exhibit_files
        shown = self.shown_at(name)
        pages = {study: [places.page(name, f"{study}/index.html")] for study in shown}
        pages |= {study.removeprefix("evidence_"): files for study, files in pages.items()}
        named = {short: [exhibits[exhibit]] for short, exhibit in short_names(exhibits).items()} | pages
        return named | {
            "corpora": [places.corpus(dataset) for dataset in self.shown.scale.datasets],
            "features": [self.features.of_run(spec) for spec in self.shown.runs.values()],
            "training_inputs": self.inputs_of_training(self.shown.runs.values()),
            "semantics": [
                places.phi(dataset, "test", f"{phi}.npy")
                for dataset in self.datasets.with_parts
                for phi in self.phi.matrices
            ],
            "documents": [places.documents(documents) for documents in self.subspaces.documents],
            "runs": [
                *self.shown.records_of(self.shown.runs),
                *(places.subspace_record(job) for job in self.subspaces.jobs_of(self.subspaces.runs)),
            ],
            "tables": [exhibits[table] for table in self.shown.tables],
            "figures": [exhibits[figure] for figure in self.shown.figures],
            "latex": [places.document(name)],
            "claims": [places.page(name, "claims/claims.html")],
            "page": self.pages_of(name),
            "complete": self.pages_of(self.shown.scale.complete.scale),
        }


def short_names(exhibits: Iterable[str]) -> dict[str, str]:
    """Return what may be asked for on the command line: ``study_name`` for each, and ``name`` where that is unique."""
    exhibits = list(exhibits)
    count = Counter(exhibit.split("/")[1] for exhibit in exhibits)
    long = {exhibit.replace("/", "_"): exhibit for exhibit in exhibits}
    return long | {name: exhibit for exhibit in exhibits if count[name := exhibit.split("/")[1]] == 1}
