"""`fivesentences plan`: what a scale takes, before anything is started."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import Outputs, Sheet
from fivesentences.errors import InputError
from fivesentences.machine import best_device, processors

if TYPE_CHECKING:
    from fivesentences.plan.costs import Cost, Costs
    from fivesentences.plan.graph import PlannedJob
    from fivesentences.plan.plan import Plan

RATES = "machines/rates.yaml"
STAGES = ("data", "corpus", "features", "semantics", "training", "evaluation", "paper")


@dataclass(frozen=True)
class Download:
    """A file that is needed and is neither here nor in the mirror."""

    path: str
    size: int | None
    by_hand: str | None


def plan(
    scale: Annotated[Path, typer.Argument(metavar="SCALE.yaml", help="a scale, such as config/paper.yaml")],
    gpus: Annotated[int, typer.Option(metavar="N", min=1, help="GPUs at a time")] = 1,
    cores: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="cores at a time; default: of this machine")
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="NAME", help="what is made, as Snakemake's targets: page, complete, table3 ...")
    ] = "page",
    rates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="another machine's, by benchmarks/bench_rates.py")
    ] = None,
    json_out: given.Json = None,
    csv: given.Csv = None,
    markdown: given.Markdown = None,
    quiet: given.Quiet = False,
) -> None:
    """What a scale takes: jobs, hours, disk and downloads, by stage and table, and what is missing here.

    Nothing is started or fetched. Hours come from the rates of a machine in
    config/machines/rates.yaml, which benchmarks/bench_rates.py writes; what has no rate is
    named and counted as nothing. Jobs whose files are here are left out of the
    hours; whether they are up to date, snakemake -n says.

    Examples:

        fivesentences plan config/paper.yaml --gpus 8

        fivesentences plan config/flickr8k.yaml --target table3
    """
    from fivesentences.config import config_file, extended, read
    from fivesentences.config.rates import Rates
    from fivesentences.documents import read_yaml
    from fivesentences.plan.costs import Costs, wall_seconds
    from fivesentences.plan.graph import graph_of
    from fivesentences.plan.plan import plan_of, scale_of

    outputs = Outputs.of(json_out, csv, markdown, None, quiet, [("SCALE.yaml", scale)])
    given = read_yaml(scale)
    content = extended(given, scale)
    if not isinstance(content, dict) or "scale" not in content:
        raise InputError("it is no scale", where=scale, cure="give one, such as config/paper.yaml")
    made = plan_of(scale_of(given, scale), scale.parent)
    if target not in made.targets:
        raise InputError(f"--target is '{target}', which {scale} does not have; it has: {', '.join(made.targets)}.")
    costs = Costs(made, read(Rates, rates or config_file(RATES, scale.parent)))
    graph = graph_of(made, made.targets[target])
    taken = [costs.of(job) for job in graph.jobs]
    left = [one for one in taken if not one.job.is_made]
    cores = cores or processors()

    ahead = type(graph)([one.job for one in left], graph.given)
    wall = wall_seconds(ahead, left, cores, gpus)
    downloads = _downloads(made, left)
    missing = _missing(made, graph.given, downloads, left)
    tables = {name: graph.behind([path]) for name, path in made.exhibit_files.items()}
    sheets = [
        _by_stage(scale, made, costs, taken),
        *([_by_table(made, costs, tables)] if target in ("page", "tables", "figures") else []),
        *([_of_downloads(downloads)] if downloads else []),
    ]
    last = sheets[-1]
    sentences = _sentences(costs, left, wall, cores, gpus, missing)
    sheets[-1] = Sheet(last.stub, last.columns, last.rows, last.title, [*last.notes, *sentences])
    outputs.write(sheets, _tidy(taken, made), _content(scale, made, left, wall, cores, gpus, downloads, missing))


# --- tables ---------------------------------------------------------------------------------------------------------


def _by_stage(scale: Path, plan: Plan, costs: Costs, taken: Sequence[Cost]) -> Sheet:
    from fivesentences.plan.costs import stage_of

    rows = []
    for stage in STAGES:
        of_stage = [one for one in taken if stage_of(one.job, plan) == stage]
        if of_stage:
            left = [one for one in of_stage if not one.job.is_made]
            rows.append([stage, *_row(of_stage, left)])
    rows.append(["all", *_row(taken, [one for one in taken if not one.job.is_made])])
    count = len(plan.runs) + len(plan.subspaces.runs)
    columns = [("", "jobs"), ("", "made"), ("", "core hours"), ("", _device(costs)), ("", "GB on disk")]
    return Sheet(["stage"], columns, rows, f"{plan.scale.title}: {count:,} runs ({scale})")


def _by_table(plan: Plan, costs: Costs, tables: dict[str, list[PlannedJob]]) -> Sheet:
    rows = []
    for name, jobs in tables.items():
        taken = [costs.of(job) for job in jobs if job.rule in ("train", "train_subspaces")]
        if not taken:
            continue
        runs = sum(len(_runs_of(plan, one.job)) for one in taken)
        left = [one for one in taken if not one.job.is_made]
        rows.append([name, f"{runs:,}", _hours(left), _gigabytes(left)])
    columns = [("", "runs"), ("", "hours of training"), ("", "GB on disk")]
    note = "Tables share runs: a run that two of them need is in both rows, and is trained once."
    if any(job.rule == "train_subspaces" for jobs in tables.values() for job in jobs):
        note += " Category retrieval trains on cores, in jobs of several runs, which count whole."
    return Sheet(["table or figure"], columns, rows, "By table", [note])


def _runs_of(plan: Plan, job: PlannedJob) -> Sequence[str]:
    """The runs that a job trains."""
    if job.rule == "train":
        return plan.jobs[job.wildcards["job"]].runs
    return plan.subspaces.jobs[job.wildcards["subspace_job"]].runs


def _of_downloads(downloads: Sequence[Download]) -> Sheet:
    rows = [[one.path, "by hand" if one.by_hand else "by itself", _size(one.size)] for one in downloads]
    notes = [f"{one.path}: {one.by_hand}" for one in downloads if one.by_hand]
    return Sheet(["to be fetched", "how"], [("", "GB")], rows, "Downloads that are not here", notes)


def _row(taken: Sequence[Cost], left: Sequence[Cost]) -> list[str]:
    made = len(taken) - len(left)
    on_core, on_gpu = ([one for one in left if one.on_gpu == gpu] for gpu in (False, True))
    return [f"{len(taken):,}", f"{made:,}" if made else "", _hours(on_core), _hours(on_gpu), _gigabytes(left)]


def _device(costs: Costs) -> str:
    return "hours for a GPU, on one core" if costs.on_core else "GPU hours"


def _hours(taken: Iterable[Cost]) -> str:
    taken = list(taken)
    seconds = sum(one.seconds or 0.0 for one in taken)
    unknown = any(one.seconds is None for one in taken)
    if not taken:
        return ""
    hours = seconds / 3600
    if unknown and hours < 0.1:
        return "unknown"
    return ("> " if unknown else "") + (f"{hours:,.0f}" if hours >= 10 else f"{hours:.1f}" if hours >= 0.1 else "< 0.1")


def _gigabytes(taken: Iterable[Cost]) -> str:
    taken = list(taken)
    held = sum(one.disk or 0 for one in taken)
    unknown = any(one.disk is None for one in taken)
    if unknown and held < 0.05e9:
        return "unknown"
    return "" if not held and not unknown else f"{'> ' if unknown else ''}{held / 1e9:,.1f}"


def _size(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 1e9:,.2f}"


# --- what is missing ------------------------------------------------------------------------------------------------


def _downloads(plan: Plan, left: Sequence[Cost]) -> list[Download]:
    from fivesentences.corpus.catalogue import at_hand

    found = []
    for path in (one.job.wildcards["file"] for one in left if one.job.rule == "download"):
        dataset, name = plan.downloads[path]
        file = plan.catalogue.datasets[dataset].files[name]
        if not at_hand(path, plan.download_folders):
            found.append(Download(path, file.size, None if file.url else file.fetch_by_hand))
    return found


def _missing(plan: Plan, needed: Sequence[Path], downloads: Sequence[Download], left: Sequence[Cost]) -> list[str]:
    """Sentences on what this machine lacks."""
    given = dict.fromkeys([*needed, *_folders_of_documents(plan, left)])
    found = [f"{path} is not here, and no rule makes it." for path in given if not path.exists()]
    by_hand = [one.path for one in downloads if one.by_hand]
    if by_hand:
        found.append(f"{', '.join(by_hand)}, which nobody may fetch for you.")
    found += _weights(plan, left)
    if any(one.job.rule == "parse_some_captions" for one in left):
        found += _java(plan)
    if plan.scale.training.gpu and best_device() != "cuda":
        found.append("The scale trains on a GPU, and torch finds none here.")
    held, free = sum(one.disk or 0 for one in left), _free(plan.places.results)
    held += sum(one.size or 0 for one in downloads)
    if held > free:
        found.append(f"Results and downloads take {held / 1e9:,.0f} GB, and {free / 1e9:,.0f} GB are free here.")
    return found


def _folders_of_documents(plan: Plan, left: Sequence[Cost]) -> list[Path]:
    """Folders in an original layout, such as NUS-WIDE's, which jobs read but which are no inputs of theirs."""
    categories = plan.scale.categories
    if categories is None:
        return []
    rules = ("keep_documents", "keep_documents_of_words")
    read = (categories.documents[one.job.wildcards["documents"]] for one in left if one.job.rule in rules)
    return [documents.folder for documents in read if documents.loader in ("nus_wide", "dscmr")]


def _weights(plan: Plan, left: Sequence[Cost]) -> list[str]:
    """Networks whose weights are neither in the mirror nor named."""
    rules = ("extract_features", "detect_regions", "extract_part")
    asked = {one.job.wildcards["extracted"]: one.job for one in left if one.job.rule in rules}
    found = []
    for name, job in asked.items():
        spec = plan.extracted_features[name]
        inputs = plan.inputs_of(job.rule, **job.wildcards)
        if inputs["weights"] or spec.extractor == "grid_descriptors":
            continue
        cure = "name a file as weights" if spec.extractor == "bottom_up" else "its library downloads them"
        found.append(f"Weights of {spec.extractor} are not in the mirror; {cure}.")
    return list(dict.fromkeys(found))


def _java(plan: Plan) -> list[str]:
    from fivesentences.commands.doctor import OK, java_findings

    lacking = [one for one in java_findings(plan.mirror) if one.state != OK]
    return [f"SPICE's parser needs {one.name}: {one.found} ({one.cure})." for one in lacking]


def _free(folder: Path) -> int:
    existing = next(path for path in (folder, *folder.resolve().parents) if path.is_dir())
    return shutil.disk_usage(existing).free


# --- words and files ------------------------------------------------------------------------------------------------


def _sentences(
    costs: Costs, left: Sequence[Cost], wall: float, cores: int, gpus: int, missing: Sequence[str]
) -> list[str]:
    if not left:
        return ["Every file is here; snakemake -n says whether they are up to date."]
    unknown = costs.missing(left)
    place = "core in place of a GPU" if costs.on_core else "GPU"
    many = "cores in place of GPUs" if costs.on_core else "GPUs"
    workers = f"{gpus} {place if gpus == 1 else many} and {cores} core{'s' if cores > 1 else ''} for the rest"
    found = [f"Wall time on {workers}: {wall / 3600:,.1f} hours" + (", and what has no rate." if unknown else ".")]
    found.append(f"Rates: {costs.rates.core.machine}; {costs.machine.machine if not costs.on_core else 'no GPU'}.")
    if costs.on_core:
        found.append("No GPU was measured: what one would do is given in hours of one core, which are many more.")
    if unknown:
        shown, more = unknown[:4], len(unknown) - 4
        found.append(f"Without a rate: {'; '.join(shown)}{f'; and {more} more' if more > 0 else ''}.")
    return [*found, *(f"Missing here: {one}" for one in missing)]


def _tidy(taken: Sequence[Cost], plan: Plan) -> Any:
    import pandas as pd

    from fivesentences.plan.costs import stage_of

    return pd.DataFrame(
        {
            "stage": stage_of(one.job, plan),
            "rule": one.job.rule,
            "job": " ".join(one.job.wildcards.values()),
            "made": one.job.is_made,
            "on_gpu": one.on_gpu,
            "seconds": one.seconds,
            "bytes": one.disk,
        }
        for one in taken
    )


def _content(
    scale: Path,
    plan: Plan,
    left: Sequence[Cost],
    wall: float,
    cores: int,
    gpus: int,
    downloads: Sequence[Download],
    missing: Sequence[str],
) -> dict[str, Any]:
    return {
        "scale": str(scale),
        "runs": len(plan.runs) + len(plan.subspaces.runs),
        "jobs_left": len(left),
        "core_seconds": sum(one.seconds or 0.0 for one in left if not one.on_gpu),
        "gpu_seconds": sum(one.seconds or 0.0 for one in left if one.on_gpu),
        "without_rate": sum(one.seconds is None for one in left),
        "bytes": sum(one.disk or 0 for one in left),
        "wall_seconds": wall,
        "cores": cores,
        "gpus": gpus,
        "downloads": [{"path": one.path, "bytes": one.size, "by_hand": one.by_hand} for one in downloads],
        "missing": list(missing),
    }
