"""The manifest of a scale: what its numbers were made of, so that two results can be compared.

It has no dates and no times of files: made again of the same on the same machine, it differs in its seconds alone.
"""

from __future__ import annotations

import csv
import importlib.metadata
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from fivesentences.config.scales import Scale
from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.evaluation.tidy import read_tidy
from fivesentences.features.files import read_source
from fivesentences.machine import hardware
from fivesentences.paper.digests import CHECKSUMS, Digests
from fivesentences.paper.headline import headline_of, kind_of
from fivesentences.plan.jobs import COMPLETE
from fivesentences.plan.plan import Plan
from fivesentences.semantics.phi_file import read_phi_note
from fivesentences.storage import write_json

FORMAT = "fivesentences.manifest 1"
CURE = "make it with the workflow, or fetch it with dvc pull"
KEPT_OF_WEIGHTS = ("library", "weights")  # of where features come from
KEPT_OF_PHI = ("tokenisation", "idf_corpus", "tuples", "shape", "version")  # of what a matrix was made of
TRAINING = ("train", "train_subspaces")  # rules of whose jobs each is listed
Left = Mapping[str, Mapping[str, Path]]  # benchmark file of each job that left one, by rule and name


@dataclass(frozen=True)
class Files:
    """The files of a scale, by what they are.

    Attributes:
        inputs: What nobody here made: downloads, a user's own files, studies and published numbers.
        made: Corpora and features that were made of them.
        numbers: What tables and figures are drawn from.
    """

    inputs: list[Path]
    made: list[Path]
    numbers: list[Path]


def files_of(plan: Plan, scale: str) -> Files:
    """The files of a scale, or of its complete form, each once and in order."""
    corpora = {plan.places.corpus(name) for name in plan.scale.datasets}
    features = {plan.features_of(plan.all_runs[name]) for name in plan.trained_at(scale)}
    return Files(plan.sources(scale), sorted(corpora | features), plan.every_number(scale))


def settings_of(scale: Scale) -> dict[str, Any]:
    """Everything that a scale says, defaults included, but for where a machine has its mirror."""
    return scale.model_dump(mode="json", exclude={"mirror"})


def write_manifest(plan: Plan, scale: str, left: Left, out: Path, cache: Path) -> None:
    """Write ``manifest.json`` and beside it ``headline.json`` and ``settings.json``.

    Args:
        plan: Of the scale.
        scale: Its name, or that of its complete form.
        left: Files in which jobs left their seconds.
        out: The manifest. If it exists already, checksums of files that are not here any more are taken from it: who
            draws figures from numbers that others sent has none of their downloads.
        cache: Where checksums are kept between calls.

    Raises:
        InputError: If a table of numbers is damaged.
    """
    files, digests = files_of(plan, scale), Digests(cache)
    earlier: Mapping[str, Any] = read_formatted(out, FORMAT, CURE) if out.is_file() else {}

    def checksums(paths: Iterable[Path], kind: str) -> dict[str, str | None]:
        before = earlier.get(kind, {})
        return {str(path): digests.of(path) or before.get(str(path)) for path in paths}

    tidy = plan.places.tidy(scale)
    headline = headline_of(read_tidy(tidy)) if tidy in files.numbers else {}
    jobs = [one for rule, of_rule in left.items() for one in _taken(rule, of_rule)]
    if scale == plan.scale.scale:  # others may have been made for the target `complete`
        jobs = [one for one in jobs if COMPLETE not in one.job]
    content = {
        "format": FORMAT,
        "scale": scale,
        "git": revision(),
        "versions": versions(),
        "hardware": hardware(),
        "seeds": seeds_of(plan, scale),
        "settings": settings_of(plan.scales[scale]),
        "inputs": checksums(files.inputs, "inputs"),
        "made": checksums(files.made, "made"),
        "weights": _weights(plan, scale) or earlier.get("weights", {}),
        "numbers": checksums(files.numbers, "numbers"),
        "headline": headline,
        "phi": _phi(plan) or earlier.get("phi", {}),
        "seconds": _of_rules(jobs) or earlier.get("seconds", {}),
        "trained": _of_training(jobs) or earlier.get("trained", {}),
    }
    digests.save()
    write_json(out.with_name("headline.json"), headline)
    write_json(out.with_name("settings.json"), content["settings"])
    write_json(out, content)


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; a folder stands for the ``manifest.json`` in it.

    Raises:
        InputError: If it is missing or is no manifest.
    """
    path = path / "manifest.json" if path.is_dir() else path
    if not path.is_file():
        raise InputError("there is no such file", where=path, cure=CURE)
    return read_formatted(path, FORMAT, CURE)


def differences_from(manifest: Mapping[str, Any], scale: Scale) -> list[str]:
    """Sentences on what here is not as a manifest says: settings, and files; downloads count only where they are."""
    ours, theirs = settings_of(scale), manifest.get("settings", {})
    found = [f"the setting {key} is not that of the manifest" for key in ours if ours[key] != theirs.get(key)]
    for part in ("numbers", "inputs", "made"):
        for path, known in manifest.get(part, {}).items():
            if not Path(path).exists():
                found += [f"{path} is not here; fetch the results: dvc pull"] if part == "numbers" else []
            elif known is not None and Digests(CHECKSUMS).of(Path(path)) != known:
                found.append(f"{path} is not the file that the numbers were made of")
    return found


def revision() -> dict[str, Any]:
    """The revision of git in the working folder, and which files in it were changed; null where there is no git."""

    def said(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout

    head, changed = said("rev-parse", "HEAD"), said("status", "--porcelain", "--untracked-files=no")
    return {
        "revision": None if head is None else head.strip(),
        "changed": None if changed is None else sorted(line[3:] for line in changed.splitlines()),
    }


def versions() -> dict[str, str]:
    """Versions of Python, of this package and of what it is installed with."""
    found = {"python": platform.python_version(), "fivesentences": importlib.metadata.version("fivesentences")}
    for line in importlib.metadata.requires("fivesentences") or []:
        name = Requirement(line).name
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # of an extra that is not installed
    return dict(sorted(found.items()))


def seeds_of(plan: Plan, scale: str) -> dict[str, list[int]]:
    """The seeds of each kind of run, by the name of the run without its seed."""
    found: dict[str, list[int]] = {}
    seeds = {name: plan.all_runs[name].seed for name in plan.trained_at(scale)}
    for name, seed in (seeds | {name: run.seed for name, run in plan.subspaces.runs.items()}).items():
        found.setdefault(kind_of(name), []).append(seed)
    return {kind: sorted(seeds) for kind, seeds in found.items()}


def _weights(plan: Plan, scale: str) -> dict[str, Any]:
    """Which weights made the features that runs read, of those that say so."""
    found = {}
    specs = [plan.all_runs[name] for name in plan.trained_at(scale)]
    sources = {plan.places.source_of_features(spec.dataset, spec.features) for spec in specs}
    for path in sorted(sources):
        source = read_source(path)
        if source is not None and "weights" in source:
            found[str(path)] = {key: source[key] for key in KEPT_OF_WEIGHTS if key in source}
    return found


def _phi(plan: Plan) -> dict[str, dict[str, Any]]:
    """What the notes beside the phi matrices of test splits say, by file."""
    datasets = sorted({run.dataset for runs in (plan.all_runs, plan.all_encoded) for run in runs.values()})
    files = [plan.places.phi(dataset, "test", f"{phi}.npy") for dataset in datasets for phi in plan.single_phis]
    notes = {str(path): read_phi_note(path) for path in files if path.is_file()}
    return {path: {key: note[key] for key in KEPT_OF_PHI if key in note} for path, note in notes.items() if note}


@dataclass(frozen=True)
class Taken:
    """Seconds of a job, and the most memory in MB (None if that was not measured)."""

    rule: str
    job: str
    seconds: float
    memory_mb: float | None


def _taken(rule: str, left: Mapping[str, Path]) -> list[Taken]:
    """Every job of a rule that left its seconds; one that was marked as up to date has left an empty file."""
    found = []
    for job, path in left.items():
        with path.open(encoding="utf-8") as file:
            lines = [line for line in csv.DictReader(file, delimiter="\t") if _is_number(line.get("s"))]
        memory = [float(line["max_rss"]) for line in lines if _is_number(line.get("max_rss"))]
        if lines:
            found.append(Taken(rule, job, sum(float(line["s"]) for line in lines), max(memory, default=None)))
    return found


def _of_rules(jobs: Iterable[Taken]) -> dict[str, dict[str, float]]:
    """How many jobs of each rule left their seconds, how many these are together, and the most memory of one."""
    found: dict[str, dict[str, float]] = {}
    for one in jobs:
        of_rule = found.setdefault(one.rule, {"jobs": 0, "seconds": 0.0})
        of_rule["jobs"] += 1
        of_rule["seconds"] = round(of_rule["seconds"] + one.seconds, 2)
        if one.memory_mb is not None:
            of_rule["memory_mb"] = max(of_rule.get("memory_mb", 0.0), one.memory_mb)
    return dict(sorted(found.items()))


def _of_training(jobs: Iterable[Taken]) -> dict[str, dict[str, dict[str, float]]]:
    """Seconds and memory of each training job, by rule and name."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in jobs:
        if one.rule in TRAINING:
            memory = {} if one.memory_mb is None else {"memory_mb": one.memory_mb}
            found.setdefault(one.rule, {})[one.job] = {"seconds": round(one.seconds, 2)} | memory
    return found


def _is_number(text: str | None) -> bool:
    return text is not None and text.replace(".", "", 1).isdigit()
