"""`fivesentences leaderboard`: many models in one table and one figure, with paired intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer

from fivesentences.commands.arguments import Dataset, Resampling, named
from fivesentences.commands.evaluate import score_models
from fivesentences.commands.given_models import ModelInputs
from fivesentences.commands.score_sheets import ALPHA, GROUND_TRUTH, key_of, rules
from fivesentences.commands.sheets import Best, Outputs, Read, Sheet, number
from fivesentences.config.metrics import metric_of, parse_metric
from fivesentences.console import working
from fivesentences.errors import InputError, need
from fivesentences.evaluation import result_files
from fivesentences.evaluation.comparing import compare_all
from fivesentences.evaluation.protocols import PROTOCOLS, Protocol, ProtocolScorer
from fivesentences.evaluation.result_files import BENCHMARK_NAMES, Result, subject_of

FIGURE_SUFFIXES = (".png", ".pdf", ".csv", ".json")
SUMS = ("Rsum", "Nsum")
KEY = ("metric", "direction", "phi", "ground_truth")  # of a number in a leaderboard
TESTED = ("difference", "low", "high", "p", "p_holm")
Column = tuple[str, str, tuple[str, ...]]  # group, heading, and the key of its numbers


def leaderboard(
    results: Annotated[list[str], typer.Argument(metavar="RESULT")],
    *,
    inputs: ModelInputs,
    tests: Resampling,
    outputs: Outputs,
    dataset: Annotated[Dataset | None, typer.Option("--dataset", "--protocol")] = None,
    csv_dataset: str | None = None,
    sort: Literal["Rsum", "Nsum"] | None = None,
    against: str | None = None,
    figure: Annotated[Path | None, typer.Option(metavar="STEM")] = None,
) -> None:
    """Rank models by recall and NCS, with the interval of every difference from the first.

    Results may come from different days and machines. Models whose values of
    every query are known are tested, paired by query, as in "fivesentences
    compare"; the others stand beside them with a note. Results of other images,
    captions, splits, protocols or phi are refused.

    The figure shows Rsum against the sum of NCS, one mark per model. Bars are
    the 95 % intervals of the difference from the first model: a bar that crosses
    its dotted line may be chance.

    Args:
        results: FILE.parquet of 'evaluate --per-query'; a folder of 'embed' or a similarity, which is scored now;
            clip_benchmark's .csv; NAME=... names a model.
        dataset: Benchmark whose protocol scores the models that are scored now; default: one gallery of everything.
        csv_dataset: Data set of clip_benchmark's rows; default: that of the others.
        sort: By what models are ranked; default: Nsum of the first phi, if there is one.
        against: Model with which the others are compared; default: the first.
        figure: Draw recall against NCS: STEM.png, .pdf, and .csv and .json with its data.

    Examples:

        fivesentences evaluate clip --metric cider --per-query clip.parquet

        fivesentences leaderboard clip.parquet siglip.parquet --figure models

        fivesentences leaderboard clip siglip benchmark.csv --metric cider
    """
    if figure is not None:
        need("matplotlib", "workflow", "--figure")
    names_and_files = [(name, Path(file)) for name, file in map(named, results)]
    read: Read = [*(("result", file) for _, file in names_and_files if not file.is_dir()), *inputs.read]
    outputs.check(read, {f"{figure}{suffix}": Path(f"{figure}{suffix}") for suffix in FIGURE_SUFFIXES if figure})
    found: list[Result] = []
    to_score, of_benchmark = [], []
    for text, (name, file) in zip(results, names_and_files, strict=True):
        if file.suffix == ".parquet":
            of_file = result_files.read_queries(file)
            if name and len(of_file) > 1:
                what = f"it holds {len(of_file)} models, which one name does not tell apart; leave it out."
                raise InputError(what, where=file)
            found += [replace(one, name=name or one.name) for one in of_file]
        elif file.suffix == ".csv" and result_files.is_benchmark(file):
            of_benchmark.append(file)
        else:
            to_score.append(text)
    if to_score:
        found += _scored_now(to_score, inputs, None if dataset is None else PROTOCOLS[dataset])
    elif inputs != ModelInputs() or dataset:
        raise InputError("--phi, --metric, --captions and --dataset are for models that are scored now; none is.")
    if not found:
        raise InputError("clip_benchmark's recall alone is no leaderboard; add a model with NCS.")
    for file in of_benchmark:
        found += result_files.read_benchmark(file, csv_dataset or _dataset_of(found, file))
    by_name: dict[str, Result] = {}
    for one in found:
        if (same := by_name.get(one.name)) is not None:
            raise InputError(f"two models are called '{one.name}' ({same.file} and {one.file}); name them, NAME=FILE.")
        for other in by_name.values():
            other.check_like(one)
        by_name[one.name] = one
    found = _ranked(found, sort)
    tested = _compared(found, against, tests)
    columns = _columns(found)
    tidy = _tidy(found, columns, tested)
    about = next(one.evaluation.about for one in found if one.evaluation.about)
    content = {
        "models": [
            {"model": one.name, "file": one.file, "tested": one.has_queries, "values": one.evaluation.values}
            for one in found
        ],
        **{key: about[key] for key in ("protocol", "images", "captions", "file_images", "file_captions", "tie_rule")},
        **({} if tested is None else {"tests": tested.to_dict("records")}),
    }
    if figure is not None:
        from fivesentences.paper.figures.drawing import write_drawing  # needs matplotlib
        from fivesentences.paper.figures.front import leaderboard_drawing

        drawn_as = leaderboard_drawing(tidy, found[0].name)
        if drawn_as.data.empty:
            raise InputError("no model has NCS, so there is nothing to draw; give --phi or --metric.", where="--figure")
        title = "Recall against NCS"
        with working(f"draw {figure}.png"):
            write_drawing(figure, title, f"{title} of {len(drawn_as.data['model'].unique())} models.", drawn_as)
    title = f"{len(found)} models: {about['file_images']:,} images, {about['file_captions']:,} captions"
    outputs.write([_sheet(columns, tidy, title, [rules(about), *_notes(found, tested)])], tidy, content, read)


# --- which models are compared ------------------------------------------------------------------------------


def _scored_now(texts: Sequence[str], inputs: ModelInputs, protocol: Protocol | None) -> list[Result]:
    """Return models of which there are embeddings or similarities, with the values of every query."""
    given = inputs.given(texts, protocol)
    with working(f"read {given.models[0].words}"):
        gallery, more = inputs.gallery(given, protocol)
    scorer = ProtocolScorer(gallery, None if protocol is None else protocol.name, asp_ties=())
    evaluations, _ = score_models(scorer, given.models, gallery, inputs.transposed, queries=True)
    subject = subject_of(scorer.whole, evaluations[given.models[0].name].about, given.about)
    said = [*given.notes, *(more if len(given.models) == 1 else [])]
    return [
        Result(model.name, model.words, evaluations[model.name], subject, scorer.whole.image_of_caption, said)
        for model in given.models
    ]


def _dataset_of(found: Sequence[Result], file: Path) -> str:
    """Return what clip_benchmark calls the data set of the other results."""
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


def _phis(found: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(value["phi"] for one in found for value in one.evaluation.values if value["phi"]))


def _usual(rows: Any, of: Sequence[str] = KEY) -> pd.DataFrame:
    """Return the first number or test of each key by the usual formula: released, without a discount."""
    frame = pd.DataFrame(rows)
    return frame[frame["formula"].isin(("", "released")) & (frame["discount"] == "")].drop_duplicates([*of])


def _ranked(found: Sequence[Result], sort: str | None) -> list[Result]:
    """Return the models in their order; those without the number come last."""
    phis = _phis(found)
    if sort == "Nsum" and not phis:
        raise InputError("no model has NCS, by which they could be sorted; give --phi or --metric.", where="--sort")
    key = ("Nsum", "", phis[0], "kept") if phis and sort != "Rsum" else ("Rsum", "", "", "")

    def place(one: Result) -> float:
        values = _usual(one.evaluation.values).set_index([*KEY])["value"]
        return -float(values.get(key, float("-inf")))

    return sorted(found, key=place)


def _compared(found: Sequence[Result], against: str | None, resampling: Resampling) -> pd.DataFrame | None:
    """Return the tests of the sums of those models that can be tested; None if there are fewer than two."""
    by_name = {one.name: one for one in found}
    if against is not None:
        if against not in by_name:
            raise InputError(f"it is '{against}', which is none of {', '.join(by_name)}.", where="--against")
        if not by_name[against].has_queries:
            raise InputError(f"the values of every query of '{against}' are not known.", where="--against")
    tested = [one for one in found if one.has_queries]
    if len(tested) < 2:
        return None
    common = set.intersection(*({key_of(query) for query in one.evaluation.queries} for one in tested))
    of_models = {}
    for one in tested:
        queries = [query for query in one.evaluation.queries if key_of(query) in common]
        of_sums = [query for query in queries if metric_of(query["metric"]).name in ("R@k", "N@k")]
        of_models[one.name] = replace(one.evaluation, queries=of_sums)
    pairing = tested[0].image_of_caption
    assert pairing is not None
    with working(f"compare {len(tested)} models", len(tested) - 1) as advance:
        tests = compare_all(
            of_models, pairing, against=against or tested[0].name,
            resamples=resampling.resamples, seed=resampling.seed, progress=advance,
        )  # fmt: skip
    return tests[tests["metric"].isin(SUMS)].reset_index(drop=True)


# --- how they are shown -------------------------------------------------------------------------------------


def _columns(found: Sequence[Result]) -> list[Column]:
    columns: list[Column] = []
    for side in ("i2t", "t2i"):
        names = {value["metric"] for one in found for value in one.evaluation.values if value["direction"] == side}
        recalls = [name for name in names if parse_metric(name).metric.name == "R@k"]
        columns += [(side, k, (k, side, "", "")) for k in sorted(recalls, key=lambda k: parse_metric(k).cutoff or 0)]
    columns.append(("both", "Rsum", ("Rsum", "", "", "")))
    for phi in _phis(found):
        columns += [(phi, f"Nsum, GT {kept}", ("Nsum", "", phi, kept)) for kept in ("kept", "removed")]
    return columns


def _tidy(found: Sequence[Result], columns: Sequence[Column], tests: pd.DataFrame | None) -> pd.DataFrame:
    """Return one row per model and number, with its difference from the reference where it was tested."""
    keys = pd.DataFrame([key for *_, key in columns], columns=[*KEY])
    parts = []
    for rank, one in enumerate(found, start=1):
        part = keys.merge(_usual(one.evaluation.values)[[*KEY, "value"]], on=[*KEY])
        sha, split = one.subject.get("captions_sha256", ""), one.subject.get("split") or ""
        part = part.assign(rank=rank, model=one.name, file=one.file, tested=one.has_queries)
        parts.append(part.assign(captions_sha256=sha, split=split))
    tidy = pd.concat(parts, ignore_index=True)
    of = ["model", *KEY]
    if tests is None:
        tidy = tidy.assign(against="", **dict.fromkeys(TESTED, float("nan")))
    else:
        tidy = tidy.merge(_usual(tests, of)[[*of, "against", *TESTED]], how="left", on=of).fillna({"against": ""})
    order = ["rank", "model", "file", *KEY, "value", "against", *TESTED, "tested", "captions_sha256", "split"]
    return tidy[order]


def _sheet(columns: Sequence[Column], tidy: pd.DataFrame, title: str, notes: Sequence[str]) -> Sheet:
    """Return one row per model, the best numbers in bold, and the differences from the reference."""
    models = dict(zip(tidy["model"], tidy["rank"], strict=True))
    values: dict[str, list[str]] = {name: [str(rank), name] for name, rank in models.items()}
    differences: dict[str, list[str]] = {name: [] for name in models}
    headings, of_differences = [(group, heading) for group, heading, _ in columns], []
    reference = next(filter(None, tidy["against"]), None)
    for group, heading, key in columns:
        of_key = tidy[(tidy[[*KEY]] == key).all(axis=1)].set_index("model")
        for name, cells in values.items():
            value = of_key["value"].get(name)
            cells.append(Best(number(value)) if value == of_key["value"].max() else number(value))
        if reference and key[0] in SUMS:
            of_differences.append((f"minus {reference}", heading if group == "both" else f"{heading}, {group}"))
            rows = of_key[of_key["against"] != ""].to_dict("index")
            for name, cells in differences.items():
                row = rows.get(name)
                star = "*" if row and row["p_holm"] < ALPHA else ""
                cells.append(f"{row['difference']:+.2f}{star} [{row['low']:+.2f}, {row['high']:+.2f}]" if row else "")
    lines = [[*values[name], *differences[name]] for name in models]
    return Sheet(["", "model"], [*headings, *of_differences], lines, title, notes)


def _notes(found: Sequence[Result], tests: pd.DataFrame | None) -> list[str]:
    """Return what the numbers are, what was tested, and which captions were scored."""
    notes = ["In percent; Rsum and Nsum are sums over both directions and cut-offs. Bold: the best."]
    if _phis(found):
        notes.append(f"Nsum: NCS by the released formula; {GROUND_TRUTH}")
    if tests is not None:
        flips = tests.attrs["resamples"]
        notes.append(
            f"Differences from '{tests['against'].iloc[0]}' with 95 % intervals, paired by image, each with its "
            f"captions; *: p < {ALPHA:g} after Holm's correction for the pairs; {flips:,} sign flips."
        )
        if silent := [one.name for one in found if not one.has_queries]:
            notes.append(f"Not tested, since the values of every query are not known: {', '.join(silent)}.")
    if unknown := [one.name for one in found if "captions_sha256" not in one.subject]:
        notes.append(f"Nothing says which captions were scored, so this was not compared: {', '.join(unknown)}.")
    said = ("dataset", "split", "captions_file", "captions_sha256")
    subjects = {tuple(one.subject.get(key) for key in said) for one in found if one.subject.get("captions_sha256")}
    for dataset, split, file, sha in sorted(subjects, key=str):
        of = "/".join(str(word) for word in (dataset, split) if word) or "a split that is not known"
        notes.append(f"Scored on {of}: captions of {file} (SHA-256 {str(sha)[:12]}).")
    return list(dict.fromkeys([*notes, *(note for one in found for note in one.notes)]))
