"""Which files each rule of the workflow reads and writes, and with which settings.

A rule file says when a job runs and what it costs. What depends on the configuration is here: a method for each rule,
under its name, takes the wildcards of a job and returns what the job reads and its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from fivesentences.config.features import ENDINGS, FeatureSpec
from fivesentences.config.files import CATALOGUE, config_file
from fivesentences.config.metrics import METRICS
from fivesentences.config.scales import JUDGEMENTS, RIGHT
from fivesentences.config.types import Judge, Split
from fivesentences.corpus.catalogue import files_to_read
from fivesentences.corpus.photograph_digests import Identity, identify
from fivesentences.errors import InputError, did_you_mean
from fivesentences.plan.galleries import PlannedGallery
from fivesentences.plan.places import Places, captions_of, part_of_tuples
from fivesentences.plan.steps import Files, Step, one_of
from fivesentences.plan.subspace_rules import SubspaceRules, subspace_outputs
from fivesentences.semantics.registry import needs_tuples
from fivesentences.study.exhibits import Exhibit
from fivesentences.study.expand import Contrast, Row, compared_rows, contrasts_of, evaluated_of_rows, expand_rows
from fivesentences.study.runs import EncodedRun, EnsembleRun, RunSpec, Scored, members_of, recorded_run

TEST = "test"
ON_DISK = {"features": ".npy", "images": ".images.parquet", "source": ".source.json"}  # of features, by their suffixes
EMBEDDED = {"images": "images.npy", "captions": "captions.npy", "note": "embed.json"}  # of a folder of embeddings
# Rules that compute on a GPU where the scale's training does.
GPU_RULES = ("embed", "extract_features", "detect_regions", "extract_part", "train")
# The record that something was fetched; what it is follows from the settings of the job that uses it.
FETCHED = frozenset({"fetched"})
WITHOUT_DOWNLOADS = ("grid_descriptors", "bottom_up")  # an extractor without weights, and one that no library offers
SETTINGS_OF_CONTENT = {
    "load_corpus": ["photographs", "needs"],
    "extract_features": ["photographs"],
    "detect_regions": ["photographs"],
    "extract_part": ["photographs"],
    "embed": ["photographs"],
    "show_examples": ["photographs"],
    "show_features": ["photographs"],
    "plot_figure": ["photographs"],
    "show_gallery": ["photographs"],
}


def outputs(places: Places) -> dict[str, dict[str, Path]]:
    """The files that each rule writes, by name; wildcards are in braces."""
    dataset, split, ensemble, job = "{dataset}", "{split}", "{ensemble}", "{job}"
    extracted, reduced = "{extracted}", "{reduced}"
    whole = {name: places.feature_file(dataset, f"{extracted}{suffix}") for name, suffix in ON_DISK.items()}
    table, figure = (
        {name: places.exhibit("{scale}", kind, suffix) for name, suffix in files.items()}
        for kind, files in (
            ("{table}", {"data": "json", "csv": "csv", "markdown": "md", "latex": "tex", "html": "html"}),
            ("{figure}", {"texts": "json", "data": "csv", "pdf": "pdf", "png": "png"}),
        )
    )
    return {
        "download": {"file": places.data / "{file}"},
        "fetch_network": {"record": places.fetched("networks/{network}")},
        "fetch_encoder": {"record": places.fetched("encoders/{encoder}")},
        "fetch_parser": {"record": places.fetched("parser")},
        "draw_scenes": {
            "corpus": places.corpus(dataset),
            "photographs": places.beside_corpus(dataset, "photographs.zip"),
            "tuples": places.beside_corpus(dataset, "tuples.jsonl.gz"),
            "labels": places.beside_corpus(dataset, "labels.parquet"),
            "truth": places.beside_corpus(dataset, "truth.npy"),
        },
        "load_corpus": {"corpus": places.corpus(dataset)},
        "label_images": {"labels": places.beside_corpus(dataset, "labels.parquet")},
        "extract_features": whole,
        "detect_regions": whole | {"regions": places.feature_file(dataset, f"{extracted}.regions.parquet")},
        "extract_part": {
            name: path.with_suffix(suffix)
            for path in [places.feature_part(dataset, extracted, "{part_of_images}")]
            for name, suffix in ON_DISK.items()
        },
        "join_features": whole,
        "reduce_features": {
            "features": places.feature_file(dataset, f"{reduced}.npy"),
            "images": places.feature_file(dataset, f"{reduced}.images.parquet"),
        },
        "describe_precomp": {
            "description": places.feature_file(dataset, f"{extracted}.json"),
            "images": places.feature_file(dataset, f"{extracted}.images.parquet"),
        },
        "parse_some_captions": {"tuples": places.parsed_tuples(dataset, "{part}")},
        "score_captions": {
            "phi": places.phi(dataset, split, "{phi}.npy"),
            "note": places.phi(dataset, split, "{phi}.json"),
        },
        "score_training_captions": {
            "phi": places.phi(dataset, "train", "{phi},{captions}.npy"),
            "note": places.phi(dataset, "train", "{phi},{captions}.json"),
        },
        "prepare_cider": {"prepared": places.phi(dataset, "train", "{phi},{captions}.npz")},
        "train": {"record": places.record(job)},
        "average_similarities": {"similarity": places.similarity(ensemble)},
        "embed": {name: places.embeddings(dataset, "{encoder}") / file for name, file in EMBEDDED.items()},
        "compare_embeddings": {"similarity": places.similarity(EncodedRun.named(dataset, "{encoder}"))},
        "evaluate": {"metrics": places.metrics(job), "per_image": places.per_image(job)},
        "collect_metrics": {"table": places.tidy("{scale}")},
        "compare_retrievals": {"retrievals": places.retrievals("{scale}", "{figure}")},
        "find_disagreements": {"disagreements": places.disagreements("{scale}")},
        "contrast_runs": {"contrasts": places.contrasts("{scale}", "{exhibit}")},
        "ask_judge": {
            "pairs": places.agreement("{scale}", dataset, "{judge}", "parquet"),
            "numbers": places.agreement("{scale}", dataset, "{judge}", "json"),
        },
        "find_positives": {"found": places.found_positives("{scale}", dataset, "{judge}")},
        "measure_phi": {"statistics": places.phi_statistics(dataset)},
        "measure_margins": {"margins": places.margins("{scale}", dataset)},
        "make_table": table,
        "plot_figure": figure,
        "gather_latex": {"document": places.document("{scale}")},
        "judge_claims": {
            name: places.claims("{scale}", suffix)
            for name, suffix in {"data": "json", "csv": "csv", "markdown": "md", "html": "html"}.items()
        },
    } | subspace_outputs(places)


def _as_text(paths: Mapping[str, Path]) -> dict[str, str]:
    return {name: str(path) for name, path in paths.items()}


class Rules(SubspaceRules):
    """The rules of a plan; see the module."""

    def step(self, rule: str, **wildcards: str) -> Step:
        """One job of a rule."""
        found: Step = getattr(self, rule)(**wildcards)
        return found

    def constraints(self) -> dict[str, str]:
        """Regular expressions of the wildcards of all rules."""
        plan = self.plan
        return {
            "dataset": one_of(plan.scale.datasets),
            "split": one_of(get_args(Split)),
            "extracted": one_of(plan.extracted_features),
            "part_of_images": "[0-9]+",
            "reduced": one_of(plan.reduced_features),
            "network": one_of(dict.fromkeys(spec.extractor for spec in plan.extracted_features.values())),
            "phi": "[a-z0-9_]+(-[a-z]+)?",
            "captions": "fraction=[^/]+",
            "part": f"({one_of(get_args(Split))})/tuples(,fraction=[^/]+)?",
            "file": one_of(self.plan.downloads),
            "job": one_of(plan.evaluations),
            "ensemble": one_of(plan.all_ensembles),
            "encoder": one_of(run.model for run in plan.all_encoded.values()),
            "judge": one_of(spec.judge for spec in plan.scale.judges),
            "scale": one_of(plan.scales),
            "table": one_of(plan.tables),
            "figure": one_of(plan.figures),
            "exhibit": one_of(name for name, exhibit in plan.exhibits.items() if exhibit.reads == "contrasts"),
        } | self.subspace_constraints()

    def constraints_of(self, rule: str) -> dict[str, str]:
        """Stricter ones of one rule: of two rules that would write the same file, or for jobs that it does not know."""
        datasets = list(self.plan.scale.datasets)
        drawn, precomp, regions = self.plan.drawn, self.plan.precomp, self.plan.released_regions
        match rule:
            case "draw_scenes":
                return {"dataset": one_of(drawn)}
            case "load_corpus" | "label_images":
                return {"dataset": one_of(name for name in datasets if name not in drawn)}
            case "describe_precomp":
                described = [self.plan.scale.grid_features.source] if regions and self.plan.scale.grid_features else []
                every = list(self.plan.extracted_features) if precomp else described
                return {"dataset": one_of([*precomp, *regions]), "extracted": one_of(every)}
            case "extract_features" | "detect_regions" | "extract_part" | "join_features" | "show_features":
                of_rule = one_of(self._extracted_by(rule))
                return {"dataset": one_of(name for name in datasets if name not in precomp), "extracted": of_rule}
            case "train":  # ensembles are evaluated in jobs of their own, but not trained
                return {"job": one_of(self.plan.jobs)}
        return self.subspace_constraints_of(rule)

    def _extracted_by(self, rule: str) -> list[str]:
        """The features, by the name of their file, that a rule makes or reads."""
        grid = self.plan.scale.grid_features
        in_folders = grid.source if grid is not None and self.plan.released_regions else None
        specs = {name: spec for name, spec in self.plan.extracted_features.items() if name != in_folders}.items()
        match rule:
            case "extract_features":
                return [name for name, spec in specs if spec.parts == 1 and spec.layout != "regions"]
            case "detect_regions":
                return [name for name, spec in specs if spec.parts == 1 and spec.layout == "regions"]
            case "extract_part" | "join_features":
                return [name for name, spec in specs if spec.parts > 1]
        return [name for name, _ in specs]

    # --- corpus ---------------------------------------------------------------------------------------------

    def download(self, file: str) -> Step:
        """One file of the catalogue."""
        dataset, name = self.plan.downloads[file]
        catalogue = str(config_file(CATALOGUE, self.plan.config))
        return Step(params={"dataset": dataset, "name": name, "catalogue": catalogue, "mirror": self._mirror})

    def draw_scenes(self, dataset: str) -> Step:
        """A corpus of drawn scenes."""
        return Step(params={"scenes": self.plan.scale.datasets[dataset].model_dump(exclude={"loader"})})

    def load_corpus(self, dataset: str) -> Step:
        """A corpus of files."""
        read = self.plan.scale.datasets[dataset]
        # Not features, of which a corpus has nothing; and later settings only where they are given, so that corpora
        # that were read before them are not read again.
        later = {"order", "captions_per_image"} - read.model_fields_set
        data = read.model_dump(mode="json", exclude={"regions", *later})
        told: dict[str, Any] = {}
        if self.plan.own:  # the names alone: captions are read again when a photograph comes or goes
            identity = self._identity(dataset)
            needs = get_args(Split) if dataset in self.plan.scale.roles.values() else []
            told = {"photographs": identity and identity.names, "needs": list(needs)}
        return Step({"captions": self._captions(dataset)}, {"data": data, **told})

    def label_images(self, dataset: str) -> Step:
        """Labels of the test images, from object annotations."""
        return Step({"corpus": self.places.corpus(dataset), "instances": self._downloaded(dataset, "instances")[0]})

    # --- features -------------------------------------------------------------------------------------------

    def extract_features(self, dataset: str, extracted: str) -> Step:
        """Features of photographs by a network."""
        spec = self.plan.extracted_features[extracted]
        inputs = self._read_for_features(dataset, spec)
        return Step(
            inputs,
            {"spec": spec.model_dump(mode="json", exclude_defaults=True), **self._content(dataset)},
            self._by_content(dataset) | (FETCHED if inputs["fetched"] else frozenset()),
        )

    def fetch_network(self, network: str) -> Step:
        """Weights that timm or torchvision downloads."""
        return Step()

    def detect_regions(self, dataset: str, extracted: str) -> Step:
        """Features of regions that a detector finds."""
        return self.extract_features(dataset, extracted)

    def extract_part(self, dataset: str, extracted: str, part_of_images: str) -> Step:
        """Features of a part of the photographs."""
        step = self.extract_features(dataset, extracted)
        return Step(step.inputs, {**step.params, "part": int(part_of_images)}, step.by_content)

    def join_features(self, dataset: str, extracted: str) -> Step:
        """The features of all photographs from those of their parts."""
        parts = range(1, self.plan.extracted_features[extracted].parts + 1)
        return Step({"parts": [self.places.feature_part(dataset, extracted, str(part)) for part in parts]})

    def _read_for_features(self, dataset: str, spec: FeatureSpec) -> Files:
        weights = self._weights(spec)
        fetches = not weights and spec.extractor not in WITHOUT_DOWNLOADS
        return {
            "corpus": self.places.corpus(dataset),
            "photographs": self._photographs(dataset),
            "weights": weights,
            "fetched": [self.places.fetched(f"networks/{spec.extractor}")] if fetches else [],
        }

    def _weights(self, spec: FeatureSpec) -> list[Path]:
        """The file of an extractor's weights; none if a library fetches its own, whatever a mirror has."""
        if spec.weights is None:
            return []
        if not spec.from_catalogue:
            return [spec.weights]
        known = self.plan.catalogue.datasets.get("weights")
        files = {} if known is None else known.files
        name = str(spec.weights)
        if name not in files:
            hint = did_you_mean(name, sorted(files)) or f"there are: {', '.join(files) or 'none'}."
            raise InputError(
                f"weights is '{name}', which is no name under weights in config/datasets.yaml (a file would end in "
                f"{ENDINGS[0]}, for example); {hint}"
            )
        return [self.places.data / files[name].path]

    def reduce_features(self, dataset: str, reduced: str) -> Step:
        """Features with fewer regions or dimensions."""
        spec = self.plan.reduced_features[reduced]
        source = self.places.source_of_features(dataset, spec, self.plan.is_described(dataset, spec))
        sizes = spec.model_dump(include={"regions", "dimensions"})
        return Step({"corpus": self.places.corpus(dataset), "features": source}, {"sizes": sizes})

    def describe_precomp(self, dataset: str, extracted: str) -> Step:
        """Which files of a precomp folder hold what."""
        folder = self.plan.folder_of_features(dataset)
        settings = folder.model_dump(include={"prefix", "testall"})
        return Step({"corpus": self.places.corpus(dataset), "folder": [folder.folder]}, {"data": settings})

    # --- semantics ------------------------------------------------------------------------------------------

    def fetch_parser(self) -> Step:
        """The Java classes of SPICE's parser."""
        return Step(params={"mirror": self._mirror})

    def parse_some_captions(self, dataset: str, part: str) -> Step:
        """Scene-graph tuples of the captions of a split, or of the training captions of some runs."""
        split, _, name = part.partition("/")
        captions = name.partition(",")[2]
        return Step(
            {"corpus": self.places.corpus(dataset), "fetched": [self.places.fetched("parser")]},
            {
                "split": split,
                "part": self._training_part(dataset, captions) if captions else None,
                "mirror": self._mirror,
            },
            FETCHED,
        )

    def score_captions(self, dataset: str, split: str, phi: str) -> Step:
        """A phi matrix."""
        tuples = self._tuples(dataset, [phi], part_of_tuples(split))
        return Step({"corpus": self.places.corpus(dataset), "tuples": tuples})

    def score_training_captions(self, dataset: str, phi: str, captions: str) -> Step:
        """A phi matrix of the training captions of some runs."""
        tuples = self._tuples(dataset, [phi], part_of_tuples("train", captions))
        part = self._training_part(dataset, captions)
        return Step({"corpus": self.places.corpus(dataset), "tuples": tuples}, {"part": part})

    def prepare_cider(self, dataset: str, phi: str, captions: str) -> Step:
        """CIDEr of the training captions of some runs."""
        return Step({"corpus": self.places.corpus(dataset)}, {"part": self._training_part(dataset, captions)})

    # --- training and evaluation ----------------------------------------------------------------------------

    def train(self, job: str) -> Step:
        """Some runs, one after the other."""
        plan, places, specs = self.plan, self.places, self._runs(job)
        runs = [
            {
                "spec": self._settings_of(spec),
                "folder": str(places.run(spec.name)),
                "phi_files": _as_text(places.phi_files(spec)),
            }
            for spec in specs
        ]
        words = {words for spec in specs if (words := spec.training.vocabulary) is not None}
        return Step(
            {
                "corpus": places.corpus(specs[0].dataset),
                "features": plan.features_of(specs[0]),
                "phi": plan.phi_read_by(specs),
                **({"vocabulary": sorted(words)} if words else {}),
            },
            {"runs": runs, "tensorboard": plan.scale.training.tensorboard},
        )

    def average_similarities(self, ensemble: str) -> Step:
        """The similarity of an ensemble."""
        members = [member.name for member in members_of(self.plan.all_ensembles[ensemble])]
        similarities = [str(self.places.similarity(member)) for member in members]
        return Step({"records": self.plan.records_of(members)}, {"similarities": similarities})

    # --- encoders -------------------------------------------------------------------------------------------

    def embed(self, dataset: str, encoder: str) -> Step:
        """Vectors of the images and captions of a test split."""
        spec = self.plan.all_encoded[EncodedRun.named(dataset, encoder)].encoder
        return Step(
            {
                "corpus": self.places.corpus(dataset),
                "photographs": self._photographs(dataset),
                "fetched": [] if spec.is_local else [self.places.fetched(f"encoders/{encoder}")],
            },
            {"encoder": spec.model_dump(mode="json"), **self._content(dataset)},
            self._by_content(dataset) | FETCHED,
        )

    def fetch_encoder(self, encoder: str) -> Step:
        """An encoder as a study names it; whatever dataset it embeds, it is the same."""
        spec = next(run.encoder for run in self.plan.all_encoded.values() if run.model == encoder)
        return Step(params={"encoder": spec.model_dump(mode="json")})

    def compare_embeddings(self, dataset: str, encoder: str) -> Step:
        """The similarity of every image and caption by an encoder."""
        folder = self.places.embeddings(dataset, encoder)
        return Step({name: folder / file for name, file in EMBEDDED.items()})

    def evaluate(self, job: str) -> Step:
        """Every number of some runs, ensembles or encoders of one dataset."""
        plan, places, evaluation = self.plan, self.places, self.plan.evaluations[job]
        known: dict[str, Scored] = {**plan.all_runs, **plan.all_ensembles, **plan.all_encoded}
        specs = [known[name] for name in evaluation.runs]
        similarities = [places.similarity(spec.name) for spec in specs]
        runs = [
            {
                "spec": self._settings_of(spec),
                "similarity": str(similarity),
                "inferences": plan.inferences[spec.name],
            }
            for spec, similarity in zip(specs, similarities, strict=True)
        ]
        return Step(
            {
                "corpus": places.corpus(evaluation.dataset),
                "made": plan.made_of(evaluation.runs),
                "phi": [places.phi(evaluation.dataset, TEST, f"{phi}.npy") for phi in plan.single_phis],
                "labels": self._labels(evaluation.dataset),
            },
            {"runs": runs, "phis": plan.scale.phis, "metrics": sorted(m.name for m in METRICS.values() if m.of_runs)},
        )

    def collect_metrics(self, scale: str) -> Step:
        """One table of all runs of a scale."""
        return Step({"metrics": self.plan.metrics_of(self.plan.evaluated_at(scale))})

    def compare_retrievals(self, scale: str, figure: str) -> Step:
        """What two runs retrieve for the same queries."""
        exhibit, places, rows = self.plan.figures[figure], self.places, self._compared(scale, figure)
        dataset, runs = str(rows[0].dataset), [row.runs[0].name for row in rows]
        return Step(
            {
                "corpus": places.corpus(dataset),
                "records": self.plan.made_of(runs),
                "phi": places.phi(dataset, TEST, f"{self.plan.scale.evaluation_phi}.npy"),
            },
            {
                "similarities": {run: str(places.similarity(run)) for run in runs},
                "options": exhibit.model_dump(include={"k", "directions", "queries"}),
            },
        )

    def find_disagreements(self, scale: str) -> Step:
        """Queries on which the models of the gallery disagree, and some at random."""
        plan, places, gallery = self.plan, self.places, self.gallery(scale)
        phis = {phi: places.phi(gallery.dataset, TEST, f"{phi}.npy") for phi in plan.phis_of_gallery}
        return Step(
            {
                "corpus": places.corpus(gallery.dataset),
                "records": plan.made_of(gallery.runs),
                "phi": list(phis.values()),
            },
            {
                "similarities": {run: str(places.similarity(run)) for run in gallery.runs},
                "phis": _as_text(phis),
                "options": gallery.spec.model_dump(include={"k", "queries", "at_random", "seed"})
                | {"contrasts": [list(pair) for pair in gallery.contrasts]},
            },
        )

    def contrast_runs(self, scale: str, exhibit: str) -> Step:
        """Paired differences of the runs of a table or figure."""
        contrasts = self._contrasts(scale, exhibit)
        runs = [run for contrast in contrasts for side in contrast.runs for run in side]
        return Step(
            {"per_image": self.plan.per_image_of(runs)},
            {
                "pairs": [
                    {"dataset": one.a.dataset, "a": one.runs[0], "b": one.runs[1], "seeds": one.seeds}
                    for one in contrasts
                ],
                "phi": self.plan.scale.evaluation_phi,
            },
        )

    def ask_judge(self, scale: str, dataset: str, judge: Judge) -> Step:
        """How well each phi agrees with a judge."""
        judged = self.plan.judged
        return Step(
            {
                "corpus": self.places.corpus(dataset),
                "judgements": self._judgements(dataset, judge),
                "tuples": self._tuples(dataset, [phi for phi, _ in judged], part_of_tuples(TEST)),
            },
            {"phis": judged},
        )

    def find_positives(self, scale: str, dataset: str, judge: Judge) -> Step:
        """How many of a judge's right pairs are among the first pairs by each phi, and by labels."""
        return Step(
            {
                "corpus": self.places.corpus(dataset),
                "judgements": self._judgements(dataset, judge),
                "phi": [self.places.phi(dataset, TEST, f"{phi}.npy") for phi in self.plan.phis_read("found_positives")],
                "labels": self._labels(dataset),
            }
        )

    def measure_phi(self, dataset: str) -> Step:
        """What each phi says of a dataset's captions."""
        phis = self.plan.phis_read("phi_statistics")
        return Step(
            {
                "corpus": self.places.corpus(dataset),
                "phi": [self.places.phi(dataset, TEST, f"{phi}.npy") for phi in phis],
                "tuples": self._tuples(dataset, phis, part_of_tuples(TEST)),
            }
        )

    def measure_margins(self, scale: str, dataset: str) -> Step:
        """What the margins of a dataset's training captions are made of, and those of runs of a scale."""
        plan, places, training = self.plan, self.places, self.plan.scale.training
        sets = plan.margins_of_captions(dataset)
        runs = [run for run in plan.runs_with_margins(scale) if run.dataset == dataset]
        matrices = [plan.matrices_of_margins(dataset, *one) for one in sets]
        return Step(
            {
                "corpus": places.corpus(dataset),
                "phi": sorted({*plan.phi_read_by(runs), *(path for files in matrices for path in files.values())}),
                "features": sorted({plan.features_of(run) for run in runs}),
                "records": plan.records_of(run.name for run in runs),
            },
            {
                "sets": [
                    {
                        "fraction": fraction,
                        "loss": loss.model_dump(mode="json", exclude_defaults=True),
                        "phi_files": _as_text(files),
                    }
                    for (fraction, loss), files in zip(sets, matrices, strict=True)
                ],
                "runs": [
                    {
                        "folder": str(places.run(run.name)),
                        "features": str(plan.features_of(run)),
                        "phi_files": _as_text(places.phi_files(run)),
                    }
                    for run in runs
                ],
                "settings": training.model_dump(mode="json", include={"batch_size", "draw", "one_caption_per_image"}),
            },
        )

    # --- paper ----------------------------------------------------------------------------------------------

    def make_table(self, scale: str, table: str) -> Step:
        """A table of a paper."""
        exhibit = self.plan.tables[table]
        published = self._published(exhibit)
        return Step(
            {
                "numbers": self._numbers(scale, table, exhibit),
                "study": self._study_file(table),
                "published": published,
            },
            {"scale": self._settings(scale), "folder": self._folder_of(published), "texts": self._texts(table)},
        )

    def _published(self, exhibit: Exhibit) -> list[Path]:
        """The published table that a table or figure is compared with; empty if there is none."""
        name = exhibit.published_table()
        return [] if name is None else [config_file(f"published/{name}.csv", self.plan.config)]

    def _folder_of(self, published: Sequence[Path]) -> str:
        return str(published[0].parent if published else self.plan.config / "published")

    def plot_figure(self, scale: str, figure: str) -> Step:
        """A figure of a paper."""
        exhibit = self.plan.figures[figure]
        pictured, published = self._pictured(scale, figure, exhibit), self._published(exhibit)
        return Step(
            {
                "numbers": self._numbers(scale, figure, exhibit),
                "published": published,
                "photographs": [] if pictured is None else self._photographs(pictured),
                "study": self._study_file(figure),
            },
            {
                "scale": self._settings(scale),
                "pictured": pictured,
                "folder": self._folder_of(published),
                "texts": self._texts(figure),
                **self._content(pictured),
            },
            self._by_content(pictured),
        )

    def gather_latex(self, scale: str) -> Step:
        """One LaTeX document of all tables and figures."""
        plan, places = self.plan, self.places
        return Step(
            {
                "tables": [places.exhibit(scale, table, suffix) for table in plan.tables for suffix in ("json", "tex")],
                "figures": [places.exhibit(scale, one, suffix) for one in plan.figures for suffix in ("json", "pdf")],
                "studies": [self._study_file(study) for study in plan.studies],
            },
            {"scale": self._settings(scale)},
        )

    # --- what several rules read ----------------------------------------------------------------------------

    @property
    def _mirror(self) -> str | None:
        return None if self.plan.mirror is None else str(self.plan.mirror)

    def _downloaded(self, dataset: str, kind: str, splits: Sequence[str] | None = None) -> list[Path]:
        """Files of a dataset whose name in the catalogue begins with ``kind``."""
        files = files_to_read(self.plan.catalogue, dataset, kind, splits, self.plan.download_folders)
        return [self.places.data / file for file in files]

    def _captions(self, dataset: str) -> list[Path]:
        """The files that a corpus is read from."""
        data = self.plan.scale.datasets[dataset]
        if data.loader == "folder":
            return [data.captions]
        if data.loader == "precomp":
            return [data.folder]
        splits = None if data.loader == "scenes" else data.splits
        found = self._downloaded(dataset, "text") + self._downloaded(dataset, "captions", splits)
        return found or self._downloaded(dataset, "photographs")  # one archive of both

    def _photographs(self, dataset: str) -> list[Path]:
        """The archives or the folder that hold a dataset's photographs."""
        data = self.plan.scale.datasets[dataset]
        if data.loader == "scenes":
            return [self.places.beside_corpus(dataset, "photographs.zip")]
        if data.loader == "folder":
            return [data.photographs]
        return self._downloaded(dataset, "photographs")

    # A user's own photographs change without a rule that makes them: their content is a setting of the jobs that read
    # them, and their times count for nothing. Scales without such photographs have no such setting.

    def _by_content(self, dataset: str | None) -> frozenset[str]:
        return frozenset({"photographs"} if dataset in self.plan.own else ())

    def _content(self, dataset: str | None) -> dict[str, Any]:
        """The digest of a dataset's own photographs as a setting; None for photographs that a rule makes or fetches."""
        if not self.plan.own:
            return {}
        identity = None if dataset is None else self._identity(dataset)
        return {"photographs": identity and identity.content}

    def _identity(self, dataset: str) -> Identity | None:
        """What identifies a user's own photographs; None for others.

        Raises:
            InputError: If they are missing or cannot be read.
        """
        data = self.plan.scale.datasets[dataset]
        if data.loader != "folder":
            return None
        known = self.plan.identities
        if dataset not in known:
            known[dataset] = identify(data.photographs, self.places.beside_corpus(dataset, "photographs.sha256.json"))
        return known[dataset]

    def _tuples(self, dataset: str, phis: Iterable[str], part: str) -> list[Path]:
        """Scene-graph tuples where a phi needs them; those of drawn scenes come from the program that drew them.

        Those of photographs are of the ``part`` that ``part_of_tuples`` names.
        """
        if not any(needs_tuples(phi) for phi in phis):
            return []
        if dataset in self.plan.drawn:
            return [self.places.beside_corpus(dataset, "tuples.jsonl.gz")]
        return [self.places.parsed_tuples(dataset, part)]

    def _labels(self, dataset: str) -> list[Path]:
        """Which objects are in a dataset's images, if that is known and a table asks for it."""
        known = dataset in [*self.plan.annotated, *self.plan.drawn]
        return [self.places.beside_corpus(dataset, "labels.parquet")] if known and self.plan.needs_labels else []

    def _judgements(self, dataset: str, judge: Judge) -> list[Path]:
        """The file that holds a judge's scores."""
        if judge == "scenes_truth":
            return [self.places.beside_corpus(dataset, "truth.npy")]
        entry, file = JUDGEMENTS[judge]
        return [self.places.data / self.plan.catalogue.datasets[entry].files[file].path]

    def _runs(self, job: str) -> list[RunSpec]:
        return [self.plan.all_runs[name] for name in self.plan.jobs[job].runs]

    def _settings_of(self, spec: Scored) -> dict[str, Any]:
        """Settings of a run, an ensemble or an encoder as plain data; those of runs as their folders record them."""
        match spec:
            case EnsembleRun():
                return spec.model_dump(mode="json") | {"members": [self._settings_of(one) for one in spec.members]}
            case EncodedRun():
                return spec.model_dump(mode="json")
        known = self.plan.settings
        if spec.name not in known:
            known[spec.name] = spec.as_recorded(recorded_run(self.places.run(spec.name)))
        return known[spec.name]

    def _training_part(self, dataset: str, captions: str) -> tuple[float, int | None, str, int]:
        """What ``training_part`` needs to know to take the training captions that ``captions_of`` calls so.

        It is the same at every scale: the seed is that of a drawn fraction, and 0 where runs of all seeds share it.

        Raises:
            InputError: If no run of the dataset trains on them.
        """
        for spec in self.plan.all_runs.values():
            if spec.dataset == dataset and captions_of(spec) == captions:
                drawn = spec.training.draw == "seeded" and spec.fraction < 1
                return spec.fraction, spec.captions_per_image, spec.training.draw, spec.seed if drawn else 0
        raise InputError(f"no run of this scale is trained on {captions} of '{dataset}'; name captions that one is.")

    # --- what tables and figures read -----------------------------------------------------------------------

    def _numbers(self, scale: str, name: str, exhibit: Exhibit) -> list[Path]:
        """The files that ``exhibit.reads`` names."""
        plan, places = self.plan, self.places
        match exhibit.reads:
            case "runs":
                rows = expand_rows(exhibit.row_specs(), plan.study_of(name), plan.scales[scale])
                return plan.metrics_of(evaluated_of_rows(rows))
            case "every_run":
                return plan.metrics_of(plan.trained_at(scale))
            case "retrievals":
                return [places.retrievals(scale, name)] if self._compared(scale, name) else []
            case "contrasts":
                return [places.contrasts(scale, name)] if self._contrasts(scale, name) else []
            case "correlations":
                return self._agreements("json")
            case "judged_pairs":
                return self._agreements("parquet")
            case "phi_statistics":
                shown = set(exhibit.matrices()) & set(plan.shown_phis)
                return [places.phi_statistics(dataset) for dataset in plan.with_parts if shown]
            case "found_positives":
                return self.found_positives()
            case "margins":
                return [places.margins(scale, dataset) for dataset in plan.with_training_captions]
            case "corpora":
                played = plan.scales[scale].roles
                datasets = dict.fromkeys(played[role] for role in exhibit.roles() if role in played)
                return [places.corpus(dataset) for dataset in datasets]
        return self.subspace_files(scale, name, exhibit)

    def found_positives(self) -> list[Path]:
        """Where the right pairs of the judges that know such pairs are found; as ``_agreements``."""
        judges = [one for one in self.plan.scale.judges if one.judge in RIGHT]
        return [self.places.found_positives(self.plan.scale.scale, one.dataset, one.judge) for one in judges]

    def _agreements(self, suffix: str) -> list[Path]:
        """What the judges say; of the scale, for each has its own phis, and its complete form has the same."""
        scale = self.plan.scale
        return [self.places.agreement(scale.scale, one.dataset, one.judge, suffix) for one in scale.judges]

    def _compared(self, scale: str, figure: str) -> list[Row]:
        """The two rows whose retrievals a figure compares; none if the scale has not both."""
        return compared_rows(self.plan.figures[figure], self.plan.study_of(figure), self.plan.scales[scale])

    def _contrasts(self, scale: str, exhibit: str) -> list[Contrast]:
        """The contrasts of a table or figure of which the scale makes both sides."""
        specs, study = self.plan.exhibits[exhibit].contrast_specs(), self.plan.study_of(exhibit)
        return [one for one in contrasts_of(specs, study, self.plan.scales[scale]) if one.is_made]

    def gallery(self, scale: str) -> PlannedGallery:
        """The gallery of a scale that has one.

        Raises:
            InputError: If it has none.
        """
        gallery = self.plan.gallery(scale)
        if gallery is None:
            raise InputError(
                f"scale {scale}: no study has a gallery with a row that is trained on photographs; add one to a study."
            )
        return gallery

    def _pictured(self, scale: str, figure: str, exhibit: Exhibit) -> str | None:
        """The dataset whose photographs a figure shows: that of its runs, or the scale's first."""
        if not exhibit.shows_photographs:
            return None
        if exhibit.reads == "retrievals":
            return next((row.dataset for row in self._compared(scale, figure)), None)
        return next(iter(self.plan.scale.datasets))

    def _texts(self, exhibit: str) -> dict[str, str]:
        """What a report says of a table or figure."""
        spec = self.plan.exhibits[exhibit]
        paper = self.plan.study_of(exhibit).paper
        return {"paper": paper, "name": spec.name, "title": spec.title, "caption": spec.caption}

    def _study_file(self, exhibit: str) -> Path:
        return config_file(f"studies/{exhibit.partition('/')[0]}.yaml", self.plan.config)

    def _settings(self, scale: str) -> dict[str, Any]:
        return self.plan.scales[scale].model_dump(mode="json", exclude_unset=True)
