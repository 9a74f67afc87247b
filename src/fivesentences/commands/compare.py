"""`fivesentences compare`: do two models differ on the same queries?"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.evaluate import GALLERY
from fivesentences.commands.given_models import Inputs, scored_by
from fivesentences.commands.score_sheets import GROUND_TRUTH, labelled, p_in_words, rules, sized
from fivesentences.commands.sheets import Outputs, Sheet, number, quietly
from fivesentences.console import working
from fivesentences.evaluation.comparing import compare as compare_similarities
from fivesentences.evaluation.gallery_files import read_scores
from fivesentences.evaluation.protocols import protocol_named

if TYPE_CHECKING:
    import pandas as pd


class Test(StrEnum):
    """How p is computed."""

    PERMUTATION = "permutation"
    BOOTSTRAP = "bootstrap"


@given.in_groups
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=f"similarity {given.SHAPE}, {given.MATRIX}")],
    b: Annotated[str, typer.Argument(metavar="B", help="that of another model, same images and captions")],
    inputs: Inputs,
    tests: given.Resampling,
    outputs: Outputs,
    dataset: given.Dataset = None,
    ks: Annotated[str, typer.Option("--ks", help="cut-offs: how many first items of a ranking count")] = "1,5,10",
    ms: Annotated[str, typer.Option("--ms", help="semantic recall's m: size of its relevant set")] = "1",
    asp: Annotated[bool, typer.Option("--asp", help="also ASP, whole rankings against phi; takes longest")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="also ASP by both tie rules, and semantic recall with ground truth kept")
    ] = False,
    method: Annotated[
        Test, typer.Option(metavar="NAME", help="permutation (random sign flips) or bootstrap")
    ] = Test.PERMUTATION,
    confidence: Annotated[float, typer.Option(min=0.0, max=1.0, help="of the interval")] = 0.95,
) -> None:
    """Test for every metric whether model A differs from model B.

    The test is paired: it uses the difference of every query. An image and its
    captions are one cluster, whose signs are flipped together. The interval is
    a bootstrap interval. p is not adjusted for the number of metrics.

    Example:

        fivesentences compare a.npy b.npy --phi cider.npy
    """
    first, second = inputs.models([f"A={a}", f"B={b}"])
    protocol = None if dataset is None else protocol_named(dataset)
    read = [("a", a), ("b", b), *inputs.files]
    outputs.check(read)
    cutoffs, sizes = given.numbers_of(ks, "--ks"), given.numbers_of(ms, "--ms")
    scored = scored_by([first, second], inputs, protocol)
    with quietly(outputs.quiet):
        gallery, _ = inputs.gallery(
            first, scored, protocol, computed=inputs.metric or (["cider"] if inputs.captions else [])
        )
        matrix, _ = read_scores(second.matrix, second.text, transposed=inputs.transposed)
        # One step more than there are similarities: the resampling.
        with working(f"compare {a} and {b}", 1 + 2 * (protocol.folds if protocol else 1)) as advance:
            frame = compare_similarities(
                gallery,
                gallery.with_similarity(matrix, second.matrix),
                protocol=dataset,
                ks=cutoffs,
                ms=sizes,
                asp=asp or everything,
                asp_ties=("index", "average") if everything else ("index",),
                sr_ground_truth=("kept", "removed") if everything else ("removed",),
                method=method,
                resamples=tests.resamples,
                confidence=confidence,
                seed=tests.seed,
                progress=advance,
            )
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
    content = {**about, **outputs.provenance(read), "tests": [{str(key): row[key] for key in row} for row in rows]}
    files = {"file_a": about["a"], "file_b": about["b"]}
    tidy = labelled(frame, files | {key: about[key] for key in (*GALLERY, "method", "resamples")})
    title = sized(f"A = {about['a']}, B = {about['b']}", about)
    if about["file_images"] != about["images"]:
        title += f"; scored in galleries of {about['images']:,} images, {about['captions']:,} captions"
    outputs.write([_sheet(frame, title, notes)], tidy, content)


def _sheet(frame: pd.DataFrame, title: str, notes: list[str]) -> Sheet:
    """One row per metric."""
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
