"""Runs' similarities of the test split -> every number of them, with everything needed to read them correctly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import new_npy
from fivesentences.choices import each_once
from fivesentences.corpus import Corpus
from fivesentences.corpus.labels import read_labels
from fivesentences.errors import InputError
from fivesentences.evaluation.matrix_files import read_matrix, read_similarity
from fivesentences.evaluation.protocols import Protocol, ProtocolScorer
from fivesentences.metrics import TIE_RULE, MetricValue, metric_of
from fivesentences.metrics.asp import mean_phi
from fivesentences.metrics.result import sums_of
from fivesentences.reproduction.evaluation.bank_files import BanksOfRun, read_banks
from fivesentences.reproduction.evaluation.tidy import (
    contributions,
    frame_of_run,
    read_as,
    read_recorded,
    write_per_image,
)
from fivesentences.retrieval import hubness
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.gallery import Gallery
from fivesentences.retrieval.rescoring import Inference
from fivesentences.seals import write_record
from fivesentences.semantics import read_phi, read_phi_note
from fivesentences.storage import replacing, together, write_json
from fivesentences.training.spec import AS_GIVEN, CHANCE, EnsembleRun, GivenRun, Scored, method_and_folds

CUTOFFS = (1, 5, 10)
RELEVANT = (1, 2, 3, 4, 5)  # m of semantic recall; Figure 3 of Five Sentences draws it
ASP_TIES = ("index", "average")
Hubs = dict[str, dict[str, list[int]]]
PerImage = dict[tuple[str, str], dict[str, NDArray[np.float64]]]


class RunValue(MetricValue):
    """One number of a run; ``inference`` names the method that its similarity was read with."""

    inference: str


@dataclass(frozen=True)
class Evaluated:
    """A run or ensemble to be evaluated.

    Attributes:
        spec: Its settings.
        similarity: ``[images, captions]`` of the split, as ``.npy``.
        inferences: Ways to read the similarity, each one of ``fivesentences.retrieval.INFERENCE``, perhaps in folds;
            see ``training.spec``.
    """

    spec: Scored
    similarity: Path
    inferences: Sequence[str] = ("naive",)


class RunEvaluator:
    """Every number of runs of one dataset; what depends on phi and labels alone is computed once for all of them.

    Args:
        phis: ``[captions, images]`` by name. The first is the main one: the others have NCS and ASP, but no semantic
            recall, and do not score re-scored similarities unless they are among ``further``.
        image_of_caption: ``[captions]``; default equal image-major blocks.
        labels: ``[images, labels]``, true where a picture shows a thing; with them there is PMRP.
        further: Phis beside the main one that score re-scored similarities, and have contributions of images, too.

    Attributes:
        notes: Sentences on what the numbers of the last call hang on, by inference method.
    """

    def __init__(
        self,
        phis: Mapping[str, ArrayLike],
        image_of_caption: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        further: Sequence[str] = (),
    ):
        self._further = each_once(further)
        self._phis, self._image_of_caption, self._labels = dict(phis), image_of_caption, labels
        self._main = next(iter(phis))
        self.notes: list[str] = []
        self._gallery: Gallery | None = None
        self._scorers: dict[tuple[int, int], list[ProtocolScorer]] = {}
        self._chance: dict[tuple[int, int], list[MetricValue]] = {}

    def __call__(
        self,
        similarity: ArrayLike,
        inferences: Sequence[str] = ("naive",),
        name: str | Path = "similarity",
        banks: BanksOfRun | None = None,
    ) -> tuple[list[RunValue], Hubs, PerImage]:
        """Compute every number of one similarity in both directions, as it is and re-scored.

        Args:
            similarity: ``[images, captions]``, larger is more similar.
            inferences: Ways to read it: names of ``fivesentences.retrieval.INFERENCE``, perhaps in folds.
            name: Name of the similarity in messages.
            banks: Banks of training queries, for the inference methods that read them.

        Returns:
            Every number, with the sums over directions, and as the method ``CHANCE`` those of a random ranking; by
            inference method and direction how many items are the nearest of no query, of one, of two ...; and by
            inference method and phi, ``[images]`` contributions to Rsum and Nsum. Folds have no counts of hubs and no
            contributions of images.

        Raises:
            InputError: If shapes disagree, a value is not finite, an inference method is unknown, or there are fewer
                images than folds.
        """
        if self._gallery is None:
            gallery = self._gallery = Gallery.of(similarity, self._image_of_caption, self._phis, name=name)
        else:
            gallery = self._gallery.with_similarity(similarity, name)
        values: list[RunValue] = []
        hubs: Hubs = {}
        per_image: PerImage = {}
        self.notes = []

        def count_hubs(read: Gallery, directions: Sequence[Direction]) -> None:
            for direction in directions:
                hubs.setdefault(method, {})[direction] = np.bincount(hubness(read, direction).counts).tolist()

        for reading in each_once(inferences):
            method, folds, read_folds = method_and_folds(reading)
            whole, naive = folds == 1, method == "naive"
            further = tuple(self._phis) if naive else self._further
            of_main, *of_others = self._scorers_of(gallery, folds, read_folds)
            how = Inference.of(method, banks)
            found = of_main(gallery, inference=how, queries=whole, visit=count_hubs if whole else None)
            self.notes += [f"{reading}: {note}" for note in found.about["notes"]]
            numbers = [value for value in found.values if value["direction"]]
            queries = list(found.queries)
            for scorer in of_others if further else ():
                of_phi = scorer(gallery, inference=how, queries=whole and bool(self._further))
                numbers += [value for value in of_phi.values if value["phi"] in further and value["direction"]]
                queries += [one for one in of_phi.queries if one["phi"]]
            values += [RunValue(**value, inference=reading) for value in numbers]
            if naive:
                by_chance = reading.replace(method, CHANCE)
                values += [RunValue(**value, inference=by_chance) for value in self._by_chance(folds, read_folds)]
            for phi in (self._main, *self._further) if whole else ():
                per_image[method, phi] = contributions(queries, gallery.image_of_caption, phi)
        # Sums of all readings come last.
        reported = [value for value in [*values, *sums_of(values)] if metric_of(value["metric"]).of_runs]
        return reported, hubs, per_image

    def _by_chance(self, folds: int, first: int) -> list[MetricValue]:
        """Return what a random ranking reaches, by direction; it depends on the galleries alone."""
        if (folds, first) not in self._chance:
            of_main, *of_others = self._scorers[folds, first]
            found = of_main.by_chance().values
            found += [value for scorer in of_others for value in scorer.by_chance().values if value["phi"]]
            self._chance[folds, first] = [value for value in found if value["direction"]]
        return self._chance[folds, first]

    def _scorers_of(self, gallery: Gallery, folds: int, first: int) -> list[ProtocolScorer]:
        """Return what scores by the main phi and, if there are any, by the others, the ``first`` of some folds.

        Raises:
            InputError: If there are fewer images than folds.
        """
        if (folds, first) not in self._scorers:
            if gallery.n_images < folds:
                raise InputError(f"{gallery.name} has {gallery.n_images} images, which are not {folds} folds.")
            size = gallery.n_images // folds  # a remainder is in none
            cut = Protocol(f"{folds} folds", *gallery.shape, size, first, f"mean of {first} of {folds} folds")
            options: dict[str, Any] = {"ks": CUTOFFS, "asp_ties": ASP_TIES, "formulas": ("released", "paper")}
            of_main: dict[str, Any] = {
                "ms": RELEVANT,
                "styles": ("recall", "vse_recall"),
                "hubness": True,
                "labels": self._labels,
            }
            others = {name: phi for name, phi in gallery.phis.items() if name != self._main}
            main = replace(gallery, phis={self._main: gallery.phis[self._main]})
            self._scorers[folds, first] = [ProtocolScorer(main, cut, **of_main, **options)]
            if others:
                self._scorers[folds, first].append(ProtocolScorer(replace(gallery, phis=others), cut, ms=(), **options))
        return self._scorers[folds, first]


def evaluate_runs(
    runs: Sequence[Evaluated],
    *,
    corpus: Path,
    phis: Sequence[str],
    matrices: Mapping[str, Path],
    out: Path,
    per_image: Path | None = None,
    further_phis: Sequence[str] = (),
    labels: Path | None = None,
    banks: Path | None = None,
    split: str = "test",
) -> None:
    """Write every number of runs or ensembles of one dataset as one JSON file: a list with one entry per run.

    An entry says what the run is, and its values with their protocol, gallery, tie rule and phi. Corpus, phi and
    labels are read once.

    Args:
        runs: The runs and ensembles.
        corpus: The corpus they were trained on, as parquet.
        phis: The phis that they are evaluated with, the main one first; ``a+b`` is the mean of the matrices ``a`` and
            ``b``.
        matrices: ``.npy`` of each phi by name, ``[captions, images]`` of the same split, with its note beside it.
        out: The JSON file.
        per_image: Where to write what each image contributes to Rsum and Nsum, as parquet: one row per run, reading,
            phi and image; see ``contributions`` and ``read_as``.
        further_phis: Phis beside the main one that score re-scored similarities too.
        labels: ``labels.parquet`` of the dataset, if it has labels.
        banks: Banks of the runs that are read by a method that needs them; see ``score_banks``.
        split: Split whose images and captions are the gallery.

    Raises:
        InputError: If phi was made of other captions, a similarity does not fit the split, or an image has no labels.
    """
    gallery = Corpus.read(corpus).split(split)
    read = {name: read_phi(path, gallery.captions) for name, path in matrices.items()}
    evaluator = RunEvaluator(
        {name: read[name] if name in read else mean_phi([read[one] for one in name.split("+")]) for name in phis},
        gallery.image_of_caption,
        read_labels(labels, list(gallery.images["image_id"])) if labels is not None else None,
        further_phis,
    )
    notes = {name: read_phi_note(path) for name, path in matrices.items()}
    # Without the checksum, which the last bits decide: results of two machines stay comparable.
    made_of = {name: {key: said for key, said in note.items() if key != "sha256"} for name, note in notes.items()}
    contents, frames, of_runs = [], [], {} if banks is None else read_banks(banks)
    image_ids = gallery.images["image_id"].astype(str).tolist()
    gallery_of_all = {
        "main_phi": phis[0], "phi_made_of": made_of, "protocol": "the whole split is one gallery", "split": split,
        "images": gallery.n_images, "captions": gallery.n_captions, "tie_rule": TIE_RULE, "labels": labels is not None,
    }  # fmt: skip
    for run in runs:
        matrix = read_similarity(run.similarity, gallery)
        values, hubs, of_images = evaluator(matrix, run.inferences, run.similarity, of_runs.get(run.spec.name))
        epoch, dev = kept_epoch(run.similarity.parent)
        about = {**_about(run.spec), "kept_epoch": epoch, "dev_Rsum": dev}
        for note in evaluator.notes:
            print(f"{run.spec.name}: {note}")
        contents.append({**about, **gallery_of_all, "notes": evaluator.notes, "values": values, "hubs": hubs})
        for (method, phi), parts in of_images.items():
            name = read_as(run.spec.name, method, "" if phi == phis[0] else phi)
            frames.append(frame_of_run(name, image_ids, parts))
    if per_image is not None:
        write_per_image(frames, per_image)
    write_json(out, contents)


def _about(spec: Scored) -> dict[str, Any]:
    """Describe a run, an ensemble or a matrix of others."""
    about: dict[str, Any] = {"run": spec.name, "dataset": spec.dataset, "spec": spec.model_dump(mode="json")}
    if isinstance(spec, GivenRun):
        model, loss, features = f"{spec.given},matrix_of_others", AS_GIVEN, spec.features or ""
        about |= {"model": model, "ensemble_of": [], "loss": loss, "fraction": spec.fraction, "seed": spec.seed}
        return about | {"features": features}
    model, members = (spec.ensemble, spec.members) if isinstance(spec, EnsembleRun) else (spec.model.folder, [])
    return about | {
        "model": model,
        "ensemble_of": [member.name for member in members],
        "loss": spec.loss.folder,
        "fraction": spec.fraction,
        "seed": spec.seed,
        "features": spec.features.stem,
    }


def kept_epoch(folder: Path) -> tuple[int | None, float | None]:
    """Return the epoch whose weights a run kept, and its dev Rsum; None without a history, as for an ensemble.

    Raises:
        InputError: If the history does not say which epoch is the best.
    """
    history = folder / "history.csv"
    if not history.is_file():
        return None, None
    lines = read_recorded(history, {})
    best = lines[lines["best"] == 1] if "best" in lines else lines[:0]
    if len(best) != 1:
        raise InputError(f"{len(best)} epochs are marked as the best", where=history, cure="train the run again")
    return int(best["epoch"].item()), float(best["dev_Rsum"].item())


def write_mean_similarity(similarities: Sequence[Path], out: Path) -> None:
    """Write the mean of several similarities: the similarity of an ensemble, such as SGRAF of SGR and SAF.

    Args:
        similarities: ``[images, captions]`` of each member, as ``.npy``; read piece by piece.
        out: Where to write it, float32 ``.npy``.

    Raises:
        InputError: If their shapes differ.
    """
    matrices = [read_matrix(path) for path in similarities]
    for path, matrix in zip(similarities, matrices, strict=True):
        if matrix.shape != matrices[0].shape:
            raise InputError(
                f"{path} is {list(matrix.shape)}, but {similarities[0]} is {list(matrices[0].shape)}",
                cure="train the members of an ensemble on the same images and captions",
            )
    with together(), replacing(out) as temporary:
        mean = new_npy(temporary, np.float32, matrices[0].shape)
        for rows in (slice(start, start + 256) for start in range(0, len(mean), 256)):
            mean[rows] = np.mean([matrix[rows] for matrix in matrices], axis=0, dtype=np.float64)
        mean.flush()
        write_record(out.parent, {out.name: temporary})
