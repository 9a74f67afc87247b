"""`fivesentences leaderboard`: many models in one table and one figure, with paired intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.evaluate import score_models
from fivesentences.commands.given_models import Inputs, scored_by
from fivesentences.commands.score_sheets import ALPHA, GROUND_TRUTH, rules
from fivesentences.commands.sheets import Best, Outputs, Sheet, number, quietly
from fivesentences.config.metrics import metric_of, parse_metric
from fivesentences.console import working
from fivesentences.documents import check_file
from fivesentences.errors import InputError, need
from fivesentences.evaluation import result_files
from fivesentences.evaluation.comparing import compare_all
from fivesentences.evaluation.protocols import PROTOCOLS, Protocol, Scorer, protocol_named
from fivesentences.evaluation.result_files import BENCHMARK_NAMES, Result, subject_of
from fivesentences.metrics.values import KEYS

FIGURE_SUFFIXES = (".png", ".pdf", ".csv", ".json")
SUMS = ("Rsum", "Nsum")


@given.in_groups
def leaderboard(
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULT",
            help="of 'evaluate': --per-query FILE.parquet or --json FILE; a folder of 'embed' or a similarity, which "
            "is scored now; clip_benchmark's .csv; NAME=... names a model",
        ),
    ],
    inputs: Inputs,
    tests: given.Resampling,
    outputs: Outputs,
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
    if sort not in (None, *SUMS):
        raise InputError(f"it is '{sort}'; models are sorted by Rsum or Nsum.", where="--sort")
    if figure is not None:
        need("matplotlib", "workflow", "--figure")
    protocol = None if dataset is None else protocol_named(dataset)
    files = [Path(one if Path(one).exists() else one.partition("=")[2] or one) for one in results]
    drawn = {} if figure is None else {f"{figure}{suffix}": Path(f"{figure}{suffix}") for suffix in FIGURE_SUFFIXES}
    read: list[tuple[str, Path | str | None]] = [("result", file) for file in files if not file.is_dir()]
    read += inputs.files
    outputs.check(read, drawn)
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
    with quietly(outputs.quiet):
        if to_score:
            found += _scored_now(to_score, inputs, protocol)
        elif inputs != Inputs() or dataset:
            raise InputError("--phi, --metric, --captions and --dataset are for models that are scored now; none is.")
        if found:
            for file in of_benchmark:
                found += result_files.read_benchmark(file, csv_dataset or _dataset_of(found, file))
        elif of_benchmark:
            raise InputError("clip_benchmark's recall alone is no leaderboard; add a model with NCS.")
        _check(found)
        found, tested = _compared(found, sort, against, tests)
        made = outputs.provenance(read)
    notes, tidy = _notes(found, tested), _tidy(found, tested)
    about = next(one.evaluation.about for one in found if one.evaluation.about)
    content = {
        "models": [
            {"model": one.name, "file": one.file, "tested": one.has_queries, "values": one.evaluation.values}
            for one in found
        ],
        **{key: about[key] for key in ("protocol", "images", "captions", "file_images", "file_captions", "tie_rule")},
        **({} if tested is None else {"tests": tested.to_dict("records")}),
        **made,
    }
    if figure is not None:
        from fivesentences.paper.figures.drawing import write_drawing
        from fivesentences.paper.figures.front import leaderboard_drawing

        drawn_as = leaderboard_drawing(tidy, found[0].name)
        if drawn_as.data.empty:
            raise InputError("no model has NCS, so there is nothing to draw; give --phi or --metric.", where="--figure")
        title = "Recall against NCS"
        with working(f"draw {figure}.png"):
            write_drawing(figure, title, f"{title} of {len(drawn_as.data['model'].unique())} models.", drawn_as)
    title = f"{len(found)} models: {about['file_images']:,} images, {about['file_captions']:,} captions"
    outputs.write([_sheet(found, tested, title, [rules(about), *notes])], tidy, content)


# --- which models are compared ------------------------------------------------------------------------------


def _is_object(path: Path) -> bool:
    """Whether a .json holds an object, as results do; matrices are lists."""
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


def _scored_now(texts: Sequence[str], inputs: Inputs, protocol: Protocol | None) -> list[Result]:
    """Models of which there are embeddings or similarities, with the values of every query."""
    models = inputs.models(texts)
    scored = scored_by(models, inputs, protocol)
    first = models[0]
    with working(f"read {first.words}"):
        gallery, more = inputs.gallery(first, scored, protocol, computed=inputs.metric or ())
    scorer = Scorer(gallery, None if protocol is None else protocol.name, asp_ties=())
    only = gallery if len(models) == 1 else None
    evaluations = score_models(scorer, models, only, [], inputs.transposed, queries=True)
    subject = subject_of(scorer.whole, evaluations[first.name].about, scored.about)
    said = list(dict.fromkeys([*scored.notes, *(more if len(models) == 1 else [])]))
    return [
        Result(model.name, model.words, evaluations[model.name], subject, scorer.whole.image_of_caption, said)
        for model in models
    ]


def _dataset_of(found: Sequence[Result], file: Path) -> str:
    """What clip_benchmark calls the data set of the other results."""
    by_ours = {ours: theirs for theirs, ours in BENCHMARK_NAMES.items()}
    for one in found:
        protocol = one.evaluation.about.get("protocol")
        ours = PROTOCOLS[protocol].dataset if protocol in PROTOCOLS else one.subject.get("dataset")
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
    found: list[Result], sort: str | None, against: str | None, resampling: given.Resampling
) -> tuple[list[Result], pd.DataFrame | None]:
    """The models in their order, and the tests of those that can be tested."""
    phis = list(dict.fromkeys(value["phi"] for one in found for value in one.evaluation.values if value["phi"]))
    sort = sort or ("Nsum" if phis else "Rsum")
    if sort == "Nsum" and not phis:
        raise InputError("no model has NCS, by which they could be sorted; give --phi or --metric.", where="--sort")

    def place(one: Result) -> tuple[bool, float]:
        by_phi = sort == "Nsum"
        key = {"metric": sort, "phi": phis[0] if by_phi else "", "ground_truth": "kept" if by_phi else ""}
        value = _value_of(one, key)
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
    with working(f"compare {len(tested)} models", len(tested) - 1) as advance:
        tests = compare_all(
            of_models, pairing,
            against=reference, resamples=resampling.resamples, seed=resampling.seed, progress=advance,
        )  # fmt: skip
    tests = tests[tests["metric"].isin(SUMS)].reset_index(drop=True)
    return found, tests


# --- how they are shown -------------------------------------------------------------------------------------


def _columns(found: Sequence[Result]) -> list[tuple[str, str, dict[str, str]]]:
    """Group, heading and key of each column of numbers."""
    keys: list[tuple[str, str, dict[str, str]]] = []
    for side in ("i2t", "t2i"):
        names = {value["metric"] for one in found for value in one.evaluation.values if value["direction"] == side}
        recalls = [name for name in names if parse_metric(name).metric.name == "R@k"]
        recalls.sort(key=lambda name: parse_metric(name).cutoff or 0)
        keys += [(side, name, {"metric": name, "direction": side, "phi": "", "ground_truth": ""}) for name in recalls]
    keys.append(("both", "Rsum", {"metric": "Rsum", "direction": "", "phi": "", "ground_truth": ""}))
    phis = dict.fromkeys(value["phi"] for one in found for value in one.evaluation.values if value["phi"])
    for phi in phis:
        for kept in ("kept", "removed"):
            key = {"metric": "Nsum", "direction": "", "phi": phi, "ground_truth": kept}
            keys.append((phi, f"Nsum, GT {kept}", key))
    return keys


def _value_of(one: Result, key: Mapping[str, str]) -> float | None:
    """The number of a model that a key names; None if it has none."""
    for value in one.evaluation.values:
        usual = value["formula"] in ("", "released") and not value["discount"]
        if usual and all(value[name] == wanted for name, wanted in key.items()):  # type: ignore[literal-required]
            return value["value"]
    return None


def _test_of(tests: pd.DataFrame | None, name: str, key: Mapping[str, str]) -> dict[str, Any] | None:
    """The test of a model against the reference by a sum; None where there is none."""
    if tests is None:
        return None
    rows = tests[(tests["model"] == name) | (tests["against"] == name)]
    for row in rows.to_dict("records"):
        usual = row["formula"] in ("", "released") and not row["discount"]
        if usual and all(row[column] == key[column] for column in ("metric", "phi", "ground_truth")):
            # compare_all sets the reference second.
            return None if row["against"] == name else {str(column): value for column, value in row.items()}
    return None


def _sheet(found: Sequence[Result], tests: pd.DataFrame | None, title: str, notes: Sequence[str]) -> Sheet:
    """One row per model, the best numbers in bold, and the differences from the reference."""
    columns = _columns(found)
    cells: list[list[str]] = [[] for _ in found]
    for _, _, key in columns:
        values = [_value_of(one, key) for one in found]
        largest = max((value for value in values if value is not None), default=None)
        for row, value in zip(cells, values, strict=True):
            row.append(Best(number(value)) if value is not None and value == largest else number(value))
    headings = [(group, heading) for group, heading, _ in columns]
    if tests is not None:
        reference = str(tests["against"].iloc[0])
        for group, heading, key in [column for column in columns if column[2]["metric"] in SUMS]:
            headings.append((f"minus {reference}", heading if group == "both" else f"{heading}, {group}"))
            for row, one in zip(cells, found, strict=True):
                test = _test_of(tests, one.name, key)
                star = "*" if test is not None and test["p_holm"] < ALPHA else ""
                row.append(
                    "" if test is None
                    else f"{test['difference']:+.2f}{star} [{test['low']:+.2f}, {test['high']:+.2f}]"
                )  # fmt: skip
    rows = [[str(at), one.name, *row] for at, (one, row) in enumerate(zip(found, cells, strict=True), start=1)]
    return Sheet(["", "model"], headings, rows, title, notes)


def _notes(found: Sequence[Result], tests: pd.DataFrame | None) -> list[str]:
    """What the numbers are, what was tested, and which captions were scored."""
    notes = ["In percent; Rsum and Nsum are sums over both directions and cut-offs. Bold: the best."]
    if any(value["phi"] for one in found for value in one.evaluation.values):
        notes.append(f"Nsum: NCS by the released formula; {GROUND_TRUTH}")
    if tests is not None:
        reference, flips = tests["against"].iloc[0], tests.attrs.get("resamples")
        notes.append(
            f"Differences from '{reference}' with 95 % intervals, paired by image, each with its captions; *: p < "
            f"{ALPHA:g} after Holm's correction for the pairs" + (f"; {flips:,} sign flips." if flips else ".")
        )
    silent = [one.name for one in found if not one.has_queries]
    if silent and tests is not None:
        notes.append(f"Not tested, since the values of every query are not known: {', '.join(silent)}.")
    unknown = [one.name for one in found if "captions_sha256" not in one.subject]
    if unknown:
        notes.append(f"Nothing says which captions were scored, so this was not compared: {', '.join(unknown)}.")
    subjects = {
        (one.subject.get("dataset"), one.subject.get("split"), one.subject.get("captions_file"), sha)
        for one in found
        if (sha := one.subject.get("captions_sha256"))
    }
    for dataset, split, file, sha in sorted(subjects, key=str):
        of = "/".join(str(word) for word in (dataset, split) if word) or "a split that is not known"
        notes.append(f"Scored on {of}: captions of {file} (SHA-256 {str(sha)[:12]}).")
    return list(dict.fromkeys([*notes, *(note for one in found for note in one.notes)]))


def _tidy(found: Sequence[Result], tests: pd.DataFrame | None) -> pd.DataFrame:
    """One row per model and number, with its difference from the reference where it was tested."""
    rows = []
    for rank, one in enumerate(found, start=1):
        for _, _, key in _columns(found):
            value = _value_of(one, key)
            if value is None:
                continue
            test = _test_of(tests, one.name, key) or {}
            rows.append(
                {"rank": rank, "model": one.name, "file": one.file, **key, "value": value,
                 "against": test.get("against", ""),
                 **{name: test.get(name, float("nan")) for name in ("difference", "low", "high", "p", "p_holm")},
                 "tested": one.has_queries, "captions_sha256": one.subject.get("captions_sha256", ""),
                 "split": one.subject.get("split") or ""}
            )  # fmt: skip
    return pd.DataFrame(rows)
