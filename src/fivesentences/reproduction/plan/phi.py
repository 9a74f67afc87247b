"""Phi of a plan: which matrices are made, and what each of them is made from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError, did_you_mean
from fivesentences.losses import LossSpec
from fivesentences.reproduction.config.scales import RIGHT
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.reproduction.plan.places import as_text, captions_of, part_of
from fivesentences.reproduction.plan.runs import Runs
from fivesentences.semantics.registry import PACKAGED, is_drawn, is_given, model_of, needs_tuples
from fivesentences.training.spec import RunSpec


class Phi:
    """Every phi of a scale.

    Attributes:
        single_phis: Matrices that runs are evaluated with, by themselves or as a part of a mean.
        shown_phis, matrices: Every phi whose whole matrix a figure shows, or that the scale makes for any reason.
        judged: Every (phi, references) whose agreement with judges is shown.

    Raises:
        InputError: If a phi names an unknown model.
    """

    def __init__(self, shown: Runs, datasets: Datasets):
        self.scale, self.places, self.datasets = shown.scale, shown.places, datasets
        self.studies, self.exhibits, self.runs = shown.studies, shown.exhibits, shown.all_runs
        scale = shown.scale
        self.single_phis = list(dict.fromkeys(one for phi in shown.phis for one in phi.split("+")))
        self.shown_phis = self.phis_read()
        evaluation = self.single_phis if scale.roles else []
        self.matrices = list(dict.fromkeys([*evaluation, *self.shown_phis, *scale.matrices]))
        asked = dict.fromkeys(pair for exhibit in self.exhibits.values() for pair in exhibit.judged())
        self.judged = [(phi, references) for phi, references in asked if scale.shows(phi)]
        of_losses = {phi for run in self.runs.values() for phi in run.loss.phis}
        for phi in (*self.matrices, *(phi for phi, _ in self.judged), *of_losses):
            if (model := model_of(phi)) is not None:
                self.sentence_encoder(model)
            elif is_given(phi):
                self._files_of_scores(phi)
        for phi, _ in self.judged:
            if is_given(phi):
                said = f"a table of agreement asks for '{phi}', which is a file of scores and computes none"
                raise InputError(
                    said, where="judged_phis", cure="give these scores as another matrix, or remove the row"
                )

    def phis_read(self, *sources: str) -> list[str]:
        """Return every phi whose whole matrix is read for figures made from some ``sources``; default: from any."""
        reading = [exhibit for exhibit in self.exhibits.values() if not sources or exhibit.reads in sources]
        if not any(one.judge in RIGHT for one in self.scale.judges):  # nobody says which pairs are right
            reading = [exhibit for exhibit in reading if exhibit.reads != "found_positives"]
        asked = dict.fromkeys(phi for exhibit in reading for phi in exhibit.matrices())
        return [phi for phi in asked if self.scale.shows(phi)]

    def matrices_of(self, dataset: str, phis: Iterable[str]) -> list[Path]:
        """Return the matrices of a test split that some phi, or means of several, are read from."""
        single = dict.fromkeys(one for phi in phis for one in phi.split("+"))
        return [self.places.phi(dataset, "test", f"{phi}.npy") for phi in single]

    def tuples_of(self, dataset: str, phis: Iterable[str], split: str, captions: str = "") -> list[Path]:
        """Scene-graph tuples where a phi needs them; those of drawn scenes come from the program that drew them.

        Args:
            dataset: The dataset.
            phis: Names of phi.
            split: The split of a dataset of photographs.
            captions: Some of its captions, as ``places.captions_of`` names them.
        """
        if not any(needs_tuples(phi) for phi in phis):
            return []
        if dataset in self.datasets.scenes:
            return [self.places.beside_corpus(dataset, "tuples.jsonl.gz")]
        return [self.places.parsed_tuples(dataset, split, captions)]

    def vectors_of(self, dataset: str, phis: Iterable[str]) -> list[Path]:
        """Return vectors of a dataset's captions by the models that some phi compare."""
        models = dict.fromkeys(model for phi in phis if (model := model_of(phi)) is not None)
        return [self.places.caption_vectors(dataset, model) for model in models]

    def truth_of(self, dataset: str, phis: Iterable[str]) -> list[Path]:
        """Return the truth of drawn scenes where a phi is that truth.

        Raises:
            InputError: If the dataset was not drawn.
        """
        if not any(is_drawn(phi) for phi in phis):
            return []
        if dataset not in self.datasets.scenes:
            raise InputError(f"phi 'truth' is asked of {dataset}, and only drawn scenes have it; choose another phi.")
        return [self.places.beside_corpus(dataset, "truth.npy")]

    def scores_of(self, dataset: str, phis: Iterable[str]) -> list[Path]:
        """Return the files of scores of a dataset that some phi are.

        Raises:
            InputError: If the scale names no such file.
        """
        found = []
        for phi in filter(is_given, phis):
            files = self._files_of_scores(phi)
            if dataset not in files:
                raise InputError(
                    f"'{phi}' has no file of scores of '{dataset}'", where="judged_phis", cure="add it there"
                )
            found.append(files[dataset])
        return found

    def _files_of_scores(self, phi: str) -> dict[str, Path]:
        name, known = phi.partition(":")[2], self.scale.judged_phis
        if name not in known:
            hint = did_you_mean(name, known) or "add it there, with a file for each dataset"
            raise InputError(f"nobody gives the scores '{phi}'", where="judged_phis", cure=hint)
        return known[name]

    def sentence_encoder(self, model: str) -> dict[str, Any]:
        """Return what encodes captions for ``embedding:<model>``, as plain data.

        Raises:
            InputError: If neither the scale nor a package has a model of that name.
        """
        known = self.scale.sentence_encoders
        if model in known:
            return known[model].model_dump(mode="json")
        if model in PACKAGED:
            return {"model": model}
        hint = did_you_mean(model, [*known, *PACKAGED])
        raise InputError(f"'{model}' is no model of captions", where="sentence_encoders", cure=hint or "add it there")

    def training_part(self, dataset: str, captions: str) -> tuple[float, int | None]:
        """Return what ``corpus.training_part`` needs to take the captions that ``places.captions_of`` calls so.

        Raises:
            InputError: If no run of the dataset trains on them.
        """
        for spec in self.runs.values():
            if spec.dataset == dataset and captions_of(spec) == captions:
                return spec.fraction, spec.captions_per_image
        raise InputError(f"no run of this scale is trained on {captions} of '{dataset}'; name captions that one is.")

    def files_read_by(self, runs: Iterable[RunSpec]) -> list[Path]:
        """Return every file of phi of training captions that the losses of the runs read."""
        return sorted({path for spec in runs for path in self.places.phi_files(spec).values()})

    def margins_of_captions(self, dataset: str) -> list[tuple[float, LossSpec]]:
        """Return each (fraction, loss) whose margins are measured on captions alone, each once.

        These have random negatives: others are chosen by the similarity of a model. A phi that takes long is read from
        a matrix; this alone is no reason to make one, so that the dataset needs a run that reads it too.
        """
        left_out = self.scale.leave_out
        made = set(self.files_read_by(self.runs.values()))
        found: dict[tuple[float, str], tuple[float, LossSpec]] = {}
        for name, exhibit in self.exhibits.items():
            for fraction, named in exhibit.adaptive_margins():
                loss = self.studies[name.partition("/")[0]].losses[named]
                shown = all(map(self.scale.shows, loss.phis))
                if named in left_out.losses or fraction in left_out.fractions or not shown:
                    continue
                drawn = loss.sam is not None and loss.sam.negatives == "random"
                if drawn and made.issuperset(self._matrices_of_margins(dataset, fraction, loss).values()):
                    found.setdefault((fraction, loss.folder), (fraction, loss))
        return list(found.values())

    def _matrices_of_margins(self, dataset: str, fraction: float, loss: LossSpec) -> dict[str, Path]:
        """Return the matrices of phi that margins of captions alone are made from."""
        return self.places.phi_matrices(dataset, loss, part_of(fraction))

    def captions_with_margins(self, dataset: str) -> list[dict[str, Any]]:
        """Return fraction, loss and files of phi of each set of captions whose margins are measured."""
        return [
            {
                "fraction": fraction,
                "loss": loss.model_dump(mode="json", exclude_defaults=True),
                "phi_files": as_text(self._matrices_of_margins(dataset, fraction, loss)),
            }
            for fraction, loss in self.margins_of_captions(dataset)
        ]
