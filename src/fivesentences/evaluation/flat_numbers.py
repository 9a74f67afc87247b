"""Numbers of an evaluation under one name each, as loggers and trackers take them."""

from __future__ import annotations

from fivesentences.config.metrics import shown_name
from fivesentences.metrics import Evaluation

USUAL = ("released", "recall", "hard")  # formula, style and weighting that a name leaves out


def flat_numbers(evaluation: Evaluation) -> dict[str, float]:
    """Return every number by its name: ``i2t_R@1``, ``Rsum``, ``t2i_NCS@5_cider_kept``, ``i2t_SR@5_cider_removed_m2``.

    A name consists of direction, metric, phi, ground truth, m, and those parts of the variant that are not the
    released or usual ones; ``_`` stands for blanks. A number has the same name whichever others there are.
    """
    found = {}
    for row in evaluation.values:
        variant = [row["discount"], row["weighting"], row["style"], row["formula"]]
        parts = [row["direction"], shown_name(row["metric"]), row["phi"], row["ground_truth"]]
        parts += [f"m{row['m']}" if row["m"] else "", *(part for part in variant if part not in USUAL)]
        found["_".join(filter(None, parts)).replace(" ", "_")] = row["value"]
    return found
