"""Parts of the margins of a Semantic Adaptive Margin, and the margins without their negatives.

A margin is what its positive adds, minus what its negative takes away, perhaps capped. Three questions: how margins are
distributed; how much of their variance comes from the negative; and how many hinges are active only, or inactive only,
because of it. For the last one, margins are *blinded*: what a negative takes away is replaced by its mean over the
hinges of the same batch and direction, which keeps the mean margin before a cap. A hinge's gradient depends on its
margin only in whether the hinge is active.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus import Corpus, training_part
from fivesentences.documents import read_formatted
from fivesentences.losses import LossSpec
from fivesentences.storage import write_json

if TYPE_CHECKING:
    from fivesentences.training.hinges import HingeValues

Values = NDArray[np.float64]

FORMAT = "fivesentences.margins 1"
CAP = 1.0  # the released code's largest margin; the share of margins that reach it is told for every loss
LOW = 0.1  # phi of a negative below this says: nothing in common
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 100
BATCHES = 200  # the share of the negatives, which few pairs with a high phi make up, is then known to a tenth or so


@dataclass(frozen=True)
class CaptionSet:
    """Margins to be measured on captions alone.

    Attributes:
        fraction: Fraction of the training captions.
        loss: With a SAM whose negatives are random.
        phi_files: Files of those phi that take long to compute; see ``training.batch_phi.open_phis``.
    """

    fraction: float
    loss: LossSpec
    phi_files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredRun:
    """A finished run whose hinges are to be measured.

    Attributes:
        folder: Folder of its outputs.
        features: Features that it was trained on.
        phi_files: See ``training.batch_phi.open_phis``.
    """

    folder: Path
    features: Path
    phi_files: Mapping[str, Path] = field(default_factory=dict)


def variance_shares(positive: Values, negative: Values, margin: Values, cap: float | None) -> dict[str, float]:
    """Divide the variance of the margins into the shares of positives and of negatives, which add up to 1.

    A margin is the sum of what it would be if every negative took the mean of all away, and of the rest, which is the
    work of its negative. The share of either is its covariance with the margin, divided by the variance of the margin:
    what the two have in common counts half for each. Where they have nothing in common and nothing is capped, the
    negative's share is the variance of what negatives take away, divided by that of the margins. A share is below 0 if
    its part only evens out the other.

    Args:
        positive: ``[hinges]`` what each positive adds.
        negative: ``[hinges]`` what each negative takes away.
        margin: ``[hinges]``, at most ``cap``.
        cap: Largest margin, or None.

    Returns:
        The shares ``positive`` and ``negative``; NaN if all margins are equal.
    """
    without = blinded_margins(positive, negative, np.zeros(len(margin), dtype=np.int64), cap)
    parts = {"positive": without, "negative": margin - without}
    centred = margin - margin.mean()
    variance = float(np.mean(centred**2))
    if variance == 0:
        return dict.fromkeys(parts, float("nan"))
    return {name: float(np.mean((part - part.mean()) * centred)) / variance for name, part in parts.items()}


def blinded_margins(positive: Values, negative: Values, group: NDArray[np.int64], cap: float | None) -> Values:
    """Return ``[hinges]`` margins in which each negative's part is the mean over its group; see the module.

    Args:
        positive: ``[hinges]`` what each positive adds.
        negative: ``[hinges]`` what each negative takes away.
        group: ``[hinges]``, from 0; no group is empty.
        cap: Largest margin, or None.
    """
    margin = positive - (np.bincount(group, negative) / np.bincount(group))[group]
    return margin if cap is None else np.minimum(margin, cap)


def margin_numbers(hinges: HingeValues, bins: int = BINS) -> dict[str, Any]:
    """Summarise some hinges.

    Args:
        hinges: At least one.
        bins: Bins of the histogram.

    Returns:
        ``hinges`` (how many); ``phi_positive``, ``phi_negative`` and ``margin``, each with ``mean`` and ``sd``, and
        ``margin`` also with ``quantiles`` (by the share below them), ``edges`` and ``counts`` of a histogram;
        ``negative_below``: share of the negatives that a margin is made from whose phi is below ``LOW``; ``at_cap``:
        share of margins that are at least ``CAP``; ``shares``: see ``variance_shares``; ``negative_alone``: the
        variance of what negatives take away, before a cap, divided by that of the margins; ``correlations``
        (Pearson's) of the margin with ``phi_positive``, ``phi_negative`` and ``phi_own_negative``; and, where a model
        was asked (else None), ``active``: share of hinges that are active, and ``changed``: share of all hinges whose
        activity is another when margins are blinded. What is not defined (a correlation with a constant) is None.
    """
    margin, variance = hinges.margin, float(hinges.margin.var())
    counts, edges = np.histogram(margin, bins)
    quantiles = {f"{at:g}": float(np.quantile(margin, at)) for at in QUANTILES}
    shares = variance_shares(hinges.positive, hinges.negative, margin, hinges.cap)
    phis = {name: getattr(hinges, name) for name in ("phi_positive", "phi_negative", "phi_own_negative")}
    found: dict[str, Any] = {
        "hinges": len(margin),
        "phi_positive": _moments(hinges.phi_positive),
        "phi_negative": _moments(hinges.phi_negative),
        "negative_below": float(np.mean(hinges.phi_negative < LOW)),
        "margin": _moments(margin) | {"quantiles": quantiles, "edges": edges.tolist(), "counts": counts.tolist()},
        "at_cap": float(np.mean(margin >= CAP)),
        "shares": {name: None if np.isnan(share) else share for name, share in shares.items()},
        "negative_alone": float(hinges.negative.var()) / variance if variance > 0 else None,
        "correlations": {name: _correlation(margin, phi) for name, phi in phis.items()},
        "active": None,
        "changed": None,
    }
    if not np.isnan(hinges.gap).any():
        blinded = blinded_margins(hinges.positive, hinges.negative, hinges.group, hinges.cap)
        active = margin > hinges.gap
        found |= {"active": float(active.mean()), "changed": float(np.mean(active != (blinded > hinges.gap)))}
    return found


def measure_margins(
    corpus: Path,
    sets: Sequence[CaptionSet],
    runs: Sequence[MeasuredRun],
    out: Path,
    *,
    batch_size: int,
    batches: int = BATCHES,
    seed: int = 0,
) -> None:
    """Write the numbers of the margins of a dataset's training captions as JSON; see ``margin_numbers``.

    Batches are those that training draws: of the first whole epochs of a run with the seed.

    Args:
        corpus: The dataset's, with the training split.
        sets: Caption sets and losses that need no model.
        runs: Finished runs, each on its own training captions, with its own loss and batches.
        out: A ``.json``.
        batch_size: Pairs of a batch of the caption sets.
        batches: Least number of batches of each caption set and each run, in whole epochs.
        seed: Seed of the caption sets (order of captions, random negatives); a run has its own.

    Raises:
        InputError: If a file is missing or does not fit, or a loss has no adaptive margins.
    """
    import torch  # not needed to draw what was measured

    from fivesentences.training.batch_phi import open_phis
    from fivesentences.training.checkpoint import load_trained
    from fivesentences.training.hinges import hinges_of_captions, hinges_of_run
    from fivesentences.training.loop import reproducible

    whole = Corpus.read(corpus).split("train")
    of_sets, of_runs = [], []
    with reproducible(1, torch.device("cpu")):
        for fraction in dict.fromkeys(one.fraction for one in sets):
            of_fraction = [one for one in sets if one.fraction == fraction]
            losses = [one.loss for one in of_fraction]
            part = training_part(whole, fraction)
            keys = dict.fromkeys(key for loss in losses for key in loss.phi_keys)
            files = {name: path for one in of_fraction for name, path in one.phi_files.items()}
            phis = open_phis(keys, part, files, whole)  # once for all losses
            for loss in losses:
                hinges = hinges_of_captions(loss, part, phis, batch_size=batch_size, batches=batches, seed=seed)
                about: dict[str, Any] = {"loss": loss.folder, "fraction": fraction, "batch_size": batch_size}
                about |= {"captions": part.n_captions, "images": part.n_images}
                of_sets.append(about | margin_numbers(hinges))
        for run in runs:
            trained = load_trained(run.folder)
            spec = trained.spec
            hinges = hinges_of_run(trained, whole, run.features, batches=batches, phi_files=run.phi_files)
            about = {"run": spec.name, "loss": spec.loss.folder, "fraction": spec.fraction, "seed": spec.seed}
            about |= {"epochs": spec.training.epochs, "batch_size": spec.training.batch_size}
            of_runs.append(about | margin_numbers(hinges))
    content = {"format": FORMAT, "dataset": whole.name, "batches": batches, "seed": seed}
    write_json(out, content | {"sets": of_sets, "runs": of_runs}, indent=None)


def read_margins(path: Path | str) -> dict[str, Any]:
    """Read what ``measure_margins`` wrote.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    return read_formatted(path, FORMAT, "this was not written by this version of measure_margins; make it again.")


def _correlation(one: Values, other: Values) -> float | None:
    """Return Pearson's correlation; None if one of the two is constant."""
    return None if np.ptp(one) == 0 or np.ptp(other) == 0 else float(np.corrcoef(one, other)[0, 1])


def _moments(values: Values) -> dict[str, Any]:
    return {"mean": float(values.mean()), "sd": float(values.std())}
