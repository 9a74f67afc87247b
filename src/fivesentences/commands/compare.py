"""`fivesentences compare`: do two models differ on the same queries?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.evaluate import GALLERY
from fivesentences.commands.provenance import files_of, provenance
from fivesentences.commands.score_sheets import GROUND_TRUTH, labelled, rules, sized
from fivesentences.commands.sheets import Outputs, Sheet, number, quietly

if TYPE_CHECKING:
    import pandas as pd


class Test(StrEnum):
    """How p is computed."""

    PERMUTATION = "permutation"
    BOOTSTRAP = "bootstrap"


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"similarity {given.SHAPE}, {given.MATRIX}")],
    b: Annotated[Path, typer.Argument(metavar="B", help="that of another model, same images and captions")],
    phi: given.Phi = None,
    dataset: given.Dataset = None,
    image_of_caption: given.ImageOfCaption = None,
    ks: Annotated[str, typer.Option("--ks", help="cut-offs: how many first items of a ranking count")] = "1,5,10",
    ms: Annotated[str, typer.Option("--ms", help="semantic recall's m: size of its relevant set")] = "1",
    asp: Annotated[bool, typer.Option("--asp", help="also ASP, whole rankings against phi; takes longest")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="also ASP by both tie rules, and semantic recall with ground truth kept")
    ] = False,
    method: Annotated[
        Test, typer.Option(metavar="NAME", help="permutation (random sign flips) or bootstrap")
    ] = Test.PERMUTATION,
    resamples: Annotated[int, typer.Option(min=1, help="how many sign flips or draws")] = 10_000,
    confidence: Annotated[float, typer.Option(min=0.0, max=1.0, help="of the interval")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="of the resampling")] = 0,
    transposed: given.Transposed = False,
    json_out: given.Json = None,
    csv: given.Csv = None,
    markdown: given.Markdown = None,
    latex: given.Latex = None,
    quiet: given.Quiet = False,
) -> None:
    """Test for every metric whether model A differs from model B.

    The test is paired: it uses the difference of every query. An image and its
    captions are one cluster, whose signs are flipped together. The interval is
    a bootstrap interval. p is not adjusted for the number of metrics.

    Example:

        fivesentences compare a.npy b.npy --phi cider.npy
    """
    from fivesentences.evaluation import gallery_files
    from fivesentences.evaluation.comparing import compare as compare_similarities
    from fivesentences.evaluation.protocols import protocol_named

    inputs = [("a", a), ("b", b), *files_of("phi", phi), ("image_of_caption", image_of_caption)]
    outputs = Outputs.of(json_out, csv, markdown, latex, quiet, inputs)
    cutoffs, sizes = given.numbers_of(ks, "--ks"), given.numbers_of(ms, "--ms")
    chosen = None if dataset is None else protocol_named(dataset)
    with quietly(quiet):
        (first, _), (second, _) = (
            gallery_files.read_gallery(
                path, transposed=transposed, image_of_caption=image_of_caption, protocol=chosen, phis=files
            )
            for path, files in ((a, phi or ()), (b, ()))
        )
        # One step more than there are similarities: the resampling.
        with given.working(f"compare {a} and {b}", 1 + 2 * (chosen.folds if chosen else 1)) as advance:
            frame = compare_similarities(
                first,
                second,
                protocol=dataset,
                ks=cutoffs,
                ms=sizes,
                asp=asp or everything,
                asp_ties=("index", "average") if everything else ("index",),
                sr_ground_truth=("kept", "removed") if everything else ("removed",),
                method=method,
                resamples=resamples,
                confidence=confidence,
                seed=seed,
                progress=advance,
            )
    attributes = {str(key): value for key, value in frame.attrs.items() if key not in ("notes", "stated_once")}
    about = {"a": str(a), "b": str(b), **attributes}
    notes = [
        rules(about),
        *([GROUND_TRUTH] if first.phis else []),
        f"Paired {method} test, {frame.attrs['resamples']:,} {'sign flips' if method == 'permutation' else 'draws'}; "
        f"{int(frame.clusters.iloc[0]):,} images, each with its captions, are the clusters; p is not adjusted for "
        f"{len(frame)} metrics.",
    ]
    tests = frame.drop(columns=[name for name in GALLERY if name in frame.columns]).to_dict("records")
    made: dict[str, Any] = {}
    if json_out is not None:
        made = provenance(inputs)
    content = {**about, **made, "tests": [{str(key): row[key] for key in row} for row in tests]}
    files = {"file_a": about["a"], "file_b": about["b"]}
    tidy = labelled(frame, files | {key: about[key] for key in (*GALLERY, "method", "resamples")})
    outputs.write([sheet(frame, _title(about), notes)], tidy, content)


def _title(about: dict[str, Any]) -> str:
    title = sized(f"A = {about['a']}, B = {about['b']}", about)
    if about["file_images"] == about["images"]:
        return title
    return f"{title}; scored in galleries of {about['images']:,} images, {about['captions']:,} captions"


def sheet(frame: pd.DataFrame, title: str, notes: list[str]) -> Sheet:
    """One row per metric."""
    percent = f"{100 * frame.attrs['confidence']:g} % interval"
    rows = []
    for row in frame.to_dict("records"):
        ties = f"ties by {row['formula']}" if row["metric"] == "ASP" else ""
        side, m = row["direction"] or "both", row["m"] or ""
        stub = [str(cell) for cell in (row["metric"], side, row["phi"], row["ground_truth"], m, ties)]
        interval = f"{row['low']:+.2f}, {row['high']:+.2f}" if row["low"] == row["low"] else ""
        p = "<.0001" if row["p"] < 1e-4 else number(row["p"], 4)
        rows.append([*stub, number(row["a"]), number(row["b"]), f"{row['difference']:+.2f}", interval, p])
    headings = ("metric", "side", "phi", "GT", "m", "variant")
    used = [at for at in range(len(headings)) if any(row[at] for row in rows)]
    columns = [("", heading) for heading in ("A", "B", "A - B", percent, "p")]
    rows = [[*(row[at] for at in used), *row[len(headings) :]] for row in rows]
    return Sheet([headings[at] for at in used], columns, rows, title, notes)
