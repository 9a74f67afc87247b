"""A small study, scales that play its roles or do not, and a made-up tidy table of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.config import JudgeSpec, Scale, read
from fivesentences.corpus import Corpus, Photographs
from fivesentences.evaluation.agreement import column_of
from fivesentences.evaluation.meaning import FORMAT, meaning
from fivesentences.evaluation.retrievals import FORMAT as RETRIEVALS
from fivesentences.evaluation.retrievals import compare_retrievals
from fivesentences.evaluation.tidy import GALLERY_COLUMNS, RUN_COLUMNS, VALUE_COLUMNS
from fivesentences.plan.asked import judged_phis
from fivesentences.plan.ensembles import EnsembleRun
from fivesentences.plan.rows import runs_of_scale
from fivesentences.plan.runs import RunSpec
from fivesentences.plan.studies import Study
from fivesentences.storage import write_json

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def studies() -> dict[str, Study]:
    """The studies of the repository."""
    return {path.stem: read(Study, path) for path in sorted((ROOT / "config" / "studies").glob("*.yaml"))}


# Enough rows for most tests: made-up results of every cell would take a minute.
KEPT = {
    "model": "vsepp",
    "loss": [
        *("hardest", "all", "knn3", "max", "sum", "knn5", "knn10", "sam_paper_random", "sam_released_random"),
        *("sam_released_closest", "fixed_random"),
    ],
}


def tiny_scale(**changes: Any) -> Scale:
    content: dict[str, Any] = {
        "scale": "tiny",
        "title": "Tiny",
        "roles": {"flickr30k": "scenes"},
        "datasets": {
            "scenes": {"loader": "scenes"},
            "flickr30k": {"loader": "karpathy"},
            "coco": {"loader": "karpathy"},
        },
        "features": {"extractor": "grid_descriptors"},
        "seeds": [0, 1, 2],
        "training": {"epochs": {0.1: 5, 0.25: 4, 1.0: 3}},
        "studies": ["five_sentences", "knn_margin"],
        "keep": [KEPT],
    }
    return Scale.model_validate(content | changes)


@pytest.fixture(scope="session")
def make_scale() -> Callable[..., Scale]:
    """A tiny scale with some keys changed."""
    return tiny_scale


@pytest.fixture
def scale() -> Scale:
    return tiny_scale()


@pytest.fixture
def paper_scale() -> Scale:
    """The paper's own setting of knn_margin: a difference may be taken there."""
    return tiny_scale(
        scale="paper",
        roles={"flickr30k": "flickr30k", "coco": "coco"},
        features={"extractor": "vgg19"},
        training={"epochs": 30},
    )


FURTHER_PHIS = ("tfidf", "bleu_daa", "rouge_daa", "tfidf+bleu_daa+rouge_daa")
METHODS = ("naive", "inverted_softmax", "csls", "assignment")


def results_of(
    runs: Iterable[RunSpec | EnsembleRun], *, phi: str = "cider", images: int = 1000, labels: bool = True
) -> pd.DataFrame:
    """Every value that the evaluation gives, with plausible sizes, different in every run."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        draw = np.random.default_rng(abs(hash_of(run.name)))
        level = 6 + 16 * run.fraction + 4 * draw.random() + (3 if run.loss.sam is not None else 0)
        base = {"run": run.name, "scale": "tiny", "dataset": run.dataset, "model": model_of(run)}
        base |= {"loss": run.loss.folder, "fraction": run.fraction, "seed": run.seed, "features": run.features.stem}
        base |= {
            "main_phi": phi,
            "labels": labels,
            "split": "test",
            "images": images,
            "captions": 5 * images,
            "tie_rule": "equal scores are ordered by index, lower first",
        }

        def add(metric: str, direction: str, value: float, base: dict[str, Any] = base, **more: Any) -> None:
            empty = {"inference": "naive", "formula": "", "ground_truth": "", "m": 0, "style": "", "phi": ""}
            rows.append(base | empty | more | {"metric": metric, "direction": direction, "value": value})

        def noisy(value: float, draw: np.random.Generator = draw) -> float:
            return value + 0.6 * float(draw.standard_normal())

        recalls = []
        for direction, shift in (("i2t", 3.0), ("t2i", 0.0)):
            for k, factor in ((1, 1.0), (5, 2.2), (10, 2.9)):
                recalls.append(min(noisy(factor * (level + shift)), 99.0))
                add(f"R@{k}", direction, recalls[-1])
            add("Med r", direction, float(round(noisy(12.0))))
            add("Mean r", direction, noisy(55.0))
        add("Rsum", "", sum(recalls))
        for ground_truth, factor in (("kept", 1.0), ("removed", 0.6)):
            for formula in ("released", "paper"):
                scores = []
                for direction in ("i2t", "t2i"):
                    for k, more in ((1, 1.0), (5, 1.25), (10, 1.35)):
                        scores.append(noisy(factor * more * (level + 8)))
                        add(f"N@{k}", direction, scores[-1], formula=formula, ground_truth=ground_truth, phi=phi)
                add("Nsum", "", sum(scores), formula=formula, ground_truth=ground_truth, phi=phi)
        for direction in ("i2t", "t2i"):
            for m in (1, 2, 3, 4, 5):
                for style in ("recall", "vse_recall"):
                    value = noisy(level * (1.15 - 0.09 * m) if style == "recall" else level * (0.8 + 0.32 * m**0.7))
                    more = {"formula": "released", "ground_truth": "removed", "m": m, "style": style, "phi": phi}
                    add("SR@5", direction, value, **more)
            for name in (phi, *FURTHER_PHIS):
                for ties in ("index", "average"):
                    add("ASP", direction, noisy(40 + level / 5), formula=ties, phi=name)
            if labels:
                add("PMRP", direction, noisy(20 + level / 5))
            for method in METHODS:
                for place, share in enumerate((79.2, 4.1, 16.7, 12.0, 2.0)):
                    add(f"hubs {('0', '1', '>=2', '>=5', '>=10')[place]}", direction, noisy(share), inference=method)
                for what, size in (("max", 51.0), ("skewness", 4.0), ("Gini", 0.8)):
                    add(f"hubs {what}", direction, noisy(size), inference=method)
                if method != "naive":
                    for k in (1, 5, 10):
                        add(f"R@{k}", direction, noisy(10 * k**0.5), inference=method)
                    add("Med r", direction, float(round(noisy(11.0))), inference=method)
                    add("Mean r", direction, noisy(50.0), inference=method)
        for method in METHODS[1:]:
            add("Rsum", "", noisy(150.0), inference=method)
            for ground_truth in ("kept", "removed"):
                for formula in ("released", "paper"):
                    more = {"formula": formula, "ground_truth": ground_truth, "phi": phi, "inference": method}
                    add("Nsum", "", noisy(120.0), **more)
    return pd.DataFrame(rows)


def model_of(run: RunSpec | EnsembleRun) -> str:
    return run.ensemble if isinstance(run, EnsembleRun) else run.model.name


def hash_of(text: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(text.encode()[-8:], "little") ^ sum(text.encode()) * 7919


@pytest.fixture(scope="session")
def made_up() -> Callable[..., pd.DataFrame]:
    """A made-up tidy table of the given runs."""
    return results_of


@pytest.fixture
def frame(studies: dict[str, Study], scale: Scale) -> pd.DataFrame:
    return results_of(runs_of_scale(studies, scale).values())


@pytest.fixture(scope="session")
def published(root: Path) -> Path:
    return root / "config" / "published"


@pytest.fixture(scope="session")
def write_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Path]]:
    """Made-up results as the evaluation's files, one ``.json`` a run, with made-up hubs by every inference method."""

    def written(runs: Iterable[RunSpec], frame: pd.DataFrame) -> list[Path]:
        folder, paths = tmp_path_factory.mktemp("runs"), []
        about = [*RUN_COLUMNS, *GALLERY_COLUMNS]
        for run in runs:
            of_run = frame[frame["run"] == run.name]
            content: dict[str, Any] = {name: of_run[name].tolist()[0] for name in about}
            draw = np.random.default_rng(abs(hash_of(run.name)))
            content["hubs"] = {
                method: {
                    side: np.bincount(np.bincount(draw.integers(items, size=queries), minlength=items)).tolist()
                    for side, items, queries in (("t2i", 40, 200), ("i2t", 200, 40))
                }
                for method in METHODS
            }
            content["spec"] = run.model_dump(mode="json")
            content["values"] = of_run[VALUE_COLUMNS].to_dict("records")
            paths.append(folder / f"{len(paths)}.json")
            write_json(paths[-1], content)
        return paths

    return written


@pytest.fixture(scope="session")
def retrievals_file(small_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Retrievals of two made-up models over the small corpus, as the evaluation's file."""
    draw = np.random.default_rng(11)
    shape = (small_corpus.n_images, small_corpus.n_captions)
    own = np.zeros(shape)
    own[small_corpus.image_of_caption, np.arange(shape[1])] = 1
    similarities = {name: draw.normal(size=shape) + own for name in ("first", "second")}
    phi = draw.gamma(0.4, 0.3, shape[::-1]) + own.T
    path = tmp_path_factory.mktemp("retrievals") / "figure1.json"
    found = compare_retrievals(small_corpus, similarities, phi, k=3)
    write_json(path, found | {"phi": "cider", "format": RETRIEVALS})
    return path


# What each judge's scores can be.
SCORES = {
    "cxc": np.arange(0, 5.01, 0.2),
    "flickr8k_expert": np.arange(3, 13) / 3,
    "flickr8k_crowdflower": np.array([0, 1 / 3, 2 / 3, 1]),
    "scenes_truth": np.array([0, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1]),
}


def judged_pairs(spec: JudgeSpec, asked: Iterable[tuple[str, str]], pairs: int = 400) -> pd.DataFrame:
    """Made-up pairs of a judge: own captions score higher, and every phi follows the judge more or less."""
    draw = np.random.default_rng(hash_of(spec.judge) % 1000)
    scores = SCORES[spec.judge]
    own = np.arange(pairs) % 3 == 0
    rank = np.clip(draw.beta(1, 2, pairs) + 0.5 * own, 0, 1)
    human = scores[(rank * (len(scores) - 1)).round().astype(int)]
    frame = pd.DataFrame(
        {"caption_id": [f"c{n}" for n in range(pairs)], "image_id": [f"i{n // 8}" for n in range(pairs)]}
    ).assign(human=human, own=own)
    for phi, references in asked:
        if phi == "binary":
            frame[column_of(phi, references)] = own.astype(float)
            continue
        steady = np.random.default_rng(abs(hash_of(phi)) % 1000)
        noise = 0.25 * steady.standard_normal(pairs)
        value = np.clip(rank * (0.6 + 0.4 * own * (references == "kept")) + noise, 0, None)
        frame[column_of(phi, references)] = value
    return frame


def agreement_rows(
    studies: dict[str, Study], scale: Scale, *, tuples: str = "SPICE's parser", pairs: int = 400
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Tidy rows of all judges of a scale as the evaluation writes them, and the pairs that they are of."""
    asked = judged_phis(studies, scale)
    lines: list[dict[str, Any]] = []
    frames = {}
    for spec in scale.judges:
        frame = frames[spec.judge] = judged_pairs(spec, asked, pairs)
        for phi, references in asked:
            for which, part in (("all", frame), ("other", frame[~frame["own"]])):
                values = part[column_of(phi, references)]
                for statistic, factor in (("pearson", 1.0), ("spearman", 0.99), ("kendall_b", 0.8), ("kendall_c", 0.7)):
                    constant = values.nunique() == 1
                    value = None if constant else factor * float(np.corrcoef(values, part["human"])[0, 1])
                    lines.append(
                        {
                            "judge": spec.judge,
                            "dataset": spec.dataset,
                            "split": "test",
                            "phi": phi,
                            "references": references,
                            "pairs": which,
                            "statistic": statistic,
                            "value": value,
                            "low": None if value is None else value - 0.021,
                            "high": None if value is None else value + 0.019,
                            "n_pairs": len(part),
                            "n_images": part["image_id"].nunique(),
                            "left_out": 0,
                            "interval": "95% percentile interval of 1,000 bootstrap resamples of 50 images"
                            if value is not None
                            else "none: the correlation of a constant is not defined",
                            "idf_corpus": f"the captions of the 50 images of {spec.dataset}/test"
                            if phi.startswith(("cider", "tfidf"))
                            else "",
                            "tuples": tuples if phi == "spice" else "",
                            "human": f"made-up judgements, {SCORES[spec.judge][0]:g} to {SCORES[spec.judge][-1]:g}",
                        }
                    )
    return pd.DataFrame(lines), frames


@pytest.fixture(scope="session")
def make_agreement() -> Callable[..., tuple[pd.DataFrame, dict[str, pd.DataFrame]]]:
    """Made-up tidy rows of a scale's judges, and their pairs."""
    return agreement_rows


@pytest.fixture
def judged_scale() -> Scale:
    """A scale of captions that people judged, as print's Table 1: no roles and no runs."""
    return tiny_scale(
        scale="captions",
        roles={},
        features=None,
        judges=[{"judge": "cxc", "dataset": "coco"}],
        studies=["five_sentences"],
    )


@pytest.fixture
def agreement(studies: dict[str, Study], judged_scale: Scale) -> pd.DataFrame:
    return agreement_rows(studies, judged_scale)[0]


@pytest.fixture(scope="session")
def write_agreement(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Path]]:
    """Made-up agreement as the evaluation's files: a ``.json`` a judge, its ``.parquet`` beside it."""

    def written(studies: dict[str, Study], scale: Scale, **options: Any) -> list[Path]:
        rows, pairs = agreement_rows(studies, scale, **options)
        paths, folder = [], tmp_path_factory.mktemp("agreement")
        for judge, frame in pairs.items():
            paths.append(folder / f"{judge}.json")
            numbers = rows[rows["judge"] == judge].astype("object")
            write_json(paths[-1], numbers.where(numbers.notna(), None).to_dict("records"))
            frame.to_parquet(paths[-1].with_suffix(".parquet"), index=False)
        return paths

    return written


@pytest.fixture(scope="session")
def small_corpus() -> Corpus:
    """Twelve images with two to four captions of few words, some of them twice, and a photograph's name each."""
    draw = np.random.default_rng(4)
    words = ("a", "dog", "cat", "boy", "runs", "sits", "on", "the", "grass", "beach", "with", "red", "ball")
    rows = [
        {
            "image_id": f"i{image}",
            "filename": f"i{image}.png",
            "caption_id": f"i{image}#{number}",
            "caption": " ".join(draw.choice(words, 4 + int(draw.integers(5)))) + " .",
            "split": "test",
            "category": None,
        }
        for image in range(12)
        for number in range(2 + image % 3)
    ]
    rows[5]["caption"] = rows[11]["caption"]
    return Corpus("scenes", pd.DataFrame(rows))


@pytest.fixture(scope="session")
def meaning_file(small_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """What some phi (CIDEr of other tokens, under their names) say of the small corpus, as the evaluation's file."""

    def written(phis: Iterable[str]) -> Path:
        draw = np.random.default_rng(7)
        owner = small_corpus.image_of_caption
        matrices, left_out = {}, {}
        for phi in phis:
            matrix = draw.gamma(0.4, 0.3, (small_corpus.n_captions, small_corpus.n_images)).astype(np.float32)
            own = (np.arange(len(owner)), owner)
            left_out[phi] = matrix[own] * 2
            matrix[own] += 1
            matrices[phi] = matrix
        found = meaning(small_corpus, matrices, left_out)
        for phi, numbers in found["phis"].items():
            source = "the generator of the scenes, not parsed" if phi == "spice" else ""
            numbers |= {"tokenisation": "", "tuples": source}
        path = tmp_path_factory.mktemp("meaning") / "scenes.json"
        write_json(path, found | {"format": FORMAT})
        return path

    return written


@pytest.fixture(scope="session")
def photographs(small_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Photographs:
    """A picture of one colour for each image of the small corpus."""
    folder = tmp_path_factory.mktemp("photographs")
    for index, filename in enumerate(small_corpus.images["filename"]):
        Image.new("RGB", (60 + 10 * (index % 3), 50), (20 * index, 80, 120)).save(folder / filename)
    return Photographs(folder)
