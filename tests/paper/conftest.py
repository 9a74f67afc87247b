"""Made-up results of runs, judges and phi, in tables of a test or in the files that a plan names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.config.datasets import Catalogue
from fivesentences.config.metrics import METRICS
from fivesentences.config.reading import read
from fivesentences.config.types import as_list
from fivesentences.corpus import Corpus, Photographs
from fivesentences.losses import LossSpec
from fivesentences.metrics.coefficients import STATISTICS
from fivesentences.reproduction.categories.evaluation import (
    HISTORY,
    PER_QUERY,
    PROJECTION_COLUMNS,
    SUBSPACE_METRICS,
    TABLES,
    write_subspace_table,
)
from fivesentences.reproduction.categories.models.specs import TripletNetwork
from fivesentences.reproduction.categories.runs import SubspaceRun
from fivesentences.reproduction.config.scales import JUDGED_LOADER, LABELS, Scale
from fivesentences.reproduction.evaluation.agreement import COLUMNS as AGREEMENT_COLUMNS
from fivesentences.reproduction.evaluation.agreement import column_of
from fivesentences.reproduction.evaluation.disagreements import FORMAT_OF_RETRIEVALS as RETRIEVALS
from fivesentences.reproduction.evaluation.disagreements import compare_retrievals
from fivesentences.reproduction.evaluation.margins import FORMAT as MARGINS
from fivesentences.reproduction.evaluation.margins import margin_numbers
from fivesentences.reproduction.evaluation.phi_statistics import FORMAT, phi_statistics
from fivesentences.reproduction.evaluation.seed_contrasts import names_read, write_contrasts, write_subspace_contrasts
from fivesentences.reproduction.evaluation.tidy import (
    COLUMNS,
    GALLERY_COLUMNS,
    RUN_COLUMNS,
    SUMMED,
    VALUE_COLUMNS,
    frame_of_run,
    write_per_image,
)
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.rendering import make, maker_of, write_exhibit
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.reproduction.study.exhibits import OTHER_IMAGES
from fivesentences.reproduction.study.study import Study, read_study
from fivesentences.reproduction.study.study import read_claims as claims_of_papers
from fivesentences.storage import write_json
from fivesentences.training.hinges import HingeValues
from fivesentences.training.spec import AS_GIVEN, EnsembleRun, GivenRun, RunSpec

CONFIG = Path(__file__).parents[2] / "config"
METHODS, SIDES = ("naive", "inverted_softmax", "csls", "assignment"), ("i2t", "t2i")
PHIS = ["tfidf", "bleu_daa", "rouge_daa", "tfidf+bleu_daa+rouge_daa"]
SUMS = {metric.sum for metric in METRICS.values()}
PLAIN = [
    name.replace("@k", f"@{k}")
    for name, metric in METRICS.items()
    if metric.of_runs and not metric.needs and name not in SUMS
    for k in ((1, 5, 10) if name.endswith("@k") else (1,))
]
# What each judge's scores can be.
SCORES = {
    "cxc": np.arange(0, 5.01, 0.2),
    "flickr8k_expert": np.arange(3, 13) / 3,
    "flickr8k_crowdflower": np.array([0, 1 / 3, 2 / 3, 1]),
    "scenes_truth": np.array([0, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1]),
}

# Category retrieval at the tiny scale: every kind of its figures has something to draw.
CATEGORIES = {
    "roles": {"wikipedia": "made"},
    "documents": {
        "made": {
            "loader": "descriptors",
            "table": "made.csv",
            "images": "images.npy",
            "texts": "texts.npy",
            "divisions": {
                "printed": {"validation": 10, "test": 24},
                "whole_test": {"validation": 10, "validation_from": "train"},
            },
        }
    },
    "seeds": [0, 1, 2],
    "training": {"epochs": 4},
    "methods": [
        "random",
        "cca",
        "semantic_centred",
        "fixed",
        "sam",
        "constant",
        "small_fixed",
        "grid_0*_0",
        "grid_1_0",
    ],
}


def random_of(text: str) -> np.random.Generator:
    """The same numbers for a text in every process."""
    return np.random.default_rng(crc32(text.encode()))


def measures(phi: str, labels: bool) -> pd.DataFrame:
    """What the evaluation measures of every run: all columns of its values but the value."""
    lines = [(method, name, side, "", "", 0, "", "") for method, side, name in product(METHODS, SIDES, PLAIN)]
    lines += [(method, "Rsum", "", "", "", 0, "", "") for method in METHODS]
    for rule, own in product(("released", "paper"), ("kept", "removed")):
        lines += [(method, "Nsum", "", rule, own, 0, "", phi) for method in METHODS]
        lines += [("naive", f"N@{k}", side, rule, own, 0, "", phi) for side, k in product(SIDES, (1, 5, 10))]
    for side in SIDES:
        recalls = product(range(1, 6), ("recall", "vse_recall"))
        lines += [("naive", "SR@5", side, "released", "removed", m, style, phi) for m, style in recalls]
        lines += [("naive", "ASP", side, ties, "", 0, "", one) for one in (phi, *PHIS) for ties in ("index", "average")]
        lines += [("naive", "PMRP", side, "", "", 0, "", "")] if labels else []
    return pd.DataFrame(lines, columns=VALUE_COLUMNS[:-1])


def results_of(
    runs: Iterable[RunSpec | EnsembleRun | GivenRun], *, phi: str = "cider", images: int = 1000, labels: bool = True
) -> pd.DataFrame:
    """The tidy table of results, with values that differ from run to run."""
    frames = []
    for run in runs:
        loss, read = (AS_GIVEN, "") if isinstance(run, GivenRun) else (run.loss.folder, run.features.stem)
        about = {"run": run.name, "scale": "tiny", "dataset": run.dataset, "loss": loss, "seed": run.seed}
        about |= {"model": "some model", "fraction": run.fraction, "features": read, "main_phi": phi}
        about |= {"labels": labels, "split": "test", "images": images, "captions": 5 * images}
        about |= {"kept_epoch": 1 + run.seed, "dev_Rsum": 100.0 + run.seed}
        about |= {"tie_rule": "equal scores are ordered by index, lower first"}
        frame, draw = measures(phi, labels).assign(**about), random_of(run.name)
        noise = 0.4 * draw.standard_normal(len(frame))
        frame = frame.assign(value=12 + 4 * run.fraction + 3 * draw.random() + noise)
        if run.dataset == "coco":  # some rows are read in folds, too
            folds = (frame.assign(inference=frame["inference"] + part) for part in (", 5 folds", ", first of 5 folds"))
            frame = pd.concat([frame, *folds], ignore_index=True)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)[COLUMNS] if frames else pd.DataFrame(columns=COLUMNS)


def stored(run: RunSpec | EnsembleRun, frame: pd.DataFrame) -> dict[str, Any]:
    """What the evaluation stores about one run, with made-up hubs by every inference method."""
    draw = random_of(run.name)
    hubs = {
        method: {
            side: np.bincount(np.bincount(draw.integers(items, size=queries), minlength=items)).tolist()
            for side, items, queries in (("t2i", 40, 200), ("i2t", 200, 40))
        }
        for method in METHODS
    }
    about = {name: frame[name].tolist()[0] for name in (*RUN_COLUMNS, *GALLERY_COLUMNS)}
    spec = {"spec": run.model_dump(mode="json"), "values": frame[VALUE_COLUMNS].to_dict("records")}
    return about | spec | {"hubs": hubs}


def pairs_of(judge: str, asked: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Judged pairs: captions of the image itself score higher, and every phi follows the judge more or less."""
    own = np.arange(400) % 3 == 0
    rank = np.clip(random_of(judge).beta(1, 2, 400) + 0.5 * own, 0, 1)
    scores = SCORES[judge]
    frame = pd.DataFrame({"human": scores[(rank * (len(scores) - 1)).round().astype(int)], "own": own})
    for phi, references in asked:
        value = np.clip(rank + 0.25 * random_of(phi).standard_normal(400), 0, None)
        frame[column_of(phi, references)] = own.astype(float) if phi == "binary" else value
    return frame


def found_positives_of(judge: str, phis: Iterable[str]) -> pd.DataFrame:
    """A tenth of 1,000 pairs is right, and each phi, and labels, find them at another pace."""
    pairs = pd.DataFrame({"caption_id": np.arange(100), "image_id": np.arange(100) % 10})
    lines = [
        pairs.assign(order=order, searched=np.arange(1, 101) * pace)
        for pace, order in enumerate([*phis, LABELS], start=1)
    ]
    return pd.concat(lines, ignore_index=True).assign(judge=judge, dataset="scenes", pairs=1000)


def agreement_of(scale: Scale, asked: Iterable[tuple[str, str]], tuples: str = "SPICE's parser") -> pd.DataFrame:
    """Tidy rows of all judges of a scale, as the evaluation writes them."""
    lines = []
    which = product(scale.judges, asked, ("all", OTHER_IMAGES), STATISTICS)
    for judge, (phi, references), pairs, statistic in which:
        constant = phi == "binary" and pairs == OTHER_IMAGES
        value = None if constant else float(random_of(f"{judge} {phi} {references} {pairs} {statistic}").random())
        interval = "none: the correlation of a constant is not defined"
        if value is not None:
            interval = "95% percentile interval of 1,000 bootstrap resamples of 50 images"
        idf = f"the captions of the 50 images of {judge.dataset}/test" if phi.startswith(("cider", "tfidf")) else ""
        scores = SCORES[judge.judge]
        lines.append(
            (
                *(judge.judge, judge.dataset, "test", phi, references, pairs, statistic),
                *(value, value and value - 0.021, value and value + 0.019, 400 if pairs == "all" else 266, 50, 0),
                *(interval, idf, tuples if phi == "spice" else "", f"made-up scores, {scores[0]:g} to {scores[-1]:g}"),
            )
        )
    return pd.DataFrame(lines, columns=AGREEMENT_COLUMNS)


def small_corpus() -> Corpus:
    """Twelve images with two to four captions of few words, some of them twice."""
    draw = np.random.default_rng(4)
    words = ("a", "dog", "cat", "boy", "runs", "sits", "on", "the", "grass", "beach", "with", "red", "ball")
    rows = [
        (f"i{image}", f"i{image}.png", f"i{image}#{number}", " ".join(draw.choice(words, 4 + draw.integers(5))) + " .")
        for image in range(12)
        for number in range(2 + image % 3)
    ]
    table = pd.DataFrame(rows, columns=["image_id", "filename", "caption_id", "caption"])
    table.loc[5, "caption"] = table.loc[11, "caption"]
    return Corpus("scenes", table.assign(split="test", category=None))


def phi_statistics_of(corpus: Corpus, phis: Iterable[str]) -> dict[str, Any]:
    """What some made-up phi say of a corpus."""
    draw, owner = np.random.default_rng(7), corpus.image_of_caption
    own, matrices, left_out = (np.arange(len(owner)), owner), {}, {}
    for phi in phis:
        matrices[phi] = draw.gamma(0.4, 0.3, (corpus.n_captions, corpus.n_images)).astype(np.float32)
        left_out[phi] = matrices[phi][own] * 2
        matrices[phi][own] += 1
    found = phi_statistics(corpus, matrices, left_out)
    for phi, numbers in found["phis"].items():
        numbers |= {"tokenisation": "", "tuples": "the generator of the scenes, not parsed" if phi == "spice" else ""}
    return found | {"format": FORMAT}


def margins_of(dataset: str, sets: Iterable[tuple[float, LossSpec]], runs: Iterable[RunSpec]) -> dict[str, Any]:
    """What made-up margins of captions and of runs are made of."""

    def numbers(name: str, temperature: float) -> dict[str, Any]:
        draw, size = random_of(name), 500
        positive, negative = 2 + draw.gamma(1.0, 0.6, size), draw.gamma(0.1, 0.4, size)
        values = HingeValues(
            group=np.repeat(np.arange(10), 50),
            phi_positive=positive,
            phi_negative=negative,
            phi_own_negative=draw.gamma(0.1, 0.4, size),
            positive=positive / temperature,
            negative=negative / temperature,
            margin=(positive - negative) / temperature,
            gap=draw.normal(0.2, 0.2, size),
            cap=None,
        )
        return margin_numbers(values)

    def temperature(loss: LossSpec) -> float:
        return 10.0 if loss.sam is None else loss.sam.temperature

    of_sets = [
        {"fraction": fraction, "loss": loss.folder, "captions": 60, "images": 12, "batch_size": 16}
        | numbers(f"{fraction} {loss.folder}", temperature(loss))
        for fraction, loss in sets
    ]
    of_runs = [
        {"run": run.name, "epochs": run.training.epochs} | numbers(run.name, temperature(run.loss)) for run in runs
    ]
    return {"format": MARGINS, "dataset": dataset, "batches": 5, "seed": 0, "sets": of_sets, "runs": of_runs}


def retrievals_of(corpus: Corpus, runs: Iterable[str]) -> dict[str, Any]:
    """What two made-up models retrieve."""
    draw = np.random.default_rng(11)
    own = np.zeros((corpus.n_images, corpus.n_captions))
    own[corpus.image_of_caption, np.arange(corpus.n_captions)] = 1
    similarities = {name: draw.normal(size=own.shape) + own for name in runs}
    found = compare_retrievals(corpus, similarities, draw.gamma(0.4, 0.3, own.T.shape) + own.T, k=3)
    return found | {"phi": "cider", "format": RETRIEVALS}


def per_image_of(run: str) -> pd.DataFrame:
    """What 30 images contribute to the sums of a made-up run; the same images are hard for every run."""
    hard, draw = random_of("hard").normal(size=30), random_of(run)
    values = {column: 100 + 40 * hard + draw.normal() + 20 * draw.normal(size=30) for column in SUMMED}
    return frame_of_run(run, [f"i{image}" for image in range(30)], values)


def subspace_tables_of(runs: Iterable[SubspaceRun]) -> dict[str, list[pd.DataFrame]]:
    """What the evaluation writes of some runs of category retrieval, with values that differ from run to run.

    Each seed tests 24 of a pool of 36 documents; with the division ``whole_test`` all test the same 36.
    """
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    hard = random_of("hard documents").uniform(0.1, 0.5, 36)
    for run in runs:
        draw = random_of(run.name)
        whole = run.division == "whole_test"
        test = np.arange(36) if whole else np.sort(random_of(f"{run.division} {run.seed}").permutation(36)[:24])
        about = {"run": run.name, "documents": run.documents, "division": run.division, "method": run.method.folder}
        about |= {"seed": run.seed, "train": 100, "validation": 10, "test": len(test), "categories": 3}
        better = 0.1 * draw.random()
        for selection in ("map", "loss", "last") if run.method.iterative else ("last",):
            sides = {}
            for side in SIDES:
                values = hard[test] + better + 0.02 * draw.normal(size=len(test))
                columns = {name: values * (1 + place / 10) for place, name in enumerate(PER_QUERY.values())}
                lines = {"run": run.name, "selection": selection, "direction": side, "category": "c"}
                lines |= {"document": [f"d{place}" for place in test]}
                found["queries"].append(pd.DataFrame(lines | columns))
                sides[side] = [float(columns[name].mean()) for name in PER_QUERY.values()] + [0.2]
            sides["mean"] = np.mean(list(sides.values()), axis=0).tolist()
            values = [
                (name, side, of) for side in sides for name, of in zip(SUBSPACE_METRICS, sides[side], strict=True)
            ]
            frame = pd.DataFrame(values, columns=["metric", "direction", "value"])
            found["metrics"].append(frame.assign(selection=selection, **about))
        if run.method.iterative:
            epochs, alpha = np.arange(1, run.training.epochs + 1), np.linspace(0, 1, run.training.epochs)
            history = dict.fromkeys(HISTORY, 1.0) | {"epoch": epochs, "alpha": alpha, "mean_margin": 1 - alpha / 2}
            found["histories"].append(pd.DataFrame(history).assign(run=run.name))
        if isinstance(run.method, TripletNetwork) and run.method.loss.toward != "nothing":
            pairs = [(a, b) for a in "xyz" for b in "xyz" if a != b]
            lines = [(epoch, a, b, 1 - epoch * draw.random() / 9, 10) for epoch in epochs for a, b in pairs]
            frame = pd.DataFrame(lines, columns=["epoch", "anchor", "negative", "mean_margin", "pairs"])
            found["category_margins"].append(frame.assign(run=run.name))
    return found


def projection_of(documents: int) -> pd.DataFrame:
    """Made-up places on a plane of the images and texts of some documents."""
    draw = random_of("places")
    lines = [
        (f"d{place}", "xyz"[place % 3], modality, *(draw.normal(size=2) + 3 * (place % 3)))
        for modality in ("image", "text")
        for place in range(documents)
    ]
    return pd.DataFrame(lines, columns=list(PROJECTION_COLUMNS))


class MadeUp:
    """A scale for which everything was measured; the files that a table or figure is made from are written in time.

    Attributes:
        plan: Its plan; the files lie in the plan's places.
        contexts: The context of each table and figure, by ``study/name``.
    """

    def __init__(self, scale: Scale, studies: dict[str, Study], folder: Path):
        catalogue, self.corpus = read(Catalogue, CONFIG / "datasets.yaml"), small_corpus()
        self.plan = plan = Plan(scale, studies, catalogue, places=Places(folder), config=CONFIG)
        self.job_at = {plan.places.metrics(job.name): job for job in plan.evaluations.values()}
        for index, filename in enumerate(self.corpus.images["filename"]):
            Image.new("RGB", (60 + 10 * (index % 3), 50), (20 * index, 80, 120)).save(folder / filename)
        photographs = dict.fromkeys(scale.datasets, Photographs(folder))
        self.contexts = {
            name: Context(name.split("/")[0], plan.study_of(name), scale, CONFIG / "published", photographs)
            for name in plan.exhibits
        }

    def numbers(self, exhibit: str) -> list[Path]:
        """The files that a table or figure is made from."""
        numbers = self.plan.report.numbers_of(self.plan.scale.scale, exhibit)
        for path in numbers:
            if not path.exists():
                self._measure(exhibit, path)
        return numbers

    def _measure(self, exhibit: str, path: Path) -> None:
        plan = self.plan
        match plan.exhibits[exhibit].reads:
            case "runs" | "every_run":
                specs = [(plan.runs | plan.ensembles)[run] for run in self.job_at[path].runs]
                write_json(path, [stored(spec, results_of([spec])) for spec in specs])
            case "correlations" | "judged_pairs":
                lines = agreement_of(plan.scale, plan.phi.judged).query("judge == @path.stem").astype("object")
                write_json(path.with_suffix(".json"), lines.where(lines.notna(), None).to_dict("records"))
                pairs_of(path.stem, plan.phi.judged).to_parquet(path.with_suffix(".parquet"), index=False)
            case "found_positives":
                path.parent.mkdir(parents=True)
                found_positives_of(path.stem, plan.phi.phis_read("found_positives")).to_parquet(path, index=False)
            case "phi_statistics":
                write_json(path, phi_statistics_of(self.corpus, plan.phi.shown_phis) | {"dataset": path.stem})
            case "margins":
                sets, runs = (
                    plan.phi.margins_of_captions(path.stem),
                    plan.comparisons.runs_with_margins(plan.scale.scale),
                )
                write_json(path, margins_of(path.stem, sets, runs))
            case "contrasts":
                pairs = plan.comparisons.paired_runs(plan.scale.scale, exhibit)
                runs = {name for pair in pairs for side in names_read(pair) for name in side}
                write_per_image([per_image_of(run) for run in sorted(runs)], path.with_suffix(".parquet"))
                write_contrasts(
                    pairs, [path.with_suffix(".parquet")], path, phi=plan.scale.evaluation_phi, resamples=100
                )
            case "subspaces" | "subspace_histories" | "subspace_contrasts" | "subspace_projection":
                self._measure_subspaces(exhibit)
            case "corpora":
                self.corpus.write(path)
            case "retrievals":
                write_json(
                    path,
                    retrievals_of(self.corpus, plan.comparisons.retrievals_of_figure(plan.scale.scale, exhibit).runs),
                )

    def _measure_subspaces(self, exhibit: str) -> None:
        """Everything of category retrieval that a table or figure may read."""
        plan, places = self.plan, self.plan.places
        jobs = [plan.subspaces.jobs[job] for job in plan.subspaces.jobs_of(plan.subspaces.runs)]
        for job in (job for job in jobs if not places.subspace_numbers(job.name).exists()):
            frames = subspace_tables_of(plan.subspaces.all_runs[run] for run in job.runs)
            for table, columns in TABLES.items():
                part = "" if table == "metrics" else table
                write_subspace_table(frames[table], places.subspace_numbers(job.name, part), columns)
        scale = plan.scale.scale
        if plan.exhibits[exhibit].reads == "subspace_contrasts":
            name = plan.comparisons.first_with_pairs(scale, exhibit)
            pairs = plan.comparisons.paired_subspaces(scale, name)
            queries = [places.subspace_numbers(job.name, "queries") for job in jobs]
            out = places.subspace_contrasts(scale, name)
            write_subspace_contrasts(pairs, queries, out, resamples=100)
        if plan.exhibits[exhibit].reads == "subspace_projection":
            out = places.subspace_projection(scale, exhibit)
            write_subspace_table([projection_of(24)], out, PROJECTION_COLUMNS)

    def write(self, exhibit: str, stem: Path) -> None:
        """Make a table or figure."""
        write_exhibit(self.plan.exhibits[exhibit], self.contexts[exhibit], self.numbers(exhibit), stem)

    def drawing(self, figure: str) -> Drawing:
        """Collect a figure."""
        return make(self.plan.figures[figure], self.contexts[figure], self.numbers(figure))


@pytest.fixture(scope="session")
def studies(studies):
    """The studies of the repository, and one of contrasts that the tiny scale of the workflow's tests makes too."""
    # One has contrasts by a phi of its own, which the tiny scale does not evaluate by.
    studies = {name: study for name, study in studies.items() if name != "evidence_inference"}
    # Made at one tiny scale, as it is.
    studies = {name: study.model_copy(update={"setup": None, "finding": None}) for name, study in studies.items()}
    studies["meaning"].exhibit("agreement").judges.append("scenes_truth")  # the judge of the tiny scale
    return studies | {"contrasts": read_study(Path(__file__).parents[1] / "workflow" / "studies" / "contrasts.yaml")}


@pytest.fixture(scope="session")
def make_up(studies, tmp_path_factory):
    """Everything that is measured at a scale; equal scales are measured once in a session."""
    known = {}

    def made(scale, **chosen):
        key = scale.model_dump_json() + str(chosen)
        if key not in known:
            known[key] = MadeUp(scale, chosen or studies, tmp_path_factory.mktemp("made_up"))
        return known[key]

    return made


@pytest.fixture(scope="session")
def categories():
    """What a scale says of category retrieval, with the divisions of a study and some things changed."""

    def made(study, documents="made", **changes):
        named = {name for one in study.exhibits for row in one.every_subspace_row() for name in as_list(row.division)}
        known = CATEGORIES["documents"]["made"]
        divisions = {name: division for name, division in known["divisions"].items() if name in named}
        data = {documents: known | {"divisions": divisions or {"printed": known["divisions"]["printed"]}}}
        return CATEGORIES | {"roles": {"wikipedia": documents}, "documents": data} | changes

    return made


@pytest.fixture(scope="session")
def scale(make_scale):
    return make_scale(judges=[{"judge": "scenes_truth", "dataset": "scenes"}], categories=CATEGORIES)


@pytest.fixture(scope="session")
def everything(scale, make_up):
    """Everything that is measured at the tiny scale, for all studies."""
    return make_up(scale)


@pytest.fixture(scope="session")
def everything_written(everything, tmp_path_factory):
    """A folder with all tables and figures of it; not to be changed."""
    folder = tmp_path_factory.mktemp("written")
    for name in everything.plan.exhibits:
        everything.write(name, folder / name)
    return folder


@pytest.fixture(scope="session")
def planned(studies) -> Callable[..., Plan]:
    """The plan of a scale with its studies, or with others, and with all claims."""
    catalogue = read(Catalogue, CONFIG / "datasets.yaml")

    def made(scale: Scale, chosen: dict[str, Study] | None = None) -> Plan:
        chosen = chosen or {name: studies[name] for name in scale.studies}
        claims = claims_of_papers(CONFIG, chosen, scale.scale)
        return Plan(scale, chosen, catalogue, places=Places(Path("results")), config=CONFIG, claims=claims)

    return made


@pytest.fixture(scope="session")
def judged_by(make_scale):
    """A scale of captions that some judges judged: no roles and no runs."""

    def made(*judges, dataset=None, **changes):
        loaders = {judge: JUDGED_LOADER[judge] for judge in judges}
        names = {judge: dataset or {"karpathy": "coco"}.get(loader, loader) for judge, loader in loaders.items()}
        if judges:
            changes["datasets"] = {names[judge]: {"loader": loader} for judge, loader in loaders.items()}
        listed = [{"judge": judge, "dataset": name} for judge, name in names.items()]
        return make_scale(roles={}, features=None, judges=listed, **changes)

    return made


@pytest.fixture(scope="session")
def build(studies):
    """A table, or the drawing of a figure, from made-up results of its runs, which may be changed before."""

    def built(exhibit, scale, change=lambda frame: frame, study=None, **options):
        name, _, which = exhibit.partition("/")
        context = Context(name, study or studies[name], scale, CONFIG / "published")
        spec = context.study.exhibit(which)
        runs = {run.name: run for row in context.rows(spec) for run in row.runs}
        return maker_of(spec)(spec, context, change(results_of(runs.values(), **options)))

    return built


@pytest.fixture(scope="session")
def edited(studies):
    """A study with other settings of one table or figure."""

    def made(exhibit, **settings):
        name, _, which = exhibit.partition("/")
        content = studies[name].model_dump()
        next(one for one in [*content["tables"], *content["figures"]] if one["name"] == which).update(settings)
        return Study.model_validate(content)

    return made


@pytest.fixture(scope="session")
def results_of_runs():
    """The tidy table of made-up results of some runs."""
    return results_of


@pytest.fixture(scope="session")
def agreement():
    """Tidy rows of a scale's judges for some phi."""
    return agreement_of
