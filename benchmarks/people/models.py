"""Models of different kinds on Flickr8k's test split, for decide.py: trained, fitted, re-scored, ensembles.

Closed forms take a second each, so that there are many: ridge regression from images to captions' vectors, canonical
correlations, and captions of the nearest training images; vectors of captions are WordLlama's or tf-idf's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from fivesentences.corpus import Corpus
from fivesentences.retrieval import rescore
from fivesentences.semantics.sentence_encoders import encode_captions

FEATURES = "tf_efficientnet_lite0-global"
METHODS, FRACTIONS, DIMENSIONS = ("ridge", "cca"), (0.03, 0.1, 0.25, 1.0), (16, 64, 200)
SEEDS = {0.03: 3, 0.1: 3}  # of larger parts one
NEAREST = (1, 5, 25)
ENSEMBLES = 12


@dataclass(frozen=True, eq=False)
class Model:
    """A similarity of the test split.

    Attributes:
        name: Its name.
        kind: vsepp, ridge and so on.
        family: The training or fit that it comes from, without seed and re-scoring.
        i2t: ``[images, captions]`` for image queries.
        t2i: The same for caption queries; usually the same matrix.
        words: Whether word vectors, by which some metrics compare captions, made it or its loss.
        reading: How it was re-scored; "naive" if it was not.
        banks: By direction, what QB-Norm and dual banks read.
    """

    name: str
    kind: str
    family: str
    i2t: NDArray[np.float32]
    t2i: NDArray[np.float32]
    words: bool = False
    reading: str = "naive"
    banks: dict[str, dict[str, NDArray]] = field(default_factory=dict)


def trained(results: Path) -> Iterator[Model]:
    """Yield finished runs below a folder of results."""
    for done in sorted((results / "training" / "flickr8k").rglob("finished.json")):
        folder = done.parent
        run = yaml.safe_load((folder / "run.yaml").read_text(encoding="utf-8"))["run"]
        family = str(folder.parent.relative_to(results / "training" / "flickr8k"))
        matrix = np.load(folder / "similarity_test.npy")
        kind = str(run["model"]["name"])
        yield Model(f"{family}/{folder.name}", kind, family, matrix, matrix, "wordllama" in family)


def unit(vectors: NDArray) -> NDArray:
    """Scale rows to length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


class ClosedForms:
    """Fits closed forms on parts of the training split."""

    def __init__(self, results: Path):
        corpus = Corpus.read(results / "corpus" / "flickr8k.parquet")
        features = np.load(results / "features" / "flickr8k" / f"{FEATURES}.npy", mmap_mode="r")
        split = corpus.images["split"].to_numpy()
        self.images = {name: np.asarray(features[np.flatnonzero(split == name)]) for name in ("train", "test")}
        self.texts = {name: corpus.split(name).captions for name in ("train", "test")}
        self.words = {name: encode_captions("wordllama", of).array for name, of in self.texts.items()}

    def vectors(self, of: str, rows: NDArray) -> tuple[NDArray, NDArray]:
        """Return vectors of some training captions and of all test captions."""
        if of == "words":
            return self.words["train"][rows], self.words["test"]
        tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2)
        train = tfidf.fit_transform([self.texts["train"][row] for row in rows])
        reduced = TruncatedSVD(min(256, train.shape[1] - 1), random_state=0).fit(train)
        return reduced.transform(train), reduced.transform(tfidf.transform(self.texts["test"]))

    def fits(self) -> Iterator[Model]:
        """Yield every closed form; of a tenth and less with three seeds, which draw the images."""
        for of, fraction, wrong in itertools.product(("words", "tfidf"), FRACTIONS, (0.0, 0.4)):
            if wrong and fraction != 0.1:
                continue
            for seed in range(1 if wrong else SEEDS.get(fraction, 1)):
                rng = np.random.default_rng(seed)
                images = len(self.images["train"])
                some = np.sort(rng.choice(images, int(images * fraction), replace=False))
                yield from self._of_part(of, some, fraction, wrong, seed, rng)

    def _of_part(
        self, of: str, some: NDArray, fraction: float, wrong: float, seed: int, rng: np.random.Generator
    ) -> Iterator[Model]:
        rows = (5 * some[:, None] + np.arange(5)).ravel()
        owner = np.repeat(np.arange(len(some)), 5)
        if wrong:
            moved = rng.random(len(rows)) < wrong
            rows[moved] = rng.permutation(rows[moved])
        train, test = self.vectors(of, rows)
        mean, spread = self.images["train"][some].mean(axis=0), self.images["train"][some].std(axis=0) + 1e-6
        x, x_test = ((one - mean) / spread for one in (self.images["train"][some], self.images["test"]))
        basis = np.linalg.svd(x, full_matrices=False)[2][:256].T
        x, x_test = x @ basis, x_test @ basis
        centre = train.mean(axis=0)
        t, t_test = train - centre, test - centre
        about = f"{of},fraction={fraction:g}" + (f",wrong={wrong:g}" if wrong else "")
        x_all = x[owner]
        within = x_all.T @ x_all / len(x_all)
        across = x_all.T @ t / len(t)
        texts = t.T @ t / len(t)
        ridge = within + 0.3 * np.trace(within) / len(within) * np.eye(len(within))
        shrunk = texts + 0.3 * np.trace(texts) / len(texts) * np.eye(len(texts))
        main = np.linalg.svd(t, full_matrices=False)[2]
        root_x, root_t = (_inverse_root(one) for one in (ridge, shrunk))
        left, strength, right = np.linalg.svd(root_x @ across @ root_t, full_matrices=False)
        for method, d in itertools.product(METHODS, DIMENSIONS):
            if d > 64 and fraction < 0.1:
                continue
            if method == "ridge":
                to_x, to_t = np.linalg.solve(ridge, across) @ main[:d].T, main[:d].T
            else:
                to_x, to_t = root_x @ left[:, :d] * strength[:d], root_t @ right.T[:, :d] * strength[:d]
            yield self._model(
                method,
                f"{method},{about},d={d}",
                seed,
                of == "words",
                (x @ to_x, x_test @ to_x),
                (t @ to_t, t_test @ to_t),
            )
        near = unit(x_test) @ unit(x).T
        for k in NEAREST if not wrong else ():
            closest = np.argsort(-near, axis=1)[:, :k]
            of_image = unit(t).reshape(len(some), 5, -1).mean(axis=1)
            found, again = of_image[closest].mean(axis=1), of_image
            yield self._model("nearest", f"nearest,{about},k={k}", seed, of == "words", (again, found), (t, t_test))

    @staticmethod
    def _model(
        kind: str, family: str, seed: int, words: bool, images: tuple[NDArray, NDArray], texts: tuple[NDArray, NDArray]
    ) -> Model:
        (x, x_test), (t, t_test) = (tuple(unit(one).astype(np.float32) for one in pair) for pair in (images, texts))
        matrix = x_test @ t_test.T
        one = t[::5]  # a caption of each training image
        banks = {
            "i2t": {"bank": x @ t_test.T, "gallery_bank": one @ t_test.T},
            "t2i": {"bank": one @ x_test.T, "gallery_bank": x @ x_test.T},
        }
        return Model(f"{family}/seed={seed}", kind, family, matrix, matrix, words, banks=banks)


def _inverse_root(matrix: NDArray) -> NDArray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(np.maximum(values, 1e-9))) @ vectors.T


def rescored(model: Model, method: str) -> Model:
    """Return a model whose similarity is re-scored."""
    sides: dict[str, Any] = {}
    for side in ("i2t", "t2i"):
        banks = model.banks.get(side, {})
        more = {"qb_norm": ["bank"], "dual_bank": ["bank", "gallery_bank"]}.get(method, [])
        sides[side] = rescore(getattr(model, side), method, side, **{name: banks[name] for name in more})
    return replace(model, name=f"{model.name},{method}", reading=method, banks={}, **sides)


def with_rescored(models: Iterable[Model]) -> Iterator[Model]:
    """Yield models as they are, and the first of each family re-scored by one method."""
    seen: set[str] = set()
    for model in models:
        yield model
        if model.family in seen:
            continue
        seen.add(model.family)
        for at, method in enumerate(("csls", "inverted_softmax", "qb_norm", "dual_bank")):
            if len(seen) % 4 == at and (model.banks or at < 2):
                yield rescored(model, method)


def every_model(results: Path) -> Iterator[Model]:
    """Yield all models: as they are, the first of each family re-scored by one method, and ensembles of two."""
    pool: dict[str, Model] = {}
    for model in with_rescored(itertools.chain(ClosedForms(results).fits(), trained(results))):
        yield model
        pool.setdefault(model.family, replace(model, banks={}))
    members = list(pool.values())
    rng = np.random.default_rng(0)
    for first, second in (rng.choice(len(members), 2, replace=False) for _ in range(ENSEMBLES)):
        a, b = members[first], members[second]
        matrix = (a.i2t - a.i2t.mean()) / a.i2t.std() + (b.i2t - b.i2t.mean()) / b.i2t.std()
        name = f"{a.name}+{b.name}"
        yield Model(name, "ensemble", name, matrix, matrix, a.words or b.words)
