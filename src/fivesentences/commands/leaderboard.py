"""`fivesentences leaderboard`: many models in one table and one figure, with paired intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.embedded import scored_by
from fivesentences.commands.evaluate import score_models
from fivesentences.commands.given_models import Surroundings, models_of
from fivesentences.commands.leaderboard_sheets import (
    SUMS,
    leaderboard_notes,
    leaderboard_sheet,
    leaderboard_tidy,
    value_of,
)
from fivesentences.commands.provenance import files_of, provenance
from fivesentences.commands.score_sheets import rules
from fivesentences.commands.sheets import Outputs, quietly
from fivesentences.errors import InputError, need

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.evaluation.protocols import Protocol
    from fivesentences.evaluation.result_files import Result

FIGURE_SUFFIXES = (".png", ".pdf", ".csv", ".json")


def leaderboard(
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULT",
            help="of 'evaluate': --per-query FILE.parquet or --json FILE; a folder of 'embed' or a similarity, which "
            "is scored now; clip_benchmark's .csv; NAME=... names a model",
        ),
    ],
    phi: given.Phi = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="phi of the captions of a folder, such as cider; repeat for more"),
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="captions of models that are scored now")
    ] = None,
    dataset: given.Dataset = None,
    csv_dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="data set of clip_benchmark's rows (default: that of the others)")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="NAME", help="Rsum or Nsum (default: Nsum of the first phi, if there is one)")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="model with which the others are compared (default: the first)")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="STEM", help="draw recall against NCS: STEM.png, .pdf, and .csv and .json with its data"),
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="number of sign flips of the tests")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="seed of the sign flips")] = 0,
    json_out: given.Json = None,
    csv: given.Csv = None,
    markdown: given.Markdown = None,
    latex: given.Latex = None,
    quiet: given.Quiet = False,
) -> None:
    """Rank models by recall and NCS, with the interval of every difference from the first.

    Results may come from different days and machines. Models whose values of
    every query are known are tested, paired by query, as in "fivesentences
    compare"; the others stand beside them with a note. Results of other images,
    captions, splits, protocols or phi are refused.

    The figure shows Rsum against the sum of NCS, one mark per model. Bars are
    the 95 % intervals of the difference from the first model: a bar that crosses
    its dotted line may be chance.

    Examples:

        fivesentences evaluate clip --metric cider --per-query clip.parquet

        fivesentences leaderboard clip.parquet siglip.parquet --figure models

        fivesentences leaderboard clip siglip benchmark.csv --metric cider
    """
    from fivesentences.evaluation import result_files
    from fivesentences.evaluation.protocols import protocol_named

    if sort not in (None, *SUMS):
        raise InputError(f"it is '{sort}'; models are sorted by Rsum or Nsum.", where="--sort")
    if figure is not None:
        need("matplotlib", "workflow", "--figure")
    protocol = None if dataset is None else protocol_named(dataset)
    files = [Path(one if Path(one).exists() else one.partition("=")[2] or one) for one in results]
    drawn = {} if figure is None else {f"{figure}{suffix}": Path(f"{figure}{suffix}") for suffix in FIGURE_SUFFIXES}
    inputs = [("result", file) for file in files if not file.is_dir()]
    inputs += [*files_of("phi", phi), ("captions", captions)]  # type: ignore[list-item]
    outputs = Outputs.of(json_out, csv, markdown, latex, quiet, inputs, drawn)
    found: list[Result] = []
    to_score, of_benchmark = [], []
    for text, file in zip(results, files, strict=True):
        name = "" if Path(text).exists() else text.partition("=")[0] if "=" in text else ""
        if file.suffix == ".parquet":
            found += _named(result_files.read_queries(file), name, file)
        elif file.suffix == ".json" and _is_object(file):
            found += _named(result_files.read_evaluated(file), name, file)
        elif file.suffix == ".csv" and result_files.is_benchmark(file):
            of_benchmark.append(file)
        else:
            to_score.append(text)
    with quietly(quiet):
        if to_score:
            found += _scored_now(to_score, phi or (), metric or (), captions, protocol)
        elif phi or metric or captions or dataset:
            raise InputError("--phi, --metric, --captions and --dataset are for models that are scored now; none is.")
        if found:
            for file in of_benchmark:
                found += result_files.read_benchmark(file, csv_dataset or _dataset_of(found, file))
        elif of_benchmark:
            raise InputError("clip_benchmark's recall alone is no leaderboard; add a model with NCS.")
        _check(found)
        found, tests = _compared(found, sort, against, resamples, seed)
    notes = leaderboard_notes(found, tests)
    tidy = leaderboard_tidy(found, tests)
    about = next(one.evaluation.about for one in found if one.evaluation.about)
    content = {
        "models": [
            {"model": one.name, "file": one.file, "tested": one.has_queries, "values": one.evaluation.values}
            for one in found
        ],
        **{key: about[key] for key in ("protocol", "images", "captions", "file_images", "file_captions", "tie_rule")},
        **({} if tests is None else {"tests": tests.to_dict("records")}),
        **(provenance(inputs) if json_out is not None else {}),
    }
    if figure is not None:
        from fivesentences.paper.figures.drawing import write_drawing
        from fivesentences.paper.figures.leaderboard import drawing

        made = drawing(tidy, found[0].name)
        if made.draw is None:
            raise InputError("no model has NCS, so there is nothing to draw; give --phi or --metric.", where="--figure")
        title = "Recall against NCS"
        with given.working(f"draw {figure}.png"):
            write_drawing(figure, title, f"{title} of {len(made.data['model'].unique())} models.", made)
    title = f"{len(found)} models: {about['file_images']:,} images, {about['file_captions']:,} captions"
    outputs.write([leaderboard_sheet(found, tests, title, [rules(about), *notes])], tidy, content)


# --- what is compared --------------------------------------------------------------------------------------


def _is_object(path: Path) -> bool:
    """Whether a .json holds an object, as results do; matrices are lists."""
    from fivesentences.documents import check_file

    check_file(path)
    with path.open("rb") as file:
        return file.read(4096).lstrip().removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def _named(results: list[Result], name: str, file: Path) -> list[Result]:
    if not name:
        return results
    if len(results) > 1:
        raise InputError(
            f"it holds {len(results)} models, which one name does not tell apart; leave it out.", where=file
        )
    return [replace(results[0], name=name)]


def _scored_now(
    texts: Sequence[str], phis: Sequence[str], metrics: Sequence[str], captions: Path | None, protocol: Protocol | None
) -> list[Result]:
    """Models of which there are embeddings or similarities, with the values of every query."""
    from fivesentences.evaluation import gallery_files
    from fivesentences.evaluation.protocols import Scorer
    from fivesentences.evaluation.result_files import Result, subject_of

    models, notes = models_of(texts, Surroundings(False, protocol, [], False))
    scored = scored_by(models, captions, None, protocol)
    first = models[0]
    with given.working(f"read {first.words}"):
        gallery, more = gallery_files.read_gallery(
            first.matrix, first.text, image_of_caption=scored.image_of_caption, protocol=protocol, phis=phis,
            captions=scored.captions,
        )  # fmt: skip
        if metrics:
            if scored.captions is None:
                raise InputError("--metric says which phi of the captions; give --captions FILE.")
            gallery = gallery_files.with_computed_phis(gallery, scored.captions, list(metrics))
    scorer = Scorer(gallery, None if protocol is None else protocol.name, asp_ties=())
    only = gallery if len(models) == 1 else None
    evaluations = score_models(scorer, models, only, [], transposed=False, queries=True, runs=None)
    subject = subject_of(scorer.whole, evaluations[first.name].about, scored.about)
    said = list(dict.fromkeys([*notes, *scored.notes, *(more if len(models) == 1 else [])]))
    return [
        Result(model.name, model.words, evaluations[model.name], subject, scorer.whole.image_of_caption, said)
        for model in models
    ]


def _dataset_of(found: Sequence[Result], file: Path) -> str:
    """What clip_benchmark calls the data set of the other results."""
    from fivesentences.evaluation.benchmark_captions import SOURCES
    from fivesentences.evaluation.result_files import BENCHMARK_NAMES

    by_ours = {ours: theirs for theirs, ours in BENCHMARK_NAMES.items()}
    for one in found:
        protocol = one.evaluation.about.get("protocol")
        ours = SOURCES[protocol][0] if protocol in SOURCES else one.subject.get("dataset")
        if ours in by_ours:
            return by_ours[ours]
    raise InputError(
        "nothing says which data set the other results are of, so that the rows to compare with are unknown",
        where=file,
        cure=f"give --csv-dataset NAME, such as {next(iter(BENCHMARK_NAMES))}",
    )


def _check(found: Sequence[Result]) -> None:
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        files = " and ".join(one.file for one in found if one.name == twice[0])
        raise InputError(f"two models are called '{twice[0]}' ({files}); name them, NAME=FILE.")
    for at, one in enumerate(found):
        for other in found[:at]:
            other.check_like(one)


def _compared(
    found: list[Result], sort: str | None, against: str | None, resamples: int, seed: int
) -> tuple[list[Result], pd.DataFrame | None]:
    """The models in their order, and the tests of those that can be tested."""
    from fivesentences.config.metrics import metric_of
    from fivesentences.evaluation.comparing import compare_all
    from fivesentences.metrics.values import KEYS

    phis = list(dict.fromkeys(value["phi"] for one in found for value in one.evaluation.values if value["phi"]))
    sort = sort or ("Nsum" if phis else "Rsum")
    if sort == "Nsum" and not phis:
        raise InputError("no model has NCS, by which they could be sorted; give --phi or --metric.", where="--sort")

    def place(one: Result) -> tuple[bool, float]:
        by_phi = sort == "Nsum"
        key = {"metric": sort, "phi": phis[0] if by_phi else "", "ground_truth": "kept" if by_phi else ""}
        value = value_of(one, key)
        return value is None, -(value or 0.0)

    found = sorted(found, key=place)
    names = [one.name for one in found]
    if against is not None:
        if against not in names:
            raise InputError(f"it is '{against}', which is none of {', '.join(names)}.", where="--against")
        if not found[names.index(against)].has_queries:
            raise InputError(f"the values of every query of '{against}' are not known.", where="--against")
    tested = [one for one in found if one.has_queries]
    if len(tested) < 2:
        return found, None

    def keys(one: Result) -> dict[tuple[Any, ...], Any]:
        return {tuple(query[key] for key in KEYS): query for query in one.evaluation.queries}  # type: ignore[literal-required]

    common = [
        key for key in keys(tested[0])
        if metric_of(key[0]).name in ("R@k", "N@k") and all(key in keys(one) for one in tested)
    ]  # fmt: skip
    of_models = {one.name: replace(one.evaluation, queries=[keys(one)[key] for key in common]) for one in tested}
    reference = against or tested[0].name
    pairing = tested[0].image_of_caption
    assert pairing is not None
    with given.working(f"compare {len(tested)} models", len(tested) - 1) as advance:
        tests = compare_all(of_models, pairing, against=reference, resamples=resamples, seed=seed, progress=advance)
    tests = tests[tests["metric"].isin(SUMS)].reset_index(drop=True)
    return found, tests
