"""`fivesentences compare`: do two models differ on the same queries?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fivesentences.commands.arguments import Dataset, Resampling, numbers_of
from fivesentences.commands.evaluate import GALLERY
from fivesentences.commands.given_models import ModelInputs
from fivesentences.commands.score_sheets import GROUND_TRUTH, labelled, p_in_words, rules, sized
from fivesentences.commands.sheets import Outputs, Sheet, number
from fivesentences.console import working
from fivesentences.evaluation.comparing import compare as compare_similarities
from fivesentences.evaluation.gallery_files import read_scores
from fivesentences.evaluation.protocols import PROTOCOLS

if TYPE_CHECKING:
    import pandas as pd


def compare(
    a: Annotated[str, typer.Argument(metavar="A")],
    b: Annotated[str, typer.Argument(metavar="B")],
    *,
    inputs: ModelInputs,
    tests: Resampling,
    outputs: Outputs,
    dataset: Annotated[Dataset | None, typer.Option("--dataset", "--protocol")] = None,
    ks: str = "1,5,10",
    ms: str = "1",
    asp: bool = False,
    everything: Annotated[bool, typer.Option("--all")] = False,
    method: Literal["permutation", "bootstrap"] = "permutation",
    confidence: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.95,
) -> None:
    """Test for every metric whether model A differs from model B.

    The test is paired: it uses the difference of every query. An image and its
    captions are one cluster, whose signs are flipped together. The interval is
    a bootstrap interval. p is not adjusted for the number of metrics.

    Args:
        a: Similarity [images, captions], or whatever else "evaluate" takes.
        b: Similarity of another model, for the same images and captions.
        dataset: Benchmark whose protocol scores the similarities; default: one gallery of everything.
        ks: Cut-offs: how many first items of a ranking count.
        ms: Semantic recall's m: size of its relevant set.
        asp: Also ASP, whole rankings against phi; takes longest.
        everything: Also ASP by both tie rules, and semantic recall with ground truth kept.
        method: Random sign flips, or a bootstrap.
        confidence: Confidence of the interval.

    Example:

        fivesentences compare a.npy b.npy --phi cider.npy
    """
    protocol = None if dataset is None else PROTOCOLS[dataset]
    given = inputs.given([f"A={a}", f"B={b}"], protocol)
    first, second = given.models
    read = [("a", a), ("b", b), *inputs.read]
    outputs.check(read)
    cutoffs, sizes = numbers_of(ks, "--ks"), numbers_of(ms, "--ms")
    gallery, _ = inputs.gallery(given, protocol)
    matrix, _ = read_scores(second.matrix, second.text, transposed=inputs.transposed)
    # One step more than there are similarities: the resampling.
    with working(f"compare {a} and {b}", 1 + 2 * (protocol.folds if protocol else 1)) as advance:
        frame = compare_similarities(
            gallery, gallery.with_similarity(matrix, second.matrix), protocol=dataset, ks=cutoffs, ms=sizes,
            asp=asp or everything, asp_ties=("index", "average") if everything else ("index",),
            sr_ground_truth=("kept", "removed") if everything else ("removed",), method=method,
            resamples=tests.resamples, confidence=confidence, seed=tests.seed, progress=advance,
        )  # fmt: skip
    attributes = {str(key): value for key, value in frame.attrs.items() if key not in ("notes", "stated_once")}
    about = {"a": first.words, "b": second.words, **attributes}
    notes = [
        rules(about),
        *([GROUND_TRUTH] if gallery.phis else []),
        f"Paired {method} test, {frame.attrs['resamples']:,} {'sign flips' if method == 'permutation' else 'draws'}; "
        f"{int(frame.clusters.iloc[0]):,} images, each with its captions, are the clusters; p is not adjusted for "
        f"{len(frame)} metrics.",
    ]
    rows = frame.drop(columns=[name for name in GALLERY if name in frame.columns]).to_dict("records")
    files = {"file_a": about["a"], "file_b": about["b"]}
    tidy = labelled(frame, files | {key: about[key] for key in (*GALLERY, "method", "resamples")})
    sheet = _sheet(frame, sized(f"A = {about['a']}, B = {about['b']}", about), notes)
    outputs.write([sheet], tidy, about | {"tests": rows}, read)


def _sheet(frame: pd.DataFrame, title: str, notes: list[str]) -> Sheet:
    """Return one row per metric."""
    rows = []
    for row in frame.to_dict("records"):
        ties = f"ties by {row['formula']}" if row["metric"] == "ASP" else ""
        side, m = row["direction"] or "both", row["m"] or ""
        stub = [str(cell) for cell in (row["metric"], side, row["phi"], row["ground_truth"], m, ties)]
        interval = f"{row['low']:+.2f}, {row['high']:+.2f}" if row["low"] == row["low"] else ""
        numbers = (number(row["a"]), number(row["b"]), f"{row['difference']:+.2f}", interval, p_in_words(row["p"]))
        rows.append([*stub, *numbers])
    headings = ("metric", "side", "phi", "GT", "m", "variant")
    used = [at for at in range(len(headings)) if any(row[at] for row in rows)]
    percent = f"{100 * frame.attrs['confidence']:g} % interval"
    columns = [("", heading) for heading in ("A", "B", "A - B", percent, "p")]
    rows = [[*(row[at] for at in used), *row[len(headings) :]] for row in rows]
    return Sheet([headings[at] for at in used], columns, rows, title, notes)
