"""What the rules of a scale's site read and write: the pages, what they show beside tables and figures, the manifest.

Every page is given the same ``site``: its title and all its pages, so that each can lead to the others before they are
made.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fivesentences.config.files import claims_files
from fivesentences.config.types import as_list
from fivesentences.plan.claimed import MethodCell, RunCell
from fivesentences.plan.places import Places
from fivesentences.plan.rules import Rules, outputs
from fivesentences.plan.steps import Files, Step, one_of

GALLERY = "gallery/index.html"
NUMBERS_OF_CLAIMS = ("per_image", "tidy", "queries", "judged", "found")  # what verdicts are made from


def every_output(places: Places) -> dict[str, dict[str, Path]]:
    """The files that each rule writes, those of the pages too, by name; wildcards are in braces."""
    dataset, extracted = "{dataset}", "{extracted}"
    return outputs(places) | {
        "show_examples": {
            "captions": places.exhibit("{scale}", f"examples/{dataset}", "json"),
            "sheet": places.exhibit("{scale}", f"examples/{dataset}", "png"),
        },
        "show_features": {
            name: places.exhibit("{scale}", f"features/{dataset}/{extracted}", suffix)
            for name, suffix in {"texts": "json", "data": "csv", "pdf": "pdf", "png": "png"}.items()
        },
        "show_gallery": {
            "data": places.page("{scale}", "gallery/gallery.json"),
            "csv": places.page("{scale}", "gallery/gallery.csv"),
            "thumbnails": places.page("{scale}", "gallery/thumbnails"),
            "page": places.page("{scale}", GALLERY),
        },
        "make_page": {"page": places.page("{scale}")},
        "collect_histories": {"histories": places.histories("{scale}")},
        "show_runs": {
            "page": places.runs_page("{scale}"),
            "runs": places.runs_page("{scale}", "runs.csv"),
        },
        "make_study_page": {"page": places.page("{scale}", "{study}/index.html")},
        "write_manifest": {file: places.manifest("{scale}", file) for file in ("manifest", "headline", "settings")},
    }


class PageRules(Rules):
    """All rules of a plan; see ``rules``."""

    def constraints(self) -> dict[str, str]:
        """Regular expressions of the wildcards of all rules."""
        return super().constraints() | {"study": one_of(self.plan.studies)}

    def site(self, scale: str) -> dict[str, Any]:
        """The navigation of a scale's site as plain data: ``{"title": ..., "pages": [{part, label, path}, ...]}``.

        Paths begin at the folder of the site. A page is named here if, and only if, a rule makes it at this scale.
        """
        at = self.plan.scales[scale]
        studies = {name: study for name, study in self.plan.studies.items() if study.made_at(at)}
        claimed = {paper.name for paper in self.plan.claims}
        pages = [("", "Overview", "index.html")]
        for part, of_paper in (("Papers", True), ("Our own questions", False)):
            pages += [
                (part, study.short or study.paper, f"{name}/index.html")
                for name, study in studies.items()
                if (name in claimed) == of_paper
            ]
        pages.append(("Evidence", "Claims", "claims/claims.html"))
        pages += [("Evidence", "Gallery of queries", GALLERY)] if self.plan.gallery(scale) else []
        pages += [("Evidence", "Runs", "runs/index.html")] if self.plan.shows_runs(scale) else []
        return {
            "title": at.title,
            "pages": [{"part": part, "label": label, "path": path} for part, label, path in pages],
        }

    def show_examples(self, scale: str, dataset: str) -> Step:
        """Some photographs with their captions."""
        inputs: Files = {"corpus": self.places.corpus(dataset), "photographs": self._photographs(dataset)}
        return Step(inputs, self._content(dataset), self._by_content(dataset))

    def show_features(self, scale: str, dataset: str, extracted: str) -> Step:
        """Some images with their regions, or beside those that are nearest by their features."""
        inputs: Files = {
            "corpus": self.places.corpus(dataset),
            "features": self.places.feature_file(dataset, f"{extracted}.npy"),
            "photographs": self._photographs(dataset),
        }
        return Step(inputs, self._content(dataset), self._by_content(dataset))

    def show_gallery(self, scale: str) -> Step:
        """The page of queries with what models retrieve for them."""
        gallery = self.gallery(scale)
        return Step(
            {
                "disagreements": self.places.disagreements(scale),
                "photographs": self._photographs(gallery.dataset),
                "study": self._study_file(gallery.study),
            },
            {"scale": self._settings(scale), "site": self.site(scale), **self._content(gallery.dataset)},
            self._by_content(gallery.dataset),
        )

    def judge_claims(self, scale: str) -> Step:
        """What the papers state, tested by the runs of the scale."""
        plan, places = self.plan, self.places
        cells = [cell for found in plan.cells_of_claims(scale).values() for cell in found]
        phi = plan.scale.evaluation_phi
        studies = [*(one.claims.study for one in plan.claims), *plan.studies]
        by_image = dict.fromkeys(
            run for cell in cells if isinstance(cell, RunCell) and cell.per_image(phi) for run in cell.runs
        )
        methods = dict.fromkeys(run for cell in cells if isinstance(cell, MethodCell) for run in cell.runs)
        return Step(
            {
                "claims": [claims_files(plan.config)[paper.name] for paper in plan.claims],
                "studies": list(dict.fromkeys(map(self._study_file, studies))),
                "per_image": plan.per_image_of(by_image),
                "tidy": [places.tidy(scale)] if plan.trained_at(scale) else [],
                "queries": [places.subspace_numbers(job, "queries") for job in plan.subspaces.jobs_of(methods)],
                "judged": self._agreements("parquet") if plan.judged else [],
                "found": self.found_positives() if plan.phis_read("found_positives") else [],
            },
            {"scale": self._settings(plan.scale.scale), "config": str(plan.config), "site": self.site(scale)},
        )

    def make_study_page(self, scale: str, study: str) -> Step:
        """The page of a study: its tables, its figures, and what became of its claims."""
        plan, places = self.plan, self.places
        of_study = [name for name in plan.exhibits if name.partition("/")[0] == study]
        return Step(
            {
                "tables": [places.exhibit(scale, name, "json") for name in of_study if name in plan.tables],
                "figures": [places.exhibit(scale, name, "png") for name in of_study if name in plan.figures],
                "claims": places.claims(scale, "json"),
                "study": self._study_file(study),
            },
            {"scale": self._settings(scale), "site": self.site(scale)},
        )

    def make_page(self, scale: str) -> Step:
        """The overview of a scale; after the pages that it leads to."""
        plan, places = self.plan, self.places
        shown = sorted({spec.dataset for spec in plan.all_runs.values()})
        made = [name for name, study in plan.studies.items() if study.made_at(plan.scales[scale])]
        return Step(
            {
                "papers": [places.page(scale, f"{study}/index.html") for study in made],
                "tables": [places.exhibit(scale, table, "html") for table in plan.tables],
                "figures": [places.exhibit(scale, figure, "png") for figure in plan.figures],
                "claims": places.claims(scale, "json"),
                "examples": [places.exhibit(scale, f"examples/{dataset}", "json") for dataset in shown],
                "features": [
                    places.exhibit(scale, f"features/{dataset}/{source}", "json")
                    for dataset, source in plan.extracted
                    if dataset in shown
                ],
                "corpora": [places.corpus(dataset) for dataset in shown],
                "gallery": [places.page(scale, GALLERY)] if plan.gallery(scale) else [],
                "tidy": [places.tidy(scale)] if plan.all_runs else [],
                "studies": [self._study_file(study) for study in plan.studies],
            },
            {
                "scale": self._settings(scale),
                "site": self.site(scale),
                "trained": {"matching": len(plan.trained_at(scale)), "categories": len(plan.subspaces_at(scale))},
            },
        )

    def numbers_of_claims(self, scale: str) -> list[Path]:
        """What the verdicts are made from."""
        inputs = self.judge_claims(scale).inputs
        return [path for name in NUMBERS_OF_CLAIMS for path in as_list(inputs[name])]

    def collect_histories(self, scale: str) -> Step:
        """Every epoch of the trainings of a scale in one table."""
        runs = self.plan.trained_at(scale)
        return Step(
            {"records": self.plan.records_of(runs)}, {"folders": {run: str(self.places.run(run)) for run in runs}}
        )

    def show_runs(self, scale: str) -> Step:
        """Inputs of the page of every run of the scale."""
        plan = self.plan
        jobs = plan.subspaces.jobs_of(plan.subspaces_at(scale))
        inputs: Files = {
            "tidy": [self.places.tidy(scale)] if plan.evaluated_at(scale) else [],
            "subspaces": [self.places.subspace_numbers(job) for job in jobs],
        }
        return Step(inputs, {"site": self.site(scale)})

    def numbers_of_runs(self, scale: str) -> list[Path]:
        """Numbers and histories of every run, whether or not a table or figure shows it."""
        plan, places = self.plan, self.places
        jobs = plan.subspaces.jobs_of(plan.subspaces_at(scale))
        histories = [places.histories(scale)] if plan.trained_at(scale) else []
        histories += [places.subspace_numbers(job, "histories") for job in jobs]
        return [path for paths in self.show_runs(scale).inputs.values() for path in as_list(paths)] + histories

    def write_manifest(self, scale: str) -> Step:
        """What the numbers of a scale were made of; after the tables and figures, whose seconds it lists."""
        plan, places = self.plan, self.places
        steps = [self.make_table(scale, table) for table in plan.tables]
        steps += [self.plot_figure(scale, figure) for figure in plan.figures]

        def read(name: str) -> list[Path]:
            return sorted({path for step in steps for path in as_list(step.inputs.get(name, []))})

        shown = [places.disagreements(scale)] if plan.gallery(scale) else []
        numbers = {*read("numbers"), *shown, *self.numbers_of_claims(scale), *self.numbers_of_runs(scale)}
        return Step(
            {
                "numbers": sorted(numbers),
                "studies": read("study"),
                "published": read("published"),
                "page": places.page(scale),
            },
            {"scale": self._settings(plan.scale.scale), "config": str(plan.config)},
        )
